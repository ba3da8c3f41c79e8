#include "tests/bench/kernel_workloads.hpp"

#include "kernels/pipeline.hpp"
#include "tests/bench/workload_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace overlap::bench {
namespace {

const std::set<std::string_view> kLeftOut = {"spin", "fault"};
const std::set<std::string_view> kPluginKernels = {"fft", "gemm"};

bool is_measured(std::string_view kernel) {
  return std::ranges::find(kernel_workloads(), kernel, &KernelWorkload::kernel) !=
         kernel_workloads().end();
}

TEST(KernelWorkloads, HaveEveryBuiltInKernelButThoseLeftOut) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  for (const Kernel* const kernel : kernels.all()) {
    EXPECT_NE(is_measured(kernel->name()), kLeftOut.contains(kernel->name())) << kernel->name();
  }
}

TEST(KernelWorkloads, HaveTheKernelsOfThePlugins) {
  for (const std::string_view kernel : kPluginKernels) {
    EXPECT_TRUE(is_measured(kernel)) << kernel;
  }
}

TEST(KernelWorkloads, NameNoKernelThatDoesNotExist) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  for (const KernelWorkload& workload : kernel_workloads()) {
    EXPECT_TRUE(kernels.find(workload.kernel()) != nullptr ||
                kPluginKernels.contains(workload.kernel()))
        << workload.kernel();
  }
}

TEST(KernelWorkloads, HaveLabelsOfTheirOwnThatFitTheTable) {
  std::set<std::string_view> labels;
  for (const KernelWorkload& workload : kernel_workloads()) {
    EXPECT_TRUE(labels.insert(workload.label).second) << workload.label;
    EXPECT_LE(workload.label.size(), 28U) << workload.label;
  }
}

TEST(KernelWorkloads, HaveOneKernelInBothSizes) {
  for (const KernelWorkload& workload : kernel_workloads()) {
    EXPECT_EQ(workload.small.substr(0, workload.small.find(':')), workload.kernel());
  }
}

TEST(KernelWorkloads, AreAboutAsLargeAsTheBatchesSay) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  for (const KernelWorkload& workload : kernel_workloads()) {
    if (kPluginKernels.contains(workload.kernel())) {
      continue;
    }
    for (const auto& [text, shape] :
         {std::pair{workload.large, kLargeBatch}, std::pair{workload.small, kSmallBatch}}) {
      const WorkloadLayout layout = layout_of(Pipeline::parse(text, kernels), shape.most_job_bytes,
                                              shape.gpu_jobs, workload.jobs_per_output);
      EXPECT_LE(layout.input_bytes, shape.most_job_bytes) << text;
      EXPECT_GE(layout.input_bytes, shape.most_job_bytes / 100 * 99) << text;
      EXPECT_GT(layout.output_bytes, 0U) << text;
    }
  }
}

TEST(KernelWorkloads, FillMoreThanTheLargestCacheOfAGpu) {
  EXPECT_GT(kLargeBatch.most_job_bytes * kLargeBatch.gpu_jobs, 50U << 20U);
}

TEST(KernelWorkloads, EmitWholeSumsInEveryBatchOfAGpu) {
  for (const KernelWorkload& workload : kernel_workloads()) {
    EXPECT_EQ(kLargeBatch.gpu_jobs % workload.jobs_per_output, 0U) << workload.label;
    EXPECT_EQ(kSmallBatch.gpu_jobs % workload.jobs_per_output, 0U) << workload.label;
  }
}

}  // namespace
}  // namespace overlap::bench
