#include "daemon/control/kernel_entries.hpp"

#include "tests/unit/session_table_fixture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace overlap {
namespace {

TEST(KernelEntries, AreEveryKernelInOrderAndThenWhatWasRefused) {
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  kernels.add_refused({"/k/b.so", "no entry"});
  kernels.add_refused({"/k/a.so", "too old"});
  const auto all = kernels.all();
  for (std::uint32_t index = 0; index < all.size(); ++index) {
    const KernelListReply reply = kernel_entry(kernels, index);
    EXPECT_EQ(reply.index, index);
    EXPECT_EQ(reply.count, all.size() + 2);
    const auto sut = read_listed(reply);
    ASSERT_TRUE(sut);
    EXPECT_EQ(sut->kind, ListedKind::kernel);
    // Nothing of a built-in kernel is cut.
    EXPECT_EQ(*sut, listed_kernel(*all[index])) << sut->name;
  }
  const auto refused = read_listed(kernel_entry(kernels, static_cast<std::uint32_t>(all.size())));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, ListedKind::refused);
  EXPECT_EQ(refused->origin, "/k/b.so");
  EXPECT_EQ(refused->summary, "no entry");
  EXPECT_EQ(kernel_entry(kernels, static_cast<std::uint32_t>(all.size()) + 2).kind,
            ListedKind::none);
  EXPECT_EQ(kernel_entry(kernels, UINT32_MAX).kind, ListedKind::none);
}

TEST(KernelEntries, AreNoneWithoutKernels) {
  EXPECT_EQ(kernel_entry(KernelRegistry(), 0).kind, ListedKind::none);
  EXPECT_EQ(kernel_entry(KernelRegistry(), 0).count, 0U);
}

TEST(KernelEntries, SayWhatAKernelIsLike) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  const ListedKernel sut = listed_kernel(*kernels.find("scale"));
  EXPECT_EQ(sut.name, "scale");
  EXPECT_EQ(sut.origin, "built-in");
  EXPECT_EQ(sut.flags & (kListedHost | kListedStateful | kListedTable), kListedHost);
  EXPECT_EQ((sut.flags & kListedCuda) != 0, kernels.find("scale")->has_cuda());
  ASSERT_GE(sut.parameters.size(), 3U);
  EXPECT_EQ(sut.parameters[0].name, "a");
  EXPECT_EQ(sut.parameters[0].type, ListedType::real);
  EXPECT_EQ(sut.parameters[0].default_value.f64, 1.0);
  EXPECT_EQ(sut.parameters[2].choices.at(sut.parameters[2].default_value.choice_index), "f32");
}

struct KernelQuestion : testing::SessionTableFixture {};

KernelListReply ask(testing::RawClient& client, std::uint32_t index) {
  auto request = make_message<KernelListRequest>(MessageType::kernel_list_request);
  request.index = index;
  EXPECT_TRUE(client.send(request));
  return client.receive<KernelListReply>(MessageType::kernel_list_reply);
}

TEST_F(KernelQuestion, IsAnsweredBeforeAnAttachAndOnAnOpenChannel) {
  start(4, 4);
  testing::RawClient stranger = client();
  EXPECT_EQ(ask(stranger, 0).kind, ListedKind::kernel);
  EXPECT_EQ(ask(stranger, 1000).kind, ListedKind::none);
  testing::RawClient producer = attached();
  EXPECT_EQ(ask(producer, 0).kind, ListedKind::kernel);
  EXPECT_TRUE(serves(producer));
}

}  // namespace
}  // namespace overlap
