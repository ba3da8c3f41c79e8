#include "daemon/ctl/kernel_report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>
#include <vector>

#if OVERLAP_HAVE_JSON
#include <nlohmann/json.hpp>
#endif

namespace overlap {
namespace {

template <class Number>
std::string number_text(Number number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

/// A bound of an integer reads better without an exponent.
std::string bound_text(const ListedParameter& parameter, double bound) {
  constexpr double kBeyond = 0x1p63;
  const bool fits = bound >= -kBeyond && bound < kBeyond;
  return parameter.type == ListedType::integer && fits
             ? number_text(static_cast<std::int64_t>(bound))
             : number_text(bound);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::string_view type_text(ListedType type) {
  switch (type) {
    case ListedType::real:
      return "real";
    case ListedType::integer:
      return "integer";
    case ListedType::choice:
      break;
  }
  return "choice";
}

std::string default_text(const ListedParameter& parameter) {
  switch (parameter.type) {
    case ListedType::real:
      return number_text(parameter.default_value.f64);
    case ListedType::integer:
      return number_text(parameter.default_value.i64);
    case ListedType::choice:
      break;
  }
  return parameter.choices[parameter.default_value.choice_index];
}

std::string range_text(const ListedParameter& parameter) {
  if (parameter.type == ListedType::choice) {
    return joined(parameter.choices);
  }
  constexpr double kLargest = std::numeric_limits<double>::max();
  const std::string unit = parameter.unit.empty() ? "" : " " + parameter.unit;
  if (parameter.minimum <= -kLargest && parameter.maximum >= kLargest) {
    return "any finite number" + unit;
  }
  return bound_text(parameter, parameter.minimum) + " to " +
         bound_text(parameter, parameter.maximum) + unit;
}

/// A file's name or a plug-in's text may be anything; lines of ours are put together before.
std::string shown(const std::string& text) {
  std::string result = text;
  std::replace_if(
      result.begin(), result.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }, '?');
  return result;
}

/// Rows of cells, each column as wide as its widest cell.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = "   ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += " " + row[i];
      line += std::string(i + 1 == row.size() ? 0 : widths[i] - row[i].size() + 1, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string backends_text(const ListedKernel& kernel) {
  std::vector<std::string> words;
  if ((kernel.flags & kListedHost) != 0) {
    words.emplace_back("host");
  }
  if ((kernel.flags & kListedCuda) != 0) {
    words.emplace_back("cuda");
  }
  return words.empty() ? "no backend" : joined(words);
}

std::string kernel_block(const ListedKernel& kernel) {
  std::string text = shown(kernel.name) + ": " + shown(kernel.summary) + "\n";
  text += "    from " + shown(kernel.origin) + "; runs on " + backends_text(kernel);
  text += (kernel.flags & kListedStateful) != 0 ? "; keeps state from job to job\n" : "\n";
  if ((kernel.flags & kListedTable) != 0) {
    text += "    needs a table: " + shown(kernel.table_help) + "\n";
  }
  std::vector<std::vector<std::string>> rows;
  for (const ListedParameter& parameter : kernel.parameters) {
    rows.push_back({shown(parameter.name), std::string(type_text(parameter.type)),
                    shown(default_text(parameter)), shown(range_text(parameter)),
                    shown(parameter.help) + (parameter.per_job ? " (or a job's own)" : "")});
  }
  if (!rows.empty()) {
    rows.insert(rows.begin(), {"parameter", "type", "default", "takes", "meaning"});
  }
  return text + aligned(rows);
}

}  // namespace

std::string kernel_report(std::span<const ListedKernel> kernels) {
  std::string text;
  for (const ListedKernel& listed : kernels) {
    text += text.empty() ? "" : "\n";
    text += listed.kind == ListedKind::refused
                ? "refused: " + shown(listed.origin) + "\n    " + shown(listed.summary) + "\n"
                : kernel_block(listed);
  }
  return text;
}

#if OVERLAP_HAVE_JSON

namespace {

nlohmann::ordered_json parameter_json(const ListedParameter& parameter) {
  nlohmann::ordered_json json;
  json["name"] = parameter.name;
  json["type"] = type_text(parameter.type);
  switch (parameter.type) {
    case ListedType::real:
      json["default"] = parameter.default_value.f64;
      break;
    case ListedType::integer:
      json["default"] = parameter.default_value.i64;
      break;
    case ListedType::choice:
      json["default"] = default_text(parameter);
      break;
  }
  if (parameter.type == ListedType::choice) {
    json["choices"] = parameter.choices;
  } else {
    json["minimum"] = parameter.minimum;
    json["maximum"] = parameter.maximum;
  }
  json["unit"] = parameter.unit;
  json["help"] = parameter.help;
  json["per_job"] = parameter.per_job;
  return json;
}

nlohmann::ordered_json kernel_json(const ListedKernel& kernel) {
  nlohmann::ordered_json json;
  json["name"] = kernel.name;
  json["summary"] = kernel.summary;
  json["origin"] = kernel.origin;
  json["host"] = (kernel.flags & kListedHost) != 0;
  json["cuda"] = (kernel.flags & kListedCuda) != 0;
  json["stateful"] = (kernel.flags & kListedStateful) != 0;
  json["needs_table"] = (kernel.flags & kListedTable) != 0;
  json["table_help"] = kernel.table_help;
  json["parameters"] = nlohmann::ordered_json::array();
  for (const ListedParameter& parameter : kernel.parameters) {
    json["parameters"].push_back(parameter_json(parameter));
  }
  return json;
}

}  // namespace

std::string kernel_report_json(std::span<const ListedKernel> kernels) {
  nlohmann::ordered_json json;
  json["kernels"] = nlohmann::ordered_json::array();
  json["refused"] = nlohmann::ordered_json::array();
  for (const ListedKernel& listed : kernels) {
    if (listed.kind == ListedKind::refused) {
      json["refused"].push_back({{"file", listed.origin}, {"reason", listed.summary}});
    } else {
      json["kernels"].push_back(kernel_json(listed));
    }
  }
  // Texts come from others, and may be cut within a character.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

#else

std::string kernel_report_json(std::span<const ListedKernel> /*kernels*/) { return {}; }

#endif

}  // namespace overlap
