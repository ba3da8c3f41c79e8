#include "daemon/source/cache_entry.hpp"

#include <gtest/gtest.h>

#include <string>

namespace overlap {
namespace {

const CompiledSource kCompiled{std::string("\0code\xff", 6), "entry", "a warning\n"};

TEST(CacheEntry, GivesBackWhatWasWritten) {
  const auto sut = read_entry(write_entry("key", kCompiled));
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->key, "key");
  EXPECT_EQ(sut->compiled.image, kCompiled.image);
  EXPECT_EQ(sut->compiled.entry, kCompiled.entry);
  EXPECT_EQ(sut->compiled.log, kCompiled.log);
}

TEST(CacheEntry, CanHaveNothingInIt) {
  const auto sut = read_entry(write_entry("", {}));
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->key, "");
  EXPECT_EQ(sut->compiled.image, "");
}

TEST(CacheEntry, IsRefusedAtEveryLengthButItsOwn) {
  const std::string whole = write_entry("key", kCompiled);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_FALSE(read_entry(whole.substr(0, bytes))) << bytes;
  }
  EXPECT_FALSE(read_entry(whole + "x"));
}

TEST(CacheEntry, IsRefusedWithAnyByteChanged) {
  const std::string whole = write_entry("key", kCompiled);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    const auto sut = read_entry(damaged);
    EXPECT_FALSE(sut) << at;
  }
}

TEST(CacheEntry, HashesAsFnv1aIsDefined) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace overlap
