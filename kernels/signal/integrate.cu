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
///
/// A channel's jobs fall into runs, one a sum, of which only the first may need the state and only the
/// last may leave something in it. Those two stay one chain, from the head on, as what the last
/// writes must not be seen by the first; the runs between depend on nothing and become chains of
/// their own.
struct AssignRoles {
  std::uint64_t count;

  __device__ void channel(const ChannelWalk& walk, std::uint32_t head) const {
    ChainedItem* const chain = walk.chain;
    auto* const header = static_cast<IntegrationHeader*>(chain[head].item.state);
    IntegrationHeader now = *header;
    std::uint64_t most = now.used_count;
    bool failed = false;
    std::uint32_t run = head;
    std::uint32_t first_run_end = kNoItem;
    std::uint32_t previous = kNoItem;
    for (std::uint32_t index = head; index != kNoItem; index = walk.next(index)) {
      const std::uint64_t elements = walk.input_bytes(index) / sizeof(float);
      most = max(most, elements);
      std::uint32_t flags = 0;
      if (now.job_count != 0 && now.element_count != elements) {
        flags = kFails;
        failed = true;
        now = IntegrationHeader{};
      } else {
        if (now.job_count == 0) {
          flags = kBegins;
          if (index != head) {
            if (run == head) {
              first_run_end = previous;
            } else {
              chain[previous].next = kNoItem;
              chain[first_run_end].next = index;
              chain[atomicAdd(&chain[0].run_count, 1U)].run = run;
            }
            run = index;
          }
        }
        if (now.job_count + 1 == count) {
          flags |= kEmits;
          now.job_count = 0;
          now.element_count = 0;
        } else {
          ++now.job_count;
          now.element_count = elements;
          now.used_count = max(now.used_count, elements);
        }
      }
      chain[index].flags = flags;
      previous = index;
    }
    *header = now;
    chain[head].kept_elements = now.job_count == 0 ? 0 : now.element_count;
    chain[head].cleared_elements = failed ? most : 0;
    atomicMax(&chain[0].most_elements, static_cast<unsigned long long>(most));
  }

  __device__ void item(const ChainedItem& job) const {
    *job.item.output_bytes =
        (job.flags & kEmits) != 0 ? job.item.input_bytes / sizeof(float) * sizeof(float) : 0;
    if ((job.flags & kFails) != 0) {
      *job.item.status = OVERLAP_ITEM_FAILED;
    }
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

/// What a thread needs of a job; behind the last one, nothing.
struct Job {
  const float* in;
  float* out;
  std::uint64_t count;
  std::uint32_t flags;
  std::uint32_t next;

  [[nodiscard]] static __device__ Job at(const ChainedItem* chain, std::uint32_t index) {
    if (index == kNoItem) {
      return {nullptr, nullptr, 0, kFails, kNoItem};
    }
    const ChainedItem& job = chain[index];
    return {static_cast<const float*>(job.item.input), static_cast<float*>(job.item.output),
            job.item.input_bytes / sizeof(float), job.flags, job.next};
  }
};

/// The elements of a thread: `kVectors` fours, as far apart as a block's threads reach.
struct Elements {
  std::uint64_t first;

  [[nodiscard]] __device__ std::uint64_t at(std::uint32_t vector) const {
    return first + vector * kBlockThreads * kPerVector;
  }
  __device__ void load(float4 (&loaded)[kVectors], const Job& job) const {
#pragma unroll
    for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
      loaded[vector] = load_four(job.in, at(vector), job.count);
    }
  }
};

using Sums = double[kVectors][kPerVector];

__device__ void add_job(Sums& sums, const float4 (&loaded)[kVectors], const Job& job,
                        const Elements& elements, double divisor) {
  if ((job.flags & kFails) != 0) {
    return;
  }
#pragma unroll
  for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
    const float x[kPerVector] = {loaded[vector].x, loaded[vector].y, loaded[vector].z,
                                 loaded[vector].w};
#pragma unroll
    for (std::uint32_t lane = 0; lane < kPerVector; ++lane) {
      // Not added to 0: that would make a +0 of -0.
      sums[vector][lane] =
          (job.flags & kBegins) != 0 ? static_cast<double>(x[lane]) : sums[vector][lane] + x[lane];
    }
    if ((job.flags & kEmits) != 0) {
      store_four(job.out, elements.at(vector), job.count, [&](std::uint32_t lane) {
        const double sum = sums[vector][lane];
        return __double2float_rn(divisor == 1.0 ? sum : __ddiv_rn(sum, divisor));
      });
    }
  }
}

__device__ void load_state(Sums& sums, const double* state, std::uint64_t count,
                           const Elements& elements) {
#pragma unroll
  for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
    const std::uint64_t at = elements.at(vector);
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

/// The first `kept` sums, and zeros behind them up to `written`.
__device__ void store_state(double* state, const Sums& sums, std::uint64_t kept,
                            std::uint64_t written, const Elements& elements) {
#pragma unroll
  for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
    const std::uint64_t at = elements.at(vector);
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

/// A thread takes some elements through all jobs of a chain, their sums in registers. The job after
/// this one is being loaded meanwhile, and what has to be known of the one after that.
/// @param is_head whether the chain begins with a channel's state and ends with it
__device__ void integrate_chain(const ChainedItem* chain, std::uint32_t begin, bool is_head,
                                const Elements& elements, double divisor) {
  Job job = Job::at(chain, begin);
  Job following = Job::at(chain, job.next);
  float4 loaded[kVectors];
  elements.load(loaded, job);
  Sums sums = {};
  if (is_head && (job.flags & (kBegins | kFails)) == 0) {
    load_state(sums, sums_of(chain[begin].item.state), job.count, elements);
  }
  while (true) {
    float4 loaded_next[kVectors];
    elements.load(loaded_next, following);
    const Job third = Job::at(chain, following.next);
    add_job(sums, loaded, job, elements, divisor);
    if (job.next == kNoItem) {
      break;
    }
    job = following;
    following = third;
#pragma unroll
    for (std::uint32_t vector = 0; vector < kVectors; ++vector) {
      loaded[vector] = loaded_next[vector];
    }
  }
  if (is_head) {
    const ChainedItem& head = chain[begin];
    store_state(sums_of(head.item.state), sums, head.kept_elements,
                max(head.kept_elements, head.cleared_elements), elements);
  }
}

__global__ void __launch_bounds__(kBlockThreads)
    integrate_chains(const ChainedItem* __restrict__ chain, double divisor) {
  const std::uint32_t heads = chain[0].head_count;
  const std::uint64_t chains = std::uint64_t{heads} + chain[0].run_count;
  const std::uint64_t chunks = (chain[0].most_elements + kElementsPerBlock - 1) / kElementsPerBlock;
  for (std::uint64_t unit = blockIdx.x; unit < chains * chunks; unit += gridDim.x) {
    const auto number = static_cast<std::uint32_t>(unit % chains);
    const bool is_head = number < heads;
    integrate_chain(chain, is_head ? chain[number].head : chain[number - heads].run, is_head,
                    {unit / chains * kElementsPerBlock + threadIdx.x * kPerVector}, divisor);
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
        return cudaLaunchKernelEx(&flat, integrate_chains,
                                  static_cast<const ChainedItem*>(batch.workspace), divisor);
      });
}

}  // namespace overlap
