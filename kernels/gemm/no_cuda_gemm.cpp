#include "kernels/gemm/cublas_handles.hpp"

namespace overlap {

bool gemm_built_with_cuda() noexcept { return false; }

int current_gemm_device(int& /*device*/) {
  return 801;  // cudaErrorNotSupported, by its number
}

}  // namespace overlap
