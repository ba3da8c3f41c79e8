#include "kernels/source/source_program.hpp"

#include <array>

namespace overlap {
namespace {

// Text for the run-time compiler, which has no system headers. `source_batch.hpp` has the same
// structures for the host; the two change together.
constexpr const char* kPrelude = R"cuda(#pragma once

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef decltype(sizeof(0)) size_t;

namespace overlap {

typedef uint8_t u8;
typedef int16_t i16;
typedef int32_t i32;
typedef float f32;
typedef double f64;

// What *status may be set to; it is item_ok beforehand.
enum ItemStatus : uint32_t { item_ok = 0, item_failed = 1 };

// A job. The pointers are aligned to 256 bytes. The input may change while the kernel runs.
struct Item {
  const void* input;
  uint64_t input_bytes;  // may be 0: the job makes nothing
  void* output;
  uint64_t output_bytes;  // room, as declared
  const void* table;
  uint64_t table_bytes;
  uint32_t* status;
};

struct Batch {
  const char* items;
  uint64_t max_input_bytes;
  uint32_t count;
  uint32_t stride_bytes;
  Item inline_items[8];

  // Any thread by itself.
  __device__ Item item(uint32_t index) const {
    if (items == nullptr) {
      return inline_items[index];
    }
    const char* const at = items + static_cast<size_t>(index) * stride_bytes;
    return Item{*reinterpret_cast<const void* const*>(at),
                *reinterpret_cast<const uint64_t*>(at + 8),
                *reinterpret_cast<void* const*>(at + 16),
                *reinterpret_cast<const uint64_t*>(at + 24),
                *reinterpret_cast<const void* const*>(at + 48),
                *reinterpret_cast<const uint64_t*>(at + 56),
                *reinterpret_cast<uint32_t* const*>(at + 72)};
  }

  // For a whole block, of which every thread calls it: one of them reads the item.
  __device__ Item item_for_block(uint32_t index) const {
    if (items == nullptr) {
      return inline_items[index];
    }
    __shared__ Item shared_item;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
      shared_item = item(index);
    }
    __syncthreads();
    return shared_item;
  }
};

template <class First, class Second>
struct IsSame {
  static constexpr bool value = false;
};
template <class Type>
struct IsSame<Type, Type> {
  static constexpr bool value = true;
};

// What a thread loads or stores at a time.
template <int bytes>
struct Word;
template <>
struct Word<2> {
  typedef unsigned short Type;
};
template <>
struct Word<4> {
  typedef unsigned int Type;
};
template <>
struct Word<8> {
  typedef uint2 Type;
};
template <>
struct Word<16> {
  typedef uint4 Type;
};

// Puts `map` on every element of every item. The wider side moves 16 bytes a thread and access, so
// that both stay contiguous. Each byte is read and written once, and marked as streaming.
template <class Input, class Output, class Map>
__device__ void map_elements(const Batch& batch, const Map& map) {
  constexpr uint32_t kLoads = 8;
  constexpr uint32_t kWidest = sizeof(Input) > sizeof(Output) ? sizeof(Input) : sizeof(Output);
  constexpr uint32_t kElements = 16 / kWidest;
  typedef typename Word<kElements * sizeof(Input)>::Type InputWord;
  typedef typename Word<kElements * sizeof(Output)>::Type OutputWord;
  const uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
  const uint64_t first = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (uint32_t index = blockIdx.y; index < batch.count; index += gridDim.y) {
    const Item item = batch.item_for_block(index);
    const InputWord* const input = static_cast<const InputWord*>(item.input);
    OutputWord* const output = static_cast<OutputWord*>(item.output);
    const uint64_t count = item.input_bytes / sizeof(Input);
    const uint64_t words = count / kElements;
    for (uint64_t base = first; base < words; base += kLoads * step) {
      InputWord loaded[kLoads];
#pragma unroll
      for (uint32_t load = 0; load < kLoads; ++load) {
        if (base + load * step < words) {
          loaded[load] = __ldcs(input + base + load * step);
        }
      }
#pragma unroll
      for (uint32_t load = 0; load < kLoads; ++load) {
        if (base + load * step < words) {
          Input before[kElements];
          Output after[kElements];
          memcpy(before, &loaded[load], sizeof before);
#pragma unroll
          for (uint32_t lane = 0; lane < kElements; ++lane) {
            after[lane] = map(before[lane]);
          }
          OutputWord result;
          memcpy(&result, after, sizeof result);
          __stcs(output + base + load * step, result);
        }
      }
    }
    const uint64_t done = words * kElements;
    if (blockIdx.x == 0 && threadIdx.x < count - done) {
      static_cast<Output*>(item.output)[done + threadIdx.x] =
          map(static_cast<const Input*>(item.input)[done + threadIdx.x]);
    }
  }
}

}  // namespace overlap
)cuda";

constexpr std::array<SourceHeader, 7> kHeaders = {{{"overlap_source.cuh", kPrelude},
                                                   {"cstdint", ""},
                                                   {"stdint.h", ""},
                                                   {"cstddef", ""},
                                                   {"stddef.h", ""},
                                                   {"cmath", ""},
                                                   {"math.h", ""}}};

}  // namespace

std::span<const SourceHeader> source_headers() noexcept { return kHeaders; }

}  // namespace overlap
