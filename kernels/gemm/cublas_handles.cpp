#include "kernels/gemm/cublas_handles.hpp"

#include "kernels/batch_items.hpp"

#include <algorithm>

namespace overlap {
namespace {

constexpr int kInvalidValue = 1;      // cudaErrorInvalidValue
constexpr int kMemoryAllocation = 2;  // cudaErrorMemoryAllocation
/// cuBLAS counts rows in 32 bits.
constexpr std::uint64_t kMostRows = std::uint64_t{1} << 30;

/// cuBLAS's statuses are no cudaError_t; none of them says that the GPU is lost, which the next call
/// to the runtime would tell.
int cuda_error_of(int status) {
  if (status == CublasLibrary::kSuccess) {
    return 0;
  }
  return status == CublasLibrary::kAllocFailed ? kMemoryAllocation : kInvalidValue;
}

/// Rows of an item. Its size may be known on the GPU alone; what its output has room for is then
/// computed, which does no harm where the size turns out to be 0.
std::uint64_t rows_of(const overlap_batch_item& item, const overlap_batch& batch,
                      const GemmParams& wanted) {
  if ((batch.flags & OVERLAP_BATCH_SIZES_ON_DEVICE) == 0) {
    return item.input_bytes / wanted.input_row_bytes();
  }
  return std::min(batch.max_input_bytes / wanted.input_row_bytes(),
                  item.output_capacity_bytes / wanted.output_row_bytes());
}

/// Rows side by side in memory, with one B.
struct Rows {
  const float* a;
  const float* b;
  float* c;
  std::uint64_t count;
};

/// cuBLAS is column-major, where a row-major matrix looks transposed: C' = B' * A'.
int multiply(const CublasLibrary& library, CublasLibrary::Handle handle, const GemmParams& wanted,
             Rows rows) {
  constexpr float kOne = 1;
  constexpr float kZero = 0;
  const auto n = static_cast<int>(wanted.n);
  const auto k = static_cast<int>(wanted.k);
  while (rows.count != 0) {
    const std::uint64_t now = std::min(rows.count, kMostRows);
    const int status =
        library.sgemm(handle, CublasLibrary::kAsItIs, CublasLibrary::kAsItIs, n,
                      static_cast<int>(now), k, &kOne, rows.b, n, rows.a, k, &kZero, rows.c, n);
    if (status != CublasLibrary::kSuccess) {
      return status;
    }
    rows.a += now * wanted.k;
    rows.c += now * wanted.n;
    rows.count -= now;
  }
  return CublasLibrary::kSuccess;
}

}  // namespace

CublasHandles::~CublasHandles() {
  for (const auto& [device, handle] : handles_) {
    (void)library_->destroy(handle);
  }
}

int CublasHandles::handle_of(const CublasLibrary& library, int device,
                             CublasLibrary::Handle& handle) {
  if (const auto found = handles_.find(device); found != handles_.end()) {
    handle = found->second;
    return CublasLibrary::kSuccess;
  }
  const int status = library.create(&handle);
  if (status == CublasLibrary::kSuccess) {
    library_ = &library;
    handles_.emplace(device, handle);
  }
  return status;
}

std::optional<Refusal> CublasHandles::prepare() {
  std::string why;
  const CublasLibrary* const library = CublasLibrary::open(why);
  if (library == nullptr) {
    return Refusal{"gemm needs cuBLAS on the GPU, and it cannot be opened (" + why +
                   "); install libcublas, or run on the host"};
  }
  int device = 0;
  if (const int status = current_gemm_device(device); status != 0) {
    return Refusal{"gemm cannot tell which GPU is the current one: CUDA error " +
                   std::to_string(status)};
  }
  const std::scoped_lock lock(mutex_);
  CublasLibrary::Handle handle = nullptr;
  if (const int status = handle_of(*library, device, handle); status != CublasLibrary::kSuccess) {
    return Refusal{"cuBLAS does not start on GPU " + std::to_string(device) + ": status " +
                   std::to_string(status)};
  }
  return std::nullopt;
}

int CublasHandles::launch(const GemmParams& wanted, const overlap_batch& batch, void* stream) {
  if (batch.max_input_bytes == 0) {
    return 0;
  }
  std::string why;
  const CublasLibrary* const library = CublasLibrary::open(why);
  if (library == nullptr) {
    return kInvalidValue;  // `prepare` said why
  }
  int device = 0;
  if (const int status = current_gemm_device(device); status != 0) {
    return status;
  }
  const std::scoped_lock lock(mutex_);
  CublasLibrary::Handle handle = nullptr;
  int status = handle_of(*library, device, handle);
  if (status == CublasLibrary::kSuccess) {
    status = library->set_stream(handle, stream);
  }
  if (status == CublasLibrary::kSuccess) {
    // After the stream, which brings back a workspace that all streams would share.
    status = library->set_workspace(handle, batch.workspace, batch.workspace_bytes);
  }
  std::uint32_t index = 0;
  while (status == CublasLibrary::kSuccess && index < batch.item_count) {
    const overlap_batch_item& first = item_at(batch, index);
    Rows rows{static_cast<const float*>(first.input), static_cast<const float*>(first.table),
              static_cast<float*>(first.output), rows_of(first, batch, wanted)};
    for (++index; index < batch.item_count; ++index) {
      const overlap_batch_item& next = item_at(batch, index);
      if (next.table != rows.b || next.input != rows.a + rows.count * wanted.k ||
          next.output != rows.c + rows.count * wanted.n) {
        break;
      }
      rows.count += rows_of(next, batch, wanted);
    }
    status = multiply(*library, handle, wanted, rows);
  }
  return cuda_error_of(status);
}

}  // namespace overlap
