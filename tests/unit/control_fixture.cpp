#include "tests/unit/control_fixture.hpp"

#include "tests/unit/scripted_kernels.hpp"

#include <spdlog/sinks/base_sink.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace overlap::testing {
std::size_t open_descriptor_count() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

DescriptorLimit::DescriptorLimit(std::size_t free_count) {
  for (std::size_t i = 0; i <= free_count; ++i) {
    fillers_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  old_limit_ = limit.rlim_cur;
  // Descriptors are handed out from the lowest free one up: these were the next ones.
  limit.rlim_cur = static_cast<rlim_t>(fillers_.back().get());
  fillers_.clear();
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

DescriptorLimit::~DescriptorLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = old_limit_;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

ControlSettings roomy_settings() {
  ControlSettings settings;
  settings.limits.geometry = {1024, 1U << 20U, 1U << 20U, 16U << 20U};
  settings.limits.max_pinned_bytes = 256U << 20U;
  settings.limits.max_channels = 64;
  settings.limits.max_channels_per_uid = 64;
  settings.store.pin_chunk_bytes = 16U << 10U;
  settings.store.pin_gap = std::chrono::nanoseconds(0);
  settings.engine.lane_count = 1;
  settings.engine.depth = 2;
  settings.engine.max_batch_jobs = 16;
  settings.engine.max_batch_bytes = 64U << 10U;
  settings.idle.spin = std::chrono::nanoseconds(0);
  settings.attach_timeout = kPatience;
  settings.drain_timeout = kPatience;
  return settings;
}

GeometryRequest page_slots(std::uint32_t slot_count) { return {slot_count, 4096, 4096, 0}; }

std::uint64_t channel_bytes(const GeometryRequest& request) {
  const GeometryLimits limits{UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  return std::get<ChannelGeometry>(plan_geometry(request, limits)).total_bytes;
}

class KeptLog::Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  [[nodiscard]] std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    text_.append(message.payload.data(), message.payload.size());
    text_ += '\n';
  }
  void flush_() override {}

 private:
  std::string text_;
};

KeptLog::KeptLog()
    : sink_(std::make_shared<Sink>()), logger_(std::make_unique<spdlog::logger>("kept", sink_)) {}

std::string KeptLog::text() const { return sink_->text(); }

StopRequests::StopRequests() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::runtime_error("pipe2 failed");
  }
  asked_end_ = FileDescriptor(ends[0]);
  asking_end_ = FileDescriptor(ends[1]);
}

void StopRequests::ask() {
  signalfd_siginfo info{};
  info.ssi_signo = SIGTERM;
  if (::write(asking_end_.get(), &info, sizeof info) != sizeof info) {
    throw std::runtime_error("cannot ask the daemon to stop");
  }
}

RunningDaemon::RunningDaemon(Device& device, const ControlSettings& settings, int stop_signals)
    : path_(folder_.path("overlapd.sock")),
      listener_(path_, 0660),
      loop_(listener_, device, scripted_registry(), settings,
            stop_signals < 0 ? stop_requests_.descriptor() : stop_signals, log_.logger()) {
  std::packaged_task<RunOutcome()> task([this] { return loop_.run(); });
  outcome_ = task.get_future();
  thread_ = std::thread(std::move(task));
}

RunningDaemon::~RunningDaemon() {
  ask_to_stop();
  ask_to_stop();
  thread_.join();
}

RunOutcome RunningDaemon::await_end() {
  if (outcome_.wait_until(std::chrono::system_clock::now() + kPatience) !=
      std::future_status::ready) {
    throw std::runtime_error("the daemon did not end");
  }
  return outcome_.get();
}

StatusReply RunningDaemon::status() const { return RawClient(path_).ask_status(); }

bool RunningDaemon::books_are_empty() const {
  return eventually([this] {
    const StatusReply reply = status();
    return reply.channel_count == 0 && reply.pinned_bytes == 0;
  });
}

}  // namespace overlap::testing
