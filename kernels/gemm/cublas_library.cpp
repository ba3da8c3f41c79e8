#include "kernels/gemm/cublas_library.hpp"

#include "kernels/vendor_library.hpp"

#include <mutex>

namespace overlap {

const CublasLibrary* CublasLibrary::open(std::string& why) {
  static std::mutex mutex;
  static CublasLibrary functions{};
  static bool is_open = false;
  const std::scoped_lock lock(mutex);
  if (is_open) {
    return &functions;
  }
  const auto library = VendorLibrary::open({"libcublas.so.13", "libcublas.so.12"}, why);
  if (!library) {
    return nullptr;
  }
  is_open = library->find("cublasCreate_v2", functions.create, why) &&
            library->find("cublasDestroy_v2", functions.destroy, why) &&
            library->find("cublasSetStream_v2", functions.set_stream, why) &&
            library->find("cublasSetWorkspace_v2", functions.set_workspace, why) &&
            library->find("cublasSgemm_v2", functions.sgemm, why);
  return is_open ? &functions : nullptr;
}

}  // namespace overlap
