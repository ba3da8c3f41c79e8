#include "producer/send/table_files.hpp"

#include "producer/send/input_source.hpp"
#include "shared/byte_size.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace overlap {
namespace {

constexpr std::size_t kReadBytes = 1U << 16U;

/// Whether this program knows every kernel; if not, the daemon judges.
bool is_judged_here(const Pipeline& pipeline, const KernelRegistry& kernels) {
  return std::ranges::all_of(pipeline.stages(), [&](const Stage& stage) {
    return kernels.find(stage.kernel->name()) == stage.kernel;
  });
}

/// 0 also for a stage that there is not: `check_tables` has the words for that.
std::uint64_t wanted_bytes(const Pipeline& pipeline, std::size_t stage_index) {
  if (stage_index >= pipeline.stages().size()) {
    return 0;
  }
  const Stage& stage = pipeline.stages()[stage_index];
  return stage.kernel->table_bytes(stage.params);
}

/// The whole of a file, or the first bytes of a longer one.
std::vector<std::byte> read_up_to(FileSource& file, std::uint64_t most_bytes) {
  std::vector<std::byte> bytes;
  while (bytes.size() < most_bytes) {
    const std::size_t before = bytes.size();
    bytes.resize(before + std::min<std::uint64_t>(kReadBytes, most_bytes - before));
    const std::size_t got = file.read(std::span(bytes).subspan(before));
    bytes.resize(before + got);
    if (got == 0) {
      break;
    }
  }
  return bytes;
}

}  // namespace

std::vector<StageTable> read_tables(std::span<const TableFile> files, const Pipeline& pipeline,
                                    const KernelRegistry& kernels, std::uint64_t most_bytes) {
  const bool judged = is_judged_here(pipeline, kernels);
  std::vector<StageTable> tables;
  for (const TableFile& table : files) {
    const std::string stage = "stage " + std::to_string(table.stage_index + 1);
    if (std::ranges::find(tables, table.stage_index, &StageTable::stage_index) != tables.end()) {
      throw UsageError("--table: " + stage + " has two tables; give one");
    }
    const std::uint64_t wanted = judged ? wanted_bytes(pipeline, table.stage_index) : most_bytes;
    const auto file = FileSource::open(table.path);
    std::vector<std::byte> bytes = read_up_to(*file, wanted + 1);
    if (bytes.empty()) {
      throw UsageError("--table: " + table.path + " is empty; " + stage +
                       " needs its table's bytes, or no --table");
    }
    if (bytes.size() > wanted && !judged) {
      throw UsageError("--table: " + table.path + " has more than " + format_bytes(most_bytes) +
                       ", too much for the table of " + stage);
    }
    if (bytes.size() > wanted && wanted != 0) {
      const Kernel& kernel = *pipeline.stages()[table.stage_index].kernel;
      throw UsageError("--table: " + table.path + " has more than the " + std::to_string(wanted) +
                       " bytes that " + stage + " (" + std::string(kernel.name()) +
                       ") needs: " + std::string(kernel.table_help()));
    }
    tables.push_back({table.stage_index, std::move(bytes)});
  }
  if (judged) {
    check_tables(pipeline, tables);
  }
  return tables;
}

}  // namespace overlap
