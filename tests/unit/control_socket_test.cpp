#include "shared/control_socket.hpp"

#include "shared/control_protocol.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace overlap {
namespace {

using Outcome = Packet::Outcome;

std::vector<std::byte> bytes_of(std::size_t count, unsigned seed = 1) {
  std::vector<std::byte> bytes(count);
  std::ranges::generate(bytes, [&seed] { return static_cast<std::byte>(seed = seed * 29 + 7); });
  return bytes;
}

std::ptrdiff_t open_descriptor_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Both ends of a connection.
struct Pair {
  explicit Pair(int type = SOCK_SEQPACKET) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    near = FileDescriptor(ends[0]);
    far = FileDescriptor(ends[1]);
  }
  FileDescriptor near;
  FileDescriptor far;
};

/// Sends as a stranger would: any number of descriptors beside any bytes.
ssize_t send_raw(const FileDescriptor& socket, std::span<std::byte> bytes, int fd,
                 std::size_t count) {
  std::vector<std::byte> control(CMSG_SPACE(count * sizeof(int)));
  iovec what{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &what;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(count * sizeof(int));
  const std::vector<int> descriptors(count, fd);
  std::memcpy(CMSG_DATA(part), descriptors.data(), count * sizeof(int));
  return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

TEST(ControlSocket, CarriesPacketsBothWaysWithTheirBorders) {
  const Pair sut;
  for (const std::size_t count : {std::size_t{1}, std::size_t{16}, kMaxMessageBytes}) {
    EXPECT_TRUE(send_packet(sut.near, bytes_of(count)));
    EXPECT_TRUE(send_packet(sut.far, bytes_of(count, 2)));
  }
  for (const std::size_t count : {std::size_t{1}, std::size_t{16}, kMaxMessageBytes}) {
    const Packet there = receive_packet(sut.far);
    EXPECT_EQ(there.outcome, Outcome::received);
    EXPECT_EQ(there.bytes, bytes_of(count));
    EXPECT_EQ(receive_packet(sut.near).bytes, bytes_of(count, 2));
  }
}

TEST(ControlSocket, SaysEmptyWithoutWaitingWhenThereIsNothing) {
  const Pair sut;
  EXPECT_EQ(receive_packet(sut.near).outcome, Outcome::empty);
  EXPECT_EQ(receive_packet_with_descriptors(sut.near).outcome, Outcome::empty);
}

TEST(ControlSocket, ViewsAMessageAsItsBytes) {
  const auto message = make_message<MappedNotice>(MessageType::mapped);
  const auto sut = message_bytes(message);
  ASSERT_EQ(sut.size(), sizeof message);
  EXPECT_EQ(std::memcmp(sut.data(), "OVLC", 4), 0);
}

TEST(ControlSocket, PassesDescriptorsToWhomeverAsksForThem) {
  const Pair sut;
  for (std::size_t count = 1; count <= 4; ++count) {
    const FileDescriptor original = make_eventfd();
    const std::vector<int> numbers(count, original.get());
    EXPECT_TRUE(send_packet(sut.near, bytes_of(8), numbers));
    const Packet packet = receive_packet_with_descriptors(sut.far);
    EXPECT_EQ(packet.outcome, Outcome::received);
    EXPECT_EQ(packet.bytes, bytes_of(8));
    ASSERT_EQ(packet.descriptors.size(), count);
    for (const FileDescriptor& passed : packet.descriptors) {
      EXPECT_NE(passed.get(), original.get());
      EXPECT_NE(::fcntl(passed.get(), F_GETFD) & FD_CLOEXEC, 0);
      ring(passed.get());
    }
    std::uint64_t rung = 0;
    EXPECT_EQ(::read(original.get(), &rung, sizeof rung), 8);
    EXPECT_EQ(rung, count);
  }
}

TEST(ControlSocket, KeepsTheOrderOfDescriptors) {
  const Pair sut;
  const std::array<FileDescriptor, 3> originals{make_eventfd(), make_eventfd(), make_eventfd()};
  const std::array numbers{originals[0].get(), originals[1].get(), originals[2].get()};
  EXPECT_TRUE(send_packet(sut.near, bytes_of(1), numbers));
  const Packet packet = receive_packet_with_descriptors(sut.far);
  ASSERT_EQ(packet.descriptors.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t rings = 0; rings <= i; ++rings) {
      ring(packet.descriptors[i].get());
    }
    std::uint64_t rung = 0;
    EXPECT_EQ(::read(originals[i].get(), &rung, sizeof rung), 8);
    EXPECT_EQ(rung, i + 1);
  }
}

TEST(ControlSocket, RefusesToSendMoreDescriptorsThanAPacketTakes) {
  const Pair sut;
  const std::vector<int> five(5, sut.near.get());
  EXPECT_FALSE(send_packet(sut.near, bytes_of(8), five));
  EXPECT_EQ(receive_packet(sut.far).outcome, Outcome::empty);
}

TEST(ControlSocket, LetsNoDescriptorInWhereNoneIsAskedFor) {
  const Pair sut;
  const FileDescriptor stranger = make_eventfd();
  const auto before = open_descriptor_count();
  for (const std::size_t count : {std::size_t{1}, std::size_t{4}, std::size_t{200}}) {
    auto bytes = bytes_of(24);
    ASSERT_EQ(send_raw(sut.near, bytes, stranger.get(), count), 24);
    const Packet packet = receive_packet(sut.far);
    EXPECT_EQ(packet.outcome, Outcome::received) << "the message itself is not lost";
    EXPECT_EQ(packet.bytes, bytes);
    EXPECT_TRUE(packet.descriptors.empty());
    EXPECT_EQ(open_descriptor_count(), before) << count << " sent";
  }
}

TEST(ControlSocket, TakesFourDescriptorsAtMostAndClosesThemWithThePacket) {
  const Pair sut;
  const FileDescriptor stranger = make_eventfd();
  const auto before = open_descriptor_count();
  auto bytes = bytes_of(24);
  ASSERT_EQ(send_raw(sut.near, bytes, stranger.get(), 200), 24);
  {
    const Packet packet = receive_packet_with_descriptors(sut.far);
    EXPECT_EQ(packet.descriptors.size(), 4U);
    EXPECT_EQ(open_descriptor_count(), before + 4);
  }
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(ControlSocket, IsClosedByAnEmptyPacket) {
  const Pair sut;
  EXPECT_TRUE(send_packet(sut.near, {}));
  EXPECT_EQ(receive_packet(sut.far).outcome, Outcome::closed);
  const auto before = open_descriptor_count();
  ASSERT_EQ(send_raw(sut.near, {}, sut.near.get(), 4), 0);
  EXPECT_EQ(receive_packet_with_descriptors(sut.far).outcome, Outcome::closed);
  EXPECT_EQ(open_descriptor_count(), before);
}

TEST(ControlSocket, IsClosedByAPacketLongerThanTheLongestMessage) {
  const Pair sut;
  EXPECT_TRUE(send_packet(sut.near, bytes_of(kMaxMessageBytes + 1)));
  const Packet packet = receive_packet(sut.far);
  EXPECT_EQ(packet.outcome, Outcome::closed);
  EXPECT_TRUE(packet.bytes.empty());
}

TEST(ControlSocket, IsClosedWhenThePeerHasGoneAfterTheLastPacket) {
  Pair sut;
  EXPECT_TRUE(send_packet(sut.near, bytes_of(3)));
  sut.near.reset();
  EXPECT_EQ(receive_packet(sut.far).bytes, bytes_of(3));
  EXPECT_EQ(receive_packet(sut.far).outcome, Outcome::closed);
  EXPECT_EQ(receive_packet(sut.far).outcome, Outcome::closed);
}

TEST(ControlSocket, SaysClosedForADescriptorThatIsNoSocket) {
  const FileDescriptor sut = make_eventfd();
  EXPECT_EQ(receive_packet(sut).outcome, Outcome::closed);
  EXPECT_FALSE(send_packet(sut, bytes_of(1)));
  EXPECT_EQ(receive_packet(FileDescriptor()).outcome, Outcome::closed);
}

/// SIGPIPE has its default action here, so that the signal itself would end the test. Linux raises it
/// for streams alone.
TEST(ControlSocket, SaysFalseToSendingWhenThePeerHasGone) {
  for (const int type : {SOCK_SEQPACKET, SOCK_STREAM}) {
    Pair sut(type);
    sut.far.reset();
    EXPECT_FALSE(send_packet(sut.near, bytes_of(8)));
    EXPECT_FALSE(send_packet(sut.near, bytes_of(8)));
  }
}

TEST(ControlSocket, SaysFalseToSendingWhenThePeerDoesNotRead) {
  const Pair sut;
  const auto message = bytes_of(kMaxMessageBytes);
  int sent = 0;
  while (sent < 100000 && send_packet(sut.near, message)) {
    ++sent;
  }
  EXPECT_GT(sent, 0);
  EXPECT_LT(sent, 100000);
  EXPECT_EQ(receive_packet(sut.far).outcome, Outcome::received);
}

/// A directory of its own, with a listener of the wanted type in it or without one.
class ControlSocketConnect : public ::testing::Test {
 protected:
  ControlSocketConnect() {
    std::string pattern = ::testing::TempDir() + "overlap-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  ~ControlSocketConnect() override { std::filesystem::remove_all(folder); }

  [[nodiscard]] std::string path(const std::string& name = "s") const {
    return folder + "/" + name;
  }

  [[nodiscard]] static FileDescriptor listen_at(const std::string& path, int type,
                                                int backlog = 8) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    FileDescriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket.get(), backlog), 0);
    return socket;
  }

  /// The error of an attempt that must fail.
  [[nodiscard]] static int error_of(const std::string& path) {
    int error_number = 0;
    const FileDescriptor sut = connect_control_socket(path, error_number);
    EXPECT_FALSE(sut);
    return error_number;
  }

  std::string folder;
};

