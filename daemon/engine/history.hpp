#pragma once

#include <utility>

namespace overlap {

/// What a channel knows of a stateful pipeline's history: where it was lost, and who has to be told.
///
/// Jobs pass three points in the same order: taken from the ring, started on a lane, ended. A loss
/// found at one of them is the business of the next job of the pipeline that passes there.
/// Restricted: one thread.
class History {
 public:
  /// What a loss means for a job.
  struct Mark {
    /// The state is zero bytes before it.
    bool fresh = false;
    /// Its completion says so.
    bool discontinuity = false;
  };

  /// The producer asked for a fresh state: no loss.
  void reset() noexcept { taken_.fresh = true; }
  /// A job was refused, or an earlier channel's history is gone, before the jobs taken from here on.
  void lose_before_taken() noexcept { taken_ = {true, true}; }
  /// A job that had been taken will not run.
  void lose_before_started() noexcept { started_ = {true, true}; }
  /// A kernel failed a job, and left the state fresh.
  void lose_before_ended() noexcept { ended_ = true; }
  /// A batch failed: nobody knows what it did to the state. Whatever is on the device behind it is
  /// spoilt too, up to the next job that starts with a fresh state.
  void spoil() noexcept {
    // One mark is enough: a second one would cost the jobs behind it what is sound again.
    if (!spoilt_) {
      spoilt_ = true;
      lose_before_started();
    }
  }

  [[nodiscard]] Mark on_taken() noexcept { return std::exchange(taken_, {}); }
  [[nodiscard]] Mark on_started() noexcept { return std::exchange(started_, {}); }
  /// Whether the next job to start needs a fresh state.
  [[nodiscard]] bool begins_anew() const noexcept { return started_.fresh; }
  /// A job with this mark has ended on the device. @return false if its result means nothing
  [[nodiscard]] bool on_ended(bool fresh) noexcept {
    spoilt_ = spoilt_ && !fresh;
    return !spoilt_;
  }
  /// A result goes out. @return whether it is the first one after a loss that was found at the end
  [[nodiscard]] bool on_result() noexcept { return std::exchange(ended_, false); }

 private:
  Mark taken_;
  Mark started_;
  bool ended_ = false;
  bool spoilt_ = false;
};

}  // namespace overlap
