#include "shared/channel_memory.hpp"

#include "shared/byte_size.hpp"

#include <boost/interprocess/detail/os_file_functions.hpp>
#include <boost/interprocess/exceptions.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <cerrno>
#include <system_error>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace overlap {
namespace {

/// Of `st_blocks`, whatever the file system.
constexpr std::uint64_t kBlockBytes = 512;
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kSeals = kSizeSeals | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

/// Boost.Interprocess maps anything that hands out a mapping handle.
class DescriptorMappable {
 public:
  explicit DescriptorMappable(int fd) noexcept : fd_(fd) {}
  [[nodiscard]] boost::interprocess::mapping_handle_t get_mapping_handle() const noexcept {
    return boost::interprocess::ipcdetail::mapping_handle_from_file_handle(fd_);
  }

 private:
  int fd_;
};

/// fallocate, not ftruncate: a later touch of a page that could not be had would be a SIGBUS.
void allocate_pages(const FileDescriptor& memory, std::uint64_t bytes) {
  int result = 0;
  do {
    result = ::fallocate(memory.get(), 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    throw ChannelMemoryError("fallocate of " + format_bytes(bytes), errno);
  }
}

}  // namespace

ChannelMemoryError::ChannelMemoryError(const std::string& what, int error_number)
    : std::runtime_error(what + ": " + std::generic_category().message(error_number)),
      error_number_(error_number) {}

FileDescriptor create_channel_memory(std::uint64_t bytes) {
  FileDescriptor memory(::memfd_create("overlap-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) {
    throw ChannelMemoryError("memfd_create", errno);
  }
  allocate_pages(memory, bytes);
  // Now, not with the other seals: the producer holds the descriptor in between, and a memory that it
  // had cut short would be a SIGBUS for the daemon.
  if (::fcntl(memory.get(), F_ADD_SEALS, kSizeSeals) != 0) {
    throw ChannelMemoryError("fcntl F_ADD_SEALS of the size", errno);
  }
  return memory;
}

void seal_channel_memory(const FileDescriptor& memory) {
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0) {
    throw ChannelMemoryError("fcntl F_ADD_SEALS (needs Linux 5.1)", errno);
  }
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) {
    throw ChannelMemoryError("fcntl F_GET_SEALS: a seal is missing", seals < 0 ? errno : EPERM);
  }
  // Holes that were punched before the seals; there can be no new ones. Walking all pages takes tens
  // of milliseconds a GiB, so only where one is missing.
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0) {
    throw ChannelMemoryError("fstat", errno);
  }
  if (static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes <
      static_cast<std::uint64_t>(status.st_size)) {
    allocate_pages(memory, static_cast<std::uint64_t>(status.st_size));
  }
}

std::uint64_t channel_memory_bytes(const FileDescriptor& memory) {
  struct stat status {};
  if (::fstat(memory.get(), &status) != 0) {
    throw ChannelMemoryError("fstat", errno);
  }
  return static_cast<std::uint64_t>(status.st_size);
}

ChannelMapping::ChannelMapping(const FileDescriptor& memory, std::uint64_t bytes,
                               InheritMapping inherit) {
  try {
    region_ = boost::interprocess::mapped_region(DescriptorMappable(memory.get()),
                                                 boost::interprocess::read_write, 0, bytes);
  } catch (const boost::interprocess::interprocess_exception& error) {
    throw ChannelMemoryError("mmap of " + format_bytes(bytes), error.get_native_error());
  }
  if (::madvise(region_.get_address(), region_.get_size(), MADV_DONTDUMP) != 0) {
    throw ChannelMemoryError("madvise MADV_DONTDUMP of " + format_bytes(bytes), errno);
  }
  if (inherit == InheritMapping::no &&
      ::madvise(region_.get_address(), region_.get_size(), MADV_DONTFORK) != 0) {
    throw ChannelMemoryError("madvise MADV_DONTFORK of " + format_bytes(bytes), errno);
  }
}

}  // namespace overlap
