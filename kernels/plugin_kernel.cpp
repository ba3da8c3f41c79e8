#include "kernels/plugin_kernel.hpp"

#include "kernels/granule.hpp"
#include "kernels/kernel_limits.hpp"
#include "kernels/parameter_text.hpp"
#include "kernels/plugin_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace overlap {
namespace {

constexpr std::size_t kRefusalBytes = 512;
/// `cudaErrorNotSupported`, which code without CUDA's headers cannot name.
constexpr int kNotSupported = 801;

/// Where a field ends: a structure of fewer bytes lacks it.
#define OVERLAP_END_OF(type, field) (offsetof(type, field) + sizeof(type::field))

constexpr std::size_t kLeastKernelBytes = OVERLAP_END_OF(overlap_kernel, plan);
constexpr std::size_t kTableBytesEnd = OVERLAP_END_OF(overlap_kernel, table_bytes);
constexpr std::size_t kPrepareEnd = OVERLAP_END_OF(overlap_kernel, prepare);
constexpr std::size_t kRunEnd = OVERLAP_END_OF(overlap_kernel, run);
constexpr std::size_t kLaunchEnd = OVERLAP_END_OF(overlap_kernel, launch);
constexpr std::size_t kLeastParameterBytes = OVERLAP_END_OF(overlap_parameter, choice_count);

#undef OVERLAP_END_OF

/// The largest f64 that is a 64-bit integer.
constexpr double kLargestInteger = 9223372036854774784.0;
constexpr double kSmallestInteger = -9223372036854775808.0;

std::string number(double value) {
  return format_value({.name = "",
                       .type = ParameterType::real,
                       .default_value = {},
                       .minimum = 0,
                       .maximum = 0,
                       .unit = "",
                       .help = "",
                       .choices = {}},
                      {.f64 = value});
}

/// A text that a plug-in's function wrote into a buffer of ours.
std::string_view text_in(const std::array<char, kRefusalBytes>& buffer) {
  const auto end = std::find(buffer.begin(), buffer.end(), '\0');
  return {buffer.data(), static_cast<std::size_t>(end - buffer.begin())};
}

/// Empty if range and default of a number are fine.
std::string why_not_range(const Parameter& parameter) {
  const double low = parameter.minimum;
  const double high = parameter.maximum;
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    return "has the range " + number(low) + " to " + number(high) +
           "; both ends must be finite (-DBL_MAX to DBL_MAX is any number), the lower one first";
  }
  if (parameter.type == ParameterType::integer) {
    if (low < kSmallestInteger || high > kLargestInteger || low != std::floor(low) ||
        high != std::floor(high)) {
      return "has the range " + number(low) + " to " + number(high) +
             "; an integer's ends are whole numbers from -2^63 to 2^63 - 1024";
    }
    const auto value = static_cast<long double>(parameter.default_value.i64);
    if (value < static_cast<long double>(low) || value > static_cast<long double>(high)) {
      return "has the default " + std::to_string(parameter.default_value.i64) +
             ", which is out of its range";
    }
    return {};
  }
  const double value = parameter.default_value.f64;
  if (!(value >= low && value <= high)) {
    return "has the default " + number(value) + ", which is out of its range";
  }
  return {};
}

}  // namespace

