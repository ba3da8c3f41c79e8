#include "kernels/parameter_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace overlap {
namespace {

constexpr std::size_t kQuotedBytes = 64;

template <class Number>
std::string shortest_text(Number number) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return error == std::errc{} ? std::string(buffer.data(), end) : std::string("?");
}

/// A bound of an integer parameter reads better without an exponent.
std::string bound_text(const Parameter& parameter, double bound) {
  return parameter.type == ParameterType::integer ? shortest_text(static_cast<std::int64_t>(bound))
                                                  : shortest_text(bound);
}

bool any_finite(const Parameter& parameter) {
  return parameter.minimum <= std::numeric_limits<double>::lowest() &&
         parameter.maximum >= std::numeric_limits<double>::max();
}

Refusal refuse(const Parameter& parameter, std::string_view text, std::string_view why) {
  return Refusal{std::string(parameter.name) + "=" + quoted(text) + " " + std::string(why) + "; " +
                 std::string(parameter.name) + " takes " + describe_values(parameter)};
}

template <class Number>
ValueOrRefusal parse_number(const Parameter& parameter, std::string_view text,
                            std::string_view not_a_number) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::invalid_argument || stop != end) {
    return refuse(parameter, text, not_a_number);
  }
  if (error == std::errc::result_out_of_range) {
    return refuse(parameter, text, "is too large or too small for 64 bits");
  }
  overlap_param_value value{};
  if constexpr (std::is_same_v<Number, double>) {
    if (!std::isfinite(number)) {
      return refuse(parameter, text, "is not finite");
    }
    value.f64 = number;
  } else {
    value.i64 = number;
  }
  // long double holds every 64-bit integer, so a bound is never compared with a rounded value.
  const auto exact = static_cast<long double>(number);
  if (!(exact >= static_cast<long double>(parameter.minimum) &&
        exact <= static_cast<long double>(parameter.maximum))) {
    return refuse(parameter, text, "is out of range");
  }
  return value;
}

ValueOrRefusal parse_choice(const Parameter& parameter, std::string_view text) {
  for (std::size_t index = 0; index < parameter.choices.size(); ++index) {
    if (parameter.choices[index] == text) {
      overlap_param_value value{};
      value.choice_index = index;
      return value;
    }
  }
  return refuse(parameter, text, "is no choice of this parameter");
}

}  // namespace

ValueOrRefusal parse_value(const Parameter& parameter, std::string_view text) {
  if (text.empty()) {
    return refuse(parameter, text, "is empty");
  }
  switch (parameter.type) {
    case ParameterType::real:
      return parse_number<double>(parameter, text, "is no number");
    case ParameterType::integer:
      return parse_number<std::int64_t>(parameter, text, "is no whole number");
    case ParameterType::choice:
      break;
  }
  return parse_choice(parameter, text);
}

std::string format_value(const Parameter& parameter, overlap_param_value value) {
  switch (parameter.type) {
    case ParameterType::real:
      return shortest_text(value.f64);
    case ParameterType::integer:
      return shortest_text(value.i64);
    case ParameterType::choice:
      break;
  }
  return std::string(parameter.choices[value.choice_index]);
}

std::string describe_values(const Parameter& parameter) {
  std::string text;
  if (parameter.type == ParameterType::choice) {
    text = "one of ";
    for (const std::string_view choice : parameter.choices) {
      text += (choice == parameter.choices.front() ? "" : ", ") + std::string(choice);
    }
  } else if (parameter.type == ParameterType::real && any_finite(parameter)) {
    text = "any finite number";
  } else {
    text = parameter.type == ParameterType::integer ? "a whole number" : "a number";
    text += " from " + bound_text(parameter, parameter.minimum) + " to " +
            bound_text(parameter, parameter.maximum);
  }
  text += " (";
  if (!parameter.unit.empty()) {
    text += std::string(parameter.unit) + ", ";
  }
  return text + "default " + format_value(parameter, parameter.default_value) + ")";
}

std::string quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result = "'";
  for (const char character : text.substr(0, kQuotedBytes)) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte < 0x7f) {
      result += character;
    } else {
      result += "\\x";
      result += kDigits[byte >> 4U];
      result += kDigits[byte & 0xfU];
    }
  }
  return result + (text.size() > kQuotedBytes ? "...'" : "'");
}

}  // namespace overlap
