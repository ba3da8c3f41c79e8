#include "daemon/device/cuda_factory.hpp"

#include "daemon/device/cuda_absence.hpp"
#include "daemon/device/cuda_check.hpp"
#include "daemon/device/cuda_errors.hpp"
#include "daemon/device/cuda_handles.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

// What can be said about a GPU without one.

namespace overlap::test {
namespace {

static_assert(!std::is_constructible_v<CudaStreamRef, int>);
static_assert(!std::is_constructible_v<CudaStreamRef, std::nullptr_t>);
static_assert(!std::is_constructible_v<CudaEventRef, int>);
static_assert(!std::is_constructible_v<CudaEventRef, std::nullptr_t>);
static_assert(!std::is_copy_constructible_v<CudaStream>);
static_assert(!std::is_copy_constructible_v<CudaEvent>);
static_assert(std::is_nothrow_move_constructible_v<CudaStream>);
static_assert(std::is_nothrow_move_constructible_v<CudaEvent>);

TEST(CudaErrors, LosesTheContextToWhatTheDocumentationCallsFinal) {
  for (const int code :
       {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911, 999}) {
    EXPECT_TRUE(ends_the_context(code)) << cuda_error_text(code);
  }
}

TEST(CudaErrors, KeepsTheContextAfterARefusedCall) {
  for (const int code : {0, 1, 2, 9, 98, 209, 400, 600, 701, 712, 713, 800, 801}) {
    EXPECT_FALSE(ends_the_context(code)) << cuda_error_text(code);
  }
}

TEST(CudaErrors, AreDescribedByNameAndNumber) {
  EXPECT_EQ(cuda_error_text(1), "cudaErrorInvalidValue (1): invalid argument");
}

TEST(CudaCheck, ThrowsWithTheCallItsInputsAndTheError) {
  EXPECT_NO_THROW(OVERLAP_CUDA_CHECK(cudaSuccess));
  try {
    OVERLAP_CUDA_CHECK(cudaErrorInvalidValue, "64 bytes");
    FAIL() << "nothing was thrown";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidValue);
    EXPECT_STREQ(error.what(),
                 "cudaErrorInvalidValue [64 bytes]: cudaErrorInvalidValue (1): invalid "
                 "argument");
  }
}

/// The sentence for a failed call that gave `code`, with a driver for CUDA 13.0 and a program for
/// 13.1.
std::string sentence_for(int code, std::optional<std::string> visible = {}, int driver = 13000) {
  return why_no_cuda(
      {code, "cudaSetDevice: " + cuda_error_text(code), driver, 13010, std::move(visible)});
}

TEST(CudaAbsence, NamesTheErrorAndItsNumber) {
  for (const int code : {3, 34, 35, 46, 100, 101, 802, 803, 804, 999}) {
    const std::string number = "(" + std::to_string(code) + ")";
    EXPECT_NE(sentence_for(code).find(number), std::string::npos) << sentence_for(code);
    EXPECT_NE(sentence_for(code).find("; "), std::string::npos) << "no advice for " << code;
  }
}

TEST(CudaAbsence, TellsAMissingDriverFromAnOldOne) {
  EXPECT_NE(sentence_for(35, {}, 0).find("libcuda.so.1"), std::string::npos);
  EXPECT_NE(sentence_for(35).find("for CUDA 13.0 and this program for CUDA 13.1"),
            std::string::npos);
}

TEST(CudaAbsence, NamesTheVariableThatHidesTheGpu) {
  EXPECT_NE(sentence_for(100, "-1").find("CUDA_VISIBLE_DEVICES=\"-1\""), std::string::npos);
  EXPECT_NE(sentence_for(100, "").find("CUDA_VISIBLE_DEVICES=\"\""), std::string::npos);
  EXPECT_EQ(sentence_for(100).find("CUDA_VISIBLE_DEVICES"), std::string::npos);
}

TEST(CudaFactory, GivesADeviceOrSaysWhyNot) {
  const CudaProbe probe = make_cuda_device(0);
  if (probe.device != nullptr) {
    EXPECT_EQ(probe.why_not, "");
  } else {
    EXPECT_NE(probe.why_not.find("cudaError"), std::string::npos) << probe.why_not;
  }
}

TEST(CudaFactory, GivesNoDeviceForANumberThatIsNone) {
  for (const int index : {-1, 9999}) {
    const CudaProbe probe = make_cuda_device(index);
    EXPECT_EQ(probe.device, nullptr);
    EXPECT_NE(probe.why_not.find("cudaError"), std::string::npos) << probe.why_not;
    EXPECT_NE(probe.why_not.find("cudaSetDevice(" + std::to_string(index) + ")"), std::string::npos)
        << probe.why_not;
  }
}

TEST(CudaFactoryDeathTest, NamesTheVariableThatHidesEveryGpu) {
  if (!std::filesystem::exists("/dev/nvidiactl")) {
    GTEST_SKIP() << "no GPU: there is no /dev/nvidiactl";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
        std::fputs(make_cuda_device(0).why_not.c_str(), stderr);
        ::_exit(0);
      },
      ::testing::ExitedWithCode(0), "cudaErrorNoDevice.*CUDA_VISIBLE_DEVICES=\"-1\"");
}

}  // namespace
}  // namespace overlap::test
