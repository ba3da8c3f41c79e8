#pragma once

#include "producer/job_id.hpp"
#include "producer/producer_counters.hpp"
#include "producer/producer_error.hpp"
#include "producer/producer_options.hpp"
#include "producer/result.hpp"
#include "producer/slot.hpp"
#include "producer/submission.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace overlap {

class ProducerCore;

/// A channel to the daemon: fill slots, submit them, pick up results. Survives the daemon's death:
/// see producer/README.md.
///
/// Thread safety: any, but for moving and destroying it, which no other thread may be inside of.
/// Whatever was written to a slot before `submit` is visible to the daemon's device, and the whole
/// output is visible to the thread that is given the `Result`.
///
/// Every method throws `ForkedProcess` in a child of `fork`, and `DaemonGone`, `ChannelClosed` or
/// `AttachError` once the channel has ended for good. Results that had come until then can still be
/// picked up. No time-out of a caller ever cancels a job.
///
/// The `..._many` methods do for a whole span, under one lock and with one wake-up, what their
/// namesakes do for one; a job then costs less than half. Those that fill a span do so from its
/// front and say how many elements they filled; what these held is released, the rest is left as it
/// was. Over an empty span they do nothing.
class Producer {
 public:
  /// Attaches.
  /// @throws AttachError, InvalidSubmission if the options make no sense
  explicit Producer(ProducerOptions options);
  Producer(Producer&&) noexcept = default;
  Producer& operator=(Producer&& other) noexcept;
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;
  /// Leaves. Jobs without a result are dropped; slots and results stay valid.
  ~Producer();

  /// Waits for a free slot. A slot whose result is there but not released is not free: with all of
  /// them held by handles or unread results of this very thread, this waits for ever.
  [[nodiscard]] Slot acquire();
  /// @return empty if no slot is free now, or if the channel is just being resumed
  [[nodiscard]] std::optional<Slot> try_acquire();
  /// @return empty if none became free in time
  [[nodiscard]] std::optional<Slot> acquire_for(std::chrono::nanoseconds duration);

  /// Takes as many free slots as there are now, at most one for each element. Never waits.
  /// @return how many; 0 also if the channel is just being resumed
  [[nodiscard]] std::size_t try_acquire_many(std::span<Slot> slots);

  /// Hands a filled slot over; returns at once.
  /// @param tag the caller's own number, handed back with the result
  /// @throws InvalidSubmission for an empty slot, one of another Producer, more bytes than it has,
  ///         a pipeline that the channel has not, or parameters that its first kernel does not take
  ///         from a job; the slot is then free again
  JobId submit(Slot slot, std::uint64_t tag = 0, const SubmitOptions& options = {});
  /// Hands several over and tells the daemon once. All or nothing; the slots are empty afterwards.
  /// @return their ids, in order
  std::vector<JobId> submit_many(std::span<Submission> submissions);
  /// The same, allocating nothing in the steady state.
  /// @param ids gets one id for each submission, in order; what is left of it is not written to
  /// @throws InvalidSubmission also if `ids` is shorter than `submissions`
  void submit_many(std::span<Submission> submissions, std::span<JobId> ids);

  /// Asks for a job not to run; it ends as `cancelled`, or as it would have if it was too late.
  /// @return false if the job has ended or is not known
  bool cancel(JobId id);

  /// Replaces a table: jobs submitted before this call use the old one, those after it the new one.
  /// Returns once that is submitted. It waits only while the daemon has yet to answer both of the last
  /// two updates of the very table: it answers once it has a copy of its own.
  ///
  /// A daemon that cannot take it goes on with the table before. That is counted, and the next call
  /// of `update_table` or `settle_tables` throws it, once, instead of doing anything.
  /// @param bytes may be changed as soon as this returns
  /// @throws TableRefused if an earlier update was refused
  /// @throws InvalidSubmission if there is no such table among `ProducerOptions::tables`, or it has
  ///         another size
  void update_table(std::uint8_t pipeline_index, std::uint8_t stage_index,
                    std::span<const std::byte> bytes);
  /// Waits until the daemon has answered every update so far.
  /// @throws TableRefused if it refused one
  void settle_tables();
  /// Has the stateful kernels of a pipeline begin anew with the next job that is submitted. Returns
  /// at once; nothing happens to a pipeline without state.
  /// @throws InvalidSubmission if the channel has no such pipeline
  void reset_state(std::uint8_t pipeline_index = 0);

  /// Waits until every job submitted so far, by any thread, has ended. Results stay to be picked up.
  void flush();

  /// Waits for one job. From here on it is given to nobody else.
  /// @throws UnknownJob if there is no such job or its result was picked up
  [[nodiscard]] Result wait(JobId id);
  /// @return empty if it did not end in time
  /// @throws UnknownJob
  [[nodiscard]] std::optional<Result> wait_for(JobId id, std::chrono::nanoseconds duration);

  /// The next result in the order of completion. With no job under way it waits until another thread
  /// submits one.
  [[nodiscard]] Result wait_any();
  [[nodiscard]] std::optional<Result> wait_any_for(std::chrono::nanoseconds duration);
  [[nodiscard]] std::optional<Result> try_any();

  /// Waits for at least one result, then takes those that are there, in the order of completion, at
  /// most one for each element.
  /// @return how many: not 0, unless the span is empty
  [[nodiscard]] std::size_t wait_any_many(std::span<Result> results);
  /// @return 0 if none came in time
  [[nodiscard]] std::size_t wait_any_many_for(std::span<Result> results,
                                              std::chrono::nanoseconds duration);
  /// Never waits.
  [[nodiscard]] std::size_t try_any_many(std::span<Result> results);

  /// Gives back the slots of all of them; those of other Producers too, and empty ones are skipped.
  /// Also after the channel has ended.
  void release_many(std::span<Result> results);
  void release_many(std::span<Slot> slots);

  /// The result of the oldest job whose result was not picked up: submission order.
  [[nodiscard]] Result wait_next();
  [[nodiscard]] std::optional<Result> wait_next_for(std::chrono::nanoseconds duration);
  [[nodiscard]] std::optional<Result> try_next();

  /// A descriptor for poll, select, epoll, asyncio: readable when it is worth calling `try_any` or
  /// `try_next` again. The same one for the Producer's whole life, resumes included. Not to be read,
  /// written or closed.
  ///
  /// The protocol: (1) call this once; (2) call `try_any`, `try_any_many` or `try_next` until one
  /// returns nothing,
  /// which silences the descriptor and arms it; (3) poll; (4) go to 2. A poll before a `try_*` call
  /// returned nothing may miss what is already there. It may also become readable for nothing. When
  /// the channel ends for good it becomes readable and `try_*` throws.
  [[nodiscard]] int completion_fd();

  /// "cuda" or "host": of the daemon attached to last.
  [[nodiscard]] std::string backend() const;
  [[nodiscard]] std::uint32_t slot_count() const;
  /// Of one slot.
  [[nodiscard]] std::uint64_t input_bytes() const;
  /// Of one slot.
  [[nodiscard]] std::uint64_t output_bytes() const;
  /// The most that the daemon attached to last gives one producer.
  [[nodiscard]] DaemonLimits limits() const;
  /// How often a daemon went and the next one was attached to.
  [[nodiscard]] std::uint32_t resume_count() const;
  /// All at one moment, but for the semaphore waits.
  [[nodiscard]] ProducerCounters counters() const;

 private:
  [[nodiscard]] ProducerCore& core() const;
  void leave() noexcept;

  std::shared_ptr<ProducerCore> core_;
};

}  // namespace overlap
