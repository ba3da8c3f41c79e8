#include "daemon/telemetry/log.hpp"

#include "daemon/telemetry/log_output.hpp"

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

namespace overlap {
namespace {

constexpr const char* kPattern = "%Y-%m-%d %H:%M:%S.%f %l %v";

void block_all_signals() {
  sigset_t signals;
  ::sigfillset(&signals);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

/// Runs on the pool's one thread, so it needs no lock of its own.
class LogSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  template <typename Target>
  explicit LogSink(const Target& target) : output_(target) {}

  void count_dropped() noexcept { dropped_count_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t dropped_count() const noexcept {
    return dropped_count_.load(std::memory_order_relaxed);
  }

  /// @pre called before the first message
  void also_count(std::function<std::uint64_t()> elsewhere) { elsewhere_ = std::move(elsewhere); }

  [[nodiscard]] std::uint64_t flush_count() {
    const std::lock_guard lock(flush_mutex_);
    return flush_count_;
  }
  [[nodiscard]] bool wait_for_flush_after(std::uint64_t count, std::chrono::milliseconds limit) {
    std::unique_lock lock(flush_mutex_);
    return flushed_.wait_for(lock, limit, [&] { return flush_count_ > count; });
  }

  /// One line about what was lost since the last such line, if there is anything to tell.
  /// @return false if it could not be written
  bool report_dropped() {
    const std::uint64_t total = dropped_count() + elsewhere_();
    if (total == reported_count_) {
      return true;
    }
    const std::string text = std::to_string(total - reported_count_) +
                             " log messages were dropped: the log's reader did not keep up";
    spdlog::memory_buf_t line;
    formatter_->format(spdlog::details::log_msg("overlapd", spdlog::level::warn, text), line);
    if (!output_.write({line.data(), line.size()})) {
      return false;
    }
    reported_count_ = total;
    return true;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (!report_dropped() || !output_.write({line.data(), line.size()})) {
      count_dropped();
    }
  }

  /// Comes from the queue, behind every message that was there before it.
  void flush_() override {
    const std::lock_guard lock(flush_mutex_);
    ++flush_count_;
    flushed_.notify_all();
  }

 private:
  LogOutput output_;
  std::function<std::uint64_t()> elsewhere_;
  std::atomic<std::uint64_t> dropped_count_{0};
  std::uint64_t reported_count_ = 0;
  std::mutex flush_mutex_;
  std::condition_variable flushed_;
  std::uint64_t flush_count_ = 0;
};

Log::Log(const LogSettings& settings)
    : Log(settings, settings.file ? std::make_shared<LogSink>(*settings.file)
                                  : std::make_shared<LogSink>(STDERR_FILENO)) {}

Log::Log(const LogSettings& settings, int descriptor)
    : Log(settings, std::make_shared<LogSink>(descriptor)) {}

Log::Log(const LogSettings& settings, std::shared_ptr<LogSink> sink)
    : sink_(std::move(sink)),
      pool_(std::make_shared<spdlog::details::thread_pool>(settings.queue_messages, 1U,
                                                           block_all_signals)),
      logger_(std::make_shared<spdlog::async_logger>(
          "overlapd", sink_, pool_, spdlog::async_overflow_policy::overrun_oldest)) {
  // The pool's destructor joins the thread that calls this before its queue goes.
  sink_->also_count([pool = pool_.get()] { return pool->overrun_counter(); });
  logger_->set_pattern(kPattern);
  logger_->set_level(settings.level);
  // spdlog's own handler writes to standard error and can wait there.
  logger_->set_error_handler([sink = sink_.get()](const std::string&) { sink->count_dropped(); });
}

Log::~Log() {
  logger_->set_level(spdlog::level::off);
  const std::uint64_t overrun_count = pool_->overrun_counter();
  // Ends the thread after it has offered every waiting message to the output once.
  pool_.reset();
  sink_->also_count([overrun_count] { return overrun_count; });
  sink_->report_dropped();
}

bool Log::drain(std::chrono::milliseconds limit) {
  const std::uint64_t before = sink_->flush_count();
  logger_->flush();
  return sink_->wait_for_flush_after(before, limit);
}

std::uint64_t Log::dropped_count() const {
  return sink_->dropped_count() + pool_->overrun_counter();
}

}  // namespace overlap
