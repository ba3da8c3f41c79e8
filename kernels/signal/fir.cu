#include "kernels/cuda_launch.hpp"
#include "kernels/signal/channel_chain.cuh"
#include "kernels/signal/fir.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kPerVector = 4;
/// Outputs of a thread: two runs of four, half a tile apart.
constexpr std::uint32_t kRuns = 2;
constexpr std::uint32_t kRunStride = kBlockThreads * kPerVector;
constexpr std::uint32_t kTileFloats = kRuns * kRunStride;
/// Taps whose window of the signal lies in shared memory at a time: whole groups.
constexpr std::uint32_t kChunkTaps = 512;
static_assert(kChunkTaps % kFirGroupTaps == 0);

constexpr std::uint32_t kKeepThreads = 1024;
/// History that one block holds in registers: 4095 samples of two floats.
constexpr std::uint32_t kKeptPerThread = 8;

/// The signal at float `position` of item `index`: negative, it is in the items before or in the
/// state; before the history and behind the item it does not matter, and is 0.
[[nodiscard]] __device__ float signal_at(const ChainedItem* chain, std::uint32_t index,
                                         std::int64_t position, std::int64_t history_floats) {
  const auto* item = &chain[index];
  if (position < -history_floats ||
      position >= static_cast<std::int64_t>(item->item.input_bytes / sizeof(float))) {
    return 0.0F;
  }
  while (position < 0) {
    if (item->previous == kNoItem) {
      return static_cast<const float*>(item->item.state)[history_floats + position];
    }
    item = &chain[item->previous];
    position += static_cast<std::int64_t>(item->item.input_bytes / sizeof(float));
  }
  return static_cast<const float*>(item->item.input)[position];
}

/// Four neighbours, `position` being a multiple of four.
[[nodiscard]] __device__ float4 four_at(const ChainedItem* chain, std::uint32_t index,
                                        const float* input, std::int64_t position,
                                        std::int64_t count, std::int64_t history_floats) {
  if (position >= 0 && position + kPerVector <= count) {
    return *reinterpret_cast<const float4*>(input + position);
  }
  return {signal_at(chain, index, position, history_floats),
          signal_at(chain, index, position + 1, history_floats),
          signal_at(chain, index, position + 2, history_floats),
          signal_at(chain, index, position + 3, history_floats)};
}

/// Fills the window with the signal from float `first` of item `index` on. Away from an item's ends
/// all loads of a thread are in flight at once.
template <std::uint32_t Vectors>
__device__ void load_window(float4 (&window)[Vectors], std::uint32_t vectors,
                            const ChainedItem* chain, std::uint32_t index, std::int64_t first,
                            std::int64_t history_floats) {
  constexpr std::uint32_t kPerThread = (Vectors + kBlockThreads - 1) / kBlockThreads;
  const auto* const input = static_cast<const float*>(chain[index].item.input);
  const auto count = static_cast<std::int64_t>(chain[index].item.input_bytes / sizeof(float));
  if (first >= 0 && first + std::int64_t{vectors} * kPerVector <= count) {
    const auto* const from = reinterpret_cast<const float4*>(input + first);
    float4 loaded[kPerThread];
#pragma unroll
    for (std::uint32_t i = 0; i < kPerThread; ++i) {
      const std::uint32_t at = threadIdx.x + i * kBlockThreads;
      if (at < vectors) {
        loaded[i] = __ldg(from + at);
      }
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kPerThread; ++i) {
      const std::uint32_t at = threadIdx.x + i * kBlockThreads;
      if (at < vectors) {
        window[at] = loaded[i];
      }
    }
    return;
  }
  for (std::uint32_t at = threadIdx.x; at < vectors; at += kBlockThreads) {
    window[at] =
        four_at(chain, index, input, first + std::int64_t{at} * kPerVector, count, history_floats);
  }
}

