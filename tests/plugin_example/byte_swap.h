/* byte_swap: what its two sides share. */
#pragma once

#include <kernels/overlap_kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Index of the parameter `word` among those of the kernel, and its choices: words of 2, 4, 8 bytes. */
enum { BYTE_SWAP_WORD = 0 };

static inline uint32_t byte_swap_word_bytes(const overlap_param_value* params) {
  return 2u << params[BYTE_SWAP_WORD].choice_index;
}

/* The CUDA side, in byte_swap.cu. */
int byte_swap_launch(const overlap_kernel* self, const overlap_batch* batch, void* stream);

#ifdef __cplusplus
}
#endif
