#pragma once

#include "kernels/kernel.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace overlap {

/// The kernels that a program knows, by name. Filled once, then read from any thread.
class KernelRegistry {
 public:
  /// A registry with every built-in kernel.
  [[nodiscard]] static KernelRegistry with_builtin_kernels();

  /// @throws std::invalid_argument if the name is taken
  void add(std::unique_ptr<Kernel> kernel);

  /// @return null if there is no such kernel
  [[nodiscard]] const Kernel* find(std::string_view name) const noexcept;

  /// In alphabetical order.
  [[nodiscard]] std::vector<const Kernel*> all() const;

 private:
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace overlap
