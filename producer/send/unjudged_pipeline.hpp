#pragma once

#include "kernels/kernel_registry.hpp"
#include "kernels/pipeline.hpp"

#include <string>

namespace overlap {

/// The pipeline of a text. Where it names a kernel that this program does not have, a plug-in's of
/// the daemon, it is the daemon's to judge: every size is taken here, and there is no reference.
/// @param verify whether results are to be held against a reference
/// @throws UsageError if they are and a kernel is not known here
/// @throws PipelineError as `Pipeline::parse`, where every kernel is known
[[nodiscard]] Pipeline read_pipeline(const std::string& text, const KernelRegistry& kernels,
                                     bool verify);

}  // namespace overlap
