#include "producer/slot_hold.hpp"

#include "producer/producer_core.hpp"
#include "producer/producer_error.hpp"

namespace overlap {

void SlotHold::check() const {
  if (core_ == nullptr) {
    throw InvalidSubmission(
        "this slot or result handle is empty: it was moved from, submitted or released");
  }
  core_->check_fork();
}

void SlotHold::give_back() noexcept {
  ProducerCore* const core = std::exchange(core_, nullptr);
  if (!core->forked()) {
    core->give_back(*connection_, index_);
  }
}

}  // namespace overlap
