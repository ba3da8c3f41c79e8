#pragma once

#include "shared/control_protocol.hpp"

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace overlap {

/// One value that a job brings for a parameter of its pipeline's first kernel.
class JobParameter {
 public:
  /// A real number.
  template <std::floating_point Number>
  constexpr JobParameter(std::string_view name, Number value) noexcept
      : name_(name), bits_(std::bit_cast<std::uint64_t>(static_cast<double>(value))) {}
  /// A whole number, of a type that an i64 holds.
  template <std::integral Number>
  requires(!std::same_as<Number, bool> &&
           (std::signed_integral<Number> ||
            sizeof(Number) < sizeof(std::int64_t))) constexpr JobParameter(std::string_view name,
                                                                           Number value) noexcept
      : name_(name),
        bits_(std::bit_cast<std::uint64_t>(static_cast<std::int64_t>(value))),
        integer_(true) {}
  constexpr JobParameter() noexcept = default;

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }
  [[nodiscard]] constexpr bool is_integer() const noexcept { return integer_; }
  /// As it travels: an f64 or an i64.
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }

 private:
  std::string_view name_;
  std::uint64_t bits_ = 0;
  bool integer_ = false;
};

/// The values that a job brings: `{{"a", 2.0}, {"b", 1.0}}`. Names are not copied and have to stay
/// until the job was submitted.
class JobParameters {
 public:
  constexpr JobParameters() noexcept = default;
  /// @throws InvalidSubmission if there are more than `kMaxJobParameters`
  JobParameters(std::initializer_list<JobParameter> values);

  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::span<const JobParameter> values() const noexcept {
    return std::span(values_).first(count_);
  }

 private:
  std::uint32_t count_ = 0;
  std::array<JobParameter, kMaxJobParameters> values_{};
};

/// What a job may bring to one pipeline, as the daemon said: an empty name is no parameter.
using DeclaredJobParameters = std::span<const JobParameterEntry, kMaxJobParameters>;

/// Values as they travel in `SubmissionEntry`.
struct EncodedParameters {
  /// `submission_parameter_flag` of each that is there.
  std::uint16_t flags = 0;
  std::array<std::byte, kParamBytes> bytes{};

  friend bool operator==(const EncodedParameters&, const EncodedParameters&) = default;
};

/// @throws InvalidSubmission for an unknown name, one given twice, a value of the other type; it
///         names what there is
[[nodiscard]] EncodedParameters encode_parameters(const JobParameters& parameters,
                                                  DeclaredJobParameters declared);

/// The same values for another daemon, which may order its parameters another way.
/// @return false if that one does not have one of them; `values` is then unspecified
[[nodiscard]] bool translate_parameters(EncodedParameters& values, DeclaredJobParameters from,
                                        DeclaredJobParameters to) noexcept;

}  // namespace overlap
