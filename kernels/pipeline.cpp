#include "kernels/pipeline.hpp"

#include "kernels/kernel_limits.hpp"
#include "kernels/parameter_text.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace overlap {
namespace {

/// Sizes tried one by one, down from the largest, where kernels accept some beyond one that they
/// refuse.
constexpr std::uint64_t kSearchSteps = 1024;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

std::string kernel_list(const KernelRegistry& registry) {
  std::string list;
  for (const Kernel* const kernel : registry.all()) {
    list += (list.empty() ? "" : ", ") + std::string(kernel->name());
  }
  return list.empty() ? "none" : list;
}

std::string parameter_list(const Kernel& kernel) {
  std::string list;
  for (const Parameter& parameter : kernel.parameters()) {
    list += (list.empty() ? "" : "; ") + std::string(parameter.name) + ": " +
            describe_values(parameter);
  }
  return list.empty() ? "it takes no parameters" : "it takes " + list;
}

/// Reads one stage; every error names it by number and text.
class StageParser {
 public:
  StageParser(std::size_t number, std::string_view text) : number_(number), text_(text) {}

  [[nodiscard]] Stage parse(const KernelRegistry& registry) const {
    if (text_.empty()) {
      fail("is empty; name one of the kernels: " + kernel_list(registry));
    }
    const std::size_t colon = text_.find(':');
    const std::string_view name = text_.substr(0, colon);
    const Kernel* const kernel = registry.find(name);
    if (kernel == nullptr) {
      fail("names the unknown kernel " + quoted(name) +
           "; the known ones are: " + kernel_list(registry));
    }
    Stage stage{kernel, {}};
    for (const Parameter& parameter : kernel->parameters()) {
      stage.params.push_back(parameter.default_value);
    }
    if (colon != std::string_view::npos) {
      std::vector<bool> given(stage.params.size(), false);
      for (const std::string_view word : split(text_.substr(colon + 1), ',')) {
        assign(word, *kernel, stage.params, given);
      }
    }
    // Values that are each in range may still not go together.
    const PlanOrRefusal trial = kernel->plan(stage.params, kernel->granule_bytes(stage.params));
    if (const auto* const refusal = std::get_if<Refusal>(&trial)) {
      fail("cannot run: " + refusal->text);
    }
    return stage;
  }

 private:
  void assign(std::string_view word, const Kernel& kernel, ParameterValues& params,
              std::vector<bool>& given) const {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::span<const Parameter> declared = kernel.parameters();
    std::size_t index = 0;
    while (index < declared.size() && declared[index].name != name) {
      ++index;
    }
    const std::string owner(kernel.name());
    if (name.empty()) {
      fail("has an empty parameter where NAME=VALUE should be; of " + owner + ", " +
           parameter_list(kernel));
    }
    if (index == declared.size()) {
      fail("names the unknown parameter " + quoted(name) + " of " + owner + "; " +
           parameter_list(kernel));
    }
    if (equals == std::string_view::npos) {
      fail("gives the parameter " + quoted(name) + " no value; write " + std::string(name) +
           "=VALUE, where VALUE is " + describe_values(declared[index]));
    }
    if (given[index]) {
      fail("gives the parameter " + quoted(name) + " twice; keep one of them");
    }
    given[index] = true;
    const ValueOrRefusal value = parse_value(declared[index], word.substr(equals + 1));
    if (const auto* const refusal = std::get_if<Refusal>(&value)) {
      fail("has a bad value: " + refusal->text);
    }
    params[index] = std::get<overlap_param_value>(value);
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw PipelineError("pipeline stage " + std::to_string(number_) + " " + quoted(text_) + " " +
                        what);
  }

