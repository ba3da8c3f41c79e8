#pragma once

#include "shared/control_protocol.hpp"
#include "shared/file_descriptor.hpp"
#include "shared/kernel_list.hpp"

#include <optional>
#include <vector>

namespace overlap {

/// Questions to a daemon at the other end of a socket. Each waits two seconds for an answer.
/// Restricted: one thread a socket.

/// @return empty if what answers is no overlapd, or nothing does
[[nodiscard]] std::optional<StatusReply> ask_status(const FileDescriptor& socket);

/// Every kernel and every refused file.
/// @return empty if what answers is no overlapd that lists its kernels, or nothing does; also if the
///         list has more entries than it says, or more than any daemon has
[[nodiscard]] std::optional<std::vector<ListedKernel>> ask_kernels(const FileDescriptor& socket);

}  // namespace overlap
