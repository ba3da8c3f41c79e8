#pragma once

#include "producer/fork_guard.hpp"
#include "shared/channel_memory.hpp"
#include "shared/channel_view.hpp"
#include "shared/control_protocol.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace overlap {

/// What the daemon said of itself when it accepted.
struct DaemonLimits {
  std::uint32_t max_slot_count = 0;
  std::uint64_t max_slot_bytes = 0;
  std::uint64_t max_channel_bytes = 0;
};

/// What the daemon's kernels are, as far as the library has to know.
struct ChannelAbilities {
  /// `kFeature` bits that both sides have.
  std::uint64_t features = 0;
  /// A bit for each pipeline whose jobs depend on the ones before them.
  std::uint32_t stateful_pipelines = 0;
  std::array<std::array<JobParameterEntry, kMaxJobParameters>, kMaxPipelines> job_parameters{};

  /// @pre pipeline_index < kMaxPipelines
  [[nodiscard]] bool is_stateful(std::uint8_t pipeline_index) const noexcept {
    return ((stateful_pipelines >> pipeline_index) & 1U) != 0;
  }
};

/// The descriptors of an attached channel.
struct ChannelDescriptors {
  PrivateDescriptor socket;
  PrivateDescriptor doorbell;
  PrivateDescriptor wake;
};

/// One attach: socket, doorbell, wake pipe and the mapping. The memory outlives the connection for as
/// long as it has users.
class ChannelConnection {
 public:
  ChannelConnection(ChannelDescriptors descriptors, ChannelMapping mapping,
                    const ChannelGeometry& geometry, std::string backend, DaemonLimits limits,
                    const ChannelAbilities& abilities)
      : descriptors_(std::move(descriptors)),
        mapping_(std::move(mapping)),
        view_(mapping_.bytes(), geometry),
        backend_(std::move(backend)),
        limits_(limits),
        abilities_(abilities) {}

  [[nodiscard]] const ChannelView& view() const noexcept { return view_; }
  [[nodiscard]] const ChannelGeometry& geometry() const noexcept { return view_.geometry(); }
  [[nodiscard]] const std::string& backend() const noexcept { return backend_; }
  [[nodiscard]] const DaemonLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] const ChannelAbilities& abilities() const noexcept { return abilities_; }

  /// Empty after `hang_up`.
  [[nodiscard]] const FileDescriptor& socket() const noexcept {
    return descriptors_.socket.descriptor();
  }
  /// -1 after `hang_up`.
  [[nodiscard]] int wake_descriptor() const noexcept { return descriptors_.wake.get(); }
  void ring_doorbell() const noexcept { ring(descriptors_.doorbell.get()); }
  /// Wakes the thread that sleeps on this channel's semaphore.
  void post() const noexcept;

  /// Slots, results and jobs that point into the memory. Restricted: under the mutex of the core,
  /// whose handles therefore need no counting of references of their own.
  void add_user() noexcept { ++users_; }
  /// @return whether that was the last one
  [[nodiscard]] bool drop_user() noexcept { return --users_ == 0; }
  [[nodiscard]] bool has_users() const noexcept { return users_ != 0; }

  /// Closes the descriptors; the memory stays mapped. Restricted: nobody uses them meanwhile.
  void hang_up() noexcept;

 private:
  ChannelDescriptors descriptors_;
  ChannelMapping mapping_;
  ChannelView view_;
  std::string backend_;
  DaemonLimits limits_;
  ChannelAbilities abilities_;
  std::uint64_t users_ = 0;
};

}  // namespace overlap
