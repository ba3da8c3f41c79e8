#include "daemon/telemetry/log_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

namespace overlap {
namespace {

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

bool is_writable_now(int descriptor) noexcept {
  pollfd request{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&request, 1, 0) == 1 && (request.revents & POLLOUT) != 0;
}

}  // namespace

LogOutput::LogOutput(int descriptor) { adopt(descriptor); }

LogOutput::LogOutput(const std::string& path) {
  constexpr mode_t kMode = 0640;
  descriptor_ = ::open(path.c_str(),
                       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, kMode);
  if (descriptor_ < 0) {
    throw_errno("cannot open the log file " + path);
  }
}

LogOutput::~LogOutput() { ::close(descriptor_); }

void LogOutput::adopt(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    throw_errno("the log's descriptor " + std::to_string(descriptor) + " is not open");
  }
  is_socket_ = S_ISSOCK(status.st_mode);
  if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    // Another user's pipe, or a /proc that is hidden: then the shared one, with a poll.
    needs_poll_ = descriptor_ < 0;
  }
  if (descriptor_ < 0) {
    descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) {
      throw_errno("cannot duplicate the log's descriptor " + std::to_string(descriptor));
    }
  }
}

bool LogOutput::write(std::string_view text) {
  pending_.erase(0, write_some(pending_));
  if (!pending_.empty()) {
    return false;
  }
  const std::size_t written = write_some(text);
  if (written == 0 && !text.empty()) {
    return false;
  }
  pending_.assign(text.substr(written));
  return true;
}

std::size_t LogOutput::write_some(std::string_view text) noexcept {
  std::size_t done = 0;
  while (done < text.size()) {
    if (needs_poll_ && !is_writable_now(descriptor_)) {
      return done;
    }
    // A pipe that polls as writable has room for PIPE_BUF bytes.
    const std::size_t piece = std::min<std::size_t>(text.size() - done, PIPE_BUF);
    const ssize_t written =
        is_socket_ ? ::send(descriptor_, text.data() + done, piece, MSG_DONTWAIT | MSG_NOSIGNAL)
                   : ::write(descriptor_, text.data() + done, piece);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return done;
    }
    done += static_cast<std::size_t>(written);
  }
  return done;
}

}  // namespace overlap
