#include "kernels/source/source_program.hpp"

#include <algorithm>

namespace overlap {
namespace {

constexpr std::uint32_t kElementThreads = 256;
constexpr std::uint64_t kAccessBytes = 16;

/// How a parameter arrives on the GPU.
std::string_view argument_type(ParameterType type) noexcept {
  switch (type) {
    case ParameterType::real:
      return "double";
    case ParameterType::integer:
      return "int64_t";
    case ParameterType::choice:
      break;
  }
  return "uint64_t";
}

/// `#line`, so that what follows counts as line `line` of `file`.
std::string line_mark(std::size_t line, const std::string& file) {
  std::string text = "#line " + std::to_string(line) + " \"";
  for (const char character : file) {
    if (character == '"' || character == '\\') {
      text += '\\';
    }
    text += character;
  }
  return text + "\"\n";
}

/// For each parameter what `each` makes of its number and type, all behind commas.
template <class Each>
std::string for_parameters(const SourceDeclaration& declaration, const Each& each) {
  std::string text;
  for (std::size_t index = 0; index < declaration.parameters.size(); ++index) {
    text += ", ";
    text += each(std::to_string(index), argument_type(declaration.parameters[index].type));
  }
  return text;
}

std::string typed_name(const std::string& number, std::string_view type) {
  return std::string(type) + " p" + number;
}

/// `float f(float, double limit)`: what the author has to write.
std::string wanted_signature(const SourceDeclaration& declaration) {
  const std::size_t space = declaration.function.rfind("::");
  const std::string name = declaration.function.substr(space == std::string::npos ? 0 : space + 2);
  std::string text =
      declaration.elements
          ? "__device__ overlap::" + std::string(source_type_name(declaration.elements->output)) +
                " " + name +
                "(overlap::" + std::string(source_type_name(declaration.elements->input)) + " x"
          : "__global__ void " + name + "(const __grid_constant__ overlap::Batch batch";
  for (const SourceParameter& parameter : declaration.parameters) {
    text += ", " + std::string(argument_type(parameter.type)) + " " + parameter.name;
  }
  return text + ")";
}

/// Blames the line of the declaration if the function is another than it says.
std::string check_of(const SourceDeclaration& declaration) {
  const std::string refusal = ", \"" + declaration.function +
                              " is another function than declared: '" +
                              wanted_signature(declaration) + "'\");\n";
  std::string text = line_mark(declaration.function_line, declaration.file);
  if (!declaration.elements) {
    const auto type_alone = [](const std::string&, std::string_view type) {
      return std::string(type);
    };
    return text + "static_assert(overlap::IsSame<decltype(&" + declaration.function +
           "), void (*)(overlap::Batch" + for_parameters(declaration, type_alone) + ")>::value" +
           refusal;
  }
  const auto any_value = [](const std::string&, std::string_view type) {
    return std::string(type) + "()";
  };
  return text + "static_assert(overlap::IsSame<decltype(" + declaration.function +
         "(overlap::" + std::string(source_type_name(declaration.elements->input)) + "()" +
         for_parameters(declaration, any_value) +
         ")), overlap::" + std::string(source_type_name(declaration.elements->output)) +
         ">::value" + refusal;
}

/// The kernel around a function of one element.
std::string element_entry(const SourceDeclaration& declaration) {
  const std::string input =
      "overlap::" + std::string(source_type_name(declaration.elements->input));
  const std::string output =
      "overlap::" + std::string(source_type_name(declaration.elements->output));
  const auto name_alone = [](const std::string& number, std::string_view) { return "p" + number; };
  return line_mark(1, "overlap_entry") + "extern \"C\" __global__ void __launch_bounds__(" +
         std::to_string(kElementThreads) +
         ") overlap_entry(const __grid_constant__ overlap::Batch batch" +
         for_parameters(declaration, typed_name) + ") {\n" + "  overlap::map_elements<" + input +
         ", " + output + ">(batch, [=](" + input + " x) { return " + declaration.function + "(x" +
         for_parameters(declaration, name_alone) + "); });\n}\n";
}

SourceShape shape_of(const SourceDeclaration& declaration) {
  if (!declaration.elements) {
    return {declaration.batch.threads, declaration.batch.block_bytes};
  }
  const std::uint64_t input = source_type_bytes(declaration.elements->input);
  const std::uint64_t output = source_type_bytes(declaration.elements->output);
  return {kElementThreads, kElementThreads * (kAccessBytes / std::max(input, output)) * input};
}

}  // namespace

SourceProgram make_program(const SourceDeclaration& declaration, std::string_view text) {
  SourceProgram program;
  program.file = declaration.file;
  program.included = included_headers(text);
  program.shape = shape_of(declaration);
  program.text = "#include <overlap_source.cuh>\n" + line_mark(1, declaration.file) +
                 std::string(text) + "\n" + check_of(declaration);
  if (declaration.elements) {
    program.text += element_entry(declaration);
    program.entry = "overlap_entry";
  } else {
    program.entry = declaration.function;
  }
  return program;
}

}  // namespace overlap
