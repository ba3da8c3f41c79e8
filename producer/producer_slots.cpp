#include "producer/producer_core.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace overlap {

std::optional<Slot> ProducerCore::acquire(std::uint64_t deadline_ns) {
  Lock lock(mutex_);
  // Only a handle that goes makes a slot free, so there is no completion to wait for; what has come
  // is collected all the same, so that the daemon never holds results for a thread that waits here.
  collect();
  for (;;) {
    raise_if_failed();
    if (state_ == State::live) {
      if (const auto index = slots_.acquire()) {
        return Slot(new_hold(*index));
      }
    }
    if (deadline_ns != kNoDeadline && monotonic_now_ns() >= deadline_ns) {
      return std::nullopt;
    }
    ++slot_waiters_;
    if (deadline_ns == kNoDeadline) {
      slots_changed_.wait(lock);
    } else {
      slots_changed_.wait_until(
          lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)));
    }
    --slot_waiters_;
  }
}

std::size_t ProducerCore::acquire_many(std::span<Slot> slots) {
  Leavings leavings;
  const Lock lock(mutex_);
  collect();
  raise_if_failed();
  std::size_t count = 0;
  if (state_ == State::live) {
    for (; count < slots.size() && slots_.free_count() > 0; ++count) {
      SlotHold& hold = slots[count].hold();
      vacate(hold, leavings);
      hold = new_hold(*slots_.acquire());
    }
  }
  return count;
}

SlotHold ProducerCore::new_hold(std::uint32_t index) noexcept {
  ++handles_;
  connection_->add_user();
  return {*this, *connection_, index};
}

void ProducerCore::give_back(ChannelConnection& connection, std::uint32_t index) noexcept {
  Leavings leavings;
  const Lock lock(mutex_);
  take_back(connection, index, leavings);
}

template <class Handle>
void ProducerCore::release_many(std::span<Handle> handles) {
  Leavings leavings;
  const Lock lock(mutex_);
  // What was given back last is acquired first: this way round slots keep the order they had, and
  // neighbours are submitted one behind the other. The daemon copies those at once, and does not
  // change the order of jobs with a state.
  for (auto handle = handles.rbegin(); handle != handles.rend(); ++handle) {
    vacate(handle->hold(), leavings);
  }
}

template void ProducerCore::release_many(std::span<Slot> handles);
template void ProducerCore::release_many(std::span<Result> handles);

void ProducerCore::take_back(ChannelConnection& connection, std::uint32_t index,
                             Leavings& leavings) noexcept {
  slots_.give_back({&connection, index});
  if (slot_waiters_ > 0) {
    slots_changed_.notify_one();
  }
  drop_user(connection, leavings);
  --handles_;
  if (handles_ == 0 && stopped_) {
    leavings.core = std::move(self_);
  }
}

void ProducerCore::vacate(SlotHold& hold, Leavings& leavings) {
  if (!hold) {
    return;
  }
  if (hold.core() != this) {
    // Its own mutex is not to be taken while this one is held.
    leavings.foreign.push_back(std::move(hold));
    return;
  }
  take_back(hold.connection(), hold.index(), leavings);
  hold.forget();
}

void ProducerCore::drop_user(ChannelConnection& connection, Leavings& leavings) noexcept {
  if (!connection.drop_user() || &connection == connection_.get()) {
    return;
  }
  const auto retired = std::find_if(retired_.begin(), retired_.end(),
                                    [&](const auto& one) { return one.get() == &connection; });
  leavings.memory.splice(leavings.memory.end(), retired_, retired);
}

void ProducerCore::bring_to_current_channel(Lock& lock, std::span<Submission> submissions,
                                            Leavings& leavings) {
  std::shared_ptr<ChannelConnection> target;
  for (std::size_t i = 0; state_ == State::live && i < submissions.size();) {
    SlotHold& hold = submissions[i].slot.hold();
    if (&hold.connection() == connection_.get()) {
      ++i;
      continue;
    }
    target = connection_;
    const SlotKey key = hold.key();
    const std::uint32_t place = slots_.place_of(key);
    const std::uint64_t bytes =
        submissions[i].options.input_bytes.value_or(target->geometry().input_bytes);
    lock.unlock();
    // Input areas can be large; nobody else writes to a place that is kept for this very handle.
    std::memcpy(target->view().input(place).data(),
                hold.connection().view().input(key.index).data(), bytes);
    lock.lock();
    if (target != connection_) {
      // The next one may be there already, and those that were brought to this one are old again.
      i = 0;
      continue;
    }
    slots_.settle(key);
    target->add_user();
    drop_user(hold.connection(), leavings);
    hold.move_to(*target, place);
  }
}

}  // namespace overlap
