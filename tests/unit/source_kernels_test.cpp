#include "daemon/source/source_kernels.hpp"

#include "kernels/pipeline.hpp"
#include "tests/unit/source_kernels_fixture.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>

namespace overlap::testing {
namespace {

const std::string kTwice = "//! kernel twice \"x, x\"\n//! batch twice\n//! output 2/1\n";

/// A kernel on the host alone, as a plug-in may bring it.
class HostKernel final : public Kernel {
 public:
  explicit HostKernel(std::uint64_t growth) : growth_(growth) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "twice"; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "x, x"; }
  [[nodiscard]] std::string_view origin() const noexcept override { return "/lib/twice.so"; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override { return {}; }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView) const noexcept override { return 1; }
  [[nodiscard]] PlanOrRefusal plan(ParameterView, std::uint64_t input_bytes) const override {
    Plan plan;
    plan.max_output_bytes = growth_ * input_bytes;
    return plan;
  }
  void run(const overlap_batch& /*batch*/) const override {}
  [[nodiscard]] bool has_cuda() const noexcept override { return false; }
  [[nodiscard]] int launch(const overlap_batch&, OpaqueStream) const override { return 801; }
  std::uint64_t reference(const ReferenceJob& /*job*/) const override { return 0; }

 private:
  std::uint64_t growth_;
};

TEST_F(SourceKernelsTest, DoNothingWithoutAFile) {
  SourceKernels sut = make({});
  sut.load();
  reload(sut);
  EXPECT_TRUE(sut.empty());
  EXPECT_EQ(log_.text(), "");
}

TEST_F(SourceKernelsTest, AreRegisteredAndRunWhatWasCompiled) {
  SourceKernels sut = make({write("a.cu", kHalve), write("b.cu", kTwice)});
  sut.load();
  EXPECT_NE(launched("halve").find("halve(x)"), std::string::npos);
  EXPECT_NE(launched("twice").find("//! batch twice"), std::string::npos);
  EXPECT_EQ(registry_.find("halve")->origin(), folder_.path() + "/a.cu");
  EXPECT_EQ(Pipeline::parse("scale|halve", registry_).stages().size(), 2U);
  EXPECT_TRUE(log_.has("info kernel 'halve' from ")) << log_.text();
}

TEST_F(SourceKernelsTest, AreDeclaredWithoutAGpuAndCannotBeLaunched) {
  SourceKernels sut = make({write("a.cu", kHalve)}, false);
  sut.load();
  const Kernel* const kernel = registry_.find("halve");
  ASSERT_NE(kernel, nullptr);
  EXPECT_FALSE(kernel->has_host());
  EXPECT_FALSE(kernel->has_cuda());
  EXPECT_EQ(script_.compiled, 0);
  EXPECT_TRUE(log_.has("refused at the attach")) << log_.text();
}

TEST_F(SourceKernelsTest, EndTheStartForAFileThatCannotBeUsed) {
  const std::string none = folder_.path() + "/none.cu";
  EXPECT_EQ(error_of({none}), none + ": this source kernel is not there");
  const std::string open = write("open.cu", kHalve);
  ::chmod(open.c_str(), 0666);
  EXPECT_NE(error_of({open}).find(open + ": this source kernel can be written by others"),
            std::string::npos);
  const std::string wrong = write("wrong.cu", "\n//! kernal halve \"x\"\n");
  EXPECT_EQ(error_of({wrong}).find(wrong + ":2: "), 0U) << error_of({wrong});
}

TEST_F(SourceKernelsTest, EndTheStartWithTheCompilersWholeLog) {
  script_.compile_error = "a.cu:7: error: one\na.cu:9: error: two";
  const std::string error = error_of({write("a.cu", kHalve)});
  EXPECT_NE(error.find("a.cu:7: error: one\na.cu:9: error: two"), std::string::npos) << error;
  EXPECT_EQ(registry_.find("halve"), nullptr);
}

TEST_F(SourceKernelsTest, EndTheStartIfTheGpuDoesNotTakeTheCode) {
  script_.bad_image = "halve";
  const std::string error = error_of({write("a.cu", kHalve)});
  EXPECT_NE(error.find("the GPU does not take it: bad image"), std::string::npos) << error;
  script_.bad_image.clear();
  EXPECT_EQ(error_of({folder_.path() + "/a.cu"}), "");
  EXPECT_EQ(script_.compiled, 2) << "what the GPU did not take was not kept";
}

TEST_F(SourceKernelsTest, LogEveryLineOfAWarning) {
  script_.warning = "a.cu:7: warning: one\n    x;\n";
  make({write("a.cu", kHalve)}).load();
  EXPECT_TRUE(log_.has("warning a.cu:7: warning: one\nwarning     x;\n")) << log_.text();
}

TEST_F(SourceKernelsTest, TakeNoNameThatIsTaken) {
  const std::string scale = write("a.cu", "//! kernel scale \"mine\"\n//! element f f32 -> f32\n");
  EXPECT_NE(error_of({scale}).find("'scale' is taken (built-in)"), std::string::npos);
  const std::string first = write("b.cu", kHalve);
  const std::string second = write("c.cu", kHalve);
  EXPECT_NE(error_of({first, second}).find("'halve' is taken (" + first + ")"), std::string::npos);
}

TEST_F(SourceKernelsTest, GiveAPluginsKernelItsCudaSide) {
  registry_.add(std::make_unique<HostKernel>(2));
  make({write("a.cu", kTwice)}).load();
  const Kernel* const kernel = registry_.find("twice");
  EXPECT_TRUE(kernel->has_host());
  EXPECT_TRUE(kernel->has_cuda());
  EXPECT_NE(launched("twice").find("//! batch twice"), std::string::npos);
}

TEST_F(SourceKernelsTest, RefuseAPluginsKernelThatIsAnother) {
  registry_.add(std::make_unique<HostKernel>(3));
  const std::string error = error_of({write("a.cu", kTwice)});
  EXPECT_NE(error.find("/lib/twice.so makes another size"), std::string::npos) << error;
  EXPECT_FALSE(registry_.find("twice")->has_cuda()) << "the plug-in's own is still there";
}

TEST_F(SourceKernelsTest, AreFoundInTheCacheTheNextTime) {
  const std::string file = write("a.cu", kHalve);
  script_.warning = "a.cu:7: warning: one";
  make({file}).load();
  EXPECT_EQ(script_.compiled, 1);
  registry_ = KernelRegistry::with_builtin_kernels();
  log_.clear();
  make({file}).load();
  EXPECT_EQ(script_.compiled, 1);
  EXPECT_EQ(script_.loaded, 2);
  EXPECT_NE(launched("halve").find("halve(x)"), std::string::npos);
  EXPECT_TRUE(log_.has("found in the cache")) << log_.text();
  EXPECT_TRUE(log_.has("a.cu:7: warning: one")) << "as if it had been compiled";
}

TEST_F(SourceKernelsTest, AreCompiledAnewForOtherTextOrAnotherCompiler) {
  const auto compiled_after = [this](const std::string& text, const std::string& version) {
    script_.version = version;
    registry_ = KernelRegistry::with_builtin_kernels();
    make({write("a.cu", text)}).load();
    return script_.compiled.load();
  };
  EXPECT_EQ(compiled_after(kHalve, "1"), 1);
  EXPECT_EQ(compiled_after(kHalve + "//\n", "1"), 2);
  EXPECT_EQ(compiled_after(kHalve + "//\n", "2"), 3);
  EXPECT_EQ(compiled_after(kHalve, "1"), 3) << "every version is kept";
}

TEST_F(SourceKernelsTest, AreCompiledAnewIfTheCacheHasDamage) {
  const std::string file = write("a.cu", kHalve);
  make({file}).load();
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path() + "/cache")) {
    std::filesystem::resize_file(entry.path(), 100);
  }
  registry_ = KernelRegistry::with_builtin_kernels();
  make({file}).load();
  EXPECT_EQ(script_.compiled, 2);
  EXPECT_TRUE(log_.has("damaged")) << log_.text();
}

