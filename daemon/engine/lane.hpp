#pragma once

#include "daemon/device/device_memory.hpp"
#include "daemon/engine/batch.hpp"
#include "daemon/engine/batch_table.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace overlap {

/// `single`: one stream, overlaps with other lanes. `three`: in, compute and out streams joined by
/// events, overlaps with itself.
enum class LaneKind : std::uint8_t { single, three };

struct LaneSettings {
  LaneKind kind = LaneKind::single;
  StreamPriority priority = StreamPriority::normal;
  /// Buffers: batches that may be on the lane at once.
  std::uint32_t depth = 2;
  std::uint32_t max_batch_jobs = 256;
  /// Size of a buffer from the start; larger batches make it grow.
  std::uint64_t initial_buffer_bytes = 0;
};

/// A stream (or three) with its buffers. Batches end in the order in which they were issued.
/// Restricted: the engine's thread.
class Lane {
 public:
  /// @throws std::runtime_error if the device gives no stream, event or table
  Lane(Device& device, const LaneSettings& settings);

  [[nodiscard]] bool has_free_buffer() const noexcept { return in_flight_ < buffers_.size(); }
  [[nodiscard]] std::uint32_t in_flight_count() const noexcept { return in_flight_; }
  /// How many jobs of a pipeline a batch on this lane can have: fewer where it has many stages.
  [[nodiscard]] std::uint32_t max_batch_jobs(const ServedPipeline& pipeline) const noexcept;

  /// Puts a batch on the device by its path: in → kernels → out → event. Takes the jobs over and
  /// leaves `batch` empty. A failure shows when the batch is harvested: until then the device may
  /// still use the buffer and the slots.
  /// @pre has_free_buffer(); at most `max_batch_jobs` jobs
  void issue(Batch& batch);

  /// The device's error number once an issue has found the device lost.
  [[nodiscard]] std::optional<int> lost_code() const noexcept { return lost_code_; }

  /// How a batch ended.
  struct Ended {
    DeviceStatus status;
    Batch* batch;
    const BatchTable* table;
    /// The row of the table in which the pipeline's first stage ran.
    std::size_t first_row;

    /// Bytes that a job made.
    [[nodiscard]] std::uint64_t output_bytes(std::uint32_t job) const noexcept {
      const ServedPipeline& pipeline = *batch->pipeline;
      return pipeline.finds_sizes()
                 ? table->item(first_row + pipeline.stages().size(), job).input_bytes
                 : batch->jobs[job]->plan->plan.max_output_bytes;
    }
  };

  /// The oldest batch if it is over; it stays valid until `retire`.
  [[nodiscard]] std::optional<Ended> harvest();
  /// Frees the buffer of the batch that `harvest` returned.
  void retire();

  /// The event at the end of the oldest batch.
  /// @pre in_flight_count() > 0
  [[nodiscard]] EventId oldest_event() const noexcept { return buffers_[oldest_].over; }
  /// @pre in_flight_count() > 0
  [[nodiscard]] const Batch& oldest_batch() const noexcept { return buffers_[oldest_].batch; }

 private:
  struct Buffer {
    BatchTable table;
    std::size_t first_row = 0;
    DeviceMemory areas[2];
    DeviceMemory workspace;
    EventId copied_in{};
    EventId computed{};
    EventId over{};
    Batch batch;
    DeviceStatus status;
  };

  [[nodiscard]] DeviceStatus enqueue(Buffer& buffer);
  /// Makes the out stream wait for whatever is on the other two.
  [[nodiscard]] DeviceStatus join(Buffer& buffer);
  /// Whether the first stage reads the slots and the last one writes them.
  [[nodiscard]] bool works_in_slots(const Batch& batch) const noexcept;
  [[nodiscard]] bool moves_by_copies(const Batch& batch) const noexcept;
  /// Whether kernels, not copies, bring what the last stage made to the slots.
  [[nodiscard]] bool scatters(const Batch& batch) const noexcept;
  /// On the kernels' stream, as are the next three: waits for the tables that are still on their way.
  [[nodiscard]] DeviceStatus await_tables(const Batch& batch);
  /// Makes the states of the jobs that begin anew zero bytes.
  [[nodiscard]] DeviceStatus clear_states(const Batch& batch);
  /// Whether jobs could take out what others left where a stage is to write.
  [[nodiscard]] bool clears_before(const Batch& batch, std::size_t stage) const noexcept;
  [[nodiscard]] DeviceStatus clear_results(const Buffer& buffer, std::size_t stage);
  [[nodiscard]] StreamId kernel_stream(const Batch& batch) const noexcept {
    // Without copies everything is on the stream at whose end the batch is over.
    return moves_by_copies(batch) ? compute_ : out_;
  }
  [[nodiscard]] DeviceStatus place(Buffer& buffer);
  void place_stage(Buffer& buffer, std::size_t stage);
  void place_memory(Buffer& buffer, std::size_t stage);
  void place_gather(Buffer& buffer);
  void place_scatter(Buffer& buffer);
  [[nodiscard]] DeviceStatus reserve(Buffer& buffer);
  [[nodiscard]] DeviceStatus grow(DeviceMemory& memory, std::uint64_t needed_bytes);
  [[nodiscard]] DeviceStatus launch(Buffer& buffer, std::size_t row, const Kernel& kernel,
                                    std::size_t param_count);
  [[nodiscard]] DeviceStatus enqueue_copies_in(Buffer& buffer);
  [[nodiscard]] DeviceStatus enqueue_kernels(Buffer& buffer);
  /// Of a stateful pipeline: behind the batches before.
  [[nodiscard]] DeviceStatus enqueue_in_order(Buffer& buffer);
  [[nodiscard]] DeviceStatus enqueue_stages(Buffer& buffer);
  [[nodiscard]] DeviceStatus enqueue_copies_out(Buffer& buffer);

  Device& device_;
  LaneSettings settings_;
  std::uint32_t max_cells_;
  StreamId in_{};
  StreamId compute_{};
  StreamId out_{};
  std::vector<Buffer> buffers_;
  std::uint32_t oldest_ = 0;
  std::uint32_t in_flight_ = 0;
  std::optional<int> lost_code_;
  std::vector<CopyRange> ranges_;
  /// Of one batch: tables that may still be on their way.
  std::vector<EventId> awaited_;
};

}  // namespace overlap