/// `kPerVector / Lanes` taps on a run of four outputs; the taps reach from `newer`, where the run
/// begins, into the four floats before.
template <std::uint32_t Lanes>
__device__ void add_products(float (&group)[kPerVector], const float4& older, const float4& newer,
                             const float* taps, std::uint32_t tap_count) {
  const float x[2 * kPerVector] = {older.x, older.y, older.z, older.w,
                                   newer.x, newer.y, newer.z, newer.w};
#pragma unroll
  for (std::uint32_t tap = 0; tap < kPerVector / Lanes; ++tap) {
    if (tap < tap_count) {
#pragma unroll
      for (std::uint32_t lane = 0; lane < kPerVector; ++lane) {
        group[lane] =
            __fadd_rn(group[lane], __fmul_rn(taps[tap], x[kPerVector + lane - tap * Lanes]));
      }
    }
  }
}

/// A tile of outputs of one item a block and turn. The intrinsics round each step to nearest and are
/// never fused, whatever the compiler's options.
template <std::uint32_t Lanes>
__global__ void __launch_bounds__(kBlockThreads, 5)
    filter_items(const ChainedItem* __restrict__ chain, const std::uint32_t item_count,
                 const std::uint32_t tap_count) {
  constexpr std::uint32_t kTapsPerStep = kPerVector / Lanes;
  constexpr std::uint32_t kWindowFloats = kTileFloats + kChunkTaps * Lanes;
  __shared__ float4 window[kWindowFloats / kPerVector];
  __shared__ __align__(16) float taps[kChunkTaps];
  const std::int64_t history_floats = std::int64_t{tap_count - 1} * Lanes;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const auto count = static_cast<std::int64_t>(chain[index].item.input_bytes / sizeof(float));
    const auto* const table = static_cast<const float*>(chain[index].item.table);
    auto* const output = static_cast<float*>(chain[index].item.output);
    for (std::int64_t tile = std::int64_t{blockIdx.x} * kTileFloats; tile < count;
         tile += std::int64_t{gridDim.x} * kTileFloats) {
      float sums[kRuns][kPerVector] = {};
      for (std::uint32_t chunk = 0; chunk < tap_count; chunk += kChunkTaps) {
        const std::uint32_t chunk_taps = min(kChunkTaps, tap_count - chunk);
        // As many floats before the tile as the chunk's taps reach back, in whole vectors.
        const std::uint32_t reach = (chunk_taps + kTapsPerStep - 1) / kTapsPerStep * kPerVector;
        const std::int64_t window_first = tile - std::int64_t{chunk} * Lanes - reach;
        __syncthreads();  // the window before this one has been used
        load_window(window, (kTileFloats + reach) / kPerVector, chain, index, window_first,
                    history_floats);
        for (std::uint32_t tap = threadIdx.x; tap < chunk_taps; tap += kBlockThreads) {
          taps[tap] = table[chunk + tap];
        }
        __syncthreads();
        const float4* newest = window + reach / kPerVector + threadIdx.x;
        for (std::uint32_t first = 0; first < chunk_taps; first += kFirGroupTaps) {
          const std::uint32_t end =
              min(first + static_cast<std::uint32_t>(kFirGroupTaps), chunk_taps);
          float group[kRuns][kPerVector] = {};
          float4 newer[kRuns];
#pragma unroll
          for (std::uint32_t run = 0; run < kRuns; ++run) {
            newer[run] = newest[run * kBlockThreads];
          }
          std::uint32_t tap = first;
#pragma unroll 2
          for (; tap + kTapsPerStep <= end; tap += kTapsPerStep) {
            --newest;
            float h[kTapsPerStep];
#pragma unroll
            for (std::uint32_t i = 0; i < kTapsPerStep; ++i) {
              h[i] = taps[tap + i];
            }
#pragma unroll
            for (std::uint32_t run = 0; run < kRuns; ++run) {
              const float4 older = newest[run * kBlockThreads];
              add_products<Lanes>(group[run], older, newer[run], h, kTapsPerStep);
              newer[run] = older;
            }
          }
          if (tap < end) {  // only in the very last group
            --newest;
#pragma unroll
            for (std::uint32_t run = 0; run < kRuns; ++run) {
              const float4 older = newest[run * kBlockThreads];
              float h[kTapsPerStep] = {};
#pragma unroll
              for (std::uint32_t i = 0; i < kTapsPerStep; ++i) {
                h[i] = tap + i < end ? taps[tap + i] : 0.0F;
              }
              add_products<Lanes>(group[run], older, newer[run], h, end - tap);
            }
          }
#pragma unroll
          for (std::uint32_t run = 0; run < kRuns; ++run) {
#pragma unroll
            for (std::uint32_t lane = 0; lane < kPerVector; ++lane) {
              sums[run][lane] = __fadd_rn(sums[run][lane], group[run][lane]);
            }
          }
        }
      }
#pragma unroll
      for (std::uint32_t run = 0; run < kRuns; ++run) {
        const std::int64_t at = tile + run * kRunStride + threadIdx.x * kPerVector;
        if (at + kPerVector <= count) {
          __stcs(reinterpret_cast<float4*>(output + at),
                 make_float4(sums[run][0], sums[run][1], sums[run][2], sums[run][3]));
        } else {
#pragma unroll
          for (std::uint32_t lane = 0; lane < kPerVector; ++lane) {
            if (at + lane < count) {
              output[at + lane] = sums[run][lane];
            }
          }
        }
      }
    }
  }
}