TEST_F(SourceKernelsTest, StayTheSameOnAReloadWithoutChange) {
  SourceKernels sut = make({write("a.cu", kHalve)});
  sut.load();
  const Kernel* const before = registry_.find("halve");
  reload(sut);
  EXPECT_EQ(registry_.find("halve"), before);
  EXPECT_EQ(script_.compiled, 1);
  EXPECT_TRUE(log_.has("has not changed")) << log_.text();
}

TEST_F(SourceKernelsTest, AreReplacedOnAReloadForPipelinesThatComeLater) {
  SourceKernels sut = make({write("a.cu", kHalve)});
  sut.load();
  const Pipeline before = Pipeline::parse("halve", registry_);
  write("a.cu", kHalve + "// new\n");
  sut.rebuild();
  EXPECT_EQ(registry_.find("halve"), before.stages()[0].kernel) << "not yet";
  sut.apply();
  EXPECT_NE(launched("halve").find("// new"), std::string::npos);
  script_.launched.clear();
  EXPECT_EQ(before.stages()[0].kernel->launch(overlap_batch{}, nullptr), 0);
  EXPECT_EQ(script_.launched.at(0).find("// new"), std::string::npos) << "it keeps what it has";
  reload(sut);
  EXPECT_EQ(script_.compiled, 2) << "the new text is what is compared with now";
}

