#include "shared/kernel_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace overlap {
namespace {

ListedParameter real_parameter() {
  ListedParameter parameter;
  parameter.name = "sigma";
  parameter.per_job = true;
  parameter.default_value.f64 = 1.5;
  parameter.minimum = 0.1;
  parameter.maximum = 50;
  parameter.unit = "pixels";
  parameter.help = "width of the bell";
  return parameter;
}

ListedParameter choice_parameter(std::size_t choices) {
  ListedParameter parameter;
  parameter.name = "type";
  parameter.type = ListedType::choice;
  parameter.default_value.choice_index = choices - 1;
  parameter.help = "element type";
  for (std::size_t i = 0; i < choices; ++i) {
    parameter.choices.push_back("choice_" + std::to_string(i));
  }
  return parameter;
}

ListedKernel kernel() {
  ListedKernel listed;
  listed.name = "gaussian_blur";
  listed.summary = "weighs neighbours";
  listed.origin = "built-in";
  listed.flags = kListedHost | kListedCuda;
  return listed;
}

KernelListReply reply_of(const ListedKernel& listed) {
  auto reply = make_message<KernelListReply>(MessageType::kernel_list_reply);
  write_listed(reply, listed);
  return reply;
}

TEST(KernelList, CarriesAKernelWithoutParameters) {
  EXPECT_EQ(read_listed(reply_of(kernel())), kernel());
}

TEST(KernelList, CarriesARefusedFile) {
  ListedKernel refused;
  refused.kind = ListedKind::refused;
  refused.origin = "/k/x.so";
  refused.summary = "can be written by everybody";
  EXPECT_EQ(read_listed(reply_of(refused)), refused);
}

TEST(KernelList, CarriesEveryKindOfParameterBitForBit) {
  ListedKernel listed = kernel();
  ListedParameter integer;
  integer.name = "n";
  integer.type = ListedType::integer;
  integer.default_value.i64 = INT64_MAX;
  integer.minimum = -0x1p63;
  integer.maximum = 0x1p62;
  listed.parameters = {real_parameter(), integer, choice_parameter(1), choice_parameter(64)};
  listed.table_help = "256 bytes";
  EXPECT_EQ(read_listed(reply_of(listed)), listed);
}

TEST(KernelList, LeavesOutWhatIsBeyondItsLimits) {
  ListedKernel listed = kernel();
  listed.parameters.assign(17, real_parameter());
  listed.parameters[0] = choice_parameter(65);
  listed.parameters[0].default_value.choice_index = 3;
  const auto sut = read_listed(reply_of(listed));
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->parameters.size(), kMaxListedParameters);
  EXPECT_EQ(sut->parameters[0].choices.size(), kMaxListedChoices);
}

TEST(KernelList, CutsHelpBeforeNames) {
  ListedKernel listed = kernel();
  listed.parameters.assign(16, real_parameter());
  for (ListedParameter& parameter : listed.parameters) {
    parameter.help = std::string(1000, 'h');
  }
  const auto sut = read_listed(reply_of(listed));
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->name, listed.name);
  EXPECT_EQ(sut->summary, listed.summary);
  EXPECT_EQ(sut->parameters[15].name, "sigma");
  EXPECT_EQ(sut->parameters[0].help.size(), 1000U);
  EXPECT_EQ(sut->parameters[15].help, "");
}

TEST(KernelList, CutsATextThatAloneIsTooLong) {
  ListedKernel listed = kernel();
  listed.parameters = {real_parameter()};
  listed.summary = std::string(100'000, 's');
  const auto sut = read_listed(reply_of(listed));
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->name, listed.name);
  EXPECT_EQ(sut->parameters[0].name, "");
}

TEST(KernelList, EndsATextAtAZero) {
  ListedKernel listed = kernel();
  listed.summary = std::string("a\0b", 3);
  const auto sut = read_listed(reply_of(listed));
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->summary, "a");
}

TEST(KernelList, ReadsNothingWhoseCountsAndTextsDoNotAgree) {
  ListedKernel listed = kernel();
  listed.parameters = {real_parameter(), choice_parameter(2)};
  const KernelListReply good = reply_of(listed);
  ASSERT_TRUE(read_listed(good));
  const auto refuses = [&good](auto spoil) {
    KernelListReply sut = good;
    spoil(sut);
    return !read_listed(sut);
  };
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.parameter_count = 1; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.parameter_count = 17; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.parameter_count = UINT32_MAX; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.text_bytes -= 1; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.text_bytes += 1; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.text_bytes = UINT32_MAX; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.text_bytes = 0; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { std::ranges::fill(r.text, 'x'); }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.kind = static_cast<ListedKind>(3); }));
  EXPECT_TRUE(
      refuses([](KernelListReply& r) { r.parameters[0].type = static_cast<ListedType>(3); }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.parameters[1].choice_count = 65; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.parameters[1].choice_count = 1; }));
  EXPECT_TRUE(refuses([](KernelListReply& r) { r.parameters[1].default_value.choice_index = 2; }));
}

}  // namespace
}  // namespace overlap
