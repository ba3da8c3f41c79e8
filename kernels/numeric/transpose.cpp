#include "kernels/numeric/transpose.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace overlap {
namespace {

constexpr std::uint64_t kElementBytes = 4;
constexpr double kMaxSide = 1'048'576;

constexpr std::array<Parameter, 2> kParameters = {Parameter{"rows",
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
                                                            {}}};

/// Four elements in one register; both compilers know the shuffle on every architecture.
using Quad [[gnu::vector_size(16)]] = std::uint32_t;

[[gnu::always_inline]] inline Quad load(const std::uint32_t* from) {
  Quad quad;
  std::memcpy(&quad, from, sizeof quad);
  return quad;
}

[[gnu::always_inline]] inline void store(std::uint32_t* to, Quad quad) {
  std::memcpy(to, &quad, sizeof quad);
}

/// 4 x 4 elements, whole rows in and whole rows out, turned in registers.
[[gnu::always_inline]] inline void turn_quads(const std::uint32_t* in, std::size_t in_pitch,
                                              std::uint32_t* out, std::size_t out_pitch) {
  const Quad r0 = load(in);
  const Quad r1 = load(in + in_pitch);
  const Quad r2 = load(in + 2 * in_pitch);
  const Quad r3 = load(in + 3 * in_pitch);
  const Quad low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const Quad low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const Quad high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  store(out, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  store(out + out_pitch, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  store(out + 2 * out_pitch, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  store(out + 3 * out_pitch, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

/// Any shape, an element at a time.
void turn_edges(const std::uint32_t* in, std::uint32_t* out, TransposeParams shape,
                std::size_t row_begin, std::size_t row_end, std::size_t col_begin,
                std::size_t col_end) {
  for (std::size_t col = col_begin; col < col_end; ++col) {
    for (std::size_t row = row_begin; row < row_end; ++row) {
      out[col * shape.rows + row] = in[row * shape.cols + col];
    }
  }
}

/// One frame in tiles: 16 elements are a cache line, so a tile reads and writes whole lines, and
/// with a power-of-two pitch its lines still fit one set of the first cache.
struct FrameLoop {
  static constexpr std::size_t kTile = 16;

  [[gnu::always_inline]] static inline void run(const std::uint32_t* in, std::uint32_t* out,
                                                TransposeParams shape) {
    const std::size_t whole_rows = shape.rows - shape.rows % kTile;
    const std::size_t whole_cols = shape.cols - shape.cols % kTile;
    for (std::size_t row = 0; row < whole_rows; row += kTile) {
      for (std::size_t col = 0; col < whole_cols; col += kTile) {
        for (std::size_t down = 0; down < kTile; down += 4) {
          for (std::size_t right = 0; right < kTile; right += 4) {
            turn_quads(in + (row + right) * shape.cols + col + down, shape.cols,
                       out + (col + down) * shape.rows + row + right, shape.rows);
          }
        }
      }
    }
    turn_edges(in, out, shape, 0, whole_rows, whole_cols, shape.cols);
    turn_edges(in, out, shape, whole_rows, shape.rows, 0, shape.cols);
  }
};

}  // namespace

TransposeParams TransposeParams::from(ParameterView params) noexcept {
  return {static_cast<std::uint32_t>(params[0].i64), static_cast<std::uint32_t>(params[1].i64)};
}

std::uint64_t TransposeParams::frame_bytes() const noexcept {
  return std::uint64_t{rows} * cols * kElementBytes;
}

std::string_view TransposeKernel::name() const noexcept { return "transpose"; }

std::string_view TransposeKernel::summary() const noexcept {
  return "rows x cols frames of 4-byte elements become cols x rows";
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
                             std::to_string(shape.cols) + " columns of 4-byte elements",
                         input_bytes, shape.frame_bytes());
  }
  Plan plan;
  plan.max_output_bytes = input_bytes;
  plan.paths = (Path::copy | Path::mapped) | static_cast<std::uint8_t>(Path::gather);
  return plan;
}

void TransposeKernel::run(const overlap_batch& batch) const {
  const TransposeParams shape = TransposeParams::from({batch.params, batch.param_count});
  const std::size_t frame_elements = std::size_t{shape.rows} * shape.cols;
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const std::uint64_t frames = item.input_bytes / shape.frame_bytes();
    for (std::uint64_t frame = 0; frame < frames; ++frame) {
      run_widest<FrameLoop>(static_cast<const std::uint32_t*>(item.input) + frame * frame_elements,
                            static_cast<std::uint32_t*>(item.output) + frame * frame_elements,
                            shape);
    }
  }
}

bool TransposeKernel::has_cuda() const noexcept { return built_with_cuda(); }

int TransposeKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_transpose(batch, stream);
}

}  // namespace overlap