  std::size_t number_;
  std::string_view text_;
};

/// Empty if a stage's sizes are within the limits.
std::string why_too_large(const Plan& sizes) {
  const auto beyond = [](std::string_view what, std::uint64_t bytes) {
    return "a job would have " + std::to_string(bytes) + " bytes of " + std::string(what) +
           ", the limit is " + std::to_string(kMostJobBytes) + "; send less";
  };
  if (sizes.max_output_bytes > kMostJobBytes) {
    return beyond("output", sizes.max_output_bytes);
  }
  if (sizes.workspace_bytes > kMostJobBytes) {
    return beyond("workspace", sizes.workspace_bytes);
  }
  return sizes.state_bytes > kMostJobBytes ? beyond("state", sizes.state_bytes) : std::string();
}

/// @return nothing if the product is no size of a job
std::optional<std::uint64_t> checked_product(std::uint64_t a, std::uint64_t b) {
  if (a != 0 && b > kMostJobBytes / a) {
    return std::nullopt;
  }
  return a * b;
}

/// The smallest input that gives every stage whole granules, as long as outputs are proportional
/// to inputs; nothing if some stage cannot be satisfied that way.
std::optional<std::uint64_t> combined_granule(const std::vector<Stage>& stages) {
  std::uint64_t granule = 1;
  std::uint64_t reaching = 1;  // what an input of `granule` bytes has become at this stage
  for (const Stage& stage : stages) {
    const std::uint64_t wanted = stage.kernel->granule_bytes(stage.params);
    const std::uint64_t factor = wanted / std::gcd(wanted, reaching);
    const auto widened = checked_product(granule, factor);
    const auto reaching_widened = checked_product(reaching, factor);
    if (!widened || !reaching_widened) {
      return std::nullopt;
    }
    const PlanOrRefusal plan = stage.kernel->plan(stage.params, *reaching_widened);
    const auto* const sizes = std::get_if<Plan>(&plan);
    if (sizes == nullptr || sizes->max_output_bytes == 0) {
      return std::nullopt;
    }
    granule = *widened;
    reaching = sizes->max_output_bytes;
  }
  return granule;
}

}  // namespace

Pipeline::Pipeline(std::string text, std::vector<Stage> stages)
    : text_(std::move(text)), stages_(std::move(stages)) {}

Pipeline Pipeline::parse(std::string_view text, const KernelRegistry& registry) {
  if (text.empty()) {
    throw PipelineError("the pipeline is empty; name at least one of the kernels: " +
                        kernel_list(registry));
  }
  std::vector<Stage> stages;
  for (const std::string_view part : split(text, '|')) {
    stages.push_back(StageParser(stages.size() + 1, part).parse(registry));
  }
  return Pipeline(std::string(text), std::move(stages));
}

std::uint64_t Pipeline::granule_bytes() const noexcept {
  return stages_.front().kernel->granule_bytes(stages_.front().params);
}

PipelinePlanOrRefusal Pipeline::plan(std::uint64_t input_bytes) const {
  if (input_bytes > kMostJobBytes) {
    return Refusal{"a job of " + std::to_string(input_bytes) + " bytes is beyond the limit of " +
                   std::to_string(kMostJobBytes) + "; send less"};
  }
  PipelinePlan result;
  std::uint64_t bytes = input_bytes;
  for (const Stage& stage : stages_) {
    Plan sizes;
    if (bytes != 0) {
      PlanOrRefusal planned = stage.kernel->plan(stage.params, bytes);
      const auto number = [&] { return "stage " + std::to_string(result.stages.size() + 1); };
      if (auto* const refusal = std::get_if<Refusal>(&planned)) {
        return Refusal{(stages_.size() == 1 ? "" : number() + ": ") + refusal->text};
      }
      sizes = std::get<Plan>(planned);
      if (const std::string why = why_too_large(sizes); !why.empty()) {
        return Refusal{number() + " (" + std::string(stage.kernel->name()) + "): " + why};
      }
    }
    bytes = sizes.max_output_bytes;
    result.output_size = std::max(result.output_size, sizes.output_size);
    result.stateful = result.stateful || sizes.state_bytes != 0;
    result.stages.push_back(sizes);
  }
  result.max_output_bytes = bytes;
  return result;
}

