// Clients that find no daemon, may not speak to it, or find somebody else in its place.

#include "shared/control_socket.hpp"
#include "tests/process/process_test.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/says.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace overlap::testing {
namespace {

namespace fs = std::filesystem;

struct DaemonAbsence : ProcessTest {
  /// Answers whatever is sent first with this. @return whether there was anybody
  [[nodiscard]] static bool answer_one(const FileDescriptor& listener, std::string_view text) {
    constexpr int kPatienceMs = 1000 * static_cast<int>(kPatience.count());
    pollfd waiting{listener.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kPatienceMs) != 1) {
      return false;
    }
    const FileDescriptor client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    waiting.fd = client.get();
    if (!client || ::poll(&waiting, 1, kPatienceMs) != 1) {
      return false;
    }
    std::array<char, 16> greeting;
    return ::recv(client.get(), greeting.data(), greeting.size(), 0) > 0 &&
           send_packet(client, std::as_bytes(std::span(text)));
  }
};

TEST_F(DaemonAbsence, NamesEveryPathThatWasTried) {
  const std::string system_socket = "/run/overlapd/overlapd.sock";
  if (fs::exists(system_socket)) {
    GTEST_SKIP() << "this machine has a daemon at " << system_socket;
  }
  const std::vector<std::string> environment{"OVERLAPD_SOCKET", "XDG_RUNTIME_DIR=" + path("run")};
  const Finished sender = run(
      {.command = {program_path("overlap-send"), "--kernel", "copy"}, .environment = environment});
  EXPECT_EQ(sender.exit_code, 3);
  EXPECT_TRUE(says(sender.errors, {socket_path(), system_socket, "start overlapd", "--socket"}));
  const Finished control =
      run({.command = {program_path("overlapctl"), "status"}, .environment = environment});
  EXPECT_EQ(control.exit_code, 3);
  EXPECT_TRUE(says(control.errors, {socket_path(), system_socket, "start overlapd", "--socket"}));
}

TEST_F(DaemonAbsence, IsToldByAStaleSocket) {
  DaemonProcess daemon = start_daemon();
  daemon.kill();
  ASSERT_TRUE(fs::exists(socket_path()));
  const Finished sut = send({"--kernel", "copy"});
  EXPECT_EQ(sut.exit_code, 3);
  EXPECT_TRUE(says(sut.errors, {socket_path(), "nobody listens", "start overlapd"}));
}

TEST_F(DaemonAbsence, IsToldFromALackOfPermission) {
  DaemonProcess daemon = start_daemon({"--socket-mode", "0600"});
  std::vector<std::string> command{program_path("overlap-send"), "--socket", socket_path(),
                                   "--kernel", "copy"};
  if (::geteuid() == 0) {
    // Another user, who can reach the socket's folder and the program.
    fs::permissions(path(""), fs::perms(0755));
    fs::copy_file(command[0], path("overlap-send"));
    command[0] = path("overlap-send");
    command.insert(command.begin(),
                   {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
    std::vector<std::string> probe(command.begin(), command.begin() + 5);
    probe.emplace_back("--help");
    const Finished probed = run({.command = probe});
    if (probed.exit_code != 0) {
      GTEST_SKIP() << "uid 65534 cannot run programs here: " << probed.errors;
    }
  } else {
    ASSERT_EQ(::chmod(socket_path().c_str(), 0), 0);
  }
  const Finished sut = run({.command = command});
  EXPECT_EQ(sut.exit_code, 3);
  EXPECT_TRUE(says(sut.errors, {socket_path(), "no permission", "join its group"}));
}

TEST_F(DaemonAbsence, IsToldByASocketOfAnotherKind) {
  const FileDescriptor listener = listen_at(socket_path(), SOCK_STREAM);
  const Finished sut = send({"--kernel", "copy"});
  EXPECT_EQ(sut.exit_code, 3);
  EXPECT_TRUE(says(sut.errors, {socket_path(), "not an overlapd socket"}));
}

TEST_F(DaemonAbsence, IsToldByAFileThatIsNoSocket) {
  write_file(socket_path(), "notes");
  const Finished sut = send({"--kernel", "copy"});
  EXPECT_EQ(sut.exit_code, 3);
  EXPECT_TRUE(says(sut.errors, {socket_path(), "not an overlapd socket"}));
  EXPECT_EQ(read_file(socket_path()), "notes");
}

TEST_F(DaemonAbsence, IsToldByAStrangersAnswer) {
  const FileDescriptor listener = listen_at(socket_path(), SOCK_SEQPACKET);
  ChildProgram sender = start_send({"--kernel", "copy"});
  ASSERT_TRUE(answer_one(listener, "220 mail.example.org ready\r\n"));
  EXPECT_EQ(sender.exit_code(), 3);
  EXPECT_TRUE(says(sender.errors(), {socket_path(), "not an overlapd socket"}));
  ChildProgram control(
      {.command = {program_path("overlapctl"), "--socket", socket_path(), "status"}});
  ASSERT_TRUE(answer_one(listener, std::string(9000, 'x')));
  EXPECT_EQ(control.exit_code(), 3);
  EXPECT_TRUE(says(control.errors(), {socket_path(), "does not answer as overlapd "}));
}

}  // namespace
}  // namespace overlap::testing
