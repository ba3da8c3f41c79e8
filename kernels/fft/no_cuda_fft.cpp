#include "kernels/fft/cufft_plans.hpp"
#include "kernels/fft/fft_cuda.hpp"

namespace overlap {
namespace {

/// `cudaErrorNotSupported`, by its number: this file is for machines without the toolkit.
constexpr int kNotSupported = 801;

}  // namespace

bool fft_built_with_cuda() noexcept { return false; }

int current_cuda_device(int& /*device*/) { return kNotSupported; }

int wait_for_cuda_device(int /*device*/) { return kNotSupported; }

int scale_floats(void* /*floats*/, std::uint64_t /*count*/, float /*factor*/, void* /*stream*/) {
  return kNotSupported;
}

int join_inputs(const overlap_batch& /*batch*/, void* /*joined*/, std::uint64_t /*item_bytes*/,
                void* /*stream*/) {
  return kNotSupported;
}

int part_outputs(const overlap_batch& /*batch*/, const void* /*joined*/,
                 std::uint64_t /*item_bytes*/, float /*factor*/, void* /*stream*/) {
  return kNotSupported;
}

}  // namespace overlap
