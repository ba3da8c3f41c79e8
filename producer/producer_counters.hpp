#pragma once

#include <cstdint>

namespace overlap {

/// What a `Producer` has done so far, over all its channels. On a busy path, where neither side ever
/// has to sleep, `doorbells_rung` and `semaphore_waits` stand still while the others grow: submitting,
/// waiting and collecting then make no system call. (Several threads of one program may still put
/// each other to sleep, on a mutex or a condition variable of theirs; that is not counted here.)
struct ProducerCounters {
  /// The daemon said that it sleeps and was woken: one write each.
  std::uint64_t doorbells_rung = 0;
  /// Waits on the channel's semaphore that were begun.
  std::uint64_t semaphore_waits = 0;
  /// A job counts once, however often it is submitted again to the next daemon.
  std::uint64_t jobs_submitted = 0;
  /// Completions of jobs taken from the ring, whether they were picked up or not.
  std::uint64_t results_collected = 0;
  /// An update counts once, however often it is submitted again to the next daemon.
  std::uint64_t table_updates = 0;
  /// Those that a daemon did not take.
  std::uint64_t table_updates_refused = 0;
};

}  // namespace overlap
