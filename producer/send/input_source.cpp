#include "producer/send/input_source.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace overlap {
namespace {

static_assert(std::endian::native == std::endian::little);
constexpr std::size_t kElementBytes = sizeof(float);

float pattern_element(std::uint64_t index) noexcept {
  const std::uint32_t mixed = static_cast<std::uint32_t>(index) * 2654435761U;
  return static_cast<float>(mixed >> 8U) * 0x1p-8F;
}

[[noreturn]] void fail(const std::string& name, const std::string& call) {
  throw InputError(name + ": " + call + ": " + std::generic_category().message(errno));
}

}  // namespace

std::size_t PatternSource::read(std::span<std::byte> into) {
  const auto bytes =
      static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), bytes_ - position_));
  std::size_t done = 0;
  while (done < bytes) {
    const float value = pattern_element((position_ + done) / kElementBytes);
    const std::size_t skip = (position_ + done) % kElementBytes;
    const std::size_t part = std::min(kElementBytes - skip, bytes - done);
    std::memcpy(into.data() + done, reinterpret_cast<const std::byte*>(&value) + skip, part);
    done += part;
  }
  position_ += bytes;
  return bytes;
}

FileSource::FileSource(FileDescriptor file, std::string name)
    : file_(std::move(file)), name_(std::move(name)) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    fail(name_, "fstat");
  }
  if (S_ISDIR(status.st_mode)) {
    throw InputError(name_ + " is a directory; name a file");
  }
  // Files of /proc say 0 and have contents all the same: those are read like a pipe.
  if (S_ISREG(status.st_mode) && status.st_size > 0) {
    start_ = std::max<off_t>(::lseek(file_.get(), 0, SEEK_CUR), 0);
    pass_bytes_ = static_cast<std::uint64_t>(std::max<off_t>(status.st_size - start_, 0));
  }
}

std::unique_ptr<FileSource> FileSource::open(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    fail(path, "cannot be opened");
  }
  return std::make_unique<FileSource>(std::move(file), path);
}

std::unique_ptr<FileSource> FileSource::standard_input() {
  FileDescriptor file(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!file) {
    fail("standard input", "cannot be used");
  }
  return std::make_unique<FileSource>(std::move(file), "standard input");
}

std::size_t FileSource::read(std::span<std::byte> into) {
  for (;;) {
    const ssize_t got = ::read(file_.get(), into.data(), into.size());
    if (got >= 0) {
      return static_cast<std::size_t>(got);
    }
    if (errno == EAGAIN) {
      pollfd watched{file_.get(), POLLIN, 0};
      ::poll(&watched, 1, -1);
    } else if (errno != EINTR) {
      fail(name_, "read");
    }
  }
}

void FileSource::rewind() {
  if (::lseek(file_.get(), start_, SEEK_SET) < 0) {
    fail(name_, "cannot be read a second time");
  }
}

bool FileSource::is_same_file(int descriptor) const noexcept {
  struct stat ours {};
  struct stat other {};
  return ::fstat(file_.get(), &ours) == 0 && ::fstat(descriptor, &other) == 0 &&
         S_ISREG(ours.st_mode) && ours.st_dev == other.st_dev && ours.st_ino == other.st_ino;
}

}  // namespace overlap
