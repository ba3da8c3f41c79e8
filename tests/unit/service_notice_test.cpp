#include "daemon/service/service_notice.hpp"

#include "shared/file_descriptor.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

namespace overlap {
namespace {

/// Listens as a service manager does, under an abstract name.
class ServiceManager {
 public:
  ServiceManager() : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const std::string name = "overlapd-notice-" + std::to_string(::getpid());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), bytes), 0);
    ::setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  }
  ~ServiceManager() { ::unsetenv("NOTIFY_SOCKET"); }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  [[nodiscard]] std::string message() const {
    std::array<char, 512> buffer;
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return got < 0 ? std::string() : std::string(buffer.data(), static_cast<std::size_t>(got));
  }

 private:
  FileDescriptor socket_;
};

TEST(ServiceNotice, SaysReadyWithAStatusAndThenStopping) {
  if (!can_notify_service_manager()) {
    GTEST_SKIP() << "no libsystemd in this build";
  }
  const ServiceManager sut;
  notify_ready("serves host");
  EXPECT_EQ(sut.message(), "READY=1\nSTATUS=serves host");
  notify_stopping();
  EXPECT_EQ(sut.message().rfind("STOPPING=1\n", 0), 0U);
}

TEST(ServiceNotice, IsSilentWithoutAServiceManager) {
  ::unsetenv("NOTIFY_SOCKET");
  notify_ready("serves host");
  notify_stopping();
}

}  // namespace
}  // namespace overlap
