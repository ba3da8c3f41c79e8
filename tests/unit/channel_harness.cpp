#include "tests/unit/channel_harness.hpp"

#include "tests/unit/scripted_kernels.hpp"

#include <unistd.h>
#include <stdexcept>

namespace overlap::testing {
namespace {

ChannelGeometry geometry_of(const ChannelHarness::Shape& shape) {
  const auto planned =
      plan_geometry({shape.slot_count, shape.input_bytes, shape.output_bytes, shape.table_bytes},
                    {1U << 20U, UINT64_MAX, UINT64_MAX, UINT64_MAX});
  return std::get<ChannelGeometry>(planned);
}

std::byte pattern(std::uint64_t job_id, std::uint64_t i) noexcept {
  return static_cast<std::byte>((job_id * 131 + i * 7 + (i >> 8U)) & 0xffU);
}

}  // namespace

ChannelHarness::ChannelHarness(std::uint64_t id, const std::vector<std::string>& pipelines,
                               const Shape& shape, const KernelRegistry* registry)
    : id_(ChannelId{id}),
      shape_(shape),
      geometry_(geometry_of(shape)),
      memory_(geometry_.total_bytes),
      view_(memory_.bytes(), geometry_),
      doorbell_(make_eventfd()),
      wake_(make_eventfd()) {
  for (const std::string& text : pipelines) {
    pipelines_.push_back(
        Pipeline::parse(text, registry != nullptr ? *registry : scripted_registry()));
  }
  write_channel(view_, 0);
  submissions_ = SubmissionWriter(view_);
  completions_ = CompletionReader(view_);
}

std::unique_ptr<Channel> ChannelHarness::make_channel() {
  ChannelSetup setup;
  setup.id = id_;
  setup.view = view_;
  setup.pipelines = pipelines_;
  setup.pinning = plan_pinning(view_.geometry(), shape_.pin_chunk_bytes);
  setup.doorbell = doorbell_.get();
  setup.wake = wake_.get();
  setup.pinned = shape_.pinned;
  setup.priority = shape_.priority;
  setup.weight = shape_.weight;
  setup.tables = shape_.tables;
  setup.history_lost = shape_.history_lost;
  return std::make_unique<Channel>(std::move(setup));
}

void ChannelHarness::submit(const SubmissionEntry& entry) {
  if (!submissions_.write(entry)) {
    throw std::runtime_error("the submission ring is full");
  }
  static_cast<void>(submissions_.publish());
}

void ChannelHarness::submit(std::uint64_t job_id, std::uint32_t slot, std::uint64_t input_bytes,
                            std::uint16_t flags) {
  SubmissionEntry entry{};
  entry.job_id = job_id;
  entry.slot = slot;
  entry.input_bytes = input_bytes;
  entry.flags = flags;
  submit(entry);
}

void ChannelHarness::cancel(std::uint64_t job_id, std::uint32_t slot) {
  SubmissionEntry entry{};
  entry.job_id = job_id;
  entry.slot = slot;
  entry.opcode = static_cast<std::uint8_t>(Opcode::cancel);
  submit(entry);
}

void ChannelHarness::submit_filled(std::uint64_t job_id, std::uint32_t slot,
                                   std::uint64_t input_bytes) {
  const std::span<std::byte> input = view_.input(slot);
  for (std::uint64_t i = 0; i < input_bytes; ++i) {
    input[i] = pattern(job_id, i);
  }
  submit(job_id, slot, input_bytes);
}

bool ChannelHarness::output_is_copy(std::uint64_t job_id, std::uint32_t slot,
                                    std::uint64_t bytes) const {
  const std::span<std::byte> output = view_.output(slot);
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (output[i] != pattern(job_id, i)) {
      return false;
    }
  }
  return true;
}

std::vector<CompletionEntry> ChannelHarness::collect() {
  std::vector<CompletionEntry> collected;
  while (completions_.available() != 0) {
    collected.push_back(completions_.take());
  }
  completions_.release();
  return collected;
}

std::uint64_t take_rings(int eventfd) noexcept {
  std::uint64_t count = 0;
  return ::read(eventfd, &count, sizeof count) == sizeof count ? count : 0;
}

}  // namespace overlap::testing
