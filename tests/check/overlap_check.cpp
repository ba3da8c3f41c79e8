// overlap-check: recomputes what a kernel should have given and compares byte for byte.
//
// It shares no code with the kernels, their references or the client library: it is their judge.
// Exit status: 0 all right, 1 a wrong or missing byte, 2 it cannot be used this way.

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

static_assert(std::endian::native == std::endian::little);

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::string_view kUsage =
    "Usage: overlap-check --kernel copy|scale|vector_add [--params a=2,b=1,type=u8]\n"
    "                     --input FILE|pattern:BYTES --slot-bytes N --output FILE\n";

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::uint64_t read_whole(std::string_view text, std::string_view what) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end) {
    throw UsageError(std::string(what) + ": '" + std::string(text) + "' is not a whole number");
  }
  return value;
}

double read_real(std::string_view text, std::string_view what) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value)) {
    throw UsageError(std::string(what) + ": '" + std::string(text) + "' is not a finite number");
  }
  return value;
}

template <typename Element>
Element element_at(std::span<const std::byte> bytes, std::size_t index) {
  Element element;
  std::memcpy(&element, bytes.data() + index * sizeof(Element), sizeof(Element));
  return element;
}

template <typename Element>
void set_element(Bytes& bytes, std::size_t index, Element element) {
  std::memcpy(bytes.data() + index * sizeof(Element), &element, sizeof(Element));
}

// ---- what goes in, piece by piece

class Input {
 public:
  virtual ~Input() = default;
  /// The next `size_bytes` bytes, fewer at the end, none after it.
  virtual Bytes next(std::size_t size_bytes) = 0;
};

class FileInput final : public Input {
 public:
  explicit FileInput(const std::string& path) : path_(path), stream_(path, std::ios::binary) {
    if (!stream_) {
      throw UsageError("cannot open " + path_);
    }
  }

  Bytes next(std::size_t size_bytes) override {
    Bytes piece(size_bytes);
    stream_.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(size_bytes));
    if (stream_.bad()) {
      throw UsageError("cannot read " + path_);
    }
    piece.resize(static_cast<std::size_t>(stream_.gcount()));
    return piece;
  }

 private:
  std::string path_;
  std::ifstream stream_;
};

/// Element i is float((i * 2654435761) >> 8) / 256, in 32-bit arithmetic that wraps.
class PatternInput final : public Input {
 public:
  explicit PatternInput(std::uint64_t size_bytes) : left_bytes_(size_bytes) {
    if (size_bytes % sizeof(float) != 0) {
      throw UsageError("a pattern is made of whole 4-byte numbers");
    }
  }

  Bytes next(std::size_t size_bytes) override {
    if (size_bytes % sizeof(float) != 0) {
      throw UsageError("slots of a pattern hold whole 4-byte numbers");
    }
    Bytes piece(static_cast<std::size_t>(std::min<std::uint64_t>(size_bytes, left_bytes_)));
    left_bytes_ -= piece.size();
    for (std::size_t index = 0; index < piece.size() / sizeof(float); ++index) {
      const std::uint32_t mixed = index_++ * 2654435761U;
      set_element(piece, index, static_cast<float>(mixed >> 8U) * 0x1p-8F);
    }
    return piece;
  }

 private:
  std::uint64_t left_bytes_;
  std::uint32_t index_ = 0;
};

std::unique_ptr<Input> open_input(const std::string& name) {
  constexpr std::string_view kPattern = "pattern:";
  if (name.rfind(kPattern, 0) == 0) {
    return std::make_unique<PatternInput>(read_whole(name.substr(kPattern.size()), "--input"));
  }
  return std::make_unique<FileInput>(name);
}

// ---- what should come out of one job

struct Kernel {
  std::function<Bytes(std::span<const std::byte>)> expected;
  /// An input holds whole groups of this many bytes.
  std::size_t granule_bytes = 1;
  /// 4 or 8 if the output is floating point: there any NaN is as good as another.
  std::size_t float_bytes = 0;
};

