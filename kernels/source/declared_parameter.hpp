#pragma once

#include "kernels/kernel.hpp"
#include "kernels/source/declaration_line.hpp"
#include "kernels/source/source_declaration.hpp"

#include <string_view>
#include <variant>
#include <vector>

namespace overlap {

/// Whether a pipeline's text can hold it as a name: 1 to 31 of a-z, 0-9 and _.
[[nodiscard]] bool is_declared_name(std::string_view name) noexcept;

/// Reads a `param` line, as `parse_declaration` describes it.
/// @return a refusal that says what is wrong: the form, a number, a range without its default
/// @pre the first word is `param`
[[nodiscard]] std::variant<SourceParameter, Refusal> parse_declared_parameter(
    const DeclarationLine& line);

/// The same as a kernel shows it. Borrows every text, and `choices`, from what it is given.
[[nodiscard]] Parameter borrow_parameter(const SourceParameter& parameter,
                                         const std::vector<std::string_view>& choices) noexcept;

}  // namespace overlap
