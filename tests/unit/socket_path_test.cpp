#include "shared/socket_path.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace overlap {
namespace {

using Paths = std::vector<std::string>;

constexpr const char* kSystemSocket = "/run/overlapd/overlapd.sock";

SocketEnvironment empty_environment() {
  SocketEnvironment environment;
  environment.exists = [](const std::string&) { return false; };
  return environment;
}

TEST(DaemonSocketPath, IsTheOptionBeforeAnythingElse) {
  SocketEnvironment environment = empty_environment();
  environment.runtime_directory = "/run/here";
  environment.is_root = true;
  EXPECT_EQ(daemon_socket_path("/a.sock", environment), "/a.sock");
}

TEST(DaemonSocketPath, IsInTheFirstRuntimeDirectory) {
  SocketEnvironment environment = empty_environment();
  environment.is_root = true;
  environment.xdg_runtime_dir = "/run/user/0";
  environment.runtime_directory = "/run/one";
  EXPECT_EQ(daemon_socket_path(std::nullopt, environment), "/run/one/overlapd.sock");
  environment.runtime_directory = "/run/one:/run/two";
  EXPECT_EQ(daemon_socket_path(std::nullopt, environment), "/run/one/overlapd.sock");
}

TEST(DaemonSocketPath, IsTheSystemsForRoot) {
  SocketEnvironment environment = empty_environment();
  environment.is_root = true;
  environment.xdg_runtime_dir = "/run/user/0";
  EXPECT_EQ(daemon_socket_path(std::nullopt, environment), kSystemSocket);
}

TEST(DaemonSocketPath, IsTheUsersForEveryoneElse) {
  SocketEnvironment environment = empty_environment();
  environment.xdg_runtime_dir = "/run/user/7/";
  EXPECT_EQ(daemon_socket_path(std::nullopt, environment), "/run/user/7/overlapd.sock");
}

TEST(DaemonSocketPath, IsNowhereForAUserWithoutARuntimeDirectory) {
  EXPECT_EQ(daemon_socket_path(std::nullopt, empty_environment()), std::nullopt);
}

TEST(ClientSocketPath, IsTheOptionAndNothingElseIsTried) {
  SocketEnvironment environment = empty_environment();
  environment.overlapd_socket = "/b.sock";
  const ClientSocketPath sut = client_socket_path("/a.sock", environment);
  EXPECT_EQ(sut.path, "/a.sock");
  EXPECT_EQ(sut.tried, Paths{"/a.sock"});
}

TEST(ClientSocketPath, IsTheVariableAndNothingElseIsTried) {
  SocketEnvironment environment = empty_environment();
  environment.overlapd_socket = "/b.sock";
  environment.xdg_runtime_dir = "/run/user/7";
  environment.exists = [](const std::string&) { return true; };
  const ClientSocketPath sut = client_socket_path(std::nullopt, environment);
  EXPECT_EQ(sut.path, "/b.sock");
  EXPECT_EQ(sut.tried, Paths{"/b.sock"});
}

TEST(ClientSocketPath, IsTheUsersIfItExists) {
  SocketEnvironment environment = empty_environment();
  environment.xdg_runtime_dir = "/run/user/7";
  environment.exists = [](const std::string& path) { return path == "/run/user/7/overlapd.sock"; };
  const ClientSocketPath sut = client_socket_path(std::nullopt, environment);
  EXPECT_EQ(sut.path, "/run/user/7/overlapd.sock");
  EXPECT_EQ(sut.tried, Paths{"/run/user/7/overlapd.sock"});
}

TEST(ClientSocketPath, IsTheSystemsOtherwiseAndBothWereTried) {
  SocketEnvironment environment = empty_environment();
  environment.xdg_runtime_dir = "/run/user/7";
  const ClientSocketPath sut = client_socket_path(std::nullopt, environment);
  EXPECT_EQ(sut.path, kSystemSocket);
  EXPECT_EQ(list_tried(sut), "/run/user/7/overlapd.sock, /run/overlapd/overlapd.sock");
}

TEST(ClientSocketPath, IsTheSystemsWithoutAnyVariable) {
  const ClientSocketPath sut = client_socket_path(std::nullopt, empty_environment());
  EXPECT_EQ(sut.path, kSystemSocket);
  EXPECT_EQ(sut.tried, Paths{kSystemSocket});
}

TEST(SocketEnvironment, OfThisProcessSeesWhichFilesExist) {
  const SocketEnvironment sut = SocketEnvironment::of_this_process();
  EXPECT_TRUE(sut.exists("/proc/self/exe"));
  EXPECT_FALSE(sut.exists("/proc/self/exe/nothing"));
}

}  // namespace
}  // namespace overlap