/// After every reader of the state: the end of each channel's signal becomes its history. One block
/// a channel, which holds all of it before it writes any.
__global__ void __launch_bounds__(kKeepThreads)
    keep_history(const ChainedItem* chain, std::uint32_t item_count, std::uint32_t history_floats) {
  for (std::uint32_t index = blockIdx.x; index < item_count; index += gridDim.x) {
    const auto count = static_cast<std::int64_t>(chain[index].item.input_bytes / sizeof(float));
    if (count == 0 || chain[index].next != kNoItem) {
      continue;
    }
    float kept[kKeptPerThread];
#pragma unroll
    for (std::uint32_t i = 0; i < kKeptPerThread; ++i) {
      const std::uint32_t at = threadIdx.x + i * blockDim.x;
      if (at < history_floats) {
        kept[i] = signal_at(chain, index, count + at - history_floats, history_floats);
      }
    }
    __syncthreads();
    auto* const history = static_cast<float*>(chain[index].item.state);
#pragma unroll
    for (std::uint32_t i = 0; i < kKeptPerThread; ++i) {
      const std::uint32_t at = threadIdx.x + i * blockDim.x;
      if (at < history_floats) {
        history[at] = kept[i];
      }
    }
  }
}

template <std::uint32_t Lanes>
int launch_filter(const overlap_batch& batch, OpaqueStream stream, std::uint32_t tap_count) {
  return launch_batch<FullItemView>(
      batch, stream, dim3(kBlockThreads), batch.max_input_bytes / sizeof(float), kTileFloats,
      [&](const cudaLaunchConfig_t& config, const auto& /*items*/) {
        return cudaLaunchKernelEx(&config, filter_items<Lanes>,
                                  static_cast<const ChainedItem*>(batch.workspace),
                                  batch.item_count, tap_count);
      });
}

int launch_keep(const overlap_batch& batch, OpaqueStream stream, std::uint32_t history_floats) {
  const std::uint32_t threads = std::min((history_floats + 31) / 32 * 32, kKeepThreads);
  return launch_batch<FullItemView>(batch, stream, dim3(threads), 1, 1,
                                    [&](const cudaLaunchConfig_t& config, const auto& /*items*/) {
                                      cudaLaunchConfig_t one_a_job = config;
                                      one_a_job.gridDim = dim3(batch.item_count);
                                      return cudaLaunchKernelEx(
                                          &one_a_job, keep_history,
                                          static_cast<const ChainedItem*>(batch.workspace),
                                          batch.item_count, history_floats);
                                    });
}

}  // namespace

int launch_fir(const overlap_batch& batch, OpaqueStream stream) {
  const FirParams wanted = FirParams::from({batch.params, batch.param_count});
  const auto tap_count = static_cast<std::uint32_t>(wanted.taps);
  int status = launch_links(batch, stream, LinkOnly{});
  if (status == cudaSuccess) {
    status = wanted.lanes == 1 ? launch_filter<1>(batch, stream, tap_count)
                               : launch_filter<2>(batch, stream, tap_count);
  }
  if (status == cudaSuccess && wanted.history_floats() != 0) {
    status = launch_keep(batch, stream, static_cast<std::uint32_t>(wanted.history_floats()));
  }
  return status;
}

}  // namespace overlap
