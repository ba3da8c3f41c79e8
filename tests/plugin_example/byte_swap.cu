// byte_swap on a GPU: one launch for the whole batch, a row of blocks for each job.
#include "byte_swap.h"

#include <cuda_runtime.h>

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMostBlocksAJob = 1024;
constexpr unsigned kMostRows = 65535;

template <unsigned kWordBytes>
__global__ void swap_words(const overlap_batch_item* items, uint32_t stride_bytes,
                           uint32_t item_count) {
  for (uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const auto& item = *reinterpret_cast<const overlap_batch_item*>(
        reinterpret_cast<const char*>(items) + size_t{index} * stride_bytes);
    // Sizes are the daemon's, not the producer's: they do not change.
    const uint64_t words = item.input_bytes / sizeof(uint4);
    const auto* const in = static_cast<const uint4*>(item.input);
    auto* const out = static_cast<uint4*>(item.output);
    const uint64_t first = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
    const uint64_t step = uint64_t{gridDim.x} * kThreads;
    for (uint64_t i = first; i < words; i += step) {
      const uint4 old = in[i];
      uint4 turned;
      if (kWordBytes == 2) {
        turned = {__byte_perm(old.x, 0, 0x2301), __byte_perm(old.y, 0, 0x2301),
                  __byte_perm(old.z, 0, 0x2301), __byte_perm(old.w, 0, 0x2301)};
      } else {
        turned = {__byte_perm(old.x, 0, 0x0123), __byte_perm(old.y, 0, 0x0123),
                  __byte_perm(old.z, 0, 0x0123), __byte_perm(old.w, 0, 0x0123)};
        if (kWordBytes == 8) {
          turned = {turned.y, turned.x, turned.w, turned.z};
        }
      }
      out[i] = turned;
    }
    // What is left of the last 16 bytes.
    const auto* const in_bytes = static_cast<const unsigned char*>(item.input);
    auto* const out_bytes = static_cast<unsigned char*>(item.output);
    for (uint64_t i = words * sizeof(uint4) + first; i < item.input_bytes; i += step) {
      out_bytes[i] = in_bytes[i ^ (kWordBytes - 1)];
    }
  }
}

}  // namespace

int byte_swap_launch(const overlap_kernel*, const overlap_batch* batch, void* stream) {
  const uint64_t wanted = batch->max_input_bytes / (sizeof(uint4) * kThreads) + 1;
  const dim3 grid(static_cast<unsigned>(wanted < kMostBlocksAJob ? wanted : kMostBlocksAJob),
                  batch->item_count < kMostRows ? batch->item_count : kMostRows);
  auto* const on_stream = static_cast<cudaStream_t>(stream);
  const overlap_batch_item* const items = batch->device_items;
  switch (byte_swap_word_bytes(batch->params)) {
    case 2:
      swap_words<2>
          <<<grid, kThreads, 0, on_stream>>>(items, batch->item_stride_bytes, batch->item_count);
      break;
    case 4:
      swap_words<4>
          <<<grid, kThreads, 0, on_stream>>>(items, batch->item_stride_bytes, batch->item_count);
      break;
    default:
      swap_words<8>
          <<<grid, kThreads, 0, on_stream>>>(items, batch->item_stride_bytes, batch->item_count);
      break;
  }
  return cudaGetLastError();
}
