#pragma once

#include "shared/channel_view.hpp"

#include <cstdint>

namespace overlap {

/// The daemon's end of the completion ring. Restricted: one thread.
class CompletionWriter {
 public:
  CompletionWriter() = default;
  explicit CompletionWriter(const ChannelView& view) noexcept
      : entries_(view.completions()),
        capacity_(view.geometry().ring_capacity),
        tail_word_(&view.daemon_words().completion_tail),
        head_word_(&view.producer_words().completion_head),
        waiting_word_(&view.producer_words().waiting) {}

  /// Completions written and not collected, as the producer claims. More than were written is a
  /// violation by the producer.
  [[nodiscard]] std::uint32_t uncollected() const noexcept {
    // Acquire 'completions collected': the producer has copied the entries below the head.
    return tail_ - head_word_->load(std::memory_order_acquire);
  }

  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
  /// Entries written since the channel began; wraps.
  [[nodiscard]] std::uint32_t tail() const noexcept { return tail_; }

  /// The place of the next entry, to be written field by field and never read: a copy of one made
  /// elsewhere would wait for its own small stores. Not sent for early either: on a Xeon that halved
  /// what the ring carries. Nobody sees it before `publish`.
  /// @pre uncollected() < capacity(), kept by taking no more jobs than there is room for
  /// @post every field is written before `advance`
  [[nodiscard]] CompletionEntry& next() const noexcept { return entries_[tail_ & (capacity_ - 1)]; }
  void advance() noexcept { ++tail_; }

  /// Puts an entry behind the others. @pre as for `next`
  void write(const CompletionEntry& entry) noexcept {
    next() = entry;
    advance();
  }

  /// Makes everything written visible: output bytes and entries alike.
  /// @return how the producer waits, so that it must be woken; a number of no kind counts as none
  [[nodiscard]] WaitKind publish() noexcept {
    // Release 'completions published', seq_cst because it is followed by a load of another word:
    // 'completion sleep' operation 1 (store tail) and 2 (load waiting).
    tail_word_->store(tail_, std::memory_order_seq_cst);
    const std::uint32_t waiting = waiting_word_->load(std::memory_order_seq_cst);
    return waiting <= static_cast<std::uint32_t>(WaitKind::descriptor)
               ? static_cast<WaitKind>(waiting)
               : WaitKind::none;
  }

 private:
  CompletionEntry* entries_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t tail_ = 0;
  SharedWord* tail_word_ = nullptr;
  SharedWord* head_word_ = nullptr;
  SharedWord* waiting_word_ = nullptr;
};

/// The producer's end of the completion ring. Restricted: one thread at a time.
class CompletionReader {
 public:
  CompletionReader() = default;
  explicit CompletionReader(const ChannelView& view) noexcept
      : entries_(view.completions()),
        capacity_(view.geometry().ring_capacity),
        tail_word_(&view.daemon_words().completion_tail),
        head_word_(&view.producer_words().completion_head),
        waiting_word_(&view.producer_words().waiting) {}

  /// Completions published and not yet taken.
  [[nodiscard]] std::uint32_t available() const noexcept {
    // Acquire 'completions published'.
    return tail_word_->load(std::memory_order_acquire) - head_;
  }

  /// Copies the next entry out; the output bytes of its slot are visible from here on.
  /// @pre available() > 0
  [[nodiscard]] CompletionEntry take() noexcept {
    const CompletionEntry copy = entries_[head_ & (capacity_ - 1)];
    ++head_;
    return copy;
  }

  /// Tells the daemon that the taken entries, and so their slots, are collected.
  void release() noexcept {
    // Release 'completions collected'.
    head_word_->store(head_, std::memory_order_release);
  }

  /// Asks to be woken by the next completion.
  /// @return whether there is one already: then do not sleep, call `stop_waiting`
  [[nodiscard]] bool start_waiting(WaitKind kind) noexcept {
    // 'completion sleep' operation 3 (store waiting) and 4 (load tail).
    waiting_word_->store(static_cast<std::uint32_t>(kind), std::memory_order_seq_cst);
    return tail_word_->load(std::memory_order_seq_cst) != head_;
  }

  void stop_waiting() noexcept {
    waiting_word_->store(static_cast<std::uint32_t>(WaitKind::none), std::memory_order_relaxed);
  }

 private:
  const CompletionEntry* entries_ = nullptr;
  std::uint32_t capacity_ = 0;
  std::uint32_t head_ = 0;
  SharedWord* tail_word_ = nullptr;
  SharedWord* head_word_ = nullptr;
  SharedWord* waiting_word_ = nullptr;
};

}  // namespace overlap
