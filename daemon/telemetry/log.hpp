#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace spdlog::details {
class thread_pool;
}

namespace overlap {

class LogSink;

/// Where a log goes and how much of it.
struct LogSettings {
  spdlog::level::level_enum level = spdlog::level::info;
  /// Appended to; standard error if empty.
  std::optional<std::string> file;
  /// Messages that may wait to be written; beyond that the oldest is dropped.
  std::size_t queue_messages = 4096;
};

/// The program's log: it never waits for its reader, neither in a call nor at the end.
///
/// A call puts the message in a bounded queue; one thread, with every signal blocked, writes it to
/// an output that takes it at once or not at all. What is lost is counted, and one line says how
/// much as soon as something can be written again. Owned by `main`: there is no global logger,
/// and spdlog's registry is not used.
///
/// Thread safety: `logger()` any; construction and destruction one thread, with every other thread
/// that logs joined before. A forked child must not destroy it: its thread is not there.
class Log {
 public:
  /// @throws std::system_error if the file cannot be opened
  explicit Log(const LogSettings& settings);
  /// The same on a descriptor, which stays the caller's.
  Log(const LogSettings& settings, int descriptor);
  /// Writes what the output takes without waiting, and drops the rest.
  ~Log();

  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  /// Valid as long as this object. A call on it never throws and never blocks on the output.
  [[nodiscard]] spdlog::logger& logger() noexcept { return *logger_; }

  /// Waits until everything logged before has been offered to the output: for a program that is
  /// about to leave without destructors. `logger().flush()` does not wait.
  ///
  /// Thread safety: any.
  /// @return false if that took longer than `limit`
  bool drain(std::chrono::milliseconds limit);

  /// Messages lost so far: overrun in the queue, not taken by the output, or not formattable.
  ///
  /// Thread safety: any.
  [[nodiscard]] std::uint64_t dropped_count() const;

 private:
  Log(const LogSettings& settings, std::shared_ptr<LogSink> sink);

  std::shared_ptr<LogSink> sink_;
  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace overlap
