#include "kernels/numeric/transpose.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace overlap {
namespace {

constexpr double kMaxSide = 1'048'576;
constexpr std::array<std::string_view, 5> kWidthNames = {"1", "2", "4", "8", "16"};

constexpr std::array<Parameter, 3> kParameters = {Parameter{"rows",
                                                            ParameterType::integer,
                                                            {.i64 = 1024},
                                                            1,
                                                            kMaxSide,
                                                            "rows",
                                                            "rows of an input frame",
                                                            {}},
                                                  Parameter{"cols",
                                                            ParameterType::integer,
                                                            {.i64 = 1024},
                                                            1,
                                                            kMaxSide,
                                                            "columns",
                                                            "columns of an input frame",
                                                            {}},
                                                  Parameter{"element_bytes",
                                                            ParameterType::choice,
                                                            {.choice_index = 2},
                                                            0,
                                                            0,
                                                            "bytes",
                                                            "bytes of an element",
                                                            kWidthNames}};

/// An element of 16 bytes: it fills a register, and there is nothing in it to turn.
struct Sixteen {
  std::uint64_t low;
  std::uint64_t high;
};

/// A register full of elements; both compilers know its shuffles on every architecture.
template <class Element>
struct Register {
  static constexpr std::size_t kElements = 16 / sizeof(Element);
  using Type [[gnu::vector_size(16)]] = Element;
};

/// Elements from `From` on, of `a` and `b` in turn.
template <std::size_t From, class Quad, std::size_t... Index>
[[gnu::always_inline]] inline Quad zip(Quad a, Quad b, std::index_sequence<Index...> /*lanes*/) {
  return __builtin_shufflevector(
      a, b, static_cast<int>(From + Index / 2 + Index % 2 * sizeof...(Index))...);
}

/// A square of elements, one register a row, turned in registers: each round zips the upper half of
/// the rows with the lower one, and as many rounds as a row number has bits turn the square.
template <class Element>
[[gnu::always_inline]] inline void turn_square(const Element* in, std::size_t in_pitch,
                                               Element* out, std::size_t out_pitch) {
  using Quad = typename Register<Element>::Type;
  constexpr std::size_t kSide = Register<Element>::kElements;
  constexpr std::make_index_sequence<kSide> kLanes{};
  Quad rows[kSide];
  for (std::size_t row = 0; row < kSide; ++row) {
    std::memcpy(&rows[row], in + row * in_pitch, sizeof(Quad));
  }
  for (std::size_t round = 1; round < kSide; round *= 2) {
    Quad zipped[kSide];
    for (std::size_t row = 0; row < kSide / 2; ++row) {
      zipped[2 * row] = zip<0>(rows[row], rows[row + kSide / 2], kLanes);
      zipped[2 * row + 1] = zip<kSide / 2>(rows[row], rows[row + kSide / 2], kLanes);
    }
    for (std::size_t row = 0; row < kSide; ++row) {
      rows[row] = zipped[row];
    }
  }
  for (std::size_t row = 0; row < kSide; ++row) {
    std::memcpy(out + row * out_pitch, &rows[row], sizeof(Quad));
  }
}

template <>
[[gnu::always_inline]] inline void turn_square(const Sixteen* in, std::size_t /*in_pitch*/,
                                               Sixteen* out, std::size_t /*out_pitch*/) {
  *out = *in;
}

/// Any shape, an element at a time.
template <class Element>
void turn_edges(const Element* in, Element* out, TransposeParams shape, std::size_t row_begin,
                std::size_t row_end, std::size_t col_begin, std::size_t col_end) {
  for (std::size_t col = col_begin; col < col_end; ++col) {
    for (std::size_t row = row_begin; row < row_end; ++row) {
      out[col * shape.rows + row] = in[row * shape.cols + col];
    }
  }
}

/// One frame in tiles: a tile is as wide as a cache line, so it reads and writes whole lines.
template <class Element>
struct FrameLoop {
  static constexpr std::size_t kSide = 16 / sizeof(Element);
  static constexpr std::size_t kTile = 64 / sizeof(Element);

