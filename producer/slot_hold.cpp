#include "producer/slot_hold.hpp"

#include "producer/producer_core.hpp"
#include "producer/producer_error.hpp"

namespace overlap {

SlotHold& SlotHold::operator=(SlotHold&& other) noexcept {
  if (this != &other) {
    release();
    core_ = std::move(other.core_);
    connection_ = std::move(other.connection_);
    index_ = other.index_;
  }
  return *this;
}

void SlotHold::check() const {
  if (!core_) {
    throw InvalidSubmission(
        "this slot or result handle is empty: it was moved from, submitted or released");
  }
  core_->check_fork();
}

void SlotHold::forget() noexcept {
  connection_.reset();
  core_.reset();
}

void SlotHold::release() noexcept {
  if (!core_) {
    return;
  }
  if (core_->forked()) {
    abandon(std::move(connection_));
    abandon(std::move(core_));
    return;
  }
  core_->give_back(key());
  forget();
}

}  // namespace overlap
