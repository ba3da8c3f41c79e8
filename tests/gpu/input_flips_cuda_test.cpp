// A producer may change its bytes while a kernel reads them over the bus: whatever comes out, nothing
// outside of the output is written, and the GPU faults at nothing.

#include "tests/gpu/launched_batch.hpp"

#include <atomic>
#include <string>
#include <thread>

namespace overlap::test {
namespace {

/// Flips all bits of every byte, round and round, until it goes.
class PinnedFlipper {
 public:
  PinnedFlipper(volatile std::uint8_t* bytes, std::size_t count)
      : thread_([this, bytes, count] {
          while (!stop_.load(std::memory_order_relaxed)) {
            for (std::size_t at = 0; at < count; ++at) {
              bytes[at] = static_cast<std::uint8_t>(~bytes[at]);
            }
          }
        }) {}
  PinnedFlipper(const PinnedFlipper&) = delete;
  PinnedFlipper& operator=(const PinnedFlipper&) = delete;
  ~PinnedFlipper() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(InputFlipsOnGpu, ChangeNothingButTheOutput) {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found != cudaSuccess || devices == 0) {
    (void)cudaGetLastError();
    GTEST_SKIP() << "no GPU: cudaGetDeviceCount says " << cudaGetErrorName(found);
  }
  const KernelRegistry registry = KernelRegistry::with_builtin_kernels();
  const Stream stream;
  const Comparison anything = [](std::span<const std::byte>, std::span<const std::byte>) {
    return std::string();
  };
  for (const char* const text :
       {"lut", "lut:channels=3,per_channel=yes", "lut:channels=4,per_channel=yes",
        "resize:width=300,height=200,out_width=477,out_height=390",
        "resize:width=301,height=130,channels=4,out_width=99,out_height=211",
        "gaussian_blur:width=300,height=200,channels=3", "sobel:width=301,height=200"}) {
    const Pipeline pipeline = Pipeline::parse(text, registry);
    const Stage& stage = pipeline.stages().front();
    const std::uint64_t granule = stage.kernel->granule_bytes(stage.params);
    const std::size_t bytes = (100'000 / granule + 1) * granule;
    const LaunchedBatch sut(
        stage, Place::pinned, {awkward_input(ElementKind::u8, bytes)},
        awkward_input(ElementKind::u8, stage.kernel->table_bytes(stage.params), 5));
    {
      const PinnedFlipper flipper(reinterpret_cast<volatile std::uint8_t*>(sut.pinned_input()),
                                  bytes);
      for (int run = 0; run < 50; ++run) {
        ASSERT_EQ(sut.launch(stream.get()), cudaSuccess) << text;
        ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess) << text;
      }
    }
    EXPECT_TRUE(sut.matches_reference(anything)) << text;
  }
}

}  // namespace
}  // namespace overlap::test
