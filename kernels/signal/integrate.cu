#include "kernels/cuda_launch.hpp"
#include "kernels/signal/channel_chain.cuh"
#include "kernels/signal/integrate.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kVectors = 2;
constexpr std::uint32_t kPerVector = 4;
constexpr std::uint32_t kElementsPerBlock = kBlockThreads * kPerVector * kVectors;

/// What a job is to its channel's sums: bits of `ChainedItem::flags`.
enum JobRole : std::uint32_t { kBegins = 1, kEmits = 2, kFails = 4 };

[[nodiscard]] __device__ double* sums_of(void* state) {
  return reinterpret_cast<double*>(static_cast<std::byte*>(state) + kSumsOffsetBytes);
}

/// Decides what becomes of each job of a channel, and leaves the state's header as it is after the
/// last of them. The sums follow in the next launch.
struct AssignRoles {
  std::uint64_t count;

  __device__ void empty_item(const FullItemView& item) const { *item.output_bytes = 0; }

  __device__ void channel(ChainedItem* chain, std::uint32_t head) const {
    auto* const header = static_cast<IntegrationHeader*>(chain[head].item.state);
    IntegrationHeader now = *header;
    std::uint64_t most = now.used_count;
    bool failed = false;
    for (std::uint32_t index = head; index != kNoItem; index = chain[index].next) {
      const FullItemView& item = chain[index].item;
      const std::uint64_t elements = item.input_bytes / sizeof(float);
      most = max(most, elements);
      std::uint64_t output_bytes = 0;
      if (now.job_count != 0 && now.element_count != elements) {
        chain[index].flags = kFails;
        *item.status = OVERLAP_ITEM_FAILED;
        failed = true;
        now = IntegrationHeader{};
      } else {
        chain[index].flags = now.job_count == 0 ? kBegins : 0;
        if (now.job_count + 1 == count) {
          chain[index].flags |= kEmits;
          output_bytes = elements * sizeof(float);
          now.job_count = 0;
          now.element_count = 0;
        } else {
          ++now.job_count;
          now.element_count = elements;
          now.used_count = max(now.used_count, elements);
        }
      }
      *item.output_bytes = output_bytes;
    }
    *header = now;
    chain[head].kept_elements = now.job_count == 0 ? 0 : now.element_count;
    chain[head].cleared_elements = failed ? most : 0;
    atomicMax(&chain[0].most_elements, static_cast<unsigned long long>(most));
  }
};

/// Up to four neighbouring elements; those from `count` on are left alone.
[[nodiscard]] __device__ float4 load_four(const float* from, std::uint64_t at,
                                          std::uint64_t count) {
  if (at + kPerVector <= count) {
    return __ldcs(reinterpret_cast<const float4*>(from + at));
  }
  return {at < count ? from[at] : 0.0F, at + 1 < count ? from[at + 1] : 0.0F,
          at + 2 < count ? from[at + 2] : 0.0F, 0.0F};
}

template <class Value>
__device__ void store_four(float* to, std::uint64_t at, std::uint64_t count,
                           const Value& value_of) {
  if (at + kPerVector <= count) {
    __stcs(reinterpret_cast<float4*>(to + at),
           make_float4(value_of(0), value_of(1), value_of(2), value_of(3)));
    return;
  }
#pragma unroll
  for (std::uint32_t lane = 0; lane < kPerVector; ++lane) {
    if (at + lane < count) {
      to[at + lane] = value_of(lane);
    }
  }
}

