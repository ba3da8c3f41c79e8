#include "daemon/source_start.hpp"

#include "daemon/run_settings.hpp"
#include "tests/bench/temporary_folder.hpp"
#include "tests/unit/text_log.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <fstream>
#include <string>

namespace overlap {
namespace {

class SourceStartTest : public ::testing::Test {
 protected:
  SourceStartTest() {
    device_.backend = "host";
    options_.kernel_cache = folder_.path() + "/cache";
  }
  std::string write(const std::string& text) {
    std::string path = folder_.path() + "/a.cu";
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0600);
    return path;
  }
  std::string error() {
    try {
      static_cast<void>(start_source_kernels(options_, device_, registry_, log_.logger()));
    } catch (const SettingsError& error) {
      return error.what();
    }
    return {};
  }

  bench::TemporaryFolder folder_;
  Options options_;
  DeviceProperties device_;
  KernelRegistry registry_;
  testing::TextLog log_;
};

TEST_F(SourceStartTest, NeedsNothingWithoutAFile) {
  device_.backend = "cuda";
  options_.nvrtc_path = "/nowhere";
  EXPECT_EQ(error(), "");
  EXPECT_EQ(log_.text(), "");
}

TEST_F(SourceStartTest, DeclaresKernelsOnTheHost) {
  options_.kernel_sources = {write("//! kernel f \"f\"\n//! element f u8 -> u8\n")};
  EXPECT_EQ(error(), "");
  EXPECT_NE(registry_.find("f"), nullptr);
}

TEST_F(SourceStartTest, LogsEveryLineAndNamesTheFileInItsError) {
  options_.kernel_sources = {write("//! kernel f\n")};
  EXPECT_EQ(error().find("kernel-source: " + options_.kernel_sources[0] + ":1: "), 0U) << error();
  EXPECT_TRUE(log_.has("critical " + options_.kernel_sources[0] + ":1: ")) << log_.text();
}

TEST_F(SourceStartTest, SaysWhatIsMissingToCompile) {
  device_.backend = "cuda";
  options_.nvrtc_path = "/nowhere";
  options_.kernel_sources = {write("//! kernel f \"f\"\n//! element f u8 -> u8\n")};
  EXPECT_EQ(error().find("kernel-source: "), 0U) << error();
}

}  // namespace
}  // namespace overlap