TEST_F(SourceKernelsTest, StayInServiceIfTheNewTextGivesNone) {
  SourceKernels sut = make({write("a.cu", kHalve), write("b.cu", kTwice)});
  sut.load();
  const Kernel* const before = registry_.find("halve");
  write("a.cu", kHalve + "// new\n");
  write("b.cu", kTwice + "// new\n");
  script_.bad_image = "halve";
  reload(sut);
  EXPECT_EQ(registry_.find("halve"), before);
  EXPECT_NE(launched("twice").find("// new"), std::string::npos) << "the others go on";
  EXPECT_TRUE(log_.has("error reload: kernel 'halve' stays as it was")) << log_.text();
  EXPECT_EQ(registry_.refused().size(), 1U);
  script_.bad_image.clear();
  reload(sut);
  EXPECT_NE(launched("halve").find("// new"), std::string::npos) << "tried again";
  EXPECT_TRUE(registry_.refused().empty());
}

TEST_F(SourceKernelsTest, LogTheWholeErrorOfAReload) {
  SourceKernels sut = make({write("a.cu", kHalve)});
  sut.load();
  for (const std::string& text : {kTwice, std::string("//! kernel halve x\n")}) {
    write("a.cu", text);
    reload(sut);
  }
  EXPECT_TRUE(log_.has("declares kernel 'twice' where it declared 'halve'")) << log_.text();
  EXPECT_TRUE(log_.has("a.cu:1: write '//! kernel")) << log_.text();
  script_.compile_error = "a.cu:7: error: one\na.cu:9: error: two";
  write("a.cu", kHalve + "//\n");
  reload(sut);
  EXPECT_TRUE(log_.has("error a.cu:7: error: one\nerror a.cu:9: error: two\n")) << log_.text();
  std::filesystem::remove(folder_.path() + "/a.cu");
  reload(sut);
  EXPECT_TRUE(log_.has("is not there")) << log_.text();
  EXPECT_NE(registry_.find("halve"), nullptr);
}

TEST_F(SourceKernelsTest, KeepTheirHostSideOnAReload) {
  registry_.add(std::make_unique<HostKernel>(2));
  SourceKernels sut = make({write("a.cu", kTwice)});
  sut.load();
  write("a.cu", kTwice + "// new\n");
  reload(sut);
  EXPECT_TRUE(registry_.find("twice")->has_host());
  EXPECT_NE(launched("twice").find("// new"), std::string::npos);
}

}  // namespace
}  // namespace overlap::testing
