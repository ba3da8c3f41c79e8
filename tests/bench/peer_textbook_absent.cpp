#include "tests/bench/peer_textbook.hpp"

namespace overlap::bench {

TextbookOrReason make_textbook_program(std::uint64_t /*element_count*/, std::uint32_t /*repeat*/) {
  return {nullptr, "left out: the textbook program in process: built without CUDA"};
}

}  // namespace overlap::bench
