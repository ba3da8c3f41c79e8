#include "daemon/device/nvrtc_compiler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace overlap {
namespace {

std::string example(const std::string& name) {
  std::ifstream file(std::string(OVERLAP_SOURCE_EXAMPLES) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

SourceProgram program_of(const std::string& text, const std::string& file = "a.cu") {
  return make_program(parse_declaration(text, file), text);
}

/// NVRTC compiles without a GPU; without NVRTC every case is skipped.
class NvrtcCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      sut_.emplace(std::nullopt, "sm_90");
    } catch (const NvrtcAbsent& absent) {
      GTEST_SKIP() << absent.what();
    }
  }
  std::string error_of(const std::string& text) {
    try {
      static_cast<void>(sut_->compile(program_of(text)));
    } catch (const SourceError& error) {
      return error.what();
    }
    return {};
  }
  ::testing::AssertionResult says(const std::string& text, const std::string& part) {
    const std::string error = error_of(text);
    return (error.find(part) != std::string::npos ? ::testing::AssertionSuccess()
                                                  : ::testing::AssertionFailure())
           << "'" << error << "'";
  }

  std::optional<NvrtcCompiler> sut_;
};

TEST_F(NvrtcCompilerTest, CompilesEveryExample) {
  for (const char* const name : {"half_gain.cu", "row_sums.cu", "soft_clip.cu", "threshold.cu"}) {
    const CompiledSource compiled = sut_->compile(program_of(example(name), name));
    EXPECT_EQ(compiled.image.substr(0, 4),
              "\x7f"
              "ELF")
        << name;
    EXPECT_NE(compiled.image.find(compiled.entry), std::string::npos) << name;
    EXPECT_EQ(compiled.log, "") << name;
  }
}

TEST_F(NvrtcCompilerTest, CompilesEveryPairOfTypes) {
  for (const std::string in : {"u8", "i16", "f32", "f64"}) {
    for (const std::string out : {"u8", "i32", "f64"}) {
      const std::string text = "//! kernel f \"f\"\n//! element f " + in + " -> " + out +
                               "\n__device__ overlap::" + out + " f(overlap::" + in +
                               " x) { return static_cast<overlap::" + out + ">(x); }\n";
      EXPECT_EQ(error_of(text), "") << in << " to " << out;
    }
  }
}

TEST_F(NvrtcCompilerTest, NamesTheLineOfTheFileForAnError) {
  EXPECT_TRUE(
      says("//! kernel f \"f\"\n//! element f f32 -> f32\n\n"
           "__device__ float f(float x) {\n  return x + y;\n}\n",
           "\na.cu:5: error: identifier \"y\" is undefined\n"));
  EXPECT_TRUE(
      says("//! kernel f \"f\"\n//! element f f32 -> f32\n"
           "__device__ float f(float x) { /* no end",
           "a.cu:3: error: comment unclosed"));
}

TEST_F(NvrtcCompilerTest, BlamesTheDeclarationForAFunctionThatIsAnother) {
  const std::string head = "//! kernel f \"f\"\n//! element f f32 -> u8\n";
  EXPECT_TRUE(says(head + "__device__ float f(float x) { return x; }\n", "a.cu:2: error: "));
  EXPECT_TRUE(says(head + "__device__ float f(float x) { return x; }\n",
                   "'__device__ overlap::u8 f(overlap::f32 x)'"));
  EXPECT_TRUE(says(head, "a.cu:2: error: identifier \"f\" is undefined"));
  EXPECT_TRUE(
      says("//! kernel f \"f\"\n//! batch f\n//! param p real 0 0 1 - \"p\"\n"
           "__global__ void f(overlap::Batch batch, float p) {}\n",
           "a.cu:2: error: "));
}

TEST_F(NvrtcCompilerTest, GivesTheWarningsOfWhatItCompiled) {
  const CompiledSource compiled =
      sut_->compile(program_of("//! kernel f \"f\"\n//! element f f32 -> f32\n"
                               "__device__ float f(float x) {\n  int unused;\n  return x;\n}\n"));
  EXPECT_NE(compiled.log.find("a.cu:4: warning"), std::string::npos) << compiled.log;
}

TEST_F(NvrtcCompilerTest, RoundsAProductBeforeASum) {
  const std::string text =
      "//! kernel f \"f\"\n//! element f f32 -> f32\n"
      "__device__ float f(float x) { return x * 1.5f + 2.5f; }\n";
  EXPECT_EQ(std::ranges::count(sut_->options(), "--fmad=false"), 1);
  EXPECT_EQ(error_of(text), "");
}

TEST_F(NvrtcCompilerTest, HasAnIdentityOfCompilerOptionsAndHeaders) {
  const std::string plain = "//! kernel f \"f\"\n//! element f f32 -> f32\n";
  const std::string identity = sut_->identity(program_of(plain));
  EXPECT_NE(identity.find("--gpu-architecture=sm_90"), std::string::npos) << identity;
  EXPECT_EQ(identity, sut_->identity(program_of(plain + "// other text, same compiler\n")));
  EXPECT_NE(identity, sut_->identity(program_of(plain + "#include <cuda_fp16.h>\n")));
  EXPECT_NE(identity, NvrtcCompiler(std::nullopt, "sm_80").identity(program_of(plain)));
}

TEST(NvrtcLibraryTest, SaysWhereItLooked) {
  try {
    const NvrtcLibrary sut("/nowhere/libnvrtc.so");
    ADD_FAILURE() << sut.file();
  } catch (const NvrtcAbsent& absent) {
    const std::string text = absent.what();
    EXPECT_NE(text.find("/nowhere/libnvrtc.so"), std::string::npos) << text;
    EXPECT_NE(text.find("nvrtc-path"), std::string::npos) << text;
  }
  EXPECT_THROW(NvrtcLibrary("/tmp"), NvrtcAbsent);
}

TEST(NvrtcLibraryTest, RefusesALibraryThatIsAnother) {
  try {
    const NvrtcLibrary sut("/lib/x86_64-linux-gnu/libm.so.6");
    ADD_FAILURE() << sut.file();
  } catch (const NvrtcAbsent& absent) {
    EXPECT_NE(std::string(absent.what()).find("libm.so.6"), std::string::npos) << absent.what();
  }
}

TEST(CompilerLog, GetsPositionsAsEditorsKnowThem) {
  EXPECT_EQ(with_positions("a.cu(12): error: x\n    y(3);\n\n1 error\n"),
            "a.cu:12: error: x\n    y(3);\n\n1 error");
  EXPECT_EQ(with_positions("a (1).cu(2): error: f(3): no"), "a (1).cu:2: error: f(3): no");
  EXPECT_EQ(with_positions("(x): y"), "(x): y");
  EXPECT_EQ(with_positions("a(): y"), "a(): y");
  EXPECT_EQ(with_positions(""), "");
}

}  // namespace
}  // namespace overlap
