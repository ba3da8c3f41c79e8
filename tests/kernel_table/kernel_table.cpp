#include "tests/kernel_table/kernel_table.hpp"

#include "kernels/kernel_facts.hpp"
#include "kernels/parameter_text.hpp"

#include <algorithm>
#include <limits>

namespace overlap {
namespace {

constexpr std::string_view kKernelHead =
    "| kernel | what it makes | table | state | paths | runs on | from |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n";
constexpr std::string_view kParameterHead =
    "| kernel | parameter | type | takes | default | unit | meaning |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n";
constexpr std::string_view kBuiltIn = "built-in";

/// A text as a cell may hold it.
std::string cell(std::string_view text) {
  std::string result;
  for (const char character : text) {
    result += character == '|' ? "\\|" : std::string(1, character);
  }
  return result;
}

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& content : cells) {
    text += content.empty() ? " |" : " " + content + " |";
  }
  return text;
}

std::string code(std::string_view text) { return "`" + cell(text) + "`"; }

std::string paths_text(std::uint8_t paths) {
  return (paths & static_cast<std::uint8_t>(Path::mapped)) != 0 ? "mapped, copy, gather"
                                                                : "copy, gather";
}

/// `built-in`, or the name of a plug-in's file: its folder differs from machine to machine.
std::string origin_text(const Kernel& kernel) {
  const std::string_view origin = kernel.origin();
  return origin == kBuiltIn ? std::string(kBuiltIn)
                            : code(origin.substr(origin.find_last_of('/') + 1));
}

std::string type_text(ParameterType type) {
  switch (type) {
    case ParameterType::real:
      return "real";
    case ParameterType::integer:
      return "integer";
    case ParameterType::choice:
      break;
  }
  return "choice";
}

std::string takes_text(const Parameter& parameter) {
  if (parameter.type == ParameterType::choice) {
    std::string text;
    for (const std::string_view choice : parameter.choices) {
      text += (text.empty() ? "" : " ") + code(choice);
    }
    return text;
  }
  constexpr double kLargest = std::numeric_limits<double>::max();
  if (parameter.type == ParameterType::real && parameter.minimum <= -kLargest &&
      parameter.maximum >= kLargest) {
    return "any finite number";
  }
  const auto bound = [&parameter](double value) {
    overlap_param_value as_value{};
    if (parameter.type == ParameterType::integer) {
      as_value.i64 = static_cast<std::int64_t>(value);
    } else {
      as_value.f64 = value;
    }
    return format_value(parameter, as_value);
  };
  return bound(parameter.minimum) + " to " + bound(parameter.maximum);
}

/// Where the tables go: behind the first marker's line, up to the second marker.
struct Place {
  std::size_t begin;
  std::size_t end;
};

Place find_place(std::string_view page) {
  const auto only = [page](std::string_view marker) {
    const std::size_t at = page.find(marker);
    if (at == std::string_view::npos || page.find(marker, at + 1) != std::string_view::npos) {
      throw MarkerError("the page needs the line '" + std::string(marker) + "' exactly once");
    }
    return at;
  };
  const Place place{only(kTableBegin) + kTableBegin.size(), only(kTableEnd)};
  if (place.begin > place.end) {
    throw MarkerError("the page has '" + std::string(kTableEnd) + "' before its beginning");
  }
  return place;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    lines.push_back(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return lines;
}

bool is_whole(const Kernel& kernel) { return kernel.has_host() && kernel.has_cuda(); }

}  // namespace

KernelRows kernel_rows(const Kernel& kernel) {
  const KernelFacts facts = facts_of(kernel);
  std::string backends = kernel.has_host() ? "host" : "";
  if (kernel.has_cuda()) {
    backends += backends.empty() ? "cuda" : ", cuda";
  }
  KernelRows rows;
  rows.kernel =
      row({code(kernel.name()), cell(kernel.summary()),
           facts.takes_table ? cell(kernel.table_help()) : "", facts.is_stateful ? "yes" : "",
           paths_text(facts.paths), backends, origin_text(kernel)});
  for (const Parameter& parameter : kernel.parameters()) {
    rows.parameters.push_back(
        row({code(kernel.name()), code(parameter.name),
             type_text(parameter.type) + (parameter.per_job ? ", per job" : ""),
             takes_text(parameter), cell(format_value(parameter, parameter.default_value)),
             cell(parameter.unit), cell(parameter.help)}));
  }
  return rows;
}

std::string kernel_tables(const KernelRegistry& kernels) {
  std::string first(kKernelHead);
  std::string second(kParameterHead);
  for (const Kernel* const kernel : kernels.all()) {
    const KernelRows rows = kernel_rows(*kernel);
    first += rows.kernel + "\n";
    for (const std::string& parameter : rows.parameters) {
      second += parameter + "\n";
    }
  }
  return first + "\n" + second;
}

std::string with_tables(std::string_view page, std::string_view tables) {
  const Place place = find_place(page);
  return std::string(page.substr(0, place.begin)) + "\n\n" + std::string(tables) + "\n" +
         std::string(page.substr(place.end));
}

std::vector<std::string> differences(std::string_view page, const KernelRegistry& kernels) {
  const Place place = find_place(page);
  std::vector<std::string_view> written =
      lines_of(page.substr(place.begin, place.end - place.begin));
  std::vector<std::string> found;
  for (const Kernel* const kernel : kernels.all()) {
    if (!is_whole(*kernel)) {
      continue;
    }
    const KernelRows rows = kernel_rows(*kernel);
    std::vector<std::string> expected{rows.kernel};
    expected.insert(expected.end(), rows.parameters.begin(), rows.parameters.end());
    for (const std::string& line : expected) {
      const auto at = std::ranges::find(written, line);
      if (at == written.end()) {
        found.push_back("missing: " + line);
      } else {
        written.erase(at);
      }
    }
  }
  // What is left over: heads, kernels that are not in this build, and what is wrong.
  const std::string built_in_end = "| " + std::string(kBuiltIn) + " |";
  for (const std::string_view line : written) {
    if (!line.starts_with("| `")) {
      continue;
    }
    const Kernel* const kernel = kernels.find(line.substr(3, line.find('`', 3) - 3));
    if (kernel == nullptr ? line.ends_with(built_in_end) : is_whole(*kernel)) {
      found.push_back("not so: " + std::string(line));
    }
  }
  return found;
}

}  // namespace overlap