PluginKernel::PluginKernel(const overlap_kernel& declared, std::string origin)
    : declared_(&declared), origin_(std::move(origin)) {
  const std::uint32_t bytes = declared.struct_bytes;
  if (bytes < kLeastKernelBytes) {
    throw PluginError("the structure of a kernel has " + std::to_string(bytes) +
                      " bytes, at least " + std::to_string(kLeastKernelBytes) +
                      " are needed; set struct_bytes to sizeof(overlap_kernel)");
  }
  if (!is_plain_name(declared.name, kMostNameBytes)) {
    throw PluginError("the kernel name " + quoted(bounded(declared.name, kMostLineBytes)) +
                      " cannot be used; names are 1 to 31 of a-z, 0-9 and _");
  }
  name_ = keep(declared.name, "name", kMostNameBytes);
  summary_ = keep(declared.summary, "summary", kMostLineBytes);
  table_help_ = keep(declared.table_help, "table_help", kMostLineBytes);
  if (declared.granule_bytes == nullptr || declared.plan == nullptr) {
    fail(std::string("lacks the function ") +
         (declared.plan == nullptr ? "plan" : "granule_bytes"));
  }
  table_bytes_ = bytes < kTableBytesEnd ? nullptr : declared.table_bytes;
  prepare_ = bytes < kPrepareEnd ? nullptr : declared.prepare;
  run_ = bytes < kRunEnd ? nullptr : declared.run;
  launch_ = bytes < kLaunchEnd ? nullptr : declared.launch;
  if (run_ == nullptr && launch_ == nullptr) {
    fail("has neither a host nor a CUDA implementation; give it run, launch or both");
  }

  if (declared.param_count > kMostParameters) {
    fail("has " + std::to_string(declared.param_count) + " parameters, the limit is " +
         std::to_string(kMostParameters));
  }
  const std::uint32_t stride = declared.param_stride_bytes;
  if (declared.param_count != 0 && (declared.params == nullptr || stride < kLeastParameterBytes ||
                                    stride % alignof(overlap_parameter) != 0)) {
    fail("has parameters " + std::string(declared.params == nullptr ? "at null" : "of ") +
         (declared.params == nullptr ? "" : std::to_string(stride) + " bytes each") +
         "; set param_stride_bytes to sizeof(overlap_parameter)");
  }
  const auto* const first = reinterpret_cast<const std::byte*>(declared.params);
  parameters_.reserve(declared.param_count);
  for (std::uint32_t index = 0; index < declared.param_count; ++index) {
    read_parameter(*reinterpret_cast<const overlap_parameter*>(first + std::size_t{index} *
                                                                           std::size_t{stride}));
  }
  if (std::ranges::count_if(parameters_, &Parameter::per_job) >
      std::ptrdiff_t{kMostPerJobParameters}) {
    fail("lets a job bring more than " + std::to_string(kMostPerJobParameters) + " parameters");
  }
  ParameterValues defaults;
  for (const Parameter& parameter : parameters_) {
    defaults.push_back(parameter.default_value);
  }
  if (declared_->granule_bytes(declared_, defaults.data()) == 0) {
    fail("has elements of 0 bytes by default; granule_bytes is at least 1");
  }
}

std::string_view PluginKernel::keep(const char* text, std::string_view what,
                                    std::size_t most_bytes) {
  const std::string copy = bounded(text, most_bytes + 1);
  if (copy.size() > most_bytes || !is_printable(copy)) {
    throw PluginError("kernel " + quoted(name_) + " has the " + std::string(what) + " " +
                      quoted(copy) + "; it takes one printable line of at most " +
                      std::to_string(most_bytes) + " bytes");
  }
  text_bytes_ += copy.size() + 1;
  if (text_bytes_ > kMostKernelTextBytes) {
    fail("has texts of more than " + std::to_string(kMostKernelTextBytes) +
         " bytes; shorten the help");
  }
  return texts_.emplace_back(copy);
}

void PluginKernel::read_parameter(const overlap_parameter& declared) {
  if (!is_plain_name(declared.name, kMostNameBytes)) {
    fail("has the parameter name " + quoted(bounded(declared.name, kMostLineBytes)) +
         "; names are 1 to 31 of a-z, 0-9 and _");
  }
  Parameter parameter{};
  parameter.name = keep(declared.name, "parameter name", kMostNameBytes);
  const auto wrong = [&](const std::string& what) {
    fail("has the parameter '" + std::string(parameter.name) + "', which " + what);
  };
  if (std::ranges::find(parameters_, parameter.name, &Parameter::name) != parameters_.end()) {
    wrong("is declared twice");
  }
  if (declared.type > OVERLAP_CHOICE) {
    wrong("has the unknown type " + std::to_string(declared.type) +
          "; it is real (0), integer (1) or choice (2)");
  }
  parameter.type = static_cast<ParameterType>(declared.type);
  if ((declared.flags & ~OVERLAP_PARAMETER_PER_JOB) != 0) {
    wrong("has the unknown flags " + std::to_string(declared.flags & ~OVERLAP_PARAMETER_PER_JOB));
  }
  parameter.per_job = declared.flags != 0;
  parameter.default_value = declared.default_value;
  parameter.unit = keep(declared.unit, "unit", kMostNameBytes);
  parameter.help = keep(declared.help, "help", kMostLineBytes);
  if (parameter.type != ParameterType::choice) {
    parameter.minimum = declared.minimum;
    parameter.maximum = declared.maximum;
    if (const std::string why = why_not_range(parameter); !why.empty()) {
      wrong(why);
    }
    parameters_.push_back(parameter);
    return;
  }
  if (parameter.per_job) {
    wrong("is a choice, which a job cannot bring");
  }
  if (declared.choices == nullptr || declared.choice_count == 0 ||
      declared.choice_count > kMostChoices) {
    wrong("has " + std::to_string(declared.choice_count) + " choices" +
          (declared.choices == nullptr ? " at null" : "") + "; it takes 1 to " +
          std::to_string(kMostChoices));
  }
  std::vector<std::string_view>& choices = choices_.emplace_back();
  for (std::uint32_t index = 0; index < declared.choice_count; ++index) {
    const std::string_view choice = keep(declared.choices[index], "choice", kMostNameBytes);
    if (choice.empty() || choice.find_first_of(" ,|=:'") != std::string_view::npos ||
        std::ranges::find(choices, choice) != choices.end()) {
      wrong("has the choice " + quoted(choice) +
            ", which is empty, given twice, or cannot be written in a pipeline");
    }
    choices.push_back(choice);
  }
  parameter.choices = choices;
  if (parameter.default_value.choice_index >= choices.size()) {
    wrong("has choice number " + std::to_string(parameter.default_value.choice_index) +
          " as its default, and there are " + std::to_string(choices.size()));
  }
  parameters_.push_back(parameter);
}

