#include "producer/slot.hpp"

namespace overlap {

std::uint32_t Slot::index() const {
  hold_.check();
  return hold_.index();
}

std::span<std::byte> Slot::input_area() const {
  hold_.check();
  return hold_.connection().view().input(hold_.index());
}

}  // namespace overlap
