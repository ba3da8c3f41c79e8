#include "kernels/granule.hpp"

#include <limits>
#include <string>

namespace overlap {

Refusal refuse_misfit(std::string_view kernel, std::string_view granule, std::uint64_t input_bytes,
                      std::uint64_t granule_bytes) {
  const std::uint64_t surplus = input_bytes % granule_bytes;
  const std::uint64_t below = input_bytes - surplus;
  std::string text = std::to_string(input_bytes) + " bytes do not fit " + std::string(kernel) +
                     ": it takes whole granules of " + std::to_string(granule_bytes) +
                     " bytes (one " + std::string(granule) + "), and " + std::to_string(surplus) +
                     " bytes are left over; send ";
  if (below != 0) {
    text += std::to_string(below);
  }
  if (below <= std::numeric_limits<std::uint64_t>::max() - granule_bytes) {
    text += (below != 0 ? " or " : "") + std::to_string(below + granule_bytes);
  }
  return Refusal{text + " bytes"};
}

}  // namespace overlap