template <typename Element>
Element scaled(Element x, double a, double b) {
  if constexpr (std::is_floating_point_v<Element>) {
    const Element product = static_cast<Element>(a) * x;
    return product + static_cast<Element>(b);
  } else {
    // Ties go to the even neighbour: the rounding mode that a program starts with.
    const double rounded = std::nearbyint(a * static_cast<double>(x) + b);
    const double lowest = std::numeric_limits<Element>::lowest();
    const double highest = std::numeric_limits<Element>::max();
    return static_cast<Element>(std::clamp(rounded, lowest, highest));
  }
}

template <typename Element>
Kernel scale_kernel(double a, double b) {
  const auto expected = [a, b](std::span<const std::byte> input) {
    Bytes output(input.size());
    for (std::size_t index = 0; index < input.size() / sizeof(Element); ++index) {
      set_element(output, index, scaled(element_at<Element>(input, index), a, b));
    }
    return output;
  };
  return {.expected = expected,
          .granule_bytes = sizeof(Element),
          .float_bytes = std::is_floating_point_v<Element> ? sizeof(Element) : 0};
}

Bytes sum_of_halves(std::span<const std::byte> input) {
  const std::size_t half_bytes = input.size() / 2;
  Bytes output(half_bytes);
  for (std::size_t index = 0; index < half_bytes / sizeof(float); ++index) {
    set_element(
        output, index,
        element_at<float>(input, index) + element_at<float>(input.subspan(half_bytes), index));
  }
  return output;
}

using Params = std::map<std::string, std::string>;

Params read_params(const std::string& text) {
  Params params;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos ||
        !params.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
      throw UsageError("--params: '" + word + "' is not name=value, or is given twice");
    }
  }
  return params;
}

/// Takes a parameter out, so that what is left is unknown.
std::string take(Params& params, const std::string& name, const std::string& default_value) {
  const auto node = params.extract(name);
  return node.empty() ? default_value : node.mapped();
}

Kernel make_scale(Params& params) {
  const double a = read_real(take(params, "a", "1"), "a");
  const double b = read_real(take(params, "b", "0"), "b");
  const std::map<std::string, Kernel> types{{"u8", scale_kernel<std::uint8_t>(a, b)},
                                            {"i16", scale_kernel<std::int16_t>(a, b)},
                                            {"i32", scale_kernel<std::int32_t>(a, b)},
                                            {"f32", scale_kernel<float>(a, b)},
                                            {"f64", scale_kernel<double>(a, b)}};
  const std::string type = take(params, "type", "f32");
  const auto found = types.find(type);
  if (found == types.end()) {
    throw UsageError("type: '" + type + "' is not one of u8, i16, i32, f32, f64");
  }
  return found->second;
}

Kernel make_kernel(const std::string& name, Params params) {
  Kernel kernel;
  if (name == "copy") {
    kernel.expected = [](std::span<const std::byte> input) {
      return Bytes(input.begin(), input.end());
    };
  } else if (name == "scale") {
    kernel = make_scale(params);
  } else if (name == "vector_add") {
    // More passes over the same inputs give the same sum.
    read_whole(take(params, "repeat", "1"), "repeat");
    kernel = {.expected = sum_of_halves,
              .granule_bytes = 2 * sizeof(float),
              .float_bytes = sizeof(float)};
  } else {
    throw UsageError("--kernel: '" + name + "' is not one of copy, scale, vector_add");
  }
  if (!params.empty()) {
    throw UsageError(name + " has no parameter '" + params.begin()->first + "'");
  }
  return kernel;
}

// ---- the comparison

bool both_nan(const Bytes& expected, const Bytes& got, std::size_t offset,
              std::size_t float_bytes) {
  if (float_bytes == 0) {
    return false;
  }
  const std::size_t index = offset / float_bytes;
  if (float_bytes == sizeof(float)) {
    return std::isnan(element_at<float>(expected, index)) &&
           std::isnan(element_at<float>(got, index));
  }
  return std::isnan(element_at<double>(expected, index)) &&
         std::isnan(element_at<double>(got, index));
}

