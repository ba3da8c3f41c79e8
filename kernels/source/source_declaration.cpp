#include "kernels/source/source_declaration.hpp"

#include "kernels/kernel_limits.hpp"
#include "kernels/parameter_text.hpp"
#include "kernels/source/declaration_line.hpp"
#include "kernels/source/declared_parameter.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace overlap {
namespace {

constexpr std::array<std::string_view, 5> kTypeNames = {"u8", "i16", "i32", "f32", "f64"};
constexpr std::array<std::uint64_t, 5> kTypeBytes = {1, 2, 4, 4, 8};
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40U;

bool is_word_character(char character) noexcept {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '_';
}

bool is_control_character(char character) noexcept {
  return (character >= '\0' && character < ' ' && character != '\t') || character == '\x7f';
}

/// `name` or `some::space::name`.
bool is_function_name(std::string_view name) noexcept {
  for (;;) {
    const std::size_t end = name.find("::");
    const std::string_view part = name.substr(0, end);
    if (part.empty() || (part.front() >= '0' && part.front() <= '9') ||
        !std::all_of(part.begin(), part.end(), is_word_character)) {
      return false;
    }
    if (end == std::string_view::npos) {
      return true;
    }
    name.remove_prefix(end + 2);
  }
}

std::string location(const std::string& file, std::size_t line) {
  return file + (line == 0 ? "" : ":" + std::to_string(line)) + ": ";
}

/// Takes a declaration line by line; every error names the line.
class DeclarationParser {
 public:
  explicit DeclarationParser(const std::string& file) { result_.file = file; }

  void read(DeclarationLine line) {
    line_ = std::move(line);
    if (line_.words.empty() || line_.words.front().is_quoted) {
      fail("a '//!' line begins with a word: " + std::string(kWords));
    }
    const std::string& word = line_.words.front().text;
    if (result_.name.empty() && word != "kernel") {
      fail("the first '//!' line is '//! kernel NAME \"SUMMARY\"', not " + quoted(word));
    }
    if (word != "param") {
      if (std::ranges::find(seen_, word) != seen_.end()) {
        fail("a second '" + word + "'; " +
             (word == "kernel" ? "a file holds one kernel" : "keep one of them"));
      }
      seen_.push_back(word);
    }
    if (word == "kernel") {
      read_kernel();
    } else if (word == "element") {
      read_element();
    } else if (word == "param") {
      read_parameter();
    } else {
      read_batch_word(word);
    }
  }

  [[nodiscard]] SourceDeclaration finish() {
    line_ = {};
    if (result_.name.empty()) {
      fail("declares no kernel: its lines begin with '//! kernel NAME \"SUMMARY\"'");
    }
    if (result_.function.empty()) {
      fail(
          "declares no function: add '//! element FUNCTION INPUT -> OUTPUT' or '//! batch "
          "FUNCTION'");
    }
    if (result_.elements && batch_line_ != 0) {
      line_.line = batch_line_;
      fail("this goes with '//! batch FUNCTION' only, and the file has '//! element'");
    }
    check_output();
    return std::move(result_);
  }

  [[noreturn]] void fail_at(std::size_t line, const std::string& reason) {
    line_.line = line;
    fail(reason);
  }

 private:
  static constexpr std::string_view kWords =
      "kernel, element, batch, param, granule, output, threads, block_bytes, mapped or table";

  [[noreturn]] void fail(const std::string& reason) const {
    throw SourceError(result_.file, line_.line, reason);
  }

  /// @param form how the line is written, for the error
  void expect_words(std::size_t count, bool last_is_quoted, std::string_view form) const {
    if (line_.words.size() == count) {
      std::size_t quoted_count = 0;
      for (const DeclarationWord& word : line_.words) {
        quoted_count += word.is_quoted ? 1 : 0;
      }
      if (quoted_count == (last_is_quoted ? 1U : 0U) &&
          line_.words.back().is_quoted == last_is_quoted) {
        return;
      }
    }
    fail("write '//! " + std::string(form) + "'");
  }

  /// @return the text, which counts from here on
  const std::string& keep(std::string_view what, const std::string& text, std::size_t most_bytes) {
    if (text.size() > most_bytes) {
      fail("the " + std::string(what) + " has " + std::to_string(text.size()) +
           " bytes; it takes at most " + std::to_string(most_bytes));
    }
    text_bytes_ += text.size() + 1;
    if (text_bytes_ > kMostKernelTextBytes) {
      fail("with this line the names and texts have more than " +
           std::to_string(kMostKernelTextBytes) + " bytes; shorten the help");
    }
    return text;
  }

