/* The kernel data structures, in C: what a batch looks like to a kernel, built-in or plug-in.
 *
 * Structures begin with their size, so that a later minor version can append fields: a reader uses
 * a field only if `struct_bytes` covers it. Pointers are valid for the call (host) or until the
 * batch's work on the stream has ended (CUDA). A kernel never keeps one.
 *
 * The bytes behind `input` belong to a producer that may change them while the kernel runs: a value
 * read from there that steers an address, a size or a loop is read once into a local and checked.
 */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OVERLAP_KERNEL_ABI_MAJOR 1u
#define OVERLAP_KERNEL_ABI_MINOR 0u

/* One parameter, as declared: a real number, an integer, or the index of a named choice. */
typedef union overlap_param_value {
  double f64;
  int64_t i64;
  uint64_t choice_index;
} overlap_param_value;

/* What a kernel writes to *status. */
enum overlap_item_status {
  OVERLAP_ITEM_OK = 0,
  OVERLAP_ITEM_FAILED = 1,
  OVERLAP_ITEM_OUTPUT_TOO_SMALL = 2 /* *output_bytes then holds the bytes it needs */
};

/* One job of a batch. 80 bytes. */
typedef struct overlap_batch_item {
  const void* input; /* aligned to 256 bytes */
  uint64_t input_bytes;
  void* output; /* aligned to 256 bytes; overlaps no input */
  uint64_t output_capacity_bytes;
  const overlap_param_value* params; /* in the order of the declaration; equal within a batch */
  void* state;                       /* of the channel; null for a stateless kernel */
  const void* table;                 /* of the channel; null without one */
  uint64_t table_bytes;
  uint64_t* output_bytes; /* where the plan does not know the size before running: set beforehand
                             to the planned size, to be set to the actual one */
  uint32_t* status;       /* set beforehand to OVERLAP_ITEM_OK */
} overlap_batch_item;

/* Jobs that run together: one launch, however many jobs. */
typedef struct overlap_batch {
  uint32_t struct_bytes; /* sizeof(overlap_batch) */
  uint32_t item_stride_bytes;
  uint32_t item_count; /* at least 1 */
  uint32_t param_count;
  const overlap_batch_item* items;        /* as the host reads them */
  const overlap_batch_item* device_items; /* the same array as the GPU reads it; null on the host */
  const overlap_param_value* params;      /* host-readable; the same for every item */
  uint64_t max_input_bytes;               /* the largest input_bytes among the items */
  void* workspace; /* as much as the plan of max_input_bytes asks, per item */
  uint64_t workspace_bytes;
} overlap_batch;

#ifdef __cplusplus
}
#endif
