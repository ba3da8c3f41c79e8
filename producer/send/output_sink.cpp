#include "producer/send/output_sink.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace overlap {
namespace {

[[noreturn]] void fail(const std::string& name, const std::string& call) {
  const int error_number = errno;
  std::string text = name + ": " + call + ": " + std::generic_category().message(error_number);
  if (error_number == EPIPE) {
    text += "; whoever read the output has gone";
  } else if (error_number == ENOSPC) {
    text += "; make room or write elsewhere";
  }
  throw OutputError(text);
}

}  // namespace

OutputSink OutputSink::open(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    fail(path, "cannot be opened");
  }
  return {std::move(file), path};
}

OutputSink OutputSink::standard_output() {
  FileDescriptor file(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!file) {
    fail("standard output", "cannot be used");
  }
  return {std::move(file), "standard output"};
}

void OutputSink::begin() {
  struct stat status {};
  if (::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode) &&
      ::ftruncate(file_.get(), 0) != 0) {
    fail(name_, "cannot be emptied");
  }
}

void OutputSink::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd watched{file_.get(), POLLOUT, 0};
      ::poll(&watched, 1, -1);
    } else if (errno != EINTR) {
      fail(name_, "write");
    }
  }
}

}  // namespace overlap