/// A thread takes some elements through all jobs of a channel, their sums in registers: the state is
/// read and written at most once a batch, however many jobs.
__device__ void integrate_elements(const ChainedItem* chain, std::uint32_t head,
                                   std::uint64_t first, double divisor) {
  const ChainedItem& begin = chain[head];
  double* const state = sums_of(begin.item.state);
  double sums[kVectors][kPerVector] = {};
  if ((begin.flags & (kBegins | kFails)) == 0) {
    const std::uint64_t count = begin.item.input_bytes / sizeof(float);
#pragma unroll
    for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
      const std::uint64_t at = first + vector * kBlockThreads * kPerVector;
#pragma unroll
      for (std::uint32_t pair = 0; pair < kPerVector; pair += 2) {
        if (at + pair + 2 <= count) {
          const double2 two = *reinterpret_cast<const double2*>(state + at + pair);
          sums[vector][pair] = two.x;
          sums[vector][pair + 1] = two.y;
        } else if (at + pair < count) {
          sums[vector][pair] = state[at + pair];
        }
      }
    }
  }
  for (std::uint32_t index = head; index != kNoItem;) {
    const ChainedItem& job = chain[index];
    const auto* const in = static_cast<const float*>(job.item.input);
    auto* const out = static_cast<float*>(job.item.output);
    const std::uint64_t count = job.item.input_bytes / sizeof(float);
    const std::uint32_t flags = job.flags;
    index = job.next;
    if ((flags & kFails) != 0) {
      continue;
    }
    float4 loaded[kVectors];
#pragma unroll
    for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
      loaded[vector] = load_four(in, first + vector * kBlockThreads * kPerVector, count);
    }
#pragma unroll
    for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
      const float x[kPerVector] = {loaded[vector].x, loaded[vector].y, loaded[vector].z,
                                   loaded[vector].w};
#pragma unroll
      for (std::uint32_t lane = 0; lane < kPerVector; ++lane) {
        // Not added to 0: that would make a +0 of -0.
        sums[vector][lane] =
            (flags & kBegins) != 0 ? static_cast<double>(x[lane]) : sums[vector][lane] + x[lane];
      }
      if ((flags & kEmits) != 0) {
        store_four(out, first + vector * kBlockThreads * kPerVector, count,
                   [&](std::uint32_t lane) {
                     const double sum = sums[vector][lane];
                     return __double2float_rn(divisor == 1.0 ? sum : __ddiv_rn(sum, divisor));
                   });
      }
    }
  }
  const std::uint64_t kept = begin.kept_elements;
  const std::uint64_t written = max(kept, begin.cleared_elements);
#pragma unroll
  for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
    const std::uint64_t at = first + vector * kBlockThreads * kPerVector;
#pragma unroll
    for (std::uint32_t pair = 0; pair < kPerVector; pair += 2) {
      const double2 two = {at + pair < kept ? sums[vector][pair] : 0.0,
                           at + pair + 1 < kept ? sums[vector][pair + 1] : 0.0};
      if (at + pair + 2 <= written) {
        *reinterpret_cast<double2*>(state + at + pair) = two;
      } else if (at + pair < written) {
        state[at + pair] = two.x;
      }
    }
  }
}

__global__ void __launch_bounds__(kBlockThreads)
    integrate_channels(const ChainedItem* __restrict__ chain, double divisor) {
  const std::uint64_t heads = chain[0].head_count;
  const std::uint64_t chunks = (chain[0].most_elements + kElementsPerBlock - 1) / kElementsPerBlock;
  for (std::uint64_t unit = blockIdx.x; unit < heads * chunks; unit += gridDim.x) {
    const std::uint32_t head = chain[unit % heads].head;
    integrate_elements(chain, head, unit / heads * kElementsPerBlock + threadIdx.x * kPerVector,
                       divisor);
  }
}

}  // namespace

int launch_integrate(const overlap_batch& batch, OpaqueStream stream) {
  const IntegrateParams wanted = IntegrateParams::from({batch.params, batch.param_count});
  if (const int status = launch_links(batch, stream, AssignRoles{wanted.count});
      status != cudaSuccess) {
    return status;
  }
  const double divisor = wanted.mean ? static_cast<double>(wanted.count) : 1.0;
  return launch_batch<FullItemView>(
      batch, stream, dim3(kBlockThreads), batch.max_input_bytes / sizeof(float), kElementsPerBlock,
      [&](const cudaLaunchConfig_t& config, const auto& /*items*/) {
        cudaLaunchConfig_t flat = config;
        flat.gridDim = dim3(config.gridDim.x * config.gridDim.y);
        return cudaLaunchKernelEx(&flat, integrate_channels,
                                  static_cast<const ChainedItem*>(batch.workspace), divisor);
      });
}

}  // namespace overlap
