#include "daemon/ctl/daemon_questions.hpp"

#include "shared/control_socket.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace overlap {
namespace {

KernelListReply entry(std::uint32_t index, std::uint32_t count, ListedKind kind) {
  auto reply = make_message<KernelListReply>(MessageType::kernel_list_reply);
  if (kind != ListedKind::none) {
    ListedKernel listed;
    listed.kind = kind;
    listed.name = "kernel" + std::to_string(index);
    write_listed(reply, listed);
  }
  reply.index = index;
  reply.count = count;
  return reply;
}

/// Answers every question for an entry of the list, until the asking end hangs up.
class ListingPeer {
 public:
  explicit ListingPeer(std::function<KernelListReply(std::uint32_t)> answer) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    asking_ = FileDescriptor(ends[0]);
    answering_ = FileDescriptor(ends[1]);
    thread_ = std::thread([this, answer = std::move(answer)] { serve(answer); });
  }
  ~ListingPeer() {
    asking_.reset();
    thread_.join();
  }
  ListingPeer(const ListingPeer&) = delete;
  ListingPeer& operator=(const ListingPeer&) = delete;

  [[nodiscard]] const FileDescriptor& socket() const noexcept { return asking_; }

 private:
  void serve(const std::function<KernelListReply(std::uint32_t)>& answer) {
    for (;;) {
      pollfd readable{answering_.get(), POLLIN, 0};
      ::poll(&readable, 1, -1);
      const Packet packet = receive_packet(answering_);
      const auto request =
          read_message<KernelListRequest>(packet.bytes, MessageType::kernel_list_request);
      if (!request) {
        return;
      }
      static_cast<void>(send_packet(answering_, message_bytes(answer(request->index))));
    }
  }

  FileDescriptor asking_;
  FileDescriptor answering_;
  std::thread thread_;
};

TEST(DaemonQuestions, ReadTheListToItsEnd) {
  const ListingPeer peer([](std::uint32_t index) {
    return entry(index, 3, index < 3 ? ListedKind::kernel : ListedKind::none);
  });
  const auto sut = ask_kernels(peer.socket());
  ASSERT_TRUE(sut);
  ASSERT_EQ(sut->size(), 3U);
  EXPECT_EQ(sut->at(2).name, "kernel2");
}

TEST(DaemonQuestions, ReadAnEmptyList) {
  const ListingPeer peer([](std::uint32_t index) { return entry(index, 0, ListedKind::none); });
  const auto sut = ask_kernels(peer.socket());
  ASSERT_TRUE(sut);
  EXPECT_TRUE(sut->empty());
}

TEST(DaemonQuestions, BelieveNoEntryBeyondTheCountOfTheList) {
  const ListingPeer peer([](std::uint32_t index) {
    return entry(index, 3, index < 10 ? ListedKind::refused : ListedKind::none);
  });
  EXPECT_FALSE(ask_kernels(peer.socket()));
}

TEST(DaemonQuestions, EndAlsoWhereTheListDoesNot) {
  const ListingPeer peer(
      [](std::uint32_t index) { return entry(index, UINT32_MAX, ListedKind::kernel); });
  EXPECT_FALSE(ask_kernels(peer.socket()));
}

}  // namespace
}  // namespace overlap
