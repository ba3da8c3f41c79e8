#include "daemon/device/cuda_source_code.hpp"

#include "daemon/device/cuda_check.hpp"
#include "kernels/source/source_batch.hpp"

#include <array>
#include <stdexcept>
#include <string>

namespace overlap {
namespace {

constexpr std::uint32_t kMaxParameters = 16;

/// The runtime takes its own kernels and those of a library in the same place.
const void* as_function(cudaKernel_t kernel) noexcept { return static_cast<const void*>(kernel); }

std::uint64_t resident_threads() {
  int device = 0;
  OVERLAP_CUDA_CHECK(cudaGetDevice(&device));
  int multiprocessors = 0;
  OVERLAP_CUDA_CHECK(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  int threads = 0;
  OVERLAP_CUDA_CHECK(
      cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  return static_cast<std::uint64_t>(multiprocessors) * static_cast<std::uint64_t>(threads);
}

}  // namespace

CudaCodeLibrary::CudaCodeLibrary(const std::string& image) {
  OVERLAP_CUDA_CHECK(
      cudaLibraryLoadData(&library_, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      std::to_string(image.size()) + " bytes of code");
}

CudaCodeLibrary::~CudaCodeLibrary() {
  if (library_ != nullptr && cudaLibraryUnload(library_) != cudaSuccess) {
    (void)cudaGetLastError();
  }
}

CudaSourceCode::CudaSourceCode(const CompiledSource& compiled, const SourceShape& shape)
    : library_(compiled.image), shape_(shape), resident_threads_(resident_threads()) {
  OVERLAP_CUDA_CHECK(cudaLibraryGetKernel(&kernel_, library_.get(), compiled.entry.c_str()),
                     compiled.entry);
  // Asked on purpose where the code may be loaded lazily: this loads it.
  cudaFuncAttributes attributes{};
  OVERLAP_CUDA_CHECK(cudaFuncGetAttributes(&attributes, as_function(kernel_)), compiled.entry);
  if (shape.threads > static_cast<std::uint32_t>(attributes.maxThreadsPerBlock)) {
    throw std::runtime_error("the kernel needs " + std::to_string(attributes.numRegs) +
                             " registers a thread and can have " +
                             std::to_string(attributes.maxThreadsPerBlock) +
                             " threads a block, not the " + std::to_string(shape.threads) +
                             " of its declaration: lower 'threads', or give it __launch_bounds__");
  }
}

int CudaSourceCode::launch(const overlap_batch& batch, OpaqueStream stream) const {
  if (batch.max_input_bytes == 0) {
    return cudaSuccess;
  }
  if (batch.param_count > kMaxParameters ||
      (reads_items_itself(batch) && batch.device_items == nullptr)) {
    return cudaErrorInvalidValue;
  }
  SourceBatch items = source_batch(batch);
  std::array<overlap_param_value, kMaxParameters> params{};
  std::array<void*, 1 + kMaxParameters> arguments{&items};
  for (std::uint32_t index = 0; index < batch.param_count; ++index) {
    params[index] = batch.params[index];
    arguments[1 + index] = &params[index];
  }
  const SourceGrid grid =
      source_grid(shape_, batch.max_input_bytes, batch.item_count, resident_threads_);
  const cudaError_t status = cudaLaunchKernel(
      as_function(kernel_), dim3(grid.blocks_per_item, grid.item_rows), dim3(shape_.threads),
      arguments.data(), 0, static_cast<cudaStream_t>(stream));
  if (status != cudaSuccess) {
    (void)cudaGetLastError();  // also remembered by the runtime; an innocent call would report it
  }
  return status;
}

}  // namespace overlap
