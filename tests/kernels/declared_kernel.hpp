#pragma once

#include "kernels/overlap_kernel.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace overlap::test {

/// A kernel as a plug-in in C would declare it: 4-byte elements, the same bytes with `amount` added,
/// twice as many where `doubled` says yes. Tests spoil what they like before they use it.
struct DeclaredKernel {
  static constexpr const char* kYesNo[2] = {"no", "yes"};

  std::vector<overlap_parameter> params = {
      {"amount",
       OVERLAP_INTEGER,
       OVERLAP_PARAMETER_PER_JOB,
       {.i64 = 1},
       0,
       255,
       "steps",
       "added to every byte",
       nullptr,
       0,
       0},
      {"level", OVERLAP_REAL, 0, {.f64 = 0.5}, -1, 1, "", "of no effect", nullptr, 0, 0},
      {"doubled",
       OVERLAP_CHOICE,
       0,
       {.choice_index = 0},
       0,
       0,
       "",
       "twice the bytes",
       kYesNo,
       2,
       0}};
  overlap_kernel kernel{};

  DeclaredKernel() {
    kernel.struct_bytes = sizeof kernel;
    kernel.name = "add_amount";
    kernel.summary = "adds an amount to every byte";
    kernel.table_help = "";
    kernel.granule_bytes = [](const overlap_kernel*, const overlap_param_value*) {
      return std::uint64_t{4};
    };
    kernel.plan = [](const overlap_kernel*, const overlap_param_value* values, std::uint64_t bytes,
                     overlap_plan* plan, char* text, std::size_t text_bytes) {
      if (bytes > 4000) {
        std::strncpy(text, "more than 4000 bytes\nare too many", text_bytes - 1);
        return 1;
      }
      plan->max_output_bytes = values[2].choice_index == 1 ? 2 * bytes : bytes;
      plan->paths = OVERLAP_PATH_COPY | OVERLAP_PATH_MAPPED;
      return 0;
    };
    kernel.run = [](const overlap_kernel*, const overlap_batch* batch) {
      const auto* item = batch->items;
      const auto* const in = static_cast<const std::uint8_t*>(item->input);
      for (std::uint64_t i = 0; i < item->output_capacity_bytes; ++i) {
        static_cast<std::uint8_t*>(item->output)[i] = static_cast<std::uint8_t>(
            in[i % item->input_bytes] + static_cast<std::uint8_t>(batch->params[0].i64));
      }
    };
    declare_params();
  }

  DeclaredKernel(const DeclaredKernel&) = delete;
  DeclaredKernel& operator=(const DeclaredKernel&) = delete;

  /// After a change of `params`.
  void declare_params() {
    kernel.params = params.data();
    kernel.param_count = static_cast<std::uint32_t>(params.size());
    kernel.param_stride_bytes = sizeof(overlap_parameter);
  }
};

}  // namespace overlap::test
