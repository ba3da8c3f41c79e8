#include "kernels/source/source_declaration.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace overlap::test {
namespace {

const std::string kKernel = "//! kernel clip \"bends\"\n";
const std::string kElement = kKernel + "//! element clip f32 -> f32\n";
const std::string kBatch = kKernel + "//! batch clip\n";

/// The error's text; empty if there is none.
std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_declaration(text, "clip.cu"));
  } catch (const SourceError& error) {
    return error.what();
  }
  return {};
}

/// Whether the error is about that line and has that word in it.
testing::AssertionResult blames(const std::string& text, std::size_t line,
                                const std::string& word) {
  const std::string error = error_of(text);
  const std::string place = line == 0 ? "clip.cu: " : "clip.cu:" + std::to_string(line) + ": ";
  if (error.starts_with(place) && error.find(word) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "'" << error << "' for\n" << text;
}

TEST(SourceDeclaration, ReadsAFunctionOfOneElement) {
  const SourceDeclaration sut = parse_declaration(kElement, "clip.cu");
  EXPECT_EQ(sut.file, "clip.cu");
  EXPECT_EQ(sut.name, "clip");
  EXPECT_EQ(sut.summary, "bends");
  EXPECT_EQ(sut.function, "clip");
  EXPECT_EQ(sut.function_line, 2U);
  ASSERT_TRUE(sut.elements);
  EXPECT_EQ(sut.elements->input, SourceType::f32);
  EXPECT_EQ(sut.elements->output, SourceType::f32);
  EXPECT_TRUE(sut.parameters.empty());
}

TEST(SourceDeclaration, ReadsEveryPairOfTypes) {
  for (const std::string in : {"u8", "i16", "i32", "f32", "f64"}) {
    for (const std::string out : {"u8", "i16", "i32", "f32", "f64"}) {
      const SourceDeclaration sut =
          parse_declaration(kKernel + "//! element f " + in + " -> " + out, "clip.cu");
      EXPECT_EQ(source_type_name(sut.elements->input), in);
      EXPECT_EQ(source_type_name(sut.elements->output), out);
    }
  }
}

TEST(SourceDeclaration, ReadsABatchFunctionWithEverythingItMaySay) {
  const SourceDeclaration sut = parse_declaration(kBatch +
                                                      "//! granule 4096\n"
                                                      "//! output 1/1024\n"
                                                      "//! threads 512\n"
                                                      "//! block_bytes 8192\n"
                                                      "//! mapped\n"
                                                      "//! table 16 \"four weights\"\n",
                                                  "clip.cu");
  EXPECT_FALSE(sut.elements);
  EXPECT_EQ(sut.batch.granule_bytes, 4096U);
  EXPECT_EQ(sut.batch.output.numerator, 1U);
  EXPECT_EQ(sut.batch.output.denominator, 1024U);
  EXPECT_EQ(sut.batch.threads, 512U);
  EXPECT_EQ(sut.batch.block_bytes, 8192U);
  EXPECT_TRUE(sut.batch.is_mapped);
  EXPECT_EQ(sut.batch.table_bytes, 16U);
  EXPECT_EQ(sut.batch.table_help, "four weights");
}

TEST(SourceDeclaration, TakesDefaultsForWhatABatchFunctionDoesNotSay) {
  const SourceDeclaration sut = parse_declaration(kBatch, "clip.cu");
  EXPECT_EQ(sut.batch.granule_bytes, 1U);
  EXPECT_EQ(sut.batch.output.numerator, 1U);
  EXPECT_EQ(sut.batch.output.denominator, 1U);
  EXPECT_EQ(sut.batch.output.fixed_bytes, 0U);
  EXPECT_EQ(sut.batch.threads, 256U);
  EXPECT_EQ(sut.batch.block_bytes, 0U);
  EXPECT_FALSE(sut.batch.is_mapped);
  EXPECT_EQ(sut.batch.table_bytes, 0U);
}

TEST(SourceDeclaration, ReadsAnOutputOfAlwaysTheSameSize) {
  EXPECT_EQ(parse_declaration(kBatch + "//! output 8 bytes", "clip.cu").batch.output.fixed_bytes,
            8U);
}

TEST(SourceDeclaration, ReadsParametersOfEveryType) {
  const SourceDeclaration sut =
      parse_declaration(kElement +
                            "//! param limit real 1.5 0.25 1e3 V \"largest result\" per_job\n"
                            "//! param order integer -2 -4 4 - \"of the filter\"\n"
                            "//! param mode choice hard soft,hard \"how\"\n",
                        "clip.cu");
  ASSERT_EQ(sut.parameters.size(), 3U);
  EXPECT_EQ(sut.parameters[0].name, "limit");
  EXPECT_EQ(sut.parameters[0].type, ParameterType::real);
  EXPECT_EQ(sut.parameters[0].default_value.f64, 1.5);
  EXPECT_EQ(sut.parameters[0].minimum, 0.25);
  EXPECT_EQ(sut.parameters[0].maximum, 1000.0);
  EXPECT_EQ(sut.parameters[0].unit, "V");
  EXPECT_EQ(sut.parameters[0].help, "largest result");
  EXPECT_TRUE(sut.parameters[0].is_per_job);
  EXPECT_EQ(sut.parameters[1].type, ParameterType::integer);
  EXPECT_EQ(sut.parameters[1].default_value.i64, -2);
  EXPECT_EQ(sut.parameters[1].unit, "");
  EXPECT_FALSE(sut.parameters[1].is_per_job);
  EXPECT_EQ(sut.parameters[2].type, ParameterType::choice);
  EXPECT_EQ(sut.parameters[2].default_value.choice_index, 1U);
  EXPECT_EQ(sut.parameters[2].choices, (std::vector<std::string>{"soft", "hard"}));
}

TEST(SourceDeclaration, TakesAnyForNoBound) {
  const SourceDeclaration sut = parse_declaration(kElement +
                                                      "//! param a real 0 any any - \"a\"\n"
                                                      "//! param n integer 0 any any - \"n\"\n",
                                                  "clip.cu");
  EXPECT_EQ(sut.parameters[0].minimum, std::numeric_limits<double>::lowest());
  EXPECT_EQ(sut.parameters[0].maximum, std::numeric_limits<double>::max());
  EXPECT_EQ(sut.parameters[1].minimum, -0x1p53);
  EXPECT_EQ(sut.parameters[1].maximum, 0x1p53);
}

TEST(SourceDeclaration, MindsNeitherOrderNorIndentNorCodeBetweenNorLineEnds) {
  const SourceDeclaration sut = parse_declaration(
      "// a comment\r\n\r\n//!kernel\tclip \"bends\"\r\n__device__ float f(float x);\r\n"
      "  //! param a real 0 0 1 - \"a\"\r\n\t//! element my::f f32 -> f32",
      "clip.cu");
  EXPECT_EQ(sut.function, "my::f");
  EXPECT_EQ(sut.function_line, 6U);
  EXPECT_EQ(sut.parameters.size(), 1U);
}

TEST(SourceDeclaration, RefusesAFileWithoutOne) {
  EXPECT_TRUE(blames("", 0, "declares no kernel"));
  EXPECT_TRUE(blames("__device__ float f(float x) { return x; }\n", 0, "//! kernel NAME"));
  EXPECT_TRUE(blames(kKernel, 0, "declares no function"));
}

TEST(SourceDeclaration, RefusesWhatDoesNotBeginWithTheKernel) {
  EXPECT_TRUE(blames("\n//! element f f32 -> f32\n" + kKernel, 2, "the first '//!' line"));
  EXPECT_TRUE(blames("//!\n", 1, "begins with a word"));
  EXPECT_TRUE(blames("//! \"kernel\" clip\n", 1, "begins with a word"));
}

TEST(SourceDeclaration, RefusesNamesThatNoPipelineOrCompilerTakes) {
  EXPECT_TRUE(blames("//! kernel Clip \"x\"\n", 1, "'Clip'"));
  EXPECT_TRUE(blames("//! kernel a:b \"x\"\n", 1, "'a:b'"));
  EXPECT_TRUE(blames(kKernel + "//! element 9f f32 -> f32", 2, "no name of a function"));
  EXPECT_TRUE(blames(kKernel + "//! element a::::f f32 -> f32", 2, "no name of a function"));
  EXPECT_TRUE(blames(kKernel + "//! batch f;g", 2, "no name of a function"));
  EXPECT_TRUE(blames(kElement + "//! param A real 0 0 1 - \"a\"", 3, "'A'"));
}

TEST(SourceDeclaration, RefusesLinesOfAnotherForm) {
  EXPECT_TRUE(blames("//! kernel clip\n", 1, "write '//! kernel NAME \"SUMMARY\"'"));
  EXPECT_TRUE(blames("//! kernel clip bends\n", 1, "write '//! kernel"));
  EXPECT_TRUE(blames("//! kernel clip \"\"\n", 1, "summary is empty"));
  EXPECT_TRUE(blames(kKernel + "//! element f f32 f32", 2, "write '//! element"));
  EXPECT_TRUE(blames(kKernel + "//! element f f32 => f32", 2, "write '//! element"));
  EXPECT_TRUE(blames(kKernel + "//! element f f32 -> f16", 2, "'f16'"));
  EXPECT_TRUE(blames(kElement + "//! param a", 3, "write '//! param"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 0 1 - a", 3, "write '//! param"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 0 1 - \"a\" per_jobs", 3, "per_job"));
  EXPECT_TRUE(blames(kElement + "//! param a choice b b,c - \"a\"", 3, "choice DEFAULT"));
  EXPECT_TRUE(blames(kElement + "//! param a float 0 0 1 - \"a\"", 3, "'float'"));
  EXPECT_TRUE(blames(kElement + "//! parm a real 0 0 1 - \"a\"", 3, "'parm' is unknown"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 0 1 - \"a", 3, "quotes"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 0 1 -\"a\"", 3, "quotes"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 0 1 - \"\x1b[31m\"", 3, "control"));
  EXPECT_TRUE(blames(kBatch + "//! output 1", 3, "write '//! output"));
  EXPECT_TRUE(blames(kBatch + "//! output 1 KiB", 3, "write '//! output"));
  EXPECT_TRUE(blames(kBatch + "//! mapped yes", 3, "write '//! mapped'"));
  EXPECT_TRUE(blames(kBatch + "//! table 16", 3, "write '//! table"));
}

TEST(SourceDeclaration, RefusesRangesThatContradictThemselves) {
  EXPECT_TRUE(blames(kElement + "//! param a real 2 0 1 - \"a\"", 3, "the default '2'"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 1 0 - \"a\"", 3, "is empty"));
  EXPECT_TRUE(blames(kElement + "//! param a real x 0 1 - \"a\"", 3, "the default 'x'"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 nan 1 - \"a\"", 3, "the bound 'nan'"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 0 inf - \"a\"", 3, "the bound 'inf'"));
  EXPECT_TRUE(blames(kElement + "//! param a integer 0 0 1.5 - \"a\"", 3, "the bound '1.5'"));
  EXPECT_TRUE(
      blames(kElement + "//! param a integer 0 0 9007199254740993 - \"a\"", 3, "up to 2^53"));
  EXPECT_TRUE(blames(kElement + "//! param a choice d b,c \"a\"", 3, "the default 'd'"));
  EXPECT_TRUE(blames(kElement + "//! param a choice b b,b \"a\"", 3, "is there twice"));
  EXPECT_TRUE(blames(kElement + "//! param a choice b b, \"a\"", 3, "the choice ''"));
}

TEST(SourceDeclaration, RefusesNumbersOutOfRange) {
  EXPECT_TRUE(blames(kBatch + "//! granule 0", 3, "from 1 to"));
  EXPECT_TRUE(blames(kBatch + "//! granule 1099511627777", 3, "from 1 to 1099511627776"));
  EXPECT_TRUE(blames(kBatch + "//! threads 31", 3, "from 32 to 1024"));
  EXPECT_TRUE(blames(kBatch + "//! threads 1056", 3, "from 32 to 1024"));
  EXPECT_TRUE(blames(kBatch + "//! threads 48", 3, "no multiple of 32"));
  EXPECT_TRUE(blames(kBatch + "//! threads -32", 3, "'-32'"));
  EXPECT_TRUE(blames(kBatch + "//! output 0/1", 3, "from 1 to"));
  EXPECT_TRUE(blames(kBatch + "//! output 1/0", 3, "from 1 to"));
  EXPECT_TRUE(blames(kBatch + "//! output 1/2x", 3, "'2x'"));
  EXPECT_TRUE(blames(kBatch + "//! output 99999999999999999999 bytes", 3, "whole number"));
  EXPECT_EQ(error_of(kBatch + "//! threads 32"), "");
  EXPECT_EQ(error_of(kBatch + "//! threads 1024"), "");
  EXPECT_EQ(error_of(kBatch + "//! granule 1099511627776"), "");
}

TEST(SourceDeclaration, RefusesAnOutputThatIsNoWholeNumberOfBytes) {
  EXPECT_TRUE(blames(kBatch + "//! output 1/2", 3, "a granule of 1 bytes"));
  EXPECT_EQ(error_of(kBatch + "//! output 1/2\n//! granule 2"), "");
}

TEST(SourceDeclaration, RefusesWhatIsThereTwice) {
  EXPECT_TRUE(blames(kElement + kKernel, 3, "a file holds one kernel"));
  EXPECT_TRUE(blames(kElement + "//! batch g", 3, "declared in line 2"));
  EXPECT_TRUE(blames(kBatch + "//! mapped\n//! mapped", 4, "a second 'mapped'"));
  EXPECT_TRUE(blames(kElement + "//! param a real 0 0 1 - \"a\"\n//! param a real 0 0 1 - \"a\"", 4,
                     "a second parameter 'a'"));
}

TEST(SourceDeclaration, RefusesWhatOnlyABatchFunctionCanSayOfAnElement) {
  EXPECT_TRUE(blames(kElement + "\n//! threads 64\n//! mapped", 4, "'//! batch FUNCTION' only"));
  EXPECT_TRUE(blames(kKernel + "//! granule 4\n//! element f f32 -> f32", 2, "only"));
}

TEST(SourceDeclaration, TakesSixteenParametersAndNoMore) {
  std::string text = kElement;
  for (int index = 0; index < 16; ++index) {
    text += "//! param p" + std::to_string(index) + " real 0 0 1 - \"a\"\n";
  }
  EXPECT_EQ(parse_declaration(text, "clip.cu").parameters.size(), 16U);
  EXPECT_TRUE(blames(text + "//! param q real 0 0 1 - \"a\"\n", 19, "more than 16"));
}

TEST(SourceDeclaration, TakesThreeParametersOfAJobAndNoMore) {
  const auto per_job = [](int count) {
    std::string text = kElement;
    for (int index = 0; index < count; ++index) {
      text += "//! param p" + std::to_string(index) + " real 0 0 1 - \"a\" per_job\n";
    }
    return text + "//! param q real 0 0 1 - \"a\"\n";
  };
  EXPECT_EQ(error_of(per_job(3)), "");
  EXPECT_TRUE(blames(per_job(4), 6, "at most 3 parameters of its own"));
}

TEST(SourceDeclaration, TakesSixtyFourChoicesAndNoMore) {
  const auto choices = [](int count) {
    std::string list = "c0";
    for (int index = 1; index < count; ++index) {
      list += ",c" + std::to_string(index);
    }
    return kElement + "//! param a choice c0 " + list + " \"a\"";
  };
  EXPECT_EQ(parse_declaration(choices(64), "clip.cu").parameters[0].choices.size(), 64U);
  EXPECT_TRUE(blames(choices(65), 3, "more than 64 choices"));
}

TEST(SourceDeclaration, RefusesNamesAndUnitsLongerThan31Bytes) {
  const std::string longest(31, 'k');
  const std::string longer(32, 'k');
  const auto param = [](const std::string& name, const std::string& unit) {
    return kElement + "//! param " + name + " real 0 0 1 " + unit + " \"a\"";
  };
  EXPECT_EQ(error_of("//! kernel " + longest + " \"x\"\n//! element f f32 -> f32"), "");
  EXPECT_TRUE(blames("//! kernel " + longer + " \"x\"\n", 1, "1 to 31"));
  EXPECT_EQ(error_of(param(longest, longest)), "");
  EXPECT_TRUE(blames(param(longer, "-"), 3, "1 to 31"));
  EXPECT_TRUE(blames(param("a", longer), 3, "has 32 bytes; it takes at most 31"));
  EXPECT_EQ(error_of(kElement + "//! param a choice b b," + longest + " \"a\""), "");
  EXPECT_TRUE(blames(kElement + "//! param a choice b b," + longer + " \"a\"", 3, "1 to 31"));
}

TEST(SourceDeclaration, RefusesLinesLongerThan200Bytes) {
  const std::string line(200, 'x');
  const auto kernel = [](const std::string& summary) {
    return "//! kernel clip \"" + summary + "\"\n//! batch clip\n";
  };
  EXPECT_EQ(error_of(kernel(line)), "");
  EXPECT_TRUE(blames(kernel(line + "x"), 1, "the summary has 201 bytes; it takes at most 200"));
  const std::string param = kBatch + "//! param a real 0 0 1 - \"";
  EXPECT_EQ(error_of(param + line + "\""), "");
  EXPECT_TRUE(blames(param + line + "x\"", 3, "has 201 bytes; it takes at most 200"));
  const std::string choice = kBatch + "//! param a choice b b,c \"";
  EXPECT_TRUE(blames(choice + line + "x\"", 3, "has 201 bytes; it takes at most 200"));
  const std::string table = kBatch + "//! table 16 \"";
  EXPECT_EQ(error_of(table + line + "\""), "");
  EXPECT_TRUE(blames(table + line + "x\"", 3, "has 201 bytes; it takes at most 200"));
  EXPECT_TRUE(blames(table + "\"", 3, "say what the table holds"));
}

TEST(SourceDeclaration, RefusesTextsOfMoreThan4000BytesInAll) {
  // "clip" and "bends" count 11 with their ends, a choice of 24 bytes 25, the rest of a line 4 + 200.
  std::string text = kElement;
  std::size_t bytes = 11;
  for (int index = 0; index < 16; ++index) {
    text += "//! param p" + std::string(1, static_cast<char>('a' + index)) + " choice c c";
    bytes += 3 + 1 + 2 + 201;
    for (int choice = 0; index < 3 && choice < 8; ++choice) {
      text += "," + std::string(23, 'd') + std::to_string(choice);
      bytes += 25;
    }
    text += " \"" + std::string(200, 'x') + "\"\n";
  }
  ASSERT_EQ(bytes, 3923U);
  EXPECT_EQ(error_of(text), "");
  const auto with_table = [&](std::size_t help_bytes) {
    std::string batch = text;
    batch.replace(batch.find("element clip f32 -> f32"), 23, "batch clip");
    return batch + "//! table 16 \"" + std::string(help_bytes, 'x') + "\"";
  };
  EXPECT_EQ(error_of(with_table(76)), "");
  EXPECT_TRUE(blames(with_table(77), 19, "more than 4000 bytes"));
}

TEST(SourceDeclaration, RefusesOtherFilesThanTheToolkitsOwn) {
  EXPECT_EQ(error_of(kElement + "#include <cuda_fp16.h>\n # include <cuda/std/cstdint> // ints\n"),
            "");
  EXPECT_TRUE(blames(kElement + "#include \"mine.cuh\"\n", 3, "one file"));
  EXPECT_TRUE(blames(kElement + "#  include </etc/passwd>\n", 3, "one file"));
  EXPECT_TRUE(blames(kElement + "#include <../mine.cuh>\n", 3, "one file"));
  EXPECT_TRUE(blames(kElement + "#include MINE\n", 3, "one file"));
  EXPECT_TRUE(blames(kElement + "#include <mine.cuh\n", 3, "one file"));
  EXPECT_TRUE(blames(kElement + "#include_next <mine.cuh>\n", 3, "one file"));
}

TEST(SourceDeclaration, NamesTheHeadersOnce) {
  EXPECT_EQ(included_headers("#include <a.h>\n#include <b/c>\n#include <a.h>\n#define x\n"),
            (std::vector<std::string>{"a.h", "b/c"}));
  EXPECT_TRUE(included_headers("").empty());
}

TEST(SourceDeclaration, RefusesWhatIsNoText) {
  EXPECT_TRUE(blames(kElement + std::string("a\0b", 3), 3, "zero byte"));
  EXPECT_TRUE(blames(std::string((std::size_t{1} << 20U) + 1, ' '), 0, "1048577 bytes"));
}

}  // namespace
}  // namespace overlap::test
