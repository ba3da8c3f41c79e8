#pragma once

#include "daemon/engine/engine.hpp"
#include "shared/monotonic_clock.hpp"
#include "tests/gpu/cuda_fixture.hpp"
#include "tests/unit/channel_harness.hpp"

namespace overlap::test {

/// An engine on a GPU, at work until something is so.
class WorkingEngine {
 public:
  /// @param listener the engine's own
  WorkingEngine(Engine& engine, const Device& device,
                const overlap::testing::RecordingListener& listener)
      : engine_(engine), device_(device), listener_(listener) {}

  /// Fails the test if the GPU is lost, and says why, or if it takes too long. In the latter case it
  /// works on for a while: what is on the GPU must have ended before the test takes it apart.
  /// @return whether `done()` came true in time
  template <class Done>
  [[nodiscard]] bool until(const Done& done) {
    if (comes_true([&] { return works_until(done); }) && !engine_.is_lost()) {
      return true;
    }
    if (!engine_.is_lost()) {
      ADD_FAILURE() << "not done within " << kEnough.count() << " s";
      (void)comes_true([&] { return works_until(done); });
    }
    if (engine_.is_lost()) {
      ADD_FAILURE() << "the GPU is lost: "
                    << (listener_.lost_codes.empty() ? "nobody was told"
                                                     : device_.describe(listener_.lost_codes[0]));
    }
    return false;
  }

 private:
  template <class Done>
  [[nodiscard]] bool works_until(const Done& done) {
    engine_.do_work(monotonic_now_ns());
    return done() || engine_.is_lost();
  }

  Engine& engine_;
  const Device& device_;
  const overlap::testing::RecordingListener& listener_;
};

}  // namespace overlap::test
