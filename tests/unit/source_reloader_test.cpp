#include "daemon/source/source_reloader.hpp"

#include "tests/unit/source_kernels_fixture.hpp"

#include <chrono>
#include <future>

namespace overlap::testing {
namespace {

class SourceReloaderTest : public SourceKernelsTest {
 protected:
  SourceReloaderTest() { kernels_.load(); }
  void await_rebuilt() {
    ASSERT_EQ(rebuilt_.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
    rebuilt_ = {};
  }

  SourceKernels kernels_ = make({write("a.cu", kHalve)});
  std::promise<void> rebuilt_;
};

TEST_F(SourceReloaderTest, ReturnsWhileTheCompilerIsAtWork) {
  std::promise<void> go_on;
  script_.while_compiling = [&] { go_on.get_future().wait(); };
  write("a.cu", kHalve + "// new\n");
  SourceReloader sut(kernels_, [this] { rebuilt_.set_value(); });
  sut.request();
  EXPECT_EQ(script_.compiled, 1) << "we are here, and it waits for us";
  go_on.set_value();
  await_rebuilt();
  sut.finish();
  EXPECT_NE(launched("halve").find("// new"), std::string::npos);
}

TEST_F(SourceReloaderTest, DoesItOnceMoreIfAskedMeanwhile) {
  std::promise<void> go_on;
  script_.while_compiling = [&] { go_on.get_future().wait(); };
  write("a.cu", kHalve + "// new\n");
  SourceReloader sut(kernels_, [this] { rebuilt_.set_value(); });
  sut.request();
  sut.request();
  sut.request();
  script_.compile_error.clear();
  go_on.set_value();
  await_rebuilt();
  script_.while_compiling = nullptr;
  write("a.cu", kHalve + "// newer\n");
  sut.finish();
  await_rebuilt();
  sut.finish();
  EXPECT_NE(launched("halve").find("// newer"), std::string::npos);
  EXPECT_EQ(script_.compiled, 3);
}

TEST_F(SourceReloaderTest, WaitsForACompilerAtWorkWhenItGoes) {
  write("a.cu", kHalve + "// new\n");
  {
    SourceReloader sut(kernels_, [] {});
    sut.request();
  }
  EXPECT_EQ(script_.compiled, 2);
}

}  // namespace
}  // namespace overlap::testing
