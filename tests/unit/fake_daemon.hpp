#pragma once

#include "shared/channel_memory.hpp"
#include "shared/channel_view.hpp"
#include "shared/completion_ring.hpp"
#include "shared/control_protocol.hpp"
#include "shared/file_descriptor.hpp"
#include "shared/submission_ring.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace overlap::testing {

/// What a fake daemon's answer to a job is: every input byte, changed by this.
inline constexpr std::byte kAnswerMask{0x5a};

/// How one connection is served; a daemon takes one script after the other, the last for ever.
struct DaemonScript {
  enum class Attach : std::uint8_t { accept, stay_silent, answer_garbage, refuse, refuse_mapped };
  Attach attach = Attach::accept;
  AttachCode code = AttachCode::accepted;
  std::string text{};
  /// Used where the request leaves it to the daemon; 0: as many as in.
  std::uint64_t output_bytes = 0;
  /// Take jobs, but answer only at `FakeDaemon::answer_held`.
  bool hold = false;
  /// Answer this many jobs at a time, the last one first.
  std::uint32_t reversed_group = 1;
  /// Answer this many jobs, then mark those in hand as issued and hang up without a word.
  std::optional<std::uint32_t> die_after{};
  /// Wait for this many jobs in hand before dying.
  std::uint32_t die_with_in_hand = 1;
  /// Look at the ring again and again and never ask for the doorbell.
  bool sleepless = false;
  /// What changes the input's bytes into the answer's.
  std::byte mask = kAnswerMask;
  /// Use the first byte of the first table of the job's pipeline instead, as it was when the job was
  /// taken.
  bool mask_from_table = false;
  /// Of what the producer offers, what is accepted.
  std::uint64_t features = kSupportedFeatures;
  /// As in the reply.
  std::uint32_t stateful_pipelines = 0;
  /// As in the reply, of every pipeline; a name and whether it is an integer.
  std::vector<std::pair<std::string, bool>> job_parameters{};
  /// Take updates of tables, but answer only at `FakeDaemon::answer_updates`.
  bool hold_updates = false;
  /// How updates are answered that are not held.
  JobStatus update_status = JobStatus::ok;
};

/// The daemon's half of a channel on a thread of this process: one producer at a time.
class FakeDaemon {
 public:
  explicit FakeDaemon(std::string socket_path, std::vector<DaemonScript> scripts = {{}});
  ~FakeDaemon();
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

  /// Entries of every kind taken so far, over all connections, in order.
  [[nodiscard]] std::vector<SubmissionEntry> taken() const;
  /// Requests seen so far.
  [[nodiscard]] std::vector<AttachRequest> requests() const;
  /// Waits until that many entries were taken.
  void await_taken(std::size_t count) const;
  /// Waits until that many connections have ended.
  void await_ended(std::size_t count) const;

  /// Answers what is held and stops holding.
  void answer_held();
  /// Answers the oldest held jobs.
  void answer_oldest(std::size_t count);
  /// Answers the oldest held updates of tables.
  void answer_updates(std::size_t count, JobStatus status = JobStatus::ok);
  /// The tables that the current connection began with, in the order of the request.
  [[nodiscard]] std::vector<std::vector<std::byte>> first_tables() const;
  /// Ends the oldest held job with a status.
  void end_oldest(JobStatus status);
  /// Dies: what is held counts as issued if so asked.
  void hang_up(bool mark_issued);
  /// Sends a reason, then hangs up.
  void close(CloseReason reason, const std::string& text);
  /// Posts the semaphore and rings the eventfd for nothing.
  void wake_for_nothing();
  /// Publishes a completion that answers nothing.
  void answer_nonsense();

 private:
  struct Client;

  void run();
  void do_on_thread(std::function<void()> action);
  void run_actions();
  void serve();
  void accept_client();
  void serve_socket();
  void answer_request(const AttachRequest& request);
  void make_ready();
  void take();
  void take_job(const SubmissionEntry& entry);
  void take_update(const SubmissionEntry& entry);
  void take_cancel(const SubmissionEntry& entry);
  void answer_update(const SubmissionEntry& entry, JobStatus status);
  void complete(const SubmissionEntry& entry, JobStatus status);
  void publish();
  void die(bool mark_issued);
  void note_end();

  std::string path_;
  std::vector<DaemonScript> scripts_;
  FileDescriptor listener_;
  FileDescriptor control_;
  std::unique_ptr<Client> client_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<std::function<void()>> actions_;
  std::vector<SubmissionEntry> taken_;
  std::vector<AttachRequest> requests_;
  std::vector<std::vector<std::byte>> first_tables_;
  std::size_t connections_ = 0;
  std::size_t ended_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

/// A temporary folder for sockets, removed with what is in it.
class SocketFolder {
 public:
  SocketFolder();
  ~SocketFolder();
  SocketFolder(const SocketFolder&) = delete;
  SocketFolder& operator=(const SocketFolder&) = delete;
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

/// A socket of any kind that listens, for what is not overlapd.
[[nodiscard]] FileDescriptor listen_at(const std::string& path, int type);

}  // namespace overlap::testing
