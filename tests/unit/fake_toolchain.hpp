#pragma once

#include "daemon/device/source_toolchain.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace overlap::testing {

/// What a test sees of its toolchain, and tells it. Outlives it.
struct ToolchainScript {
  /// Part of the identity: another compiler.
  std::string version = "1";
  /// Not empty: nothing compiles, and this is the log.
  std::string compile_error;
  /// What the compiler says although it succeeds.
  std::string warning;
  /// Code that is refused when loaded.
  std::string bad_image;
  /// How often each was done.
  std::atomic<int> compiled = 0;
  std::atomic<int> loaded = 0;
  /// Images that were launched, in order.
  std::vector<std::string> launched;
  /// Called in the midst of compiling.
  std::function<void()> while_compiling;
};

/// Stands in for NVRTC and a GPU: its code is the text of the program, and launching notes it.
class FakeToolchain final : public SourceToolchain {
 public:
  explicit FakeToolchain(ToolchainScript& script) : script_(script) {}

  [[nodiscard]] std::string identity(const SourceProgram& /*program*/) const override {
    return "fake " + script_.version;
  }
  [[nodiscard]] CompiledSource compile(const SourceProgram& program) const override {
    if (script_.while_compiling) {
      script_.while_compiling();
    }
    ++script_.compiled;
    if (!script_.compile_error.empty()) {
      throw SourceError(program.file, 0, "does not compile\n" + script_.compile_error);
    }
    return {program.text, "entry of " + program.entry, script_.warning};
  }
  [[nodiscard]] std::unique_ptr<const SourceCode> load(
      const CompiledSource& compiled, const SourceShape& /*shape*/) const override {
    if (!script_.bad_image.empty() && compiled.image.find(script_.bad_image) != std::string::npos) {
      throw std::runtime_error("bad image");
    }
    ++script_.loaded;
    return std::make_unique<Code>(script_, compiled.image);
  }

 private:
  class Code final : public SourceCode {
   public:
    Code(ToolchainScript& script, std::string image) : script_(script), image_(std::move(image)) {}
    [[nodiscard]] int launch(const overlap_batch& /*batch*/, OpaqueStream) const override {
      script_.launched.push_back(image_);
      return 0;
    }

   private:
    ToolchainScript& script_;
    std::string image_;
  };

  ToolchainScript& script_;
};

}  // namespace overlap::testing
