#include "kernels/imaging/image_border.hpp"

#include <gtest/gtest.h>

#include <string>

namespace overlap::test {
namespace {

/// The pixels -`beyond` to `row.size() + beyond` of a row whose pixels are letters; a zero is `0`.
std::string row_with_borders(ImageBorder border, const std::string& row, std::int64_t beyond) {
  std::string text;
  const auto size = static_cast<std::int64_t>(row.size());
  for (std::int64_t at = -beyond; at < size + beyond; ++at) {
    const std::int64_t from = pixel_at_border(border, at, size);
    text += from < 0 ? '0' : row.at(static_cast<std::size_t>(from));
  }
  return text;
}

TEST(ImageBorder, LooksAsItsDescriptionSays) {
  EXPECT_EQ(row_with_borders(ImageBorder::reflect101, "abcdefgh", 6), "gfedcbabcdefghgfedcb");
  EXPECT_EQ(row_with_borders(ImageBorder::reflect, "abcdefgh", 6), "fedcbaabcdefghhgfedc");
  EXPECT_EQ(row_with_borders(ImageBorder::replicate, "abcdefgh", 6), "aaaaaaabcdefghhhhhhh");
  EXPECT_EQ(row_with_borders(ImageBorder::zero, "abcdefgh", 6), "000000abcdefgh000000");
}

TEST(ImageBorder, GoesToAndFroWhereItIsWiderThanTheImage) {
  EXPECT_EQ(row_with_borders(ImageBorder::reflect101, "abc", 7), "bcbabcbabcbabcbab");
  // c|cba|abc|... and so on: abccba over and over.
  EXPECT_EQ(row_with_borders(ImageBorder::reflect, "abc", 7), "aabccbaabccbaabcc");
  EXPECT_EQ(row_with_borders(ImageBorder::reflect101, "ab", 5), "babababababa");
  EXPECT_EQ(row_with_borders(ImageBorder::reflect, "ab", 5), "aabbaabbaabb");
}

TEST(ImageBorder, OfASinglePixelIsThatPixelOrZero) {
  EXPECT_EQ(row_with_borders(ImageBorder::reflect101, "a", 4), "aaaaaaaaa");
  EXPECT_EQ(row_with_borders(ImageBorder::reflect, "a", 4), "aaaaaaaaa");
  EXPECT_EQ(row_with_borders(ImageBorder::replicate, "a", 4), "aaaaaaaaa");
  EXPECT_EQ(row_with_borders(ImageBorder::zero, "a", 4), "0000a0000");
}

TEST(ImageBorder, NeverLeavesTheImage) {
  for (const ImageBorder border :
       {ImageBorder::reflect101, ImageBorder::reflect, ImageBorder::replicate}) {
    for (const std::int64_t size : {1, 2, 3, 5, 64}) {
      for (std::int64_t at = -400; at < 400; ++at) {
        const std::int64_t from = pixel_at_border(border, at, size);
        ASSERT_TRUE(from >= 0 && from < size) << at << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace overlap::test
