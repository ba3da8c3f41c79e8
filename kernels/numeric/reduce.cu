#include "kernels/cuda_launch.hpp"
#include "kernels/either_items.cuh"
#include "kernels/numeric/reduce_folds.hpp"

#include <cub/warp/warp_reduce.cuh>

#include <cstring>

// Compiled without contraction (kernels/CMakeLists.txt), as the host's side is.

namespace overlap {
namespace {

constexpr std::uint32_t kWarpThreads = 32;
constexpr std::uint32_t kBlockWarps = kBlockThreads / kWarpThreads;
static_assert(kRunThreads == kWarpThreads && kRunLanes == kBlockThreads);

struct Combine {
  template <class Result>
  __device__ Result operator()(const Result& a, const Result& b) const {
    return combined(a, b);
  }
};

/// Elements of an item in segments, and segments in runs.
struct Segments {
  std::uint64_t length;
  std::uint64_t count;
  std::uint64_t runs_each;

  template <class Element>
  static __device__ Segments of(const ItemView& item, std::uint64_t length) {
    const std::uint64_t elements = item.input_bytes / sizeof(Element);
    const std::uint64_t each = length == 0 ? elements : length;
    if (elements == 0) {
      return {0, 0, 0};
    }
    constexpr std::uint32_t kElements = kRunElements<Element>;
    return {each, elements / each, (each + kElements - 1) / kElements};
  }
};

/// Of the thread `apart` further in its group.
template <class Value>
__device__ Value from_neighbour(const Value& value, std::uint32_t apart, std::uint32_t group) {
  static_assert(sizeof(Value) % sizeof(std::uint32_t) == 0);
  std::uint32_t words[sizeof(Value) / sizeof(std::uint32_t)];
  memcpy(words, &value, sizeof value);
  for (std::uint32_t& word : words) {
    word = __shfl_down_sync(0xffff'ffffU, word, apart, static_cast<int>(group));
  }
  Value result;
  memcpy(&result, words, sizeof result);
  return result;
}

/// 16 bytes that begin at the border of a `Word`.
template <class Word>
__device__ uint4 load_pieces(const void* from) {
  Word pieces[sizeof(uint4) / sizeof(Word)];
#pragma unroll
  for (std::uint32_t piece = 0; piece < sizeof(uint4) / sizeof(Word); ++piece) {
    pieces[piece] = static_cast<const Word*>(from)[piece];
  }
  uint4 vector;
  memcpy(&vector, pieces, sizeof vector);
  return vector;
}

/// In the largest pieces that the address allows.
__device__ uint4 load_misaligned(const void* from) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  if (address % sizeof(uint2) == 0) {
    return load_pieces<uint2>(from);
  }
  if (address % sizeof(std::uint32_t) == 0) {
    return load_pieces<std::uint32_t>(from);
  }
  return address % sizeof(std::uint16_t) == 0 ? load_pieces<std::uint16_t>(from)
                                              : load_pieces<std::uint8_t>(from);
}

template <class Fold>
__device__ void add_vector(Fold& fold, const uint4& vector) {
  using Element = typename Fold::Element;
  Element elements[kThreadLanes<Element>];
  memcpy(elements, &vector, sizeof elements);
#pragma unroll
  for (std::uint32_t lane = 0; lane < kThreadLanes<Element>; ++lane) {
    fold.add(elements[lane], lane);
  }
}

/// The group's first thread's first element, for a fold that needs it.
template <class Fold>
__device__ typename Fold::Element first_of_run(const typename Fold::Element* in,
                                               std::uint32_t count, std::uint32_t group,
                                               const uint4& first_vector) {
  using Element = typename Fold::Element;
  Element first{};
  if constexpr (Fold::kNeedsFirst) {
    if (count >= kThreadLanes<Element>) {
      memcpy(&first, &first_vector, sizeof first);
    } else if (count != 0) {
      first = in[0];
    }
    first = __shfl_sync(0xffff'ffffU, first, 0, static_cast<int>(group));
  }
  return first;
}

/// A run by the `group` threads of a warp that follow each other; what the first of them gets is the
/// result. @pre a whole warp calls it; a group narrower than a warp has at most one vector a thread
template <class Fold>
__device__ typename Fold::Part reduce_run(const typename Fold::Element* in, std::uint32_t count,
                                          ReduceOp op, std::uint32_t group) {
  using Element = typename Fold::Element;
  constexpr std::uint32_t kLanes = kThreadLanes<Element>;
  const std::uint32_t thread = threadIdx.x % group;
  const std::uint32_t vectors = count / kLanes;
  const auto* const words = reinterpret_cast<const uint4*>(in);
  const bool aligned = reinterpret_cast<std::uintptr_t>(in) % sizeof(uint4) == 0;
  uint4 loaded[kLoadsInFlight] = {};
  if (aligned) {
#pragma unroll
    for (std::uint32_t load = 0; load < kLoadsInFlight; ++load) {
      if (thread + load * group < vectors) {
        loaded[load] = __ldcs(words + thread + load * group);
      }
    }
  } else if (thread < vectors) {
    loaded[0] = load_misaligned(in + thread * kLanes);
  }
  const Element first = first_of_run<Fold>(in, count, group, loaded[0]);
  Fold fold(op, first);
  if (aligned) {
    for (std::uint32_t base = thread; base < vectors;) {
#pragma unroll
      for (std::uint32_t load = 0; load < kLoadsInFlight; ++load) {
        if (base + load * group < vectors) {
          add_vector(fold, loaded[load]);
        }
      }
      base += kLoadsInFlight * group;
#pragma unroll
      for (std::uint32_t load = 0; load < kLoadsInFlight; ++load) {
        if (base + load * group < vectors) {
          loaded[load] = __ldcs(words + base + load * group);
        }
      }
    }
  } else {
    for (std::uint32_t vector = thread; vector < vectors; vector += group) {
      add_vector(fold, vector == thread ? loaded[0] : load_misaligned(in + vector * kLanes));
    }
  }
  if (thread == vectors % group) {
    for (std::uint32_t lane = 0; lane < count % kLanes; ++lane) {
      fold.add(in[vectors * kLanes + lane], lane);
    }
  }
  typename Fold::Run run = fold.run();
  for (std::uint32_t apart = 1; apart < group; apart *= 2) {
    run = combined(run, from_neighbour(run, apart, group));
  }
  return Fold::part(run, first, count);
}

/// Every run of every segment. `parts`: where their results go, `parts_each` an item; null if every
/// segment is one run.
template <class Fold>
__global__ void __launch_bounds__(kBlockThreads)
    reduce_runs(const __grid_constant__ EitherItems items, std::uint32_t item_count,
                std::uint64_t length, ReduceOp op, std::uint32_t group, typename Fold::Part* parts,
                std::uint64_t parts_each) {
  using Element = typename Fold::Element;
  const std::uint32_t in_warp = kWarpThreads / group;
  const std::uint64_t step = std::uint64_t{gridDim.x} * kBlockWarps * in_warp;
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const Segments segments = Segments::of<Element>(item, length);
    const std::uint64_t runs = segments.count * segments.runs_each;
    // A whole warp goes on until none of its groups has a run.
    std::uint64_t base =
        (std::uint64_t{blockIdx.x} * kBlockWarps + threadIdx.x / kWarpThreads) * in_warp;
    for (; base < runs; base += step) {
      const std::uint64_t number = base + threadIdx.x % kWarpThreads / group;
      const bool active = number < runs;
      const std::uint64_t segment = segments.runs_each == 1 ? number : number / segments.runs_each;
      const std::uint64_t in_segment =
          (number - segment * segments.runs_each) * kRunElements<Element>;
      const auto count = static_cast<std::uint32_t>(
          active ? min(std::uint64_t{kRunElements<Element>}, segments.length - in_segment) : 0);
      const auto* const in = static_cast<const Element*>(item.input) +
                             (active ? segment * segments.length + in_segment : 0);
      const typename Fold::Part part = reduce_run<Fold>(in, count, op, group);
      if (active && threadIdx.x % group == 0) {
        if (parts != nullptr) {
          parts[index * parts_each + number] = part;
        } else {
          static_cast<double*>(item.output)[segment] = Fold::result(part, count, op);
        }
      }
    }
  }
}

/// Puts the runs of each segment together: one block a segment, whose threads are the lanes. CUB's
/// shuffles put neighbours together first, as the order demands; the tests hold it to that.
template <class Fold>
__global__ void __launch_bounds__(kBlockThreads)
    combine_runs(const __grid_constant__ EitherItems items, std::uint32_t item_count,
                 std::uint64_t length, ReduceOp op, const typename Fold::Part* parts,
                 std::uint64_t parts_each) {
  using Part = typename Fold::Part;
  using WarpReduce = cub::WarpReduce<Part>;
  __shared__ typename WarpReduce::TempStorage scratch[kBlockWarps];
  // As bytes: a part has default values, and shared memory takes none.
  __shared__ alignas(8) unsigned char warp_bytes[kBlockWarps * sizeof(Part)];
  auto* const warps = reinterpret_cast<Part*>(warp_bytes);
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const Segments segments = Segments::of<typename Fold::Element>(item, length);
    for (std::uint64_t segment = blockIdx.x; segment < segments.count; segment += gridDim.x) {
      const Part* const first = parts + index * parts_each + segment * segments.runs_each;
      Part part{};
      for (std::uint64_t run = threadIdx.x; run < segments.runs_each; run += kBlockThreads) {
        part = combined(part, first[run]);
      }
      const std::uint32_t warp = threadIdx.x / kWarpThreads;
      part = WarpReduce(scratch[warp]).Reduce(part, Combine{});
      if (threadIdx.x % kWarpThreads == 0) {
        warps[warp] = part;
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        for (std::uint32_t apart = 1; apart < kBlockWarps; apart *= 2) {
          for (std::uint32_t at = 0; at < kBlockWarps; at += 2 * apart) {
            warps[at] = combined(warps[at], warps[at + apart]);
          }
        }
        static_cast<double*>(item.output)[segment] = Fold::result(warps[0], segments.length, op);
      }
      __syncthreads();  // the warps' results are written again for the next segment
    }
  }
}

/// The fewest threads, a power of two, that hold a segment with one vector each; else a warp.
template <class Element>
std::uint32_t group_for(std::uint64_t length) {
  std::uint32_t group = 1;
  while (group < kWarpThreads && group * kThreadLanes<Element> < length) {
    group *= 2;
  }
  return group;
}

template <class Fold>
int launch_fold(const overlap_batch& batch, OpaqueStream stream, const ReduceParams& wanted) {
  using Element = typename Fold::Element;
  using Part = typename Fold::Part;
  static_assert(sizeof(Part) <= kPartBytes && kPartBytes % alignof(Part) == 0);
  const std::uint64_t most_elements = batch.max_input_bytes / sizeof(Element);
  const std::uint64_t length = wanted.length == 0 ? most_elements : wanted.length;
  if (length == 0) {
    return cudaSuccess;  // every job is empty
  }
  const std::uint64_t segments = most_elements / length;
  const std::uint64_t runs_each = (length + kRunElements<Element> - 1) / kRunElements<Element>;
  const bool split = runs_each > 1;
  const std::uint64_t parts_each = segments * runs_each;
  if (split && batch.workspace_bytes < batch.item_count * parts_each * kPartBytes) {
    return cudaErrorInvalidValue;
  }
  auto* const parts = split ? static_cast<Part*>(batch.workspace) : nullptr;
  const std::uint32_t group = group_for<Element>(length);
  const int launched = launch_batch(
      batch, stream, dim3(kBlockThreads), segments * runs_each, kBlockThreads / group,
      [&](const cudaLaunchConfig_t& config, const auto& items) {
        return cudaLaunchKernelEx(&config, reduce_runs<Fold>, EitherItems(items), batch.item_count,
                                  wanted.length, wanted.op, group, parts, parts_each);
      });
  if (launched != cudaSuccess || !split) {
    return launched;
  }
  return launch_batch(batch, stream, dim3(kBlockThreads), segments, 1,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        return cudaLaunchKernelEx(&config, combine_runs<Fold>, EitherItems(items),
                                                  batch.item_count, wanted.length, wanted.op,
                                                  static_cast<const Part*>(parts), parts_each);
                      });
}

}  // namespace

int launch_reduce(const overlap_batch& batch, OpaqueStream stream) {
  const ReduceParams wanted = ReduceParams::from({batch.params, batch.param_count});
  return with_fold(wanted, [&](auto* type) {
    return launch_fold<std::remove_pointer_t<decltype(type)>>(batch, stream, wanted);
  });
}

}  // namespace overlap
