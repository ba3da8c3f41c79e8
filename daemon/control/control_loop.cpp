#include "daemon/control/control_loop.hpp"

#include "daemon/service/service_notice.hpp"
#include "shared/control_socket.hpp"
#include "shared/monotonic_clock.hpp"

#include <sys/signalfd.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <system_error>

namespace overlap {
namespace {

constexpr std::uint64_t kAcceptPauseNs = 100'000'000;
/// How long the channels may take to be given back once their producers have been told.
constexpr std::uint64_t kLeaveLimitNs = 3'000'000'000;

std::uint32_t key_of(ChannelId id) noexcept { return static_cast<std::uint32_t>(id); }

void watch(EventPoll& poll, int fd, EventSource source) {
  if (const std::error_code error = poll.add(fd, source)) {
    throw std::system_error(error, "epoll_ctl");
  }
}

/// Takes a step of a reload that may need a thread. Where none is to be had the kernels stay as they
/// are, and whoever asked can ask again: no reason to end.
template <class Step>
void try_to_reload(spdlog::logger& log, Step step) {
  try {
    step();
  } catch (const std::system_error& error) {
    log.error("cannot read the kernel-source files now ({}); ask again to reload", error.what());
  }
}

}  // namespace

ControlLoop::ControlLoop(Listener& listener, Device& device, const KernelRegistry& kernels,
                         const ControlSettings& settings, int stop_signals, spdlog::logger& log,
                         SourceKernels* source_kernels)
    : listener_(listener),
      device_(device),
      settings_(settings),
      stop_signals_(stop_signals),
      log_(log),
      started_ns_(monotonic_now_ns()),
      pin_worker_(device, settings.store, load_,
                  [this](PinReport report) { mailbox_.post(std::move(report)); }),
      reclaimer_(device, settings.store, load_,
                 [this](StoreGivenBack report) { mailbox_.post(PinReport(std::move(report))); }),
      sessions_({poll_, device, kernels, pin_worker_, reclaimer_, engine_, log}, settings.limits,
                settings.attach_timeout),
      engine_(device, settings.engine, settings.idle, static_cast<EngineListener&>(*this), &load_) {
  watch(poll_, listener_.descriptor(), EventSource::listener);
  watch(poll_, stop_signals_, EventSource::signals);
  watch(poll_, mailbox_.descriptor(), EventSource::mailbox);
  if (source_kernels != nullptr && !source_kernels->empty()) {
    reloader_.emplace(*source_kernels, [this] { mailbox_.post(SourcesRebuilt{}); });
  }
}

ControlLoop::~ControlLoop() = default;

void ControlLoop::on_violation(ChannelId channel, const std::string& why) {
  mailbox_.post(ChannelViolated{channel, why});
}
void ControlLoop::on_parked(ChannelId channel, int doorbell) {
  poll_.arm(doorbell, EventSource::doorbell, key_of(channel));
}
void ControlLoop::on_unparked(ChannelId channel, int doorbell) {
  poll_.disarm(doorbell, EventSource::doorbell, key_of(channel));
}
void ControlLoop::on_tables_copied(ChannelId channel) { mailbox_.post(TablesCopied{channel}); }
void ControlLoop::on_removed(ChannelId channel) { mailbox_.post(ChannelRemoved{channel}); }
void ControlLoop::on_drained() { mailbox_.post(EngineDrained{}); }
void ControlLoop::on_device_lost(int code) { mailbox_.post(DeviceLost{code}); }

RunOutcome ControlLoop::run() {
  std::array<PolledEvent, 64> storage;
  while (!lost_code_ && !(closing_ && sessions_.empty())) {
    for (const PolledEvent& event : poll_.wait(storage, wait_limit_ms())) {
      handle(event);
    }
    check_deadlines();
    sessions_.forget_gone(monotonic_now_ns());
    if (leave_deadline_ns_ != 0 && monotonic_now_ns() >= leave_deadline_ns_) {
      log_.warn("channels were not given back in time, a job may not end; leaving without them");
      return RunOutcome::stopped_with_work;
    }
  }
  if (lost_code_) {
    log_.critical("the device is lost ({}); leaving for a restart", device_.describe(*lost_code_));
    return RunOutcome::device_lost;
  }
  return RunOutcome::stopped;
}

void ControlLoop::handle(const PolledEvent& event) {
  switch (event.source) {
    case EventSource::listener:
      accept_all();
      return;
    case EventSource::signals:
      read_signals();
      return;
    case EventSource::mailbox:
      read_mail();
      return;
    case EventSource::doorbell:
      engine_.unpark(ChannelId{event.key});
      return;
    case EventSource::socket:
      if (const FileDescriptor* asking = sessions_.on_readable(event.key, monotonic_now_ns())) {
        answer_status(*asking);
      }
      return;
  }
}

void ControlLoop::accept_all() {
  while (true) {
    Listener::Accepted accepted = listener_.accept();
    if (accepted.error_number != 0) {
      log_.warn("cannot accept a connection: {}; trying again shortly",
                std::generic_category().message(accepted.error_number));
      poll_.remove(listener_.descriptor());
      accept_again_ns_ = monotonic_now_ns() + kAcceptPauseNs;
      return;
    }
    if (!accepted.socket) {
      return;
    }
    if (const auto peer = identify_peer(accepted.socket)) {
      sessions_.open(std::move(accepted.socket), *peer, monotonic_now_ns());
    } else {
      log_.warn("closed a connection: the kernel does not say whose it is");
    }
  }
}

void ControlLoop::read_signals() {
  signalfd_siginfo info{};
  while (::read(stop_signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGHUP) {
      reload();
    } else if (draining_) {
      log_.warn("asked to stop again: waiting for no job any longer");
      finish_drain();
    } else {
      log_.info("asked to stop by signal {}: finishing the jobs at hand", info.ssi_signo);
      begin_drain();
    }
  }
}

void ControlLoop::read_mail() {
  for (ControlMail& mail : mailbox_.take()) {
    if (const auto* violated = std::get_if<ChannelViolated>(&mail)) {
      sessions_.on_violation(violated->channel, violated->why);
    } else if (const auto* removed = std::get_if<ChannelRemoved>(&mail)) {
      sessions_.on_removed(removed->channel);
    } else if (const auto* copied = std::get_if<TablesCopied>(&mail)) {
      sessions_.on_tables_copied(copied->channel);
    } else if (std::holds_alternative<EngineDrained>(mail)) {
      finish_drain();
    } else if (std::holds_alternative<SourcesRebuilt>(mail)) {
      try_to_reload(log_, [this] { reloader_->finish(); });
    } else if (const auto* lost = std::get_if<DeviceLost>(&mail)) {
      lost_code_ = lost->code;
    } else {
      sessions_.on_report(std::move(std::get<PinReport>(mail)), monotonic_now_ns());
    }
  }
}

void ControlLoop::check_deadlines() {
  const std::uint64_t now_ns = monotonic_now_ns();
  sessions_.check_deadlines(now_ns);
  if (accept_again_ns_ != 0 && now_ns >= accept_again_ns_) {
    const bool is_watched = !poll_.add(listener_.descriptor(), EventSource::listener);
    accept_again_ns_ = is_watched ? 0 : now_ns + kAcceptPauseNs;
  }
  if (drain_deadline_ns_ != 0 && now_ns >= drain_deadline_ns_) {
    log_.warn("jobs did not finish within the drain time-out; their producers will run them again");
    finish_drain();
  }
}

int ControlLoop::wait_limit_ms() const {
  std::uint64_t next_ns = sessions_.next_deadline_ns();
  for (const std::uint64_t deadline_ns :
       {drain_deadline_ns_, leave_deadline_ns_, accept_again_ns_}) {
    if (deadline_ns != 0) {
      next_ns = std::min(next_ns, deadline_ns);
    }
  }
  if (next_ns == UINT64_MAX) {
    return -1;
  }
  const std::uint64_t now_ns = monotonic_now_ns();
  return next_ns <= now_ns ? 0 : static_cast<int>((next_ns - now_ns + 999'999) / 1'000'000);
}

void ControlLoop::answer_status(const FileDescriptor& socket) {
  const EngineCounters& counters = engine_.counters();
  auto reply = make_message<StatusReply>(MessageType::status_reply);
  reply.pid = static_cast<std::uint32_t>(::getpid());
  reply.channel_count = sessions_.admission().channel_count();
  reply.uptime_ns = monotonic_now_ns() - started_ns_;
  reply.pinned_bytes = sessions_.admission().pinned_bytes();
  reply.jobs_done = counters.jobs_done.load(std::memory_order_relaxed);
  reply.jobs_failed = counters.jobs_failed.load(std::memory_order_relaxed);
  reply.jobs_retried = counters.jobs_retried.load(std::memory_order_relaxed);
  reply.input_bytes_done = counters.input_bytes.load(std::memory_order_relaxed);
  reply.output_bytes_done = counters.output_bytes.load(std::memory_order_relaxed);
  reply.batches = counters.batches.load(std::memory_order_relaxed);
  reply.batches_mapped = counters.batches_mapped.load(std::memory_order_relaxed);
  reply.batches_gathered = counters.batches_gathered.load(std::memory_order_relaxed);
  reply.producer_wakes = counters.producer_wakes.load(std::memory_order_relaxed);
  reply.engine_sleeps = engine_.sleep_count();
  write_text(reply.version, OVERLAP_VERSION);
  write_text(reply.backend, device_.properties().backend);
  write_text(reply.device, device_.properties().name);
  write_text(reply.backend_note, settings_.backend_note);
  static_cast<void>(send_packet(socket, message_bytes(reply)));
}

void ControlLoop::reload() {
  if (draining_) {
    return;
  }
  if (!reloader_) {
    log_.info("asked to reload: there is no kernel-source file, and nothing else is read again");
    return;
  }
  log_.info("asked to reload: reading the kernel-source files again");
  try_to_reload(log_, [this] { reloader_->request(); });
}

void ControlLoop::begin_drain() {
  notify_stopping();
  draining_ = true;
  drain_deadline_ns_ =
      monotonic_now_ns() + static_cast<std::uint64_t>(settings_.drain_timeout.count());
  sessions_.refuse_from_now_on();
  engine_.drain();
}

void ControlLoop::finish_drain() {
  if (closing_) {
    return;
  }
  closing_ = true;
  drain_deadline_ns_ = 0;
  leave_deadline_ns_ = monotonic_now_ns() + kLeaveLimitNs;
  poll_.remove(listener_.descriptor());
  accept_again_ns_ = 0;
  reclaimer_.finish();
  sessions_.close_all(CloseReason::drain, "the daemon was stopped by its administrator");
}

}  // namespace overlap
