#include "kernels/copy.hpp"

namespace overlap {

std::uint64_t CopyKernel::reference(ParameterView /*params*/, std::span<const std::byte> input,
                                    std::span<std::byte> output) const {
  std::size_t position = 0;
  for (const std::byte byte : input) {
    output[position++] = byte;
  }
  return position;
}

}  // namespace overlap