  /// A summary or help, which is the line's last word.
  const std::string& keep_last(std::string_view what, std::string_view what_to_say) {
    const std::string& text = line_.words.back().text;
    if (text.empty()) {
      fail("the " + std::string(what) + " is empty; say " + std::string(what_to_say));
    }
    return keep(what, text, kMostLineBytes);
  }

  void read_kernel() {
    expect_words(3, true, "kernel NAME \"SUMMARY\"");
    const std::string& name = line_.words[1].text;
    if (!is_declared_name(name)) {
      fail("kernel name " + quoted(name) +
           " cannot be written in a pipeline; use 1 to 31 of a-z, 0-9 and _");
    }
    result_.name = keep("name", name, kMostNameBytes);
    result_.summary = keep_last("summary", "in a line what the kernel does");
  }

  void read_function() {
    const std::string& name = line_.words[1].text;
    if (!result_.function.empty()) {
      fail("the function is declared in line " + std::to_string(result_.function_line) +
           " already; a kernel is either 'element' or 'batch'");
    }
    if (!is_function_name(name)) {
      fail(quoted(name) + " is no name of a function");
    }
    result_.function = name;
    result_.function_line = line_.line;
  }

  [[nodiscard]] SourceType type(const std::string& name) const {
    const auto* const found = std::ranges::find(kTypeNames, name);
    if (found == kTypeNames.end()) {
      fail(quoted(name) + " is no type of an element; there are u8, i16, i32, f32 and f64");
    }
    return static_cast<SourceType>(found - kTypeNames.begin());
  }

  void read_element() {
    constexpr std::string_view kForm = "element FUNCTION INPUT -> OUTPUT";
    expect_words(5, false, kForm);
    if (line_.words[3].text != "->") {
      fail("write '//! " + std::string(kForm) + "'");
    }
    read_function();
    result_.elements = {type(line_.words[2].text), type(line_.words[4].text)};
  }

  void read_parameter() {
    if (result_.parameters.size() == kMostParameters) {
      fail("more than 16 parameters; a kernel has at most 16");
    }
    auto parsed = parse_declared_parameter(line_);
    if (const auto* const refusal = std::get_if<Refusal>(&parsed)) {
      fail(refusal->text);
    }
    auto& parameter = std::get<SourceParameter>(parsed);
    for (const SourceParameter& known : result_.parameters) {
      if (known.name == parameter.name) {
        fail("a second parameter '" + known.name + "'; names are unique");
      }
    }
    if (parameter.is_per_job && ++per_job_count_ > kMostPerJobParameters) {
      fail("a job may bring at most " + std::to_string(kMostPerJobParameters) +
           " parameters of its own; leave per_job out here or elsewhere");
    }
    keep("name", parameter.name, kMostNameBytes);
    keep("unit", parameter.unit, kMostNameBytes);
    keep("help", parameter.help, kMostLineBytes);
    for (const std::string& choice : parameter.choices) {
      keep("choice", choice, kMostNameBytes);
    }
    result_.parameters.push_back(std::move(parameter));
  }

  void read_batch_word(const std::string& word) {
    SourceBatchShape& batch = result_.batch;
    if (word == "batch") {
      expect_words(2, false, "batch FUNCTION");
      return read_function();
    }
    batch_line_ = batch_line_ == 0 ? line_.line : batch_line_;
    if (word == "granule") {
      expect_words(2, false, "granule BYTES");
      batch.granule_bytes = number(line_.words[1].text, 1, kMaxBytes);
    } else if (word == "output") {
      read_output();
    } else if (word == "threads") {
      expect_words(2, false, "threads COUNT");
      batch.threads = static_cast<std::uint32_t>(number(line_.words[1].text, 32, 1024));
      if (batch.threads % 32 != 0) {
        fail("threads " + line_.words[1].text + " is no multiple of 32");
      }
    } else if (word == "block_bytes") {
      expect_words(2, false, "block_bytes BYTES");
      batch.block_bytes = number(line_.words[1].text, 1, kMaxBytes);
    } else if (word == "mapped") {
      expect_words(1, false, "mapped");
      batch.is_mapped = true;
    } else if (word == "table") {
      expect_words(3, true, "table BYTES \"HELP\"");
      batch.table_bytes = number(line_.words[1].text, 1, kMaxBytes);
      batch.table_help = keep_last("help", "what the table holds");
    } else {
      fail(quoted(word) + " is unknown here; a '//!' line begins with " + std::string(kWords));
    }
  }