  [[gnu::always_inline]] static inline void run(const Element* in, Element* out,
                                                TransposeParams shape) {
    const std::size_t whole_rows = shape.rows - shape.rows % kTile;
    const std::size_t whole_cols = shape.cols - shape.cols % kTile;
    for (std::size_t row = 0; row < whole_rows; row += kTile) {
      for (std::size_t col = 0; col < whole_cols; col += kTile) {
        for (std::size_t down = 0; down < kTile; down += kSide) {
          for (std::size_t right = 0; right < kTile; right += kSide) {
            turn_square<Element>(in + (row + right) * shape.cols + col + down, shape.cols,
                                 out + (col + down) * shape.rows + row + right, shape.rows);
          }
        }
      }
    }
    turn_edges(in, out, shape, 0, whole_rows, whole_cols, shape.cols);
    turn_edges(in, out, shape, whole_rows, shape.rows, 0, shape.cols);
  }
};

template <class Element>
void run_frames(const overlap_batch& batch, TransposeParams shape) {
  const std::size_t frame_elements = std::size_t{shape.rows} * shape.cols;
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const std::uint64_t frames = item.input_bytes / shape.frame_bytes();
    for (std::uint64_t frame = 0; frame < frames; ++frame) {
      run_widest<FrameLoop<Element>>(
          static_cast<const Element*>(item.input) + frame * frame_elements,
          static_cast<Element*>(item.output) + frame * frame_elements, shape);
    }
  }
}

}  // namespace

TransposeParams TransposeParams::from(ParameterView params) noexcept {
  return {static_cast<std::uint32_t>(params[0].i64), static_cast<std::uint32_t>(params[1].i64),
          1U << params[2].choice_index};
}

std::uint64_t TransposeParams::frame_bytes() const noexcept {
  return std::uint64_t{rows} * cols * element_bytes;
}

std::string_view TransposeKernel::name() const noexcept { return "transpose"; }

std::string_view TransposeKernel::summary() const noexcept {
  return "rows x cols frames of 1- to 16-byte elements become cols x rows";
}

std::span<const Parameter> TransposeKernel::parameters() const noexcept { return kParameters; }

std::uint64_t TransposeKernel::granule_bytes(ParameterView params) const noexcept {
  return TransposeParams::from(params).frame_bytes();
}

PlanOrRefusal TransposeKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  const TransposeParams shape = TransposeParams::from(params);
  if (!fits_granule(input_bytes, shape.frame_bytes())) {
    return refuse_misfit(name(),
                         "frame of " + std::to_string(shape.rows) + " rows x " +
                             std::to_string(shape.cols) + " columns of " +
                             std::to_string(shape.element_bytes) + "-byte elements",
                         input_bytes, shape.frame_bytes());
  }
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = Path::copy | Path::gather;
  // Else the GPU moves single elements, and a line of the bus holds many of them.
  const std::uint32_t in_word = std::max(1U, 4 / shape.element_bytes);
  if (shape.rows % in_word == 0 && shape.cols % in_word == 0) {
    plan.paths = static_cast<std::uint8_t>(plan.paths | static_cast<std::uint8_t>(Path::mapped));
  }
  return plan;
}

void TransposeKernel::run(const overlap_batch& batch) const {
  const TransposeParams shape = TransposeParams::from({batch.params, batch.param_count});
  switch (shape.element_bytes) {
    case 1:
      return run_frames<std::uint8_t>(batch, shape);
    case 2:
      return run_frames<std::uint16_t>(batch, shape);
    case 4:
      return run_frames<std::uint32_t>(batch, shape);
    case 8:
      return run_frames<std::uint64_t>(batch, shape);
    default:
      return run_frames<Sixteen>(batch, shape);
  }
}

bool TransposeKernel::has_cuda() const noexcept { return built_with_cuda(); }

int TransposeKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_transpose(batch, stream);
}

}  // namespace overlap
