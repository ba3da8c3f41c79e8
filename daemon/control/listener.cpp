#include "daemon/control/listener.hpp"

#include "shared/control_socket.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace overlap {
namespace {

constexpr int kBacklog = 128;

std::string reason(int error_number) { return std::strerror(error_number); }

}  // namespace

Listener::Listener(std::string path, std::uint32_t mode) : path_(std::move(path)) {
  if (path_.empty() || path_.size() >= sizeof(sockaddr_un{}.sun_path)) {
    throw ListenerError("socket path '" + path_ + "' has " + std::to_string(path_.size()) +
                        " bytes, 1 to " + std::to_string(sizeof(sockaddr_un{}.sun_path) - 1) +
                        " fit; choose a shorter one with --socket");
  }
  lock();
  try {
    clear_stale_socket();
    bind_and_listen(mode);
  } catch (...) {
    ::unlink((path_ + ".lock").c_str());
    throw;
  }
}

Listener::~Listener() {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
  // While the lock is still held: whoever waits for it sees that the file has gone and tries again.
  ::unlink((path_ + ".lock").c_str());
}

void Listener::lock() {
  const std::string lock_path = path_ + ".lock";
  while (true) {
    FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock) {
      throw ListenerError("cannot open the lock file " + lock_path + ": " + reason(errno) +
                          "; choose a folder that this user may write with --socket");
    }
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
      throw ListenerError(errno == EWOULDBLOCK
                              ? "socket " + path_ +
                                    " is in use by a live daemon; stop it or choose another path "
                                    "with --socket"
                              : "cannot lock " + lock_path + ": " + reason(errno));
    }
    struct stat held {};
    struct stat named {};
    if (::fstat(lock.get(), &held) == 0 && ::stat(lock_path.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
      lock_ = std::move(lock);
      return;
    }
    // The last owner removed the file between our open and our lock.
  }
}

void Listener::clear_stale_socket() const {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return;
    }
    throw ListenerError("cannot look at " + path_ + ": " + reason(errno));
  }
  if (!S_ISSOCK(status.st_mode)) {
    throw ListenerError(path_ +
                        " exists and is no socket; move it away or choose another path with "
                        "--socket");
  }
  int error_number = 0;
  const FileDescriptor probe = connect_control_socket(path_, error_number);
  if (probe || error_number == EAGAIN) {
    throw ListenerError("socket " + path_ +
                        " is in use by a live daemon; stop it or choose another path with "
                        "--socket");
  }
  if (error_number != ECONNREFUSED) {
    throw ListenerError("socket " + path_ + " belongs to another program (" + reason(error_number) +
                        "); choose another path with --socket");
  }
  if (::unlink(path_.c_str()) != 0) {
    throw ListenerError("cannot remove the stale socket " + path_ + ": " + reason(errno));
  }
}

void Listener::bind_and_listen(std::uint32_t mode) {
  socket_ = FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) {
    throw ListenerError("cannot make a socket: " + reason(errno));
  }
  // The mode of the open file decides the mode of its name: no moment with another one, and no
  // change of the umask, which every thread would share.
  ::fchmod(socket_.get(), mode);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw ListenerError("cannot bind " + path_ + ": " + reason(errno) +
                        "; choose a folder that this user may write with --socket");
  }
  struct stat status {};
  if (::chmod(path_.c_str(), mode) != 0 || ::lstat(path_.c_str(), &status) != 0) {
    const int error_number = errno;
    ::unlink(path_.c_str());
    throw ListenerError("cannot set the mode of " + path_ + ": " + reason(error_number));
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (::listen(socket_.get(), kBacklog) != 0) {
    const int error_number = errno;
    ::unlink(path_.c_str());
    throw ListenerError("cannot listen on " + path_ + ": " + reason(error_number));
  }
}

Listener::Accepted Listener::accept() {
  FileDescriptor socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket) {
    return {std::move(socket), 0};
  }
  const bool want = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  return {{}, want ? errno : 0};
}

}  // namespace overlap
