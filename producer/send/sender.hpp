#pragma once

#include "kernels/pipeline.hpp"
#include "producer/producer.hpp"
#include "producer/send/input_source.hpp"
#include "producer/send/output_sink.hpp"
#include "producer/send/progress_bar.hpp"
#include "producer/send/result_check.hpp"
#include "producer/send/send_options.hpp"
#include "producer/send/send_report.hpp"
#include "producer/send/stop_request.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace overlap {

/// The bytes of one job: the most that fits `wanted_bytes` and that the pipeline takes.
/// @throws UsageError if there is no such size
[[nodiscard]] std::uint64_t job_bytes(const Pipeline& pipeline, std::uint64_t wanted_bytes);

/// Refuses a length whose last job the pipeline would not take.
/// @throws UsageError naming the surplus bytes
void check_length(const Pipeline& pipeline, const std::string& name, std::uint64_t length_bytes,
                  std::uint64_t job_bytes);

/// Cuts the input into jobs, keeps every slot busy, takes results in the order of the input.
/// Restricted: one thread.
class Sender {
 public:
  /// @param sink null for none
  /// @param tables those that the channel was attached with
  /// @pre every job but the last one of a pass has exactly the producer's `input_bytes`
  Sender(Producer& producer, const Pipeline& pipeline, InputSource& source, OutputSink* sink,
         StopRequest& stop, ProgressBar& progress, const SendOptions& options,
         std::span<const StageTable> tables = {});

  /// Until the input ends, a job fails or a signal comes; what is under way is finished.
  /// @throws InputError, OutputError, ProducerError
  [[nodiscard]] SendReport run();

 private:
  [[nodiscard]] bool wants_more() const noexcept;
  [[nodiscard]] bool has_slot();
  void fill_from_known_length();
  void fill_from_stream();
  void end_stream();
  [[nodiscard]] bool await_stream();
  void submit();
  void take_next();
  void take_ready();
  void take(const Result& result);
  [[nodiscard]] bool is_right(const Result& result);

  Producer& producer_;
  const Pipeline& pipeline_;
  InputSource& source_;
  OutputSink* sink_;
  StopRequest& stop_;
  ProgressBar& progress_;
  /// Of all jobs in their order, where results are to be verified.
  std::optional<ReferenceRun> reference_;
  ElementKind kind_;
  std::uint64_t passes_left_;
  std::uint64_t left_in_pass_ = 0;
  bool stream_ended_ = false;

  Slot slot_;
  std::uint64_t filled_bytes_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint64_t started_ns_ = 0;
  std::uint64_t ended_ns_ = 0;
  SendReport report_;
};

}  // namespace overlap
