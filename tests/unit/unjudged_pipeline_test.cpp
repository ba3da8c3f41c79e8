#include "producer/send/unjudged_pipeline.hpp"

#include "producer/send/send_options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace overlap {
namespace {

const KernelRegistry& builtin() {
  static const KernelRegistry kRegistry = KernelRegistry::with_builtin_kernels();
  return kRegistry;
}

TEST(UnjudgedPipeline, IsAnOrdinaryOneWhereEveryKernelIsKnown) {
  const Pipeline sut = read_pipeline("scale:a=2,type=u8|copy", builtin(), true);
  EXPECT_EQ(sut.stages().size(), 2U);
  EXPECT_THROW(static_cast<void>(read_pipeline("scale:c=1", builtin(), false)), PipelineError);
  EXPECT_THROW(static_cast<void>(read_pipeline("", builtin(), false)), PipelineError);
  EXPECT_THROW(static_cast<void>(read_pipeline("copy|", builtin(), false)), PipelineError);
}

TEST(UnjudgedPipeline, TakesEverySizeWhereOneKernelIsTheDaemonsAlone) {
  for (const std::string text : {"blur", "copy|blur:sigma=1", "blur|scale:c=1", "copy||blur"}) {
    const Pipeline sut = read_pipeline(text, builtin(), false);
    EXPECT_EQ(sut.text(), text);
    EXPECT_EQ(sut.largest_input_bytes(4097), 4097U);
    EXPECT_TRUE(std::holds_alternative<PipelinePlan>(sut.plan(1)));
    EXPECT_THROW(static_cast<void>(sut.reference(std::vector<std::byte>(4))), NoReference);
  }
}

TEST(UnjudgedPipeline, CannotBeVerifiedAndSaysWhichKernelStandsInTheWay) {
  try {
    static_cast<void>(read_pipeline("copy|blur:sigma=1", builtin(), true));
    FAIL() << "it can be verified";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'blur'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("--verify"), std::string::npos);
  }
}

}  // namespace
}  // namespace overlap
