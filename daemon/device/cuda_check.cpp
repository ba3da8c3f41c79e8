#include "daemon/device/cuda_check.hpp"

#include "daemon/device/cuda_errors.hpp"

namespace overlap {

void throw_unless_success(cudaError_t code, std::string_view call, std::string_view inputs) {
  if (code == cudaSuccess) {
    return;
  }
  (void)cudaGetLastError();
  std::string text(call);
  if (!inputs.empty()) {
    text.append(" [").append(inputs).append("]");
  }
  throw CudaError(code, text.append(": ").append(cuda_error_text(code)));
}

}  // namespace overlap
