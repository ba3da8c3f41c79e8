/* Kernels in C: what a batch looks like to a kernel, and what a plug-in hands over.
 *
 * Structures begin with their size, so that a later minor version can append fields: a reader uses
 * a field only if `struct_bytes` covers it. Pointers are valid for the call (host) or until the
 * batch's work on the stream has ended (CUDA). A kernel never keeps one.
 *
 * The bytes behind `input` and `table` belong to a producer, and those behind `input` may change while
 * the kernel runs: a value read from there that steers an address, a size or a loop is read once into
 * a local and checked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A daemon loads a plug-in of its own major version and of a minor version up to its own. */
#define OVERLAP_KERNEL_ABI_MAJOR 1u
#define OVERLAP_KERNEL_ABI_MINOR 0u

/* One parameter, as declared: a real number, an integer, or the index of a named choice. */
typedef union overlap_param_value {
  double f64;
  int64_t i64;
  uint64_t choice_index;
} overlap_param_value;

/* What a kernel writes to *status. A kernel that keeps state and fails a job leaves the state as zero
 * bytes: the job after it begins anew. */
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
  void* state;       /* of the channel and stage, zero bytes at first; aligned to 256 bytes; null
                        for a stateless kernel */
  const void* table; /* of the channel and stage; aligned to 256 bytes; null without one */
  uint64_t table_bytes;
  uint64_t* output_bytes; /* where the plan does not know the size before running: set beforehand
                             to the planned size, to be set to the actual one */
  uint32_t* status;       /* set beforehand to OVERLAP_ITEM_OK */
} overlap_batch_item;

/* Bits of overlap_batch.flags. */
enum overlap_batch_flags {
  /* A stage before this one sets `input_bytes` of the items while the batch runs: on the GPU it is
     read there, through `device_items`, never on the host. It may be 0: such a job makes nothing,
     changes no state, and sets *output_bytes, where it does so, to 0. */
  OVERLAP_BATCH_SIZES_ON_DEVICE = 1u
};

/* Jobs that run together: one launch, however many jobs. Where the stage keeps a state, items of one
 * channel stand in the order of submission and have the same `state`; otherwise they stand in any
 * order. */
typedef struct overlap_batch {
  uint32_t struct_bytes; /* sizeof(overlap_batch) */
  uint32_t item_stride_bytes;
  uint32_t item_count; /* at least 1 */
  uint32_t param_count;
  const overlap_batch_item* items;        /* as the host reads them */
  const overlap_batch_item* device_items; /* the same array as the GPU reads it; null on the host */
  const overlap_param_value* params;      /* host-readable; the same for every item */
  uint64_t max_input_bytes;               /* the largest input_bytes among the items */
  void* workspace; /* as much as the plan of max_input_bytes asks, per item; aligned to 256 bytes */
  uint64_t workspace_bytes;
  uint32_t flags; /* overlap_batch_flags */
  uint32_t reserved;
} overlap_batch;

/* ------------------------------------------------------------------------------------ plug-ins */

enum overlap_parameter_type { OVERLAP_REAL = 0, OVERLAP_INTEGER = 1, OVERLAP_CHOICE = 2 };

/* A job may bring a value of its own. Not for a choice, not if it changes a size, and at most 3 of a
 * kernel's parameters. */
#define OVERLAP_PARAMETER_PER_JOB 1u

/* One declared parameter. Strings are UTF-8 and live as long as the plug-in. */
typedef struct overlap_parameter {
  const char* name; /* a-z, 0-9 and _ */
  uint32_t type;    /* overlap_parameter_type */
  uint32_t flags;
  overlap_param_value default_value;
  double minimum; /* inclusive; ignored for a choice */
  double maximum;
  const char* unit; /* "" for a pure number */
  const char* help;
  const char* const* choices; /* their names in index order; null unless it is a choice */
  uint32_t choice_count;
  uint32_t reserved;
} overlap_parameter;

