#include "tests/bench/vendor_call.hpp"

#include "kernels/fft/cufft_library.hpp"
#include "kernels/gemm/cublas_library.hpp"

#include <stdexcept>

namespace overlap::bench {
namespace {

/// A parameter's value by its name: the kernels are plug-ins, and their classes are not here.
overlap_param_value value_of(const Stage& stage, std::string_view name) {
  const std::span<const Parameter> declared = stage.kernel->parameters();
  for (std::size_t index = 0; index < declared.size(); ++index) {
    if (declared[index].name == name) {
      return stage.params[index];
    }
  }
  throw std::runtime_error(std::string(stage.kernel->name()) + " has no parameter '" +
                           std::string(name) + "'; the benchmark and the plug-in differ");
}

void check(int result, const char* call) {
  if (result != 0) {
    throw std::runtime_error(std::string(call) + " gave " + std::to_string(result));
  }
}

/// Inputs without a gap between them are one array.
bool is_one_array(const WorkloadLayout& layout) {
  return layout.input_offset_bytes(1) - layout.input_offset_bytes(0) == layout.input_bytes;
}

/// One plan for all transforms of the batch. Results lie side by side from the first output on, also
/// where the batch's own have gaps.
class CufftCall final : public VendorCall {
 public:
  CufftCall(const CufftLibrary& library, const Stage& stage, const WorkloadLayout& layout,
            std::byte* arena)
      : library_(library),
        is_real_(value_of(stage, "type").choice_index != 0),
        direction_(value_of(stage, "direction").choice_index == 0 ? CufftLibrary::kForward
                                                                  : CufftLibrary::kInverse),
        in_(arena + layout.input_offset_bytes(0)),
        out_(arena + layout.output_offset_bytes(0)) {
    long long n = value_of(stage, "n").i64;
    const std::uint64_t transform_bytes =
        static_cast<std::uint64_t>(n) * sizeof(float) * (is_real_ ? 1 : 2);
    const std::uint64_t count = layout.job_count * layout.input_bytes / transform_bytes;
    check(library_.create(&plan_), "cufftCreate");
    std::size_t work_bytes = 0;
    const int made = library_.make_plan_many(plan_, 1, &n, nullptr, 1, 0, nullptr, 1, 0,
                                             is_real_ ? CufftLibrary::kR2C : CufftLibrary::kC2C,
                                             static_cast<long long>(count), &work_bytes);
    if (made != CufftLibrary::kSuccess) {
      (void)library_.destroy(plan_);
      check(made, "cufftMakePlanMany64");
    }
  }
  CufftCall(const CufftCall&) = delete;
  CufftCall& operator=(const CufftCall&) = delete;
  ~CufftCall() override { (void)library_.destroy(plan_); }

  void enqueue(void* stream) override {
    check(library_.set_stream(plan_, stream), "cufftSetStream");
    check(is_real_ ? library_.exec_r2c(plan_, in_, out_)
                   : library_.exec_c2c(plan_, in_, out_, direction_),
          "cufftExec");
  }

 private:
  const CufftLibrary& library_;
  bool is_real_;
  int direction_;
  std::byte* in_;
  std::byte* out_;
  int plan_ = -1;
};

/// One product of all rows of the batch with the table, in the library's own workspace.
class CublasCall final : public VendorCall {
 public:
  CublasCall(const CublasLibrary& library, const Stage& stage, const WorkloadLayout& layout,
             std::byte* arena)
      : library_(library),
        k_(static_cast<int>(value_of(stage, "k").i64)),
        n_(static_cast<int>(value_of(stage, "n").i64)),
        rows_(static_cast<int>(layout.job_count * layout.input_bytes /
                               (static_cast<std::uint64_t>(k_) * sizeof(float)))),
        a_(reinterpret_cast<const float*>(arena + layout.input_offset_bytes(0))),
        b_(reinterpret_cast<const float*>(arena)),
        c_(reinterpret_cast<float*>(arena + layout.output_offset_bytes(0))) {
    check(library_.create(&handle_), "cublasCreate");
  }
  CublasCall(const CublasCall&) = delete;
  CublasCall& operator=(const CublasCall&) = delete;
  ~CublasCall() override { (void)library_.destroy(handle_); }

  void enqueue(void* stream) override {
    constexpr float kOne = 1;
    constexpr float kZero = 0;
    check(library_.set_stream(handle_, stream), "cublasSetStream");
    // Column-major, where a row-major matrix looks transposed: C' = B' * A'.
    check(library_.sgemm(handle_, CublasLibrary::kAsItIs, CublasLibrary::kAsItIs, n_, rows_, k_,
                         &kOne, b_, n_, a_, k_, &kZero, c_, n_),
          "cublasSgemm");
  }

 private:
  const CublasLibrary& library_;
  int k_;
  int n_;
  int rows_;
  const float* a_;
  const float* b_;
  float* c_;
  CublasLibrary::Handle handle_ = nullptr;
};

template <class Call, class Library>
VendorCallOrReason call_of(const Stage& stage, const WorkloadLayout& layout, std::byte* arena) {
  std::string why;
  const Library* const library = Library::open(why);
  if (library == nullptr) {
    return {nullptr, why};
  }
  if (!is_one_array(layout)) {
    return {nullptr, "jobs of " + std::to_string(layout.input_bytes) + " bytes leave gaps"};
  }
  return {std::make_unique<Call>(*library, stage, layout, arena), ""};
}

}  // namespace

VendorCallOrReason make_vendor_call(const Stage& stage, const WorkloadLayout& layout,
                                    std::byte* arena) {
  if (stage.kernel->name() == "fft") {
    return call_of<CufftCall, CufftLibrary>(stage, layout, arena);
  }
  if (stage.kernel->name() == "gemm") {
    return call_of<CublasCall, CublasLibrary>(stage, layout, arena);
  }
  return {};
}

}  // namespace overlap::bench
