#pragma once

#include "kernels/kernel.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// A file that was to bring kernels, and why it brings none.
struct RefusedKernels {
  std::string file;
  std::string reason;
};

/// The kernels that a program knows, by name. Any thread may read while none changes it.
class KernelRegistry {
 public:
  /// A registry with every built-in kernel.
  [[nodiscard]] static KernelRegistry with_builtin_kernels();

  /// @throws std::invalid_argument if the name is taken
  void add(std::unique_ptr<Kernel> kernel);

  /// Takes the place of the kernel of that name, if there is one. That is found no more, and lives
  /// on as long as the registry does: pipelines have pointers to it.
  /// @throws std::invalid_argument as `add`, but for a name that is taken
  void replace(std::unique_ptr<Kernel> kernel);

  /// Notes what was not loaded, for lists. One entry a file: a later one takes its place.
  void add_refused(RefusedKernels refused);
  /// No longer: the file has been loaded after all, or is not wanted any more.
  void forget_refused(std::string_view file);

  /// @return null if there is no such kernel
  [[nodiscard]] const Kernel* find(std::string_view name) const noexcept;

  /// In alphabetical order.
  [[nodiscard]] std::vector<const Kernel*> all() const;
  /// In the order in which they were noted.
  [[nodiscard]] const std::vector<RefusedKernels>& refused() const noexcept { return refused_; }

 private:
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<std::unique_ptr<Kernel>> retired_;
  std::vector<RefusedKernels> refused_;
};

}  // namespace overlap
