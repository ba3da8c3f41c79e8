#include "daemon/control/peer_identity.hpp"

#include <gtest/gtest.h>

#include <grp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace overlap {
namespace {

std::pair<FileDescriptor, FileDescriptor> make_pair_of_sockets() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

TEST(PeerIdentity, IsWhoMadeTheOtherEnd) {
  const auto [near, far] = make_pair_of_sockets();
  const auto sut = identify_peer(near);
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->pid, ::getpid());
  EXPECT_EQ(sut->uid, ::geteuid());
  EXPECT_EQ(sut->gid, ::getegid());
}

TEST(PeerIdentity, HasTheOtherGroupsToo) {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  ASSERT_GE(::getgroups(static_cast<int>(groups.size()), groups.data()), 0);
  const auto [near, far] = make_pair_of_sockets();
  const auto sut = identify_peer(near);
  ASSERT_TRUE(sut);
  for (const gid_t group : groups) {
    EXPECT_TRUE(sut->is_in_group(group)) << group;
  }
  EXPECT_EQ(sut->other_groups.size(), groups.size());
}

TEST(PeerIdentity, HasHoweverManyGroupsThereAre) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root may join groups";
  }
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{1000}}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::vector<gid_t> groups;
      for (gid_t i = 0; i < count; ++i) {
        groups.push_back(70'000 + 2 * i);
      }
      int ends[2] = {-1, -1};
      if (::setgroups(count, groups.data()) != 0 ||
          ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) {
        ::_exit(2);
      }
      const auto sut = identify_peer(FileDescriptor(ends[0]));
      const bool right = sut && sut->other_groups.size() == count &&
                         std::all_of(groups.begin(), groups.end(),
                                     [&](gid_t group) { return sut->is_in_group(group); }) &&
                         !sut->is_in_group(70'001);
      ::_exit(right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << count;
  }
}

TEST(PeerIdentity, IsUnknownForWhatIsNoSocket) {
  EXPECT_FALSE(identify_peer(FileDescriptor{}));
  EXPECT_FALSE(identify_peer(make_eventfd()));
}

TEST(PeerIdentity, IsInItsGroupsAndInNoOther) {
  const PeerIdentity sut{.pid = 1, .uid = 2, .gid = 30, .other_groups = {40, 50}};
  for (const gid_t group : {30U, 40U, 50U}) {
    EXPECT_TRUE(sut.is_in_group(group)) << group;
  }
  for (const gid_t group : {0U, 1U, 2U, 41U}) {
    EXPECT_FALSE(sut.is_in_group(group)) << group;
  }
}

TEST(PeerIdentity, FindsUsersAndGroupsByNameAndByNumber) {
  EXPECT_EQ(find_user("root"), uid_t{0});
  EXPECT_EQ(find_user("0"), uid_t{0});
  EXPECT_EQ(find_user("54321"), uid_t{54321});
  EXPECT_EQ(find_group("root"), gid_t{0});
  EXPECT_EQ(find_group("54321"), gid_t{54321});
}

TEST(PeerIdentity, FindsNobodyForAnyOtherText) {
  for (const char* text : {"", " ", "no-such-user-or-group", "12x", "-1", "+1", "0x10", " 0",
                           "4294967296", "99999999999999999999"}) {
    EXPECT_FALSE(find_user(text)) << text;
    EXPECT_FALSE(find_group(text)) << text;
  }
}

}  // namespace
}  // namespace overlap
