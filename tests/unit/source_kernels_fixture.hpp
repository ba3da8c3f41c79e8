#pragma once

#include "daemon/source/source_kernels.hpp"
#include "tests/bench/temporary_folder.hpp"
#include "tests/unit/fake_toolchain.hpp"
#include "tests/unit/text_log.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace overlap::testing {

inline const std::string kHalve = "//! kernel halve \"x / 2\"\n//! element halve f32 -> f32\n";

/// Files of source kernels in a folder of their own, and a toolchain that follows a script.
class SourceKernelsTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    ::chmod(path.c_str(), 0600);
    return path;
  }

  /// With a GPU, unless it is to be without.
  SourceKernels make(std::vector<std::string> files, bool on_gpu = true) {
    return {std::move(files), on_gpu ? std::make_unique<FakeToolchain>(script_) : nullptr,
            KernelCache(folder_.path() + "/cache", log_.logger()), registry_, log_.logger()};
  }

  /// The error of a start; empty if it succeeds.
  std::string error_of(std::vector<std::string> files) {
    try {
      make(std::move(files)).load();
    } catch (const SourceError& error) {
      return error.what();
    }
    return {};
  }

  /// What a launch of the kernel runs.
  std::string launched(std::string_view kernel) {
    script_.launched.clear();
    EXPECT_EQ(registry_.find(kernel)->launch(overlap_batch{}, nullptr), 0);
    return script_.launched.at(0);
  }

  static void reload(SourceKernels& kernels) {
    kernels.rebuild();
    kernels.apply();
  }

  bench::TemporaryFolder folder_;
  TextLog log_;
  ToolchainScript script_;
  KernelRegistry registry_ = KernelRegistry::with_builtin_kernels();
};

}  // namespace overlap::testing
