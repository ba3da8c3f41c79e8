#pragma once

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <memory>
#include <sstream>
#include <string>

namespace overlap::testing {

/// A log whose lines a test can read, `LEVEL TEXT` each. One thread at a time.
class TextLog {
 public:
  TextLog() : logger_("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(stream_)) {
    logger_.set_pattern("%l %v");
  }
  [[nodiscard]] spdlog::logger& logger() noexcept { return logger_; }
  [[nodiscard]] std::string text() const { return stream_.str(); }
  [[nodiscard]] bool has(const std::string& part) const {
    return text().find(part) != std::string::npos;
  }
  void clear() { stream_.str({}); }

 private:
  std::ostringstream stream_;
  spdlog::logger logger_;
};

}  // namespace overlap::testing
