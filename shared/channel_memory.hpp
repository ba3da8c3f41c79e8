#pragma once

#include "shared/file_descriptor.hpp"

#include <boost/interprocess/mapped_region.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace overlap {

/// Memory could not be made, sealed or mapped. The message names the call, the size and the errno.
class ChannelMemoryError : public std::runtime_error {
 public:
  ChannelMemoryError(const std::string& what, int error_number);
  [[nodiscard]] int error_number() const noexcept { return error_number_; }

 private:
  int error_number_;
};

/// A memfd of exactly `bytes`, with every page really allocated; the size is fixed from here on, the
/// other seals come later.
/// @pre so much memory is free: where no limit makes the call fail with ENOSPC or ENOMEM, the kernel
/// kills processes instead
/// @throws ChannelMemoryError
[[nodiscard]] FileDescriptor create_channel_memory(std::uint64_t bytes);

/// Forbids holes, new writable mappings and further seals, and allocates the pages of any hole that
/// was there; both existing mappings go on working.
/// @throws ChannelMemoryError if a seal is missing afterwards (needs Linux 5.1), or a page
void seal_channel_memory(const FileDescriptor& memory);

/// The bytes of `memory` as the kernel knows them.
/// @throws ChannelMemoryError
[[nodiscard]] std::uint64_t channel_memory_bytes(const FileDescriptor& memory);

/// Whether a forked child keeps the pages.
enum class InheritMapping : bool { no, yes };

/// A shared, writable mapping of a whole channel memory. Left out of core dumps: a dump of a GiB
/// would delay the hang-up that tells the peer of the death.
class ChannelMapping {
 public:
  ChannelMapping() = default;
  /// @throws ChannelMemoryError
  ChannelMapping(const FileDescriptor& memory, std::uint64_t bytes, InheritMapping inherit);

  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(region_.get_address()), region_.get_size()};
  }

 private:
  boost::interprocess::mapped_region region_;
};

}  // namespace overlap