  void read_output() {
    constexpr std::string_view kForm =
        "output NUMERATOR/DENOMINATOR' (of the input's bytes) or '//! output BYTES bytes";
    SourceOutput& output = result_.batch.output;
    output_line_ = line_.line;
    if (line_.words.size() == 3) {
      expect_words(3, false, kForm);
      if (line_.words[2].text == "bytes") {
        output.fixed_bytes = number(line_.words[1].text, 1, kMaxBytes);
        return;
      }
    }
    expect_words(2, false, kForm);
    const std::string_view text = line_.words[1].text;
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
      fail("write '//! " + std::string(kForm) + "'");
    }
    constexpr std::uint64_t kLargest = 1U << 20U;
    output.numerator = number(text.substr(0, slash), 1, kLargest);
    output.denominator = number(text.substr(slash + 1), 1, kLargest);
  }

  void check_output() {
    const SourceBatchShape& batch = result_.batch;
    line_.line = output_line_;
    // At most 2^40 times 2^20.
    if (batch.output.fixed_bytes == 0 &&
        batch.granule_bytes * batch.output.numerator % batch.output.denominator != 0) {
      fail("a granule of " + std::to_string(batch.granule_bytes) +
           " bytes gives no whole number of bytes");
    }
  }

  [[nodiscard]] std::uint64_t number(std::string_view text, std::uint64_t minimum,
                                     std::uint64_t maximum) const {
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || stop != end || value < minimum || value > maximum) {
      fail(line_.words.front().text + " takes a whole number from " + std::to_string(minimum) +
           " to " + std::to_string(maximum) + ", not " + quoted(text));
    }
    return value;
  }

  SourceDeclaration result_;
  DeclarationLine line_;
  std::vector<std::string> seen_;
  std::size_t text_bytes_ = 0;
  std::size_t per_job_count_ = 0;
  /// The first line that only a batch function may have; 0: none.
  std::size_t batch_line_ = 0;
  std::size_t output_line_ = 0;
};

/// Empty if it is one of CUDA's own headers, as far as a name can tell.
std::string why_not_header(std::string_view included) {
  const bool is_bracketed =
      included.starts_with('<') && included.find('>') != std::string_view::npos;
  const std::string_view name =
      is_bracketed ? included.substr(1, included.find('>') - 1) : std::string_view();
  if (is_bracketed && !name.empty() && name.front() != '/' &&
      name.find("..") == std::string_view::npos) {
    return {};
  }
  return "a source kernel is one file: only CUDA's own headers can be included, as <cuda_fp16.h>";
}

}  // namespace

SourceError::SourceError(const std::string& file, std::size_t line, const std::string& reason)
    : std::runtime_error(location(file, line) + reason) {}

std::string_view source_type_name(SourceType type) noexcept {
  return kTypeNames[static_cast<std::size_t>(type)];
}

std::uint64_t source_type_bytes(SourceType type) noexcept {
  return kTypeBytes[static_cast<std::size_t>(type)];
}

SourceDeclaration parse_declaration(std::string_view text, const std::string& file) {
  if (text.size() > kMaxTextBytes) {
    throw SourceError(file, 0,
                      "has " + std::to_string(text.size()) +
                          " bytes; a source kernel has at most " + std::to_string(kMaxTextBytes));
  }
  DeclarationParser parser(file);
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (line.find('\0') != std::string_view::npos) {
      parser.fail_at(number, "a zero byte: this is no text");
    }
    if (const auto included = include_text(line)) {
      if (const std::string reason = why_not_header(*included); !reason.empty()) {
        parser.fail_at(number, reason);
      }
    } else if (const auto declared = declaration_text(line)) {
      auto words = split_words(*declared);
      if (!words || std::ranges::any_of(*declared, is_control_character)) {
        parser.fail_at(number,
                       "a text in \"quotes\" ends in the same line, stands by itself, and has no "
                       "control characters");
      }
      parser.read({number, std::move(*words)});
    }
  }
  return parser.finish();
}

std::vector<std::string> included_headers(std::string_view text) {
  std::vector<std::string> headers;
  for (const std::string_view line : split_lines(text)) {
    const auto included = include_text(line);
    if (!included || !why_not_header(*included).empty()) {
      continue;
    }
    std::string name(included->substr(1, included->find('>') - 1));
    if (std::ranges::find(headers, name) == headers.end()) {
      headers.push_back(std::move(name));
    }
  }
  return headers;
}

}  // namespace overlap
