#include "kernels/numeric/vector_add.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/cuda_launch.hpp"
#include "kernels/granule.hpp"
#include "kernels/host_dispatch.hpp"

#include <array>

namespace overlap {
namespace {

constexpr std::uint64_t kPairBytes = 2 * sizeof(float);

constexpr std::array<Parameter, 1> kParameters = {
    Parameter{"repeat",
              ParameterType::integer,
              {.i64 = 1},
              1,
              100'000,
              "passes",
              "how often the inputs are read and the output is written",
              {}}};

struct AddLoop {
  [[gnu::always_inline]] static inline void run(const float* __restrict a,
                                                const float* __restrict b, float* __restrict out,
                                                std::size_t count, std::int64_t repeat) {
    for (std::int64_t pass = 0; pass < repeat; ++pass) {
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = a[i] + b[i];
      }
      // To the compiler this may have read and written all memory, so that the next pass has to
      // load and store everything again. It is no instruction.
      asm volatile("" : : "r"(a), "r"(b), "r"(out) : "memory");
    }
  }
};

}  // namespace

VectorAddParams VectorAddParams::from(ParameterView params) noexcept { return {params[0].i64}; }

std::string_view VectorAddKernel::name() const noexcept { return "vector_add"; }

std::string_view VectorAddKernel::summary() const noexcept {
  return "first half + second half of the input, f32; repeat makes it a load of known size";
}

std::span<const Parameter> VectorAddKernel::parameters() const noexcept { return kParameters; }

std::uint64_t VectorAddKernel::granule_bytes(ParameterView /*params*/) const noexcept {
  return kPairBytes;
}

PlanOrRefusal VectorAddKernel::plan(ParameterView params, std::uint64_t input_bytes) const {
  if (!fits_granule(input_bytes, kPairBytes)) {
    return refuse_misfit(name(), "f32 element of each of the two arrays", input_bytes, kPairBytes);
  }
  Plan plan;
  plan.max_output_bytes = input_bytes / 2;
  plan.paths = Path::copy | Path::gather;
  if (VectorAddParams::from(params).repeat == 1) {
    plan.paths = static_cast<std::uint8_t>(plan.paths | static_cast<std::uint8_t>(Path::mapped));
  }
  return plan;
}

void VectorAddKernel::run(const overlap_batch& batch) const {
  const VectorAddParams wanted = VectorAddParams::from({batch.params, batch.param_count});
  for (std::uint32_t index = 0; index < batch.item_count; ++index) {
    const overlap_batch_item& item = item_at(batch, index);
    const auto count = static_cast<std::size_t>(item.input_bytes / kPairBytes);
    const auto* const a = static_cast<const float*>(item.input);
    run_widest<AddLoop>(a, a + count, static_cast<float*>(item.output), count, wanted.repeat);
  }
}

bool VectorAddKernel::has_cuda() const noexcept { return built_with_cuda(); }

int VectorAddKernel::launch(const overlap_batch& batch, OpaqueStream stream) const {
  return launch_vector_add(batch, stream);
}

}  // namespace overlap
