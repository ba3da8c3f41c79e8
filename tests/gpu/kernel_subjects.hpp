#pragma once

#include "tests/kernels/awkward_input.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
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
  /// Makes the input of so many elements, from a seed; empty: `awkward_input` of the kind.
  std::function<std::vector<std::byte>(std::size_t, std::uint32_t)> make_input{};
  /// Of the largest job: fewer where the reference takes long.
  std::size_t most_elements = 600'000;

  [[nodiscard]] std::vector<std::byte> input(std::size_t granules, std::uint32_t seed = 1) const {
    const std::size_t elements = granules * granule_elements;
    return make_input ? make_input(elements, seed) : awkward_input(kind, elements, seed);
  }
};

[[nodiscard]] std::vector<KernelSubject> imaging_subjects();
[[nodiscard]] std::vector<KernelSubject> numeric_subjects();
[[nodiscard]] std::vector<KernelSubject> signal_subjects();

/// All of them.
[[nodiscard]] const std::vector<KernelSubject>& kernel_subjects();

}  // namespace overlap::test