void PluginKernel::fail(const std::string& what) const {
  throw PluginError("kernel '" + std::string(name_) + "' " + what);
}

Refusal PluginKernel::refusal(std::string_view text, std::string_view otherwise) const {
  return Refusal{std::string(name_) + ": " +
                 (text.empty() ? std::string(otherwise) : printable(text))};
}

std::uint64_t PluginKernel::table_bytes(ParameterView params) const noexcept {
  return table_bytes_ == nullptr ? 0 : table_bytes_(declared_, params.data());
}

std::uint64_t PluginKernel::granule_bytes(ParameterView params) const noexcept {
  // Whoever divides by it must not find a 0; `plan` refuses such parameters.
  return std::max<std::uint64_t>(declared_->granule_bytes(declared_, params.data()), 1);
}

PlanOrRefusal PluginKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const std::uint64_t granule = declared_->granule_bytes(declared_, params.data());
  if (granule == 0 || granule > kMostJobBytes) {
    return refusal(
        {}, "with these parameters an element would have " + std::to_string(granule) + " bytes");
  }
  if (!fits_granule(input_bytes, granule)) {
    return refuse_misfit(name_, "element", input_bytes, granule);
  }
  overlap_plan planned{};
  planned.struct_bytes = sizeof planned;
  std::array<char, kRefusalBytes> text{};
  if (declared_->plan(declared_, params.data(), input_bytes, &planned, text.data(), text.size()) !=
      0) {
    return refusal(text_in(text), "a job of " + std::to_string(input_bytes) + " bytes cannot run");
  }
  if (planned.output_size > OVERLAP_OUTPUT_UP_TO || planned.max_output_bytes > kMostJobBytes ||
      planned.workspace_bytes > kMostJobBytes || planned.state_bytes > kMostJobBytes) {
    return refusal({}, "its plan for " + std::to_string(input_bytes) +
                           " bytes makes no sense: output " +
                           std::to_string(planned.max_output_bytes) + " bytes (size rule " +
                           std::to_string(planned.output_size) + "), workspace " +
                           std::to_string(planned.workspace_bytes) + ", state " +
                           std::to_string(planned.state_bytes));
  }
  constexpr std::uint32_t kKnownPaths =
      OVERLAP_PATH_COPY | OVERLAP_PATH_MAPPED | OVERLAP_PATH_GATHER;
  Plan plan;
  plan.max_output_bytes = planned.max_output_bytes;
  plan.output_size = static_cast<OutputSize>(planned.output_size);
  plan.workspace_bytes = planned.workspace_bytes;
  plan.state_bytes = planned.state_bytes;
  plan.paths = static_cast<std::uint8_t>((planned.paths & kKnownPaths) | OVERLAP_PATH_COPY);
  return plan;
}

std::optional<Refusal> PluginKernel::prepare(ParameterView params, std::uint64_t input_bytes,
                                             bool on_gpu) const {
  std::array<char, kRefusalBytes> text{};
  if (prepare_ == nullptr || prepare_(declared_, params.data(), input_bytes, on_gpu ? 1 : 0,
                                      text.data(), text.size()) == 0) {
    return std::nullopt;
  }
  return refusal(text_in(text), "it cannot be prepared, and does not say why");
}

void PluginKernel::run(const overlap_batch& batch) const { run_(declared_, &batch); }

int PluginKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_ == nullptr ? kNotSupported : launch_(declared_, &batch, stream);
}

std::uint64_t PluginKernel::reference(const ReferenceJob& /*job*/) const {
  throw NoReference("kernel '" + std::string(name_) + "' comes from " + origin_ +
                    " and has no reference to hold its results against");
}

}  // namespace overlap
