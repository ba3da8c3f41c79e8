#pragma once

#include "kernels/kernel_registry.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// A page has no place for the tables, or more than one.
class MarkerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::string_view kTableBegin =
    "<!-- kernels: begin, written by ./dev kernel-table -->";
inline constexpr std::string_view kTableEnd = "<!-- kernels: end -->";

/// One kernel's rows: its own in the table of kernels, and one a parameter in the other.
struct KernelRows {
  std::string kernel;
  std::vector<std::string> parameters;
};

[[nodiscard]] KernelRows kernel_rows(const Kernel& kernel);

/// Both tables in Markdown, kernels in alphabetical order.
[[nodiscard]] std::string kernel_tables(const KernelRegistry& kernels);

/// The page with these tables between its two markers.
/// @throws MarkerError
[[nodiscard]] std::string with_tables(std::string_view page, std::string_view tables);

/// What of the kernels' declarations the page does not say, or says of kernels that are not there;
/// empty if they agree. Kernels of plug-ins that are not in this build are left alone, and so are
/// those that lack a backend in this build.
/// @throws MarkerError
[[nodiscard]] std::vector<std::string> differences(std::string_view page,
                                                   const KernelRegistry& kernels);

}  // namespace overlap
