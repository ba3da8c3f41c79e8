#include "kernels/source/source_program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace overlap::test {
namespace {

SourceProgram program_of(const std::string& text, const std::string& file = "clip.cu") {
  return make_program(parse_declaration(text, file), text);
}

/// The line of the file that the compiler is told it sees at the first place where `word` stands.
std::string position_of(const SourceProgram& program, const std::string& word) {
  const std::size_t at = program.text.find(word);
  if (at == std::string::npos) {
    return "nowhere";
  }
  const std::string before = program.text.substr(0, at);
  const std::size_t mark = before.rfind("#line ");
  const std::size_t mark_end = before.find('\n', mark);
  const std::size_t number_end = before.find(' ', mark + 6);
  auto line = std::stoul(before.substr(mark + 6, number_end - mark - 6));
  line += static_cast<unsigned long>(
      std::count(before.begin() + static_cast<std::ptrdiff_t>(mark_end) + 1, before.end(), '\n'));
  return before.substr(number_end + 1, mark_end - number_end - 1) + ":" + std::to_string(line);
}

const std::string kElement =
    "//! kernel clip \"bends\"\n"
    "//! element my::clip u8 -> f32\n"
    "//! param limit real 1 0 2 - \"a\"\n"
    "//! param order integer 1 0 2 - \"b\"\n"
    "//! param mode choice a a,b \"c\"\n"
    "namespace my { __device__ float clip(unsigned char x, double, int, int) { return x; } }";

TEST(SourceProgram, HasTheFilesOwnLineNumbers) {
  const SourceProgram sut = program_of(kElement);
  EXPECT_EQ(position_of(sut, "//! kernel"), "\"clip.cu\":1");
  EXPECT_EQ(position_of(sut, "namespace my"), "\"clip.cu\":6");
}

TEST(SourceProgram, BlamesTheDeclarationForAnotherFunction) {
  const SourceProgram sut = program_of(kElement);
  EXPECT_EQ(position_of(sut, "static_assert"), "\"clip.cu\":2");
  EXPECT_NE(
      sut.text.find("__device__ overlap::f32 clip(overlap::u8 x, double limit, int64_t order, "
                    "uint64_t mode)"),
      std::string::npos)
      << sut.text;
}

TEST(SourceProgram, WrapsAFunctionOfOneElement) {
  const SourceProgram sut = program_of(kElement);
  EXPECT_EQ(sut.entry, "overlap_entry");
  EXPECT_NE(sut.text.find("overlap::Batch batch, double p0, int64_t p1, uint64_t p2)"),
            std::string::npos)
      << sut.text;
  EXPECT_NE(sut.text.find("my::clip(x, p0, p1, p2)"), std::string::npos) << sut.text;
}

TEST(SourceProgram, NamesABatchFunctionAsItIs) {
  const SourceProgram sut =
      program_of("//! kernel sum \"s\"\n//! batch my::sum\n//! threads 64\n//! block_bytes 512\n");
  EXPECT_EQ(sut.entry, "my::sum");
  EXPECT_EQ(sut.text.find("overlap_entry"), std::string::npos);
  EXPECT_EQ(sut.shape.threads, 64U);
  EXPECT_EQ(sut.shape.block_bytes, 512U);
}

TEST(SourceProgram, GivesABlockOneAccessOfEachThread) {
  const auto block_bytes = [](const std::string& types) {
    return program_of("//! kernel f \"f\"\n//! element f " + types).shape.block_bytes;
  };
  EXPECT_EQ(block_bytes("f32 -> f32"), 256U * 16);
  EXPECT_EQ(block_bytes("u8 -> u8"), 256U * 16);
  EXPECT_EQ(block_bytes("u8 -> f32"), 256U * 4);
  EXPECT_EQ(block_bytes("f64 -> u8"), 256U * 16);
  EXPECT_EQ(block_bytes("u8 -> f64"), 256U * 2);
}

TEST(SourceProgram, EscapesTheFilesName) {
  const SourceProgram sut = program_of("//! kernel f \"f\"\n//! batch f\n", "a\"b\\c.cu");
  EXPECT_NE(sut.text.find("#line 1 \"a\\\"b\\\\c.cu\"\n"), std::string::npos) << sut.text;
}

TEST(SourceProgram, EndsTheLastLineOfTheFile) {
  const SourceProgram sut = program_of("//! kernel f \"f\"\n//! batch f\n// no end");
  EXPECT_NE(sut.text.find("// no end\n"), std::string::npos);
}

TEST(SourceProgram, NamesTheHeadersThatTheFileIncludes) {
  const SourceProgram sut = program_of("//! kernel f \"f\"\n//! batch f\n#include <cuda_fp16.h>\n");
  EXPECT_EQ(sut.included, std::vector<std::string>{"cuda_fp16.h"});
}

TEST(SourceHeaders, BeginWithThePreludeThatEveryProgramIncludes) {
  const std::string first = source_headers().front().name;
  EXPECT_TRUE(program_of(kElement).text.starts_with("#include <" + first + ">\n"));
}

}  // namespace
}  // namespace overlap::test
