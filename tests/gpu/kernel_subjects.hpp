#pragma once

#include "tests/kernels/awkward_input.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace overlap::test {

/// A kernel with parameters, as every test of all kernels runs it.
struct KernelSubject {
  std::string text;
  /// Of the input, and of the output unless `difference` judges that.
  ElementKind kind;
  /// Elements in one granule.
  std::size_t granule_elements;
  std::vector<std::byte> table{};
  /// Empty: every bit counts, NaN payloads aside.
  Comparison difference{};
};

[[nodiscard]] std::vector<KernelSubject> imaging_subjects();
[[nodiscard]] std::vector<KernelSubject> numeric_subjects();
[[nodiscard]] std::vector<KernelSubject> signal_subjects();

/// All of them.
[[nodiscard]] const std::vector<KernelSubject>& kernel_subjects();

}  // namespace overlap::test