TEST_F(ControlSocketConnect, ReachesAListener) {
  const FileDescriptor listener = listen_at(path(), SOCK_SEQPACKET);
  int error_number = EIO;
  const FileDescriptor sut = connect_control_socket(path(), error_number);
  ASSERT_TRUE(sut);
  EXPECT_EQ(error_number, 0);
  EXPECT_NE(::fcntl(sut.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(sut.get(), F_GETFL) & O_NONBLOCK, 0);
  const FileDescriptor peer(::accept(listener.get(), nullptr, nullptr));
  EXPECT_TRUE(send_packet(sut, bytes_of(5)));
  EXPECT_EQ(receive_packet(peer).bytes, bytes_of(5));
}

TEST_F(ControlSocketConnect, ReachesAListenerWhoseNameIsAsLongAsNamesGet) {
  const std::string longest = path(std::string(107 - folder.size() - 1, 'n'));
  ASSERT_EQ(longest.size(), 107U);
  const FileDescriptor listener = listen_at(longest, SOCK_SEQPACKET);
  int error_number = EIO;
  EXPECT_TRUE(connect_control_socket(longest, error_number));
  EXPECT_EQ(error_of(longest + "n"), ENAMETOOLONG);
}

TEST_F(ControlSocketConnect, SaysWhyItReachedNobody) {
  EXPECT_EQ(error_of(""), ENOENT);
  EXPECT_EQ(error_of(path("nothing")), ENOENT);
  EXPECT_EQ(error_of(path("no/folder")), ENOENT);
  std::ofstream(path("file")) << "not a socket";
  EXPECT_EQ(error_of(path("file")), ECONNREFUSED);
  EXPECT_EQ(error_of(path("file/below")), ENOTDIR);
  EXPECT_EQ(error_of(std::string(5000, 'n')), ENAMETOOLONG);
}

TEST_F(ControlSocketConnect, SaysThatASocketIsStale) {
  FileDescriptor listener = listen_at(path(), SOCK_SEQPACKET);
  listener.reset();
  EXPECT_EQ(error_of(path()), ECONNREFUSED);
}

TEST_F(ControlSocketConnect, SaysThatASocketIsOfAnotherType) {
  const FileDescriptor stream = listen_at(path(), SOCK_STREAM);
  EXPECT_EQ(error_of(path()), EPROTOTYPE);
}

TEST_F(ControlSocketConnect, NeverWaitsForAListenerThatAcceptsNobody) {
  const FileDescriptor listener = listen_at(path(), SOCK_SEQPACKET, 0);
  int error_number = 0;
  std::vector<FileDescriptor> queued;
  for (int i = 0; i < 100 && error_number == 0; ++i) {
    queued.push_back(connect_control_socket(path(), error_number));
  }
  EXPECT_EQ(error_number, EAGAIN);
}

}  // namespace
}  // namespace overlap
