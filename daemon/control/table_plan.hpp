#pragma once

#include "kernels/pipeline.hpp"
#include "shared/control_protocol.hpp"

#include <span>
#include <string>
#include <variant>
#include <vector>

namespace overlap {

/// Holds the tables that a request names against its pipelines' stages: each stage that reads one has
/// one of the right size within the table region, and there are no others.
/// @return the tables, or why not, for the producer to read
[[nodiscard]] std::variant<std::vector<TableEntry>, std::string> plan_tables(
    const AttachRequest& request, std::span<const Pipeline> pipelines);

}  // namespace overlap
