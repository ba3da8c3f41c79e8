#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

/// Tables that differ from each other and hold most values.
std::vector<std::byte> some_tables(std::size_t count) {
  return awkward_input(ElementKind::u8, 256 * count, 77);
}

struct Choice {
  std::string text;
  std::size_t channels;
  std::size_t tables;
};

const Choice kChoices[] = {{"lut", 1, 1},
                           {"lut:channels=3", 3, 1},
                           {"lut:channels=4", 4, 1},
                           {"lut:per_channel=yes", 1, 1},
                           {"lut:channels=3,per_channel=yes", 3, 3},
                           {"lut:channels=4,per_channel=yes", 4, 4}};

TEST(LutKernel, EqualsTheReferenceForEverySize) {
  for (const Choice& choice : kChoices) {
    for (const std::size_t count : kAwkwardCounts) {
      KernelBatch sut(stage_of(choice.text),
                      {awkward_input(ElementKind::u8, count * choice.channels)},
                      some_tables(choice.tables));
      sut.run();
      ASSERT_TRUE(sut.matches_reference(ElementKind::u8)) << choice.text << ", " << count;
    }
  }
}

TEST(LutKernel, RunsJobsOfDifferentSizesInOneBatch) {
  for (const Choice& choice : kChoices) {
    KernelBatch sut(stage_of(choice.text),
                    {awkward_input(ElementKind::u8, 257 * choice.channels, 1),
                     {},
                     awkward_input(ElementKind::u8, choice.channels, 2)},
                    some_tables(choice.tables));
    sut.run();
    EXPECT_TRUE(sut.matches_reference(ElementKind::u8)) << choice.text;
  }
}

TEST(LutKernel, ReplacesEveryByteByItsEntry) {
  std::vector<std::byte> negative(256);
  std::vector<std::byte> all(256);
  for (std::size_t value = 0; value < 256; ++value) {
    negative[value] = static_cast<std::byte>(255 - value);
    all[value] = static_cast<std::byte>(value);
  }
  KernelBatch sut(stage_of("lut"), {all}, negative);
  sut.run();
  EXPECT_TRUE(std::ranges::equal(sut.output(0), negative));
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

TEST(LutKernel, GivesEachChannelItsOwnTable) {
  std::vector<std::byte> tables(3 * 256, std::byte{0});
  tables[7] = std::byte{1};
  tables[256 + 7] = std::byte{2};
  tables[512 + 7] = std::byte{3};
  KernelBatch sut(stage_of("lut:channels=3,per_channel=yes"),
                  {bytes_of(std::vector<std::uint8_t>{7, 7, 7, 7, 0, 7})}, tables);
  sut.run();
  EXPECT_EQ(elements_of<std::uint8_t>(sut.output(0)),
            (std::vector<std::uint8_t>{1, 2, 3, 1, 0, 3}));
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

TEST(LutKernel, SaysHowLargeItsTableIsAndWhatItHolds) {
  for (const Choice& choice : kChoices) {
    const Stage sut = stage_of(choice.text);
    EXPECT_EQ(sut.kernel->table_bytes(sut.params), 256 * choice.tables) << choice.text;
    EXPECT_EQ(sut.kernel->granule_bytes(sut.params), choice.channels) << choice.text;
  }
  EXPECT_NE(stage_of("lut").kernel->table_help().find("256 bytes"), std::string_view::npos);
}

TEST(LutKernel, RefusesALengthThatIsNoWholePixel) {
  EXPECT_EQ(refusal_of("lut:channels=3", 4),
            "4 bytes do not fit lut: it takes whole granules of 3 bytes (one pixel of 3 channels), "
            "and 1 bytes are left over; send 3 or 6 bytes");
  EXPECT_EQ(refusal_of("lut", 4), "");
}

TEST(LutKernel, RefusesChannelsThatNoImageHas) {
  EXPECT_THROW((void)stage_of("lut:channels=2"), PipelineError);
  EXPECT_THROW((void)stage_of("lut:per_channel=maybe"), PipelineError);
}

}  // namespace
}  // namespace overlap::test
