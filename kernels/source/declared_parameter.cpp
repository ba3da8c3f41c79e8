#include "kernels/source/declared_parameter.hpp"

#include "kernels/kernel_limits.hpp"
#include "kernels/parameter_text.hpp"

#include <algorithm>
#include <limits>
#include <optional>

namespace overlap {
namespace {

constexpr std::string_view kNumberForm =
    "write '//! param NAME real|integer DEFAULT MIN MAX UNIT \"HELP\"', with per_job behind it if "
    "a "
    "job may bring its own; UNIT is - for a pure number";
constexpr std::string_view kChoiceForm =
    "write '//! param NAME choice DEFAULT FIRST,SECOND,... \"HELP\"'";
/// An integer's bounds are kept as f64, which holds whole numbers up to here.
constexpr double kLargestWhole = 0x1p53;

Refusal refusal(std::string_view text) { return Refusal{std::string(text)}; }

/// Whether exactly the word at `index` stands in quotes.
bool only_quoted(const DeclarationLine& line, std::size_t index) {
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    if (line.words[i].is_quoted != (i == index)) {
      return false;
    }
  }
  return index < line.words.size() && !line.words[index].text.empty();
}

/// A bound as written: a number of the parameter's type, or `any`.
std::variant<double, Refusal> read_bound(SourceParameter bound_of, const std::string& text,
                                         double any) {
  if (text == "any") {
    return any;
  }
  const bool is_integer = bound_of.type == ParameterType::integer;
  const double largest = is_integer ? kLargestWhole : std::numeric_limits<double>::max();
  bound_of.minimum = -largest;
  bound_of.maximum = largest;
  const ValueOrRefusal value = parse_value(borrow_parameter(bound_of, {}), text);
  if (std::holds_alternative<Refusal>(value)) {
    return Refusal{"the bound " + quoted(text) + " of parameter '" + bound_of.name +
                   "' is neither " +
                   (is_integer ? "a whole number up to 2^53" : "a finite number") + " nor 'any'"};
  }
  const auto read = std::get<overlap_param_value>(value);
  return is_integer ? static_cast<double>(read.i64) : read.f64;
}

std::optional<Refusal> read_default(SourceParameter& parameter, const std::string& text) {
  const std::vector<std::string_view> choices(parameter.choices.begin(), parameter.choices.end());
  const ValueOrRefusal value = parse_value(borrow_parameter(parameter, choices), text);
  if (std::holds_alternative<Refusal>(value)) {
    return Refusal{"the default " + quoted(text) + " of parameter '" + parameter.name +
                   "' is not a value that it takes"};
  }
  parameter.default_value = std::get<overlap_param_value>(value);
  return std::nullopt;
}

std::variant<SourceParameter, Refusal> read_number(const DeclarationLine& line,
                                                   SourceParameter parameter) {
  constexpr std::size_t kHelp = 7;
  const bool has_mark = line.words.size() == kHelp + 2 && line.words.back().text == "per_job";
  if (!only_quoted(line, kHelp) || (line.words.size() != kHelp + 1 && !has_mark)) {
    return refusal(kNumberForm);
  }
  const double any =
      parameter.type == ParameterType::integer ? kLargestWhole : std::numeric_limits<double>::max();
  const auto minimum = read_bound(parameter, line.words[4].text, -any);
  const auto maximum = read_bound(parameter, line.words[5].text, any);
  for (const auto* const bound : {&minimum, &maximum}) {
    if (const auto* const refused = std::get_if<Refusal>(bound)) {
      return *refused;
    }
  }
  parameter.minimum = std::get<double>(minimum);
  parameter.maximum = std::get<double>(maximum);
  if (parameter.minimum > parameter.maximum) {
    return Refusal{"the range of parameter '" + parameter.name +
                   "' is empty: " + line.words[4].text + " is above " + line.words[5].text};
  }
  if (line.words[6].text != "-") {
    parameter.unit = line.words[6].text;
  }
  parameter.help = line.words[kHelp].text;
  parameter.is_per_job = has_mark;
  if (auto refused = read_default(parameter, line.words[3].text)) {
    return *std::move(refused);
  }
  return parameter;
}

std::variant<SourceParameter, Refusal> read_choice(const DeclarationLine& line,
                                                   SourceParameter parameter) {
  constexpr std::size_t kHelp = 5;
  if (!only_quoted(line, kHelp) || line.words.size() != kHelp + 1) {
    return refusal(kChoiceForm);
  }
  std::string_view list = line.words[4].text;
  for (;;) {
    const std::size_t comma = list.find(',');
    std::string choice(list.substr(0, comma));
    if (!is_declared_name(choice)) {
      return Refusal{"the choice " + quoted(choice) + " of parameter '" + parameter.name +
                     "' cannot be written in a pipeline; use 1 to 31 of a-z, 0-9 and _"};
    }
    if (parameter.choices.size() == kMostChoices) {
      return Refusal{"parameter '" + parameter.name + "' has more than " +
                     std::to_string(kMostChoices) + " choices; it takes at most as many"};
    }
    if (std::ranges::find(parameter.choices, choice) != parameter.choices.end()) {
      return Refusal{"the choice " + quoted(choice) + " of parameter '" + parameter.name +
                     "' is there twice"};
    }
    parameter.choices.push_back(std::move(choice));
    if (comma == std::string_view::npos) {
      break;
    }
    list.remove_prefix(comma + 1);
  }
  parameter.help = line.words[kHelp].text;
  if (auto refused = read_default(parameter, line.words[3].text)) {
    return *std::move(refused);
  }
  return parameter;
}

}  // namespace

bool is_declared_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMostNameBytes &&
         std::ranges::all_of(name, [](char character) {
           return (character >= 'a' && character <= 'z') ||
                  (character >= '0' && character <= '9') || character == '_';
         });
}

std::variant<SourceParameter, Refusal> parse_declared_parameter(const DeclarationLine& line) {
  if (line.words.size() < 3) {
    return refusal(kNumberForm);
  }
  SourceParameter parameter;
  parameter.name = line.words[1].text;
  if (!is_declared_name(parameter.name)) {
    return Refusal{"parameter name " + quoted(parameter.name) +
                   " cannot be written in a pipeline; use 1 to 31 of a-z, 0-9 and _"};
  }
  const std::string& type = line.words[2].text;
  if (type == "choice") {
    parameter.type = ParameterType::choice;
    return read_choice(line, std::move(parameter));
  }
  if (type != "real" && type != "integer") {
    return Refusal{quoted(type) + " is no type of a parameter; there are real, integer and choice"};
  }
  parameter.type = type == "real" ? ParameterType::real : ParameterType::integer;
  return read_number(line, std::move(parameter));
}

Parameter borrow_parameter(const SourceParameter& parameter,
                           const std::vector<std::string_view>& choices) noexcept {
  return {parameter.name,    parameter.type,    parameter.default_value,
          parameter.minimum, parameter.maximum, parameter.unit,
          parameter.help,    choices,           parameter.is_per_job};
}

}  // namespace overlap
