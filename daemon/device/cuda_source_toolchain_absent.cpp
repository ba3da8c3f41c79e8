#include "daemon/device/source_toolchain.hpp"

#include <stdexcept>

namespace overlap {

std::unique_ptr<const SourceToolchain> make_source_toolchain(
    std::uint32_t /*device_index*/, const std::optional<std::string>& /*nvrtc_path*/) {
  throw std::runtime_error(
      "source kernels cannot be compiled: this program was built without CUDA");
}

}  // namespace overlap
