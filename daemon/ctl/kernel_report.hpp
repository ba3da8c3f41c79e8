#pragma once

#include "shared/kernel_list.hpp"

#include <span>
#include <string>

namespace overlap {

/// What `overlapctl kernels` shows for people: a block for each kernel, then the files that were
/// refused. Bytes that a terminal would act on are shown as question marks.
[[nodiscard]] std::string kernel_report(std::span<const ListedKernel> kernels);

/// The same for programs: `{"kernels": [...], "refused": [...]}`.
/// @pre this build has JSON
[[nodiscard]] std::string kernel_report_json(std::span<const ListedKernel> kernels);

}  // namespace overlap
