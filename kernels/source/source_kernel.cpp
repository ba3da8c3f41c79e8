#include "kernels/source/source_kernel.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/granule.hpp"
#include "kernels/parameter_text.hpp"
#include "kernels/source/declared_parameter.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace overlap {
namespace {

/// `cudaErrorNotSupported`, by its number: this file knows no CUDA.
constexpr int kNotSupported = 801;
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

std::uint64_t granule_of(const SourceDeclaration& declaration) noexcept {
  return declaration.elements ? source_type_bytes(declaration.elements->input)
                              : declaration.batch.granule_bytes;
}

SourceOutput output_of(const SourceDeclaration& declaration) noexcept {
  return declaration.elements ? SourceOutput{source_type_bytes(declaration.elements->output),
                                             source_type_bytes(declaration.elements->input), 0}
                              : declaration.batch.output;
}

PlanOrRefusal plan_alone(const SourceDeclaration& declaration, std::uint64_t input_bytes) {
  const std::uint64_t granule = granule_of(declaration);
  if (!fits_granule(input_bytes, granule)) {
    return refuse_misfit(
        declaration.name,
        declaration.elements
            ? std::string(source_type_name(declaration.elements->input)) + " element"
            : "granule of " + declaration.file,
        input_bytes, granule);
  }
  const SourceOutput output = output_of(declaration);
  Plan plan;
  if (output.fixed_bytes != 0) {
    plan.max_output_bytes = input_bytes == 0 ? 0 : output.fixed_bytes;
  } else if (input_bytes > kLargest / output.numerator) {
    return Refusal{"the output of " + declaration.name + " for " + std::to_string(input_bytes) +
                   " bytes does not fit 64 bits; send less"};
  } else {
    plan.max_output_bytes = input_bytes * output.numerator / output.denominator;
  }
  plan.paths = Path::copy | Path::gather;
  if (declaration.elements || declaration.batch.is_mapped) {
    plan.paths |= static_cast<std::uint8_t>(Path::mapped);
  }
  return plan;
}

bool same_bits(overlap_param_value a, overlap_param_value b) noexcept {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// What is different, in words; empty if nothing is.
std::string difference(const SourceParameter& here, const Parameter& there) {
  if (here.name != there.name) {
    return "is called '" + std::string(there.name) + "' there";
  }
  if (here.type != there.type || !std::ranges::equal(here.choices, there.choices)) {
    return "has another type or other choices there";
  }
  if (!same_bits(here.default_value, there.default_value)) {
    return "has another default there";
  }
  if (here.type != ParameterType::choice &&
      (here.minimum != there.minimum || here.maximum != there.maximum)) {
    return "has another range there: " + describe_values(there);
  }
  if (here.unit != there.unit || here.is_per_job != there.per_job) {
    return "has another unit there, or another say in jobs";
  }
  return {};
}

/// The plan of both, or why there is none: the sizes are the same or the job is refused.
PlanOrRefusal plan_joined(const SourceDeclaration& declaration, const Kernel& host,
                          ParameterView params, std::uint64_t input_bytes) {
  PlanOrRefusal here = plan_alone(declaration, input_bytes);
  PlanOrRefusal there = host.plan(params, input_bytes);
  if (std::holds_alternative<Refusal>(here) || std::holds_alternative<Refusal>(there)) {
    return std::holds_alternative<Refusal>(here) ? here : there;
  }
  const Plan& source = std::get<Plan>(here);
  Plan& plan = std::get<Plan>(there);
  if (plan.max_output_bytes != source.max_output_bytes || plan.output_size != OutputSize::known ||
      plan.state_bytes != 0 || host.table_bytes(params) != declaration.batch.table_bytes) {
    return Refusal{declaration.name + ": " + declaration.file + " makes " +
                   std::to_string(source.max_output_bytes) + " bytes of " +
                   std::to_string(input_bytes) + ", " + std::string(host.origin()) +
                   " makes another size, keeps state or wants another table; make them agree"};
  }
  plan.paths = source.paths;
  return there;
}

}  // namespace

std::optional<std::string> why_not_joined(const SourceDeclaration& declaration,
                                          const Kernel& host) {
  const std::string where = "kernel '" + declaration.name + "' of " + std::string(host.origin());
  if (!host.has_host() || host.has_cuda()) {
    return "the name is taken: " + where + " is another kernel; choose another name";
  }
  const std::span<const Parameter> there = host.parameters();
  if (there.size() != declaration.parameters.size()) {
    return where + " has " + std::to_string(there.size()) + " parameters, this file declares " +
           std::to_string(declaration.parameters.size()) + "; declare the same";
  }
  ParameterValues defaults;
  for (std::size_t index = 0; index < there.size(); ++index) {
    const std::string what = difference(declaration.parameters[index], there[index]);
    if (!what.empty()) {
      return "parameter '" + declaration.parameters[index].name + "' " + what + ": " + where +
             " has to declare the same";
    }
    defaults.push_back(there[index].default_value);
  }
  if (host.granule_bytes(defaults) != granule_of(declaration)) {
    return where + " takes granules of " + std::to_string(host.granule_bytes(defaults)) +
           " bytes, this file of " + std::to_string(granule_of(declaration));
  }
  const PlanOrRefusal planned = plan_joined(declaration, host, defaults, granule_of(declaration));
  if (const auto* const refused = std::get_if<Refusal>(&planned)) {
    return refused->text;
  }
  return std::nullopt;
}

SourceKernel::SourceKernel(SourceDeclaration declaration, std::unique_ptr<const SourceCode> code,
                           const Kernel* host)
    : declaration_(std::move(declaration)), code_(std::move(code)), host_(host) {
  for (const SourceParameter& parameter : declaration_.parameters) {
    choices_.emplace_back(parameter.choices.begin(), parameter.choices.end());
  }
  for (std::size_t index = 0; index < choices_.size(); ++index) {
    parameters_.push_back(borrow_parameter(declaration_.parameters[index], choices_[index]));
  }
}

std::uint64_t SourceKernel::table_bytes(ParameterView /*params*/) const noexcept {
  return declaration_.batch.table_bytes;
}

std::uint64_t SourceKernel::granule_bytes(ParameterView params) const noexcept {
  return host_ != nullptr ? host_->granule_bytes(params) : granule_of(declaration_);
}

PlanOrRefusal SourceKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  return host_ != nullptr ? plan_joined(declaration_, *host_, params, input_bytes)
                          : plan_alone(declaration_, input_bytes);
}

std::optional<Refusal> SourceKernel::prepare(ParameterView params, std::uint64_t input_bytes,
                                             bool on_gpu) const {
  return host_ != nullptr && !on_gpu ? host_->prepare(params, input_bytes, on_gpu) : std::nullopt;
}

void SourceKernel::run(const overlap_batch& batch) const {
  if (host_ != nullptr) {
    return host_->run(batch);
  }
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    *item_at(batch, index).status = OVERLAP_ITEM_FAILED;
  }
}

int SourceKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return code_ != nullptr ? code_->launch(batch, stream) : kNotSupported;
}

std::uint64_t SourceKernel::reference(const ReferenceJob& job) const {
  if (host_ != nullptr) {
    return host_->reference(job);
  }
  throw NoReference("kernel '" + declaration_.name + "' of " + declaration_.file +
                    " has no reference to compare with");
}

}  // namespace overlap
