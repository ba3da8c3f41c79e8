// A plug-in for the tests of the loader, built once for each way in which it can be: what it is, is
// in the definition OVERLAP_TEST_PLUGIN.

#include "kernels/overlap_kernel.h"

#include <cstddef>
#include <cstdint>

namespace {

enum Kind { kGood, kWrongMajor, kNewerMinor, kNoEntry, kNullEntry, kTakenName, kTwice };

constexpr Kind kKind = OVERLAP_TEST_PLUGIN;

std::uint64_t granule_bytes(const overlap_kernel*, const overlap_param_value*) { return 1; }

int plan(const overlap_kernel*, const overlap_param_value*, std::uint64_t input_bytes,
         overlap_plan* plan, char*, std::size_t) {
  plan->max_output_bytes = input_bytes;
  plan->paths = OVERLAP_PATH_COPY | OVERLAP_PATH_MAPPED;
  return 0;
}

/// Every bit the other way round.
void run(const overlap_kernel*, const overlap_batch* batch) {
  const auto* at = reinterpret_cast<const unsigned char*>(batch->items);
  for (std::uint32_t index = 0; index < batch->item_count;
       ++index, at += batch->item_stride_bytes) {
    const auto& item = *reinterpret_cast<const overlap_batch_item*>(at);
    const auto* const in = static_cast<const unsigned char*>(item.input);
    auto* const out = static_cast<unsigned char*>(item.output);
    for (std::uint64_t i = 0; i < item.input_bytes; ++i) {
      out[i] = static_cast<unsigned char>(~in[i]);
    }
  }
}

const overlap_kernel kInvert{sizeof(overlap_kernel),
                             0,
                             0,
                             0,
                             kKind == kTakenName ? "copy" : "invert",
                             "every bit the other way round",
                             "",
                             nullptr,
                             nullptr,
                             granule_bytes,
                             plan,
                             nullptr,
                             nullptr,
                             run,
                             nullptr};

const overlap_kernel* const kKernels[2] = {&kInvert, &kInvert};

const overlap_plugin kPlugin{sizeof(overlap_plugin),
                             OVERLAP_KERNEL_ABI_MAJOR + (kKind == kWrongMajor ? 1U : 0U),
                             OVERLAP_KERNEL_ABI_MINOR + (kKind == kNewerMinor ? 1U : 0U),
                             kKind == kTwice ? 2U : 1U,
                             "test",
                             "0.1",
                             kKernels};

}  // namespace

#if OVERLAP_TEST_PLUGIN_HAS_ENTRY
extern "C" __attribute__((visibility("default"))) const overlap_plugin* overlap_plugin_entry() {
  return kKind == kNullEntry ? nullptr : &kPlugin;
}
#else
extern "C" __attribute__((visibility("default"))) const overlap_plugin* another_entry() {
  return &kPlugin;
}
#endif
