#include "daemon/control/table_plan.hpp"

#include "kernels/parameter_text.hpp"
#include "shared/byte_size.hpp"

#include <algorithm>

namespace overlap {
namespace {

std::string name_of(const Pipeline& pipeline, std::size_t stage) {
  return "stage " + std::to_string(stage + 1) + " of pipeline " + quoted(pipeline.text()) + ", '" +
         std::string(pipeline.stages()[stage].kernel->name()) + "',";
}

/// @return why the table cannot be the stage's, or nothing
std::string misfit_of(const TableEntry& entry, std::uint64_t region_bytes,
                      std::span<const Pipeline> pipelines) {
  if (entry.pipeline_index >= pipelines.size()) {
    return "a table names pipeline " + std::to_string(entry.pipeline_index) + ", the channel has " +
           std::to_string(pipelines.size());
  }
  const Pipeline& pipeline = pipelines[entry.pipeline_index];
  if (entry.stage_index >= pipeline.stages().size()) {
    return "a table names stage " + std::to_string(entry.stage_index + 1) + " of pipeline " +
           quoted(pipeline.text()) + ", which has " + std::to_string(pipeline.stages().size());
  }
  const Stage& stage = pipeline.stages()[entry.stage_index];
  const std::uint64_t wanted_bytes = stage.kernel->table_bytes(stage.params);
  if (wanted_bytes == 0) {
    return name_of(pipeline, entry.stage_index) + " takes no table; leave it out";
  }
  if (entry.bytes != wanted_bytes) {
    return name_of(pipeline, entry.stage_index) + " takes a table of " +
           format_bytes(wanted_bytes) + " (" + std::string(stage.kernel->table_help()) +
           "), the channel brings " + format_bytes(entry.bytes);
  }
  if (entry.offset_bytes % kSmallStrideBytes != 0 || entry.bytes > region_bytes ||
      entry.offset_bytes > region_bytes - entry.bytes) {
    return "a table of " + format_bytes(entry.bytes) + " at offset " +
           std::to_string(entry.offset_bytes) + " does not lie at a multiple of " +
           std::to_string(kSmallStrideBytes) + " within a table region of " +
           format_bytes(region_bytes);
  }
  return {};
}

}  // namespace

std::variant<std::vector<TableEntry>, std::string> plan_tables(
    const AttachRequest& request, std::span<const Pipeline> pipelines) {
  if (request.table_count > kMaxTables) {
    return "the channel brings " + std::to_string(request.table_count) + " tables, the limit is " +
           std::to_string(kMaxTables) + "; split it";
  }
  const auto given = std::span(request.tables).first(request.table_count);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (std::string misfit = misfit_of(given[i], request.table_bytes, pipelines); !misfit.empty()) {
      return misfit;
    }
    const auto same = [&](const TableEntry& other) {
      return other.pipeline_index == given[i].pipeline_index &&
             other.stage_index == given[i].stage_index;
    };
    if (std::ranges::any_of(given.first(i), same)) {
      return name_of(pipelines[given[i].pipeline_index], given[i].stage_index) +
             " is given two tables; keep one of them";
    }
  }
  for (std::size_t p = 0; p < pipelines.size(); ++p) {
    for (std::size_t s = 0; s < pipelines[p].stages().size(); ++s) {
      const Stage& stage = pipelines[p].stages()[s];
      const std::uint64_t wanted_bytes = stage.kernel->table_bytes(stage.params);
      const auto is_for_it = [&](const TableEntry& entry) {
        return entry.pipeline_index == p && entry.stage_index == s;
      };
      if (wanted_bytes != 0 && std::ranges::none_of(given, is_for_it)) {
        return name_of(pipelines[p], s) + " needs a table of " + format_bytes(wanted_bytes) + " (" +
               std::string(stage.kernel->table_help()) + "); bring one";
      }
    }
  }
  return std::vector<TableEntry>(given.begin(), given.end());
}

}  // namespace overlap