/// @pre both have the same size
std::optional<std::size_t> first_difference(const Bytes& expected, const Bytes& got,
                                            std::size_t float_bytes) {
  if (expected == got) {
    return std::nullopt;
  }
  for (std::size_t offset = 0; offset < expected.size(); ++offset) {
    if (expected[offset] != got[offset] && !both_nan(expected, got, offset, float_bytes)) {
      return offset;
    }
  }
  return std::nullopt;
}

std::string hexadecimal(std::byte value) {
  std::ostringstream text;
  text << "0x" << std::hex << std::setw(2) << std::setfill('0') << std::to_integer<int>(value);
  return text.str();
}

/// @return whether every byte is right; says what is wrong on standard error
bool check(Input& input, const Kernel& kernel, std::size_t slot_bytes, const std::string& output) {
  FileInput results(output);
  std::uint64_t checked_bytes = 0;
  for (Bytes piece = input.next(slot_bytes); !piece.empty(); piece = input.next(slot_bytes)) {
    if (piece.size() % kernel.granule_bytes != 0) {
      throw UsageError("the input ends with a piece of " + std::to_string(piece.size()) +
                       " bytes, which is no multiple of " + std::to_string(kernel.granule_bytes));
    }
    const Bytes expected = kernel.expected(piece);
    const Bytes got = results.next(expected.size());
    if (got.size() != expected.size()) {
      std::cerr << "overlap-check: " << output << ": ends after " << checked_bytes + got.size()
                << " bytes; the piece at offset " << checked_bytes << " should have "
                << expected.size() << "\n";
      return false;
    }
    if (const auto offset = first_difference(expected, got, kernel.float_bytes)) {
      std::cerr << "overlap-check: " << output << ": wrong byte at offset "
                << checked_bytes + *offset << ": expected " << hexadecimal(expected[*offset])
                << ", got " << hexadecimal(got[*offset]) << "\n";
      return false;
    }
    checked_bytes += expected.size();
  }
  if (!results.next(1).empty()) {
    std::cerr << "overlap-check: " << output << ": goes on after " << checked_bytes
              << " bytes, where it should end\n";
    return false;
  }
  std::cout << "overlap-check: " << output << ": " << checked_bytes << " bytes are right\n";
  return true;
}

bool run(const std::vector<std::string>& arguments) {
  Params options;
  for (std::size_t index = 0; index < arguments.size(); index += 2) {
    const std::vector<std::string> known{"--kernel", "--params", "--input", "--slot-bytes",
                                         "--output"};
    const std::string& name = arguments[index];
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError("there is no option '" + name + "'");
    }
    if (index + 1 == arguments.size() || !options.emplace(name, arguments[index + 1]).second) {
      throw UsageError(name + " needs one value, once");
    }
  }
  for (const char* const name : {"--kernel", "--input", "--slot-bytes", "--output"}) {
    if (options.count(name) == 0) {
      throw UsageError(std::string(name) + " is missing");
    }
  }
  const Kernel kernel = make_kernel(options["--kernel"], read_params(options["--params"]));
  const std::uint64_t slot_bytes = read_whole(options["--slot-bytes"], "--slot-bytes");
  if (slot_bytes == 0 || slot_bytes % kernel.granule_bytes != 0) {
    throw UsageError("--slot-bytes: " + std::to_string(slot_bytes) +
                     " is no positive multiple of " + std::to_string(kernel.granule_bytes));
  }
  const auto input = open_input(options["--input"]);
  return check(*input, kernel, static_cast<std::size_t>(slot_bytes), options["--output"]);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc}) ? 0 : 1;
  } catch (const UsageError& error) {
    std::cerr << "overlap-check: " << error.what() << "\n" << kUsage;
  } catch (const std::exception& error) {
    std::cerr << "overlap-check: " << error.what() << "\n";
  }
  return 2;
}
