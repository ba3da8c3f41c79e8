#include "shared/channel_view.hpp"

#include <new>

namespace overlap {

void write_channel(const ChannelView& view, std::uint64_t features) {
  const ChannelGeometry& g = view.geometry();
  auto* header = new (&view.header()) ChannelHeader{};
  new (&view.producer_words()) ProducerWords{};
  new (&view.daemon_words()) DaemonWords{};
  new (&view.semaphore()) boost::interprocess::interprocess_semaphore(0);
  // A daemon that has not polled yet counts as asleep: the first submission rings the doorbell.
  view.daemon_words().asleep.store(1, std::memory_order_relaxed);

  header->magic = kChannelMagic;
  header->header_bytes = sizeof(ChannelHeader);
  header->slot_count = g.slot_count;
  header->ring_capacity = g.ring_capacity;
  header->semaphore_bytes = sizeof(boost::interprocess::interprocess_semaphore);
  header->features = features;
  header->total_bytes = g.total_bytes;
  header->input_bytes = g.input_bytes;
  header->input_stride_bytes = g.input_stride_bytes;
  header->output_bytes = g.output_bytes;
  header->output_stride_bytes = g.output_stride_bytes;
  header->table_bytes = g.table_bytes;
  header->submissions_offset_bytes = g.submissions_offset_bytes;
  header->completions_offset_bytes = g.completions_offset_bytes;
  header->issued_offset_bytes = g.issued_offset_bytes;
  header->inputs_offset_bytes = g.inputs_offset_bytes;
  header->outputs_offset_bytes = g.outputs_offset_bytes;
  header->tables_offset_bytes = g.tables_offset_bytes;
  // Release 'channel written'.
  header->version.store(kPublishedVersion, std::memory_order_release);
}

bool is_published(const ChannelView& view) noexcept {
  const ChannelHeader& h = view.header();
  // Acquire 'channel written'.
  if (h.version.load(std::memory_order_acquire) != kPublishedVersion) {
    return false;
  }
  const ChannelGeometry& g = view.geometry();
  return h.magic == kChannelMagic && h.header_bytes == sizeof(ChannelHeader) &&
         h.slot_count == g.slot_count && h.ring_capacity == g.ring_capacity &&
         h.semaphore_bytes == sizeof(boost::interprocess::interprocess_semaphore) &&
         h.total_bytes == g.total_bytes && h.input_bytes == g.input_bytes &&
         h.input_stride_bytes == g.input_stride_bytes && h.output_bytes == g.output_bytes &&
         h.output_stride_bytes == g.output_stride_bytes && h.table_bytes == g.table_bytes &&
         h.submissions_offset_bytes == g.submissions_offset_bytes &&
         h.completions_offset_bytes == g.completions_offset_bytes &&
         h.issued_offset_bytes == g.issued_offset_bytes &&
         h.inputs_offset_bytes == g.inputs_offset_bytes &&
         h.outputs_offset_bytes == g.outputs_offset_bytes &&
         h.tables_offset_bytes == g.tables_offset_bytes;
}

}  // namespace overlap
