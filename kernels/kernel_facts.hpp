#pragma once

#include "kernels/kernel.hpp"

#include <cstdint>

namespace overlap {

/// The value of every parameter that is not named. Thread safety: any.
[[nodiscard]] ParameterValues default_values(const Kernel& kernel);

/// What a kernel is like, for lists: as its plan for the smallest job with default parameters says.
struct KernelFacts {
  /// Jobs of a channel depend on the ones before them.
  bool is_stateful = false;
  /// A channel has to bring a table.
  bool takes_table = false;
  OutputSize output_size = OutputSize::known;
  /// `Path` bits.
  std::uint8_t paths = static_cast<std::uint8_t>(Path::copy);
};

/// Thread safety: any.
[[nodiscard]] KernelFacts facts_of(const Kernel& kernel);

}  // namespace overlap
