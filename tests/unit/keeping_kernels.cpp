#include "tests/unit/keeping_kernels.hpp"

#include "kernels/batch_items.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <cstring>
#include <memory>

namespace overlap::testing {
namespace {

std::uint64_t number_at(const void* memory) {
  std::uint64_t number = 0;
  std::memcpy(&number, memory, sizeof number);
  return number;
}

void put(void* memory, std::uint64_t number) { std::memcpy(memory, &number, sizeof number); }

template <class Item>
void for_each_number(const overlap_batch& batch, Item item_of) {
  for (std::uint32_t i = 0; i < batch.item_count; ++i) {
    const overlap_batch_item& item = item_at(batch, i);
    if (item.input_bytes != 0) {
      item_of(item, number_at(item.input));
    } else if (item.output_bytes != nullptr) {
      *item.output_bytes = 0;
    }
  }
}

void running_sum(const overlap_batch& batch) {
  for_each_number(batch, [](const overlap_batch_item& item, std::uint64_t number) {
    if (number == kUnlucky) {
      *item.status = OVERLAP_ITEM_FAILED;
      put(item.state, 0);
      return;
    }
    put(item.state, number_at(item.state) + number);
    put(item.output, number_at(item.state));
  });
}

void every_second(const overlap_batch& batch) {
  for_each_number(batch, [](const overlap_batch_item& item, std::uint64_t number) {
    const std::uint64_t count = number_at(item.state) + 1;
    put(item.state, count % 2);
    *item.output_bytes = count == 2 ? sizeof number : 0;
    if (count == 2) {
      put(item.output, number);
    }
  });
}

void plus_table(const overlap_batch& batch) {
  for_each_number(batch, [](const overlap_batch_item& item, std::uint64_t number) {
    put(item.output, number + number_at(item.table));
  });
}

void plus(const overlap_batch& batch) {
  for_each_number(batch, [](const overlap_batch_item& item, std::uint64_t number) {
    put(item.output, number + static_cast<std::uint64_t>(item.params[0].i64) +
                         static_cast<std::uint64_t>(item.params[1].i64));
  });
}

void up_to(const overlap_batch& batch) {
  for_each_number(batch, [](const overlap_batch_item& item, std::uint64_t number) {
    *item.output_bytes = number;
    if (number > sizeof number) {
      *item.status = OVERLAP_ITEM_OUTPUT_TOO_SMALL;
      return;
    }
    std::memset(item.output, 0x55, number);
  });
}

void fail_all(const overlap_batch& batch) {
  for_each_number(batch, [](const overlap_batch_item& item, std::uint64_t /*number*/) {
    *item.status = OVERLAP_ITEM_FAILED;
  });
}

Parameter whole_number(std::string_view name, bool per_job) {
  return {name, ParameterType::integer, {.i64 = 0}, -100, 100, "", "added", {}, per_job};
}

}  // namespace

const KernelRegistry& keeping_registry() {
  static const KernelRegistry kRegistry = [] {
    KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
    const auto add = [&](ScriptedKernel::Script script) {
      kernels.add(std::make_unique<ScriptedKernel>(std::move(script)));
    };
    add({.name = "running_sum", .state_bytes = 8, .run = running_sum});
    add({.name = "every_second",
         .state_bytes = 8,
         .output_size = OutputSize::all_or_nothing,
         .run = every_second});
    add({.name = "plus_table", .table_bytes = kTableBytes, .run = plus_table});
    add({.name = "plus",
         .parameters = {whole_number("b", false), whole_number("a", true)},
         .run = plus});
    add({.name = "up_to", .output_size = OutputSize::up_to, .run = up_to});
    add({.name = "keeps_less_of_more", .run = {}, .state_bytes_for = [](std::uint64_t bytes) {
           return bytes < 64 ? std::uint64_t{1024} : std::uint64_t{8};
         }});
    add({.name = "leaves_out", .run = fail_all, .origin = "elsewhere.so"});
    return kernels;
  }();
  return kRegistry;
}

}  // namespace overlap::testing
