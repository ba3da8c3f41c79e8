#include "daemon/device/cuda_check.hpp"
#include "daemon/device/cuda_handles.hpp"
#include "daemon/device/cuda_source_code.hpp"
#include "daemon/device/nvrtc_compiler.hpp"
#include "daemon/device/source_toolchain.hpp"

namespace overlap {
namespace {

std::string architecture_of(int device) {
  int major = 0;
  int minor = 0;
  OVERLAP_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                     "device " + std::to_string(device));
  OVERLAP_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
                     "device " + std::to_string(device));
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

/// NVRTC, and the GPU.
class CudaSourceToolchain final : public SourceToolchain {
 public:
  CudaSourceToolchain(int device, const std::optional<std::string>& nvrtc_path)
      : device_(device), compiler_(nvrtc_path, architecture_of(device)) {}

  [[nodiscard]] std::string identity(const SourceProgram& program) const override {
    return compiler_.identity(program);
  }
  [[nodiscard]] CompiledSource compile(const SourceProgram& program) const override {
    return compiler_.compile(program);
  }
  [[nodiscard]] std::unique_ptr<const SourceCode> load(const CompiledSource& compiled,
                                                       const SourceShape& shape) const override {
    OVERLAP_CUDA_CHECK(make_current(device_), "device " + std::to_string(device_));
    return std::make_unique<CudaSourceCode>(compiled, shape);
  }

 private:
  int device_;
  NvrtcCompiler compiler_;
};

}  // namespace

std::unique_ptr<const SourceToolchain> make_source_toolchain(
    std::uint32_t device_index, const std::optional<std::string>& nvrtc_path) {
  return std::make_unique<CudaSourceToolchain>(static_cast<int>(device_index), nvrtc_path);
}

}  // namespace overlap
