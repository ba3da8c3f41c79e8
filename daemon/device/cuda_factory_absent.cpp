#include "daemon/device/cuda_factory.hpp"

namespace overlap {

CudaProbe make_cuda_device(int /*index*/) {
  return {nullptr, "CUDA cannot be used: this program was built without it", {}};
}

}  // namespace overlap