/* How many bytes a job makes. */
enum overlap_output_size {
  OVERLAP_OUTPUT_KNOWN = 0,          /* always max_output_bytes */
  OVERLAP_OUTPUT_ALL_OR_NOTHING = 1, /* max_output_bytes or 0 */
  OVERLAP_OUTPUT_UP_TO = 2           /* any size up to max_output_bytes; for a last stage only */
};

/* Bits of overlap_plan.paths. */
enum overlap_path {
  OVERLAP_PATH_COPY = 1u,
  OVERLAP_PATH_MAPPED = 2u, /* each input byte is read once and each output byte written once */
  OVERLAP_PATH_GATHER = 4u
};

/* What a job of a known input size needs and gives. */
typedef struct overlap_plan {
  uint32_t struct_bytes;
  uint32_t output_size; /* overlap_output_size */
  uint64_t max_output_bytes;
  uint64_t workspace_bytes; /* scratch memory per job */
  uint64_t
      state_bytes; /* kept from job to job, per channel, for jobs up to this size; 0: stateless */
  uint32_t paths;  /* overlap_path, the same for every input size */
  uint32_t reserved;
} overlap_plan;

/* A kernel. Functions may be called from several threads at once, and throw nothing. `self` is this
 * very structure. A text is written zero-terminated and cut to `text_bytes`.
 * Limits: a name 31 bytes, a unit 31, a choice 31, summary and help 200, all texts 4000; at most 64
 * choices; ranges and defaults finite; granule_bytes and every size of a plan 2^46 bytes. */
typedef struct overlap_kernel {
  uint32_t struct_bytes;
  uint32_t param_count; /* at most 16 */
  uint32_t param_stride_bytes;
  uint32_t reserved;
  const char* name; /* a-z, 0-9 and _ */
  const char* summary;
  const char* table_help; /* what the table holds; "" for a kernel without one */
  const overlap_parameter* params;
  void* context; /* the plug-in's own */

  /* Bytes of one element or frame: a job's input is a positive multiple of it. */
  uint64_t (*granule_bytes)(const struct overlap_kernel* self, const overlap_param_value* params);
  /* Sizes of a job. 0, or not 0 with a text that says why it cannot run. `plan` is zeroed but for its
     size. */
  int (*plan)(const struct overlap_kernel* self, const overlap_param_value* params,
              uint64_t input_bytes, overlap_plan* plan, char* text, size_t text_bytes);
  /* Bytes of the table that the channel has to bring; null: none. */
  uint64_t (*table_bytes)(const struct overlap_kernel* self, const overlap_param_value* params);
  /* Off the data path, before the first job up to that size: makes what a first run would have to
     wait for. 0, or not 0 with a text that says why it will not run; null: nothing to do. */
  int (*prepare)(const struct overlap_kernel* self, const overlap_param_value* params,
                 uint64_t input_bytes, int on_gpu, char* text, size_t text_bytes);
  /* Runs the batch on the calling thread; null: there is no host implementation. */
  void (*run)(const struct overlap_kernel* self, const overlap_batch* batch);
  /* Enqueues the batch on a cudaStream_t and returns at once, waiting for nothing: a cudaError_t,
     0 for success; null: there is no CUDA implementation. */
  int (*launch)(const struct overlap_kernel* self, const overlap_batch* batch, void* stream);
} overlap_kernel;

/* What a plug-in is: the shared library's one entry. */
typedef struct overlap_plugin {
  uint32_t struct_bytes;
  uint32_t abi_major; /* OVERLAP_KERNEL_ABI_MAJOR of the header it was built with */
  uint32_t abi_minor;
  uint32_t kernel_count;
  const char* name;
  const char* version;
  const overlap_kernel* const* kernels;
} overlap_plugin;

/* The one function that a plug-in exports, as C: `const overlap_plugin* overlap_plugin_entry(void)`.
 * Called when the file is opened, and once more for every other name that the file has in the folders
 * (a link): the kernels of that one are refused, as their names are taken. What it returns lives as
 * long as the library. Null: the plug-in cannot work here. */
#define OVERLAP_PLUGIN_ENTRY "overlap_plugin_entry"

#ifdef __cplusplus
}
#endif
