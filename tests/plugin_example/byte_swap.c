/* byte_swap: turns the bytes of every word round, as between big-endian and little-endian machines.
 * A whole plug-in in C: the declaration of a kernel, its host side, and the one entry. */
#include "byte_swap.h"

#include <stdio.h>

static uint64_t granule_bytes(const overlap_kernel* self, const overlap_param_value* params) {
  (void)self;
  return byte_swap_word_bytes(params);
}

static int plan(const overlap_kernel* self, const overlap_param_value* params, uint64_t input_bytes,
                overlap_plan* plan, char* text, size_t text_bytes) {
  const uint64_t most_bytes = UINT64_C(1) << 40;
  (void)self;
  (void)params;
  if (input_bytes > most_bytes) {
    snprintf(text, text_bytes, "%llu bytes are too many; send at most 1 TiB at a time",
             (unsigned long long)input_bytes);
    return 1;
  }
  plan->max_output_bytes = input_bytes;
  plan->output_size = OVERLAP_OUTPUT_KNOWN;
  /* Each byte is read once and written once: the kernel may work in the slots themselves. */
  plan->paths = OVERLAP_PATH_COPY | OVERLAP_PATH_MAPPED | OVERLAP_PATH_GATHER;
  return 0;
}

static void swap_words(const unsigned char* in, unsigned char* out, uint64_t bytes,
                       uint32_t word_bytes) {
  for (uint64_t at = 0; at < bytes; at += word_bytes) {
    for (uint32_t i = 0; i < word_bytes; ++i) {
      out[at + i] = in[at + word_bytes - 1 - i];
    }
  }
}

static void run(const overlap_kernel* self, const overlap_batch* batch) {
  const uint32_t word_bytes = byte_swap_word_bytes(batch->params);
  (void)self;
  for (uint32_t index = 0; index < batch->item_count; ++index) {
    /* By the stride, not by the structure's size: a later version may have longer items. */
    const overlap_batch_item* item =
        (const overlap_batch_item*)((const char*)batch->items +
                                    (size_t)index * batch->item_stride_bytes);
    swap_words(item->input, item->output, item->input_bytes, word_bytes);
  }
}

static const char* const word_choices[] = {"2", "4", "8"};

static const overlap_parameter params[] = {{
    .name = "word",
    .type = OVERLAP_CHOICE,
    .default_value = {.choice_index = 1},
    .unit = "bytes",
    .help = "length of a word",
    .choices = word_choices,
    .choice_count = 3,
}};

static const overlap_kernel byte_swap = {
    .struct_bytes = sizeof(overlap_kernel),
    .param_count = 1,
    .param_stride_bytes = sizeof(overlap_parameter),
    .name = "byte_swap",
    .summary = "the bytes of every word the other way round: big-endian to little-endian and back",
    .table_help = "",
    .params = params,
    .granule_bytes = granule_bytes,
    .plan = plan,
    .run = run,
#ifdef BYTE_SWAP_CUDA
    .launch = byte_swap_launch,
#endif
};

static const overlap_kernel* const kernels[] = {&byte_swap};

static const overlap_plugin plugin = {
    .struct_bytes = sizeof(overlap_plugin),
    .abi_major = OVERLAP_KERNEL_ABI_MAJOR,
    .abi_minor = OVERLAP_KERNEL_ABI_MINOR,
    .kernel_count = 1,
    .name = "byte_swap",
    .version = BYTE_SWAP_VERSION,
    .kernels = kernels,
};

/* Everything else is hidden: overlapd_add_plugin sees to that. */
__attribute__((visibility("default"))) const overlap_plugin* overlap_plugin_entry(void);

const overlap_plugin* overlap_plugin_entry(void) { return &plugin; }
