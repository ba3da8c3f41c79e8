#include "shared/byte_size.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace overlap {
namespace {

struct Reading {
  const char* text;
  std::uint64_t size_bytes;
};

TEST(ByteSize, ReadsDigitsAndExactlyTheSixUnits) {
  for (const Reading& reading : {
           Reading{"0", 0},
           Reading{"64", 64},
           Reading{"1K", 1024},
           Reading{"1KiB", 1024},
           Reading{"64M", 67'108'864},
           Reading{"64MiB", 67'108'864},
           Reading{"2G", 2'147'483'648},
           Reading{"2GiB", 2'147'483'648},
           Reading{"18446744073709551615", std::numeric_limits<std::uint64_t>::max()},
           Reading{"17179869183G", 18'446'744'072'635'809'792U},
       }) {
    EXPECT_EQ(parse_byte_size(reading.text), reading.size_bytes) << reading.text;
  }
}

TEST(ByteSize, RefusesEverythingElse) {
  for (const char* const text : {"",
                                 " ",
                                 "K",
                                 "MiB",
                                 "64 M",
                                 " 64M",
                                 "64M ",
                                 "1.5G",
                                 "0x10",
                                 "-1",
                                 "+1",
                                 "1e6",
                                 "64k",
                                 "64KB",
                                 "64MB",
                                 "64m",
                                 "64T",
                                 "64TiB",
                                 "64B",
                                 "64MM",
                                 "64Mi",
                                 "nan",
                                 "inf",
                                 "1,000",
                                 "18446744073709551616",
                                 "17179869184G",
                                 "18014398509481984K",
                                 "99999999999999999999G"}) {
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(ByteSize, WritesTheLargestUnitThatIsExact) {
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(1), "1");
  EXPECT_EQ(format_bytes(1023), "1023");
  EXPECT_EQ(format_bytes(1024), "1KiB");
  EXPECT_EQ(format_bytes(1025), "1025");
  EXPECT_EQ(format_bytes(std::uint64_t{1536} << 10U), "1536KiB");
  EXPECT_EQ(format_bytes(std::uint64_t{4} << 20U), "4MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{3} << 30U), "3GiB");
}

TEST(ByteSize, ReadsBackWhatItWrites) {
  for (const std::uint64_t size_bytes :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{4097},
        std::uint64_t{1} << 20U, std::uint64_t{1} << 40U, (std::uint64_t{1} << 40U) + 1,
        std::numeric_limits<std::uint64_t>::max()}) {
    EXPECT_EQ(parse_byte_size(format_bytes(size_bytes)), size_bytes);
  }
}

}  // namespace
}  // namespace overlap
