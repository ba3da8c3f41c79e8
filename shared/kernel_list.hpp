#pragma once

// What a daemon says of its kernels, one a message: `kernel_list_request`, `kernel_list_reply`.

#include "shared/control_protocol.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace overlap {

/// A parameter as a list shows it.
struct ListedParameter {
  std::string name;
  ListedType type = ListedType::real;
  bool per_job = false;
  /// Of a choice, the index. 64-bit integers are kept as they are, not rounded to f64.
  ListedValue default_value{};
  /// Inclusive range; without meaning for a choice.
  double minimum = 0;
  double maximum = 0;
  std::string unit;
  std::string help;
  /// In index order; empty unless it is a choice.
  std::vector<std::string> choices;

  [[nodiscard]] friend bool operator==(const ListedParameter& a, const ListedParameter& b) {
    return a.name == b.name && a.type == b.type && a.per_job == b.per_job &&
           a.default_value.i64 == b.default_value.i64 && a.minimum == b.minimum &&
           a.maximum == b.maximum && a.unit == b.unit && a.help == b.help && a.choices == b.choices;
  }
};

/// A kernel, or a file of kernels that was refused.
struct ListedKernel {
  ListedKind kind = ListedKind::kernel;
  /// Empty for a refused file.
  std::string name;
  /// Of a refused file: why.
  std::string summary;
  /// `built-in` or a file.
  std::string origin;
  std::string table_help;
  /// `kListedHost` and its neighbours.
  std::uint32_t flags = 0;
  std::vector<ListedParameter> parameters;

  [[nodiscard]] friend bool operator==(const ListedKernel&, const ListedKernel&) = default;
};

/// Fills a reply. Texts that its room does not hold are cut, the last ones first; parameters beyond
/// `kMaxListedParameters` and choices beyond `kMaxListedChoices` are left out. Thread safety: any.
void write_listed(KernelListReply& reply, const ListedKernel& listed);

/// What a reply says, or none if its counts and texts do not agree. Thread safety: any.
[[nodiscard]] std::optional<ListedKernel> read_listed(const KernelListReply& reply);

}  // namespace overlap
