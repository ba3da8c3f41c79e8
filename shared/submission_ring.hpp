#pragma once

#include "shared/channel_view.hpp"

#include <cstdint>
#include <span>

namespace overlap {

/// The producer's end of the submission ring. Restricted: one thread at a time.
class SubmissionWriter {
 public:
  SubmissionWriter() = default;
  explicit SubmissionWriter(const ChannelView& view) noexcept
      : entries_(view.submissions()),
        capacity_(view.geometry().ring_capacity),
        tail_word_(&view.producer_words().submission_tail),
        head_word_(&view.daemon_words().submission_head),
        asleep_word_(&view.daemon_words().asleep) {}

  /// Puts an entry behind the ones already written; nobody sees it before `publish`.
  /// @return false if the daemon has not taken enough yet
  [[nodiscard]] bool write(const SubmissionEntry& entry) noexcept {
    // Acquire 'submissions taken': the daemon has copied the entry that is about to be overwritten.
    if (tail_ - head_word_->load(std::memory_order_acquire) >= capacity_) {
      return false;
    }
    entries_[tail_ & (capacity_ - 1)] = entry;
    ++tail_;
    return true;
  }

  /// Makes everything written visible: slots' input bytes and entries alike.
  /// @return whether the daemon may be asleep, so that the doorbell must be rung
  [[nodiscard]] bool publish() noexcept {
    // Release 'submissions published', seq_cst because it is followed by a load of another word:
    // 'submission sleep' operation 1 (store tail) and 2 (load asleep).
    tail_word_->store(tail_, std::memory_order_seq_cst);
    return asleep_word_->load(std::memory_order_seq_cst) != 0;
  }

 private:
  SubmissionEntry* entries_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t tail_ = 0;
  SharedWord* tail_word_ = nullptr;
  SharedWord* head_word_ = nullptr;
  SharedWord* asleep_word_ = nullptr;
};

/// The daemon's end of the submission ring. Restricted: one thread.
class SubmissionReader {
 public:
  SubmissionReader() = default;
  explicit SubmissionReader(const ChannelView& view) noexcept
      : entries_(view.submissions()),
        capacity_(view.geometry().ring_capacity),
        tail_word_(&view.producer_words().submission_tail),
        head_word_(&view.daemon_words().submission_head),
        asleep_word_(&view.daemon_words().asleep) {}

  /// Entries published and not yet taken. More than the capacity is a violation by the producer.
  [[nodiscard]] std::uint32_t available() const noexcept {
    // Acquire 'submissions published'.
    return tail_word_->load(std::memory_order_acquire) - head_;
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

  /// Copies the next entry out.
  /// @pre available() is between 1 and capacity()
  [[nodiscard]] SubmissionEntry take() noexcept {
    SubmissionEntry copy;
    take_many({&copy, 1});
    return copy;
  }

  /// Copies the next entries out. Their lines are in the producer's cache: together they are on
  /// their way at the same time, one by one each would be waited for.
  /// @pre available() is between entries.size() and capacity()
  void take_many(std::span<SubmissionEntry> entries) noexcept {
    for (SubmissionEntry& entry : entries) {
      entry = entries_[head_ & (capacity_ - 1)];
      ++head_;
    }
    // The copies are what gets checked and used: nothing may be read from the ring a second time.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  /// Gives the taken entries' places back to the producer.
  void release() noexcept {
    // Release 'submissions taken'.
    head_word_->store(head_, std::memory_order_release);
  }

  /// Tells the producer that from now on the doorbell must be rung.
  /// @return whether there is something to take after all: then do not sleep, call `stay_awake`
  [[nodiscard]] bool fall_asleep() noexcept {
    // 'submission sleep' operation 3 (store asleep) and 4 (load tail).
    asleep_word_->store(1, std::memory_order_seq_cst);
    return tail_word_->load(std::memory_order_seq_cst) != head_;
  }

  void stay_awake() noexcept { asleep_word_->store(0, std::memory_order_relaxed); }

 private:
  const SubmissionEntry* entries_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t head_ = 0;
  SharedWord* tail_word_ = nullptr;
  SharedWord* head_word_ = nullptr;
  SharedWord* asleep_word_ = nullptr;
};

}  // namespace overlap