std::uint64_t Pipeline::largest_input_bytes(std::uint64_t capacity_bytes) const {
  const std::uint64_t step = combined_granule(stages_).value_or(granule_bytes());
  const auto accepts = [&](std::uint64_t steps) {
    return std::holds_alternative<PipelinePlan>(plan(steps * step));
  };
  const std::uint64_t most = std::min(capacity_bytes, kMostJobBytes) / step;
  if (most == 0 || accepts(most)) {
    return most * step;
  }
  // As if a refused size stood for all that are larger.
  std::uint64_t accepted = 0;
  for (std::uint64_t refused = most; refused - accepted > 1;) {
    const std::uint64_t middle = accepted + (refused - accepted) / 2;
    if (accepts(middle)) {
      accepted = middle;
    } else {
      refused = middle;
    }
  }
  // Where it does not, something larger may be found near the capacity.
  const std::uint64_t lowest = std::max(accepted, most - std::min(most, kSearchSteps));
  for (std::uint64_t steps = most - 1; steps > lowest; --steps) {
    if (accepts(steps)) {
      return steps * step;
    }
  }
  return accepted * step;
}

std::vector<std::byte> Pipeline::reference(std::span<const std::byte> input) const {
  return ReferenceRun(*this).run(input);
}

void check_tables(const Pipeline& pipeline, std::span<const StageTable> tables) {
  const std::vector<Stage>& stages = pipeline.stages();
  std::vector<bool> given(stages.size(), false);
  for (const StageTable& table : tables) {
    if (table.stage_index >= stages.size()) {
      throw PipelineError("there is a table for stage " + std::to_string(table.stage_index + 1) +
                          ", the pipeline has " + std::to_string(stages.size()) +
                          "; name one of its stages");
    }
    const Stage& stage = stages[table.stage_index];
    const std::string where = "stage " + std::to_string(table.stage_index + 1) + " (" +
                              std::string(stage.kernel->name()) + ")";
    if (given[table.stage_index]) {
      throw PipelineError(where + " has two tables; give one");
    }
    given[table.stage_index] = true;
    const std::uint64_t wanted = stage.kernel->table_bytes(stage.params);
    if (wanted == 0) {
      throw PipelineError(where + " takes no table; leave it out");
    }
    if (table.bytes.size() != wanted) {
      throw PipelineError(where + " needs a table of " + std::to_string(wanted) +
                          " bytes, this one has " + std::to_string(table.bytes.size()) + ": " +
                          std::string(stage.kernel->table_help()));
    }
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::uint64_t wanted = stages[i].kernel->table_bytes(stages[i].params);
    if (wanted != 0 && !given[i]) {
      throw PipelineError("stage " + std::to_string(i + 1) + " (" +
                          std::string(stages[i].kernel->name()) + ") needs a table of " +
                          std::to_string(wanted) +
                          " bytes: " + std::string(stages[i].kernel->table_help()));
    }
  }
}

ReferenceRun::ReferenceRun(const Pipeline& pipeline, std::span<const StageTable> tables)
    : pipeline_(pipeline), kept_(pipeline.stages().size()) {
  check_tables(pipeline, tables);
  for (const StageTable& table : tables) {
    kept_[table.stage_index].table = table.bytes;
  }
}

std::vector<std::byte> ReferenceRun::run(std::span<const std::byte> input) {
  const PipelinePlanOrRefusal planned = pipeline_.plan(input.size());
  if (const auto* const refusal = std::get_if<Refusal>(&planned)) {
    throw PipelineError(refusal->text);
  }
  std::vector<std::byte> bytes(input.begin(), input.end());
  for (std::size_t i = 0; i < kept_.size() && !bytes.empty(); ++i) {
    const Stage& stage = pipeline_.stages()[i];
    // The bytes that really reach a stage may be fewer than the bound that was planned with.
    const PlanOrRefusal sizes = stage.kernel->plan(stage.params, bytes.size());
    if (const auto* const refusal = std::get_if<Refusal>(&sizes)) {
      throw PipelineError(refusal->text);
    }
    const Plan& plan = std::get<Plan>(sizes);
    Kept& kept = kept_[i];
    if (kept.state.size() < plan.state_bytes) {
      kept.state.resize(plan.state_bytes);
    }
    std::vector<std::byte> output(plan.max_output_bytes);
    output.resize(stage.kernel->reference(
        {stage.params, bytes, output, kept.table, std::span(kept.state).first(plan.state_bytes)}));
    bytes = std::move(output);
  }
  return bytes;
}

void ReferenceRun::reset() {
  for (Kept& kept : kept_) {
    std::ranges::fill(kept.state, std::byte{});
  }
}

}  // namespace overlap
