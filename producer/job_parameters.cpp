#include "producer/job_parameters.hpp"

#include "producer/producer_error.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace overlap {
namespace {

constexpr std::uint8_t kRealType = 0;
constexpr std::uint8_t kIntegerType = 1;

std::string_view type_name(std::uint8_t type) noexcept {
  return type == kIntegerType ? "an integer" : "a real number";
}

/// @return `declared.size()` if there is none of that name
std::size_t index_of(std::string_view name, DeclaredJobParameters declared) noexcept {
  std::size_t index = 0;
  while (index < declared.size() && (name.empty() || read_text(declared[index].name) != name)) {
    ++index;
  }
  return index;
}

std::string listed(DeclaredJobParameters declared) {
  std::string list;
  for (const JobParameterEntry& entry : declared) {
    const std::string_view name = read_text(entry.name);
    if (!name.empty()) {
      list += (list.empty() ? "" : ", ") + std::string(name) + " (" +
              std::string(type_name(entry.type)) + ")";
    }
  }
  return list.empty() ? "its first kernel takes none from a job" : "a job may bring " + list;
}

void put(EncodedParameters& values, std::size_t index, const std::byte* bits) noexcept {
  values.flags |= submission_parameter_flag(index);
  std::memcpy(values.bytes.data() + index * sizeof(std::uint64_t), bits, sizeof(std::uint64_t));
}

}  // namespace

JobParameters::JobParameters(std::initializer_list<JobParameter> values)
    : count_(static_cast<std::uint32_t>(values.size())) {
  if (values.size() > kMaxJobParameters) {
    throw InvalidSubmission("the job brings " + std::to_string(values.size()) +
                            " parameters, there is room for " + std::to_string(kMaxJobParameters) +
                            "; give the others in the pipeline's text");
  }
  std::copy(values.begin(), values.end(), values_.begin());
}

EncodedParameters encode_parameters(const JobParameters& parameters,
                                    DeclaredJobParameters declared) {
  EncodedParameters encoded;
  for (const JobParameter& value : parameters.values()) {
    const std::string name(value.name());
    const std::size_t index = index_of(name, declared);
    if (index == declared.size()) {
      throw InvalidSubmission("the pipeline has no parameter '" + name + "' of a job; " +
                              listed(declared));
    }
    const std::uint8_t type = value.is_integer() ? kIntegerType : kRealType;
    if (declared[index].type != type) {
      throw InvalidSubmission("the parameter '" + name + "' is " +
                              std::string(type_name(declared[index].type)) + ", the job brings " +
                              std::string(type_name(type)) + "; " + listed(declared));
    }
    if ((encoded.flags & submission_parameter_flag(index)) != 0) {
      throw InvalidSubmission("the job brings the parameter '" + name +
                              "' twice; keep one of them; " + listed(declared));
    }
    const std::uint64_t bits = value.bits();
    put(encoded, index, reinterpret_cast<const std::byte*>(&bits));
  }
  return encoded;
}

bool translate_parameters(EncodedParameters& values, DeclaredJobParameters from,
                          DeclaredJobParameters to) noexcept {
  EncodedParameters translated;
  for (std::size_t index = 0; index < from.size(); ++index) {
    if ((values.flags & submission_parameter_flag(index)) == 0) {
      continue;
    }
    const std::size_t place = index_of(read_text(from[index].name), to);
    if (place == to.size() || to[place].type != from[index].type) {
      return false;
    }
    put(translated, place, values.bytes.data() + index * sizeof(std::uint64_t));
  }
  values = translated;
  return true;
}

}  // namespace overlap
