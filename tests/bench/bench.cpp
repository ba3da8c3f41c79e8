#include "tests/bench/bench.hpp"

#include "daemon/device/link_ceiling.hpp"
#include "daemon/options.hpp"
#include "shared/byte_size.hpp"
#include "shared/channel_geometry.hpp"
#include "tests/bench/interruption.hpp"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace overlap::bench {
namespace {

/// The size at which the link carries most.
constexpr std::uint64_t kLinkCopyBytes = 16U << 20U;
constexpr std::uint64_t kFewestSlots = 4;
constexpr std::uint64_t kMostSlots = 4096;

}  // namespace

std::optional<std::uint32_t> Bench::slots_for(std::uint64_t slot_bytes,
                                              std::uint32_t producer_count) const {
  const std::uint64_t wanted =
      std::clamp(options.bytes_per_producer / slot_bytes, kFewestSlots, kMostSlots);
  const std::uint64_t room = max_memory_bytes / producer_count / (2 * stride_for(slot_bytes));
  const std::uint64_t slots = std::min(wanted, room);
  if (slots < 2) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(slots);
}

RoleOptions Bench::role(const std::string& name, std::uint64_t slot_bytes,
                        std::uint32_t slot_count) const {
  RoleOptions role;
  role.role = name;
  role.socket_path = daemon.socket_path();
  role.slot_bytes = slot_bytes;
  role.slot_count = slot_count;
  return role;
}

void Bench::note_no_room(std::uint64_t slot_bytes, std::uint32_t producer_count) const {
  report.add_note("left out: " + format_bytes(slot_bytes) + " slots of " +
                  std::to_string(producer_count) + " producers, within a memory of " +
                  format_bytes(max_memory_bytes) + " (--max-memory)");
}

std::uint32_t worker_thread_count() {
  return std::max(1U, default_worker_count(std::thread::hardware_concurrency()));
}

Ceiling::Ceiling(bool is_cuda, std::uint64_t slot_bytes, std::uint32_t slot_count)
    : is_cuda_(is_cuda), slot_count_(slot_count), slot_bytes_(slot_bytes) {}

double Ceiling::measure(std::uint32_t slot_count, std::chrono::milliseconds duration) {
  throw_if_interrupted();
  if (!is_cuda_) {
    return host().measure(worker_thread_count(), slot_count, duration);
  }
  const LinkProbe probe = measure_link(kLinkCopyBytes, duration);
  if (!probe.ceiling) {
    throw std::runtime_error(probe.why_not);
  }
  return probe.ceiling->each_way_of_both;
}

double Ceiling::measure_filling(std::uint32_t thread_count, std::chrono::milliseconds duration) {
  throw_if_interrupted();
  return host().measure_filling(thread_count, slot_count_, duration);
}

HostCeiling& Ceiling::host() {
  if (!host_) {
    host_ = std::make_unique<HostCeiling>(slot_bytes_, slot_count_);
  }
  return *host_;
}

}  // namespace overlap::bench
