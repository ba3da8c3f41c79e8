#include "kernels/fft/cufft_library.hpp"

#include "kernels/vendor_library.hpp"

#include <mutex>

namespace overlap {

const CufftLibrary* CufftLibrary::open(std::string& why) {
  static std::mutex mutex;
  static CufftLibrary functions{};
  static bool is_open = false;
  const std::scoped_lock lock(mutex);
  if (is_open) {
    return &functions;
  }
  const auto library = VendorLibrary::open({"libcufft.so.12", "libcufft.so.11"}, why);
  if (!library) {
    return nullptr;
  }
  is_open = library->find("cufftCreate", functions.create, why) &&
            library->find("cufftDestroy", functions.destroy, why) &&
            library->find("cufftSetAutoAllocation", functions.set_auto_allocation, why) &&
            library->find("cufftMakePlanMany64", functions.make_plan_many, why) &&
            library->find("cufftSetStream", functions.set_stream, why) &&
            library->find("cufftSetWorkArea", functions.set_work_area, why) &&
            library->find("cufftExecC2C", functions.exec_c2c, why) &&
            library->find("cufftExecR2C", functions.exec_r2c, why);
  return is_open ? &functions : nullptr;
}

}  // namespace overlap
