#include "daemon/engine/served_pipeline.hpp"

#include "tests/unit/keeping_kernels.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace overlap {
namespace {

std::shared_ptr<ServedPipeline> offered(const std::string& text) {
  return std::make_shared<ServedPipeline>(Pipeline::parse(text, testing::scripted_registry()));
}

/// Whether two channels with these pipelines are served by one.
bool are_shared(const std::string& a, const std::string& b) {
  PipelineTable table;
  const auto first = table.share(offered(a));
  return table.share(offered(b)) == first;
}

TEST(ServedPipeline, KeepsWhatItLearnsBesideThePipeline) {
  ServedPipeline sut(Pipeline::parse("copy|twice", testing::scripted_registry()));
  EXPECT_EQ(sut.pipeline().text(), "copy|twice");
  ASSERT_EQ(sut.stages().size(), 2U);
  EXPECT_EQ(sut.stages()[1].kernel->name(), "twice");
  PlanCache::Entry& plan = sut.acquire_plan(100);
  EXPECT_EQ(plan.plan.max_output_bytes, 200U);
  EXPECT_EQ(&sut.acquire_plan(100), &plan) << "planned once";
  sut.cost().learn(100, 100, 5000);
  EXPECT_NEAR(static_cast<double>(std::as_const(sut).cost().estimate_ns(100)), 5000, 2);
}

TEST(PipelineTable, ServesTheFirstAsItIs) {
  PipelineTable sut;
  const auto first = offered("copy");
  EXPECT_EQ(sut.share(first), first);
  EXPECT_EQ(sut.share(first), first) << "offered once more";
}

TEST(PipelineTable, SharesTheSameKernelsWithTheSameParameters) {
  EXPECT_TRUE(are_shared("copy", "copy"));
  EXPECT_TRUE(are_shared("scale:a=2,b=1|copy", "scale:a=2,b=1|copy"));
  // However it is written.
  EXPECT_TRUE(are_shared("scale:a=2,b=1", "scale:b=1,a=2"));
  EXPECT_TRUE(are_shared("scale:a=2.0", "scale:a=2"));
  EXPECT_TRUE(are_shared("vector_add", "vector_add:repeat=1"));
}

TEST(PipelineTable, KeepsOtherParametersApart) {
  EXPECT_FALSE(are_shared("scale:a=2", "scale:a=3"));
  EXPECT_FALSE(are_shared("scale:type=f32", "scale:type=i32"));
  EXPECT_FALSE(are_shared("vector_add:repeat=1", "vector_add:repeat=2"));
  EXPECT_FALSE(are_shared("transpose:rows=8,cols=4", "transpose:rows=4,cols=8"));
  EXPECT_FALSE(are_shared("copy|scale:a=2", "copy|scale:a=4"));
}

TEST(PipelineTable, KeepsOtherKernelsAndAnotherOrderApart) {
  EXPECT_FALSE(are_shared("copy", "judge"));
  EXPECT_FALSE(are_shared("copy|twice", "twice|copy"));
  EXPECT_FALSE(are_shared("copy", "copy|copy"));
  EXPECT_FALSE(are_shared("copy|copy", "copy"));
}

TEST(PipelineTable, ComparesParametersBitForBit) {
  EXPECT_FALSE(are_shared("scale:b=0", "scale:b=-0")) << "they compare equal and add differently";
  EXPECT_TRUE(are_shared("scale:b=-0", "scale:b=-0.0"));
  EXPECT_FALSE(are_shared("scale:a=2", "scale:a=2.0000000000000004")) << "the next double";
  EXPECT_TRUE(are_shared("scale:a=2", "scale:a=2.0000000000000001")) << "the same double";
}

TEST(PipelineTable, SharesAmongAnyNumber) {
  PipelineTable sut;
  const auto copy = sut.share(offered("copy"));
  const auto twice = sut.share(offered("twice"));
  EXPECT_NE(copy, twice);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(sut.share(offered("twice")), twice);
    EXPECT_EQ(sut.share(offered("copy")), copy);
  }
}

TEST(PipelineTable, SharesWhatKeepsAStateWithinAPriorityAlone) {
  const auto keeping = [](const char* text) {
    return std::make_shared<ServedPipeline>(Pipeline::parse(text, testing::keeping_registry()));
  };
  PipelineTable sut;
  const auto high = sut.share(keeping("running_sum"), ChannelPriority::high);
  EXPECT_EQ(sut.share(keeping("running_sum"), ChannelPriority::high), high);
  EXPECT_NE(sut.share(keeping("running_sum"), ChannelPriority::low), high)
      << "its batches run one after the other";
  const auto copy = sut.share(keeping("copy"), ChannelPriority::high);
  EXPECT_EQ(sut.share(keeping("copy"), ChannelPriority::low), copy);
}

TEST(PipelineTable, ForgetsWhatNobodyHasAnyMore) {
  PipelineTable sut;
  std::weak_ptr<ServedPipeline> gone;
  {
    const auto first = sut.share(offered("copy"));
    first->cost().learn(100, 100, 5000);
    gone = first;
  }
  EXPECT_TRUE(gone.expired()) << "the table must not keep it alive";
  const auto later = offered("copy");
  EXPECT_EQ(sut.share(later), later);
  EXPECT_EQ(later->cost().estimate_ns(100), CostModel().estimate_ns(100));
}

TEST(PipelineTable, KeepsWhatOneOfManyStillHas) {
  PipelineTable sut;
  auto first = sut.share(offered("copy"));
  const auto second = sut.share(offered("copy"));
  auto other = sut.share(offered("twice"));
  first.reset();
  other.reset();
  EXPECT_EQ(sut.share(offered("copy")), second);
}

}  // namespace
}  // namespace overlap
