//! kernel threshold "255 for every byte from `level` on, else 0"
//! element image::threshold u8 -> u8
//! param level integer 128 0 255 - "the lowest byte that counts"
//! param what choice above above,below "which side becomes 255"

#include <cstdint>

namespace image {

__device__ uint8_t threshold(uint8_t x, int level, unsigned what) {
  return (x >= level) == (what == 0) ? 255 : 0;
}

}  // namespace image
