#pragma once

#include "tests/process/child_program.hpp"
#include "tests/process/daemon_process.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#if defined(__has_feature)
#define OVERLAP_HAS_FEATURE(name) __has_feature(name)
#else
#define OVERLAP_HAS_FEATURE(name) 0
#endif

namespace overlap::testing {

/// Whether the programs are slowed down by a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    OVERLAP_HAS_FEATURE(address_sanitizer) || OVERLAP_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// How often something is done: less often where everything is slow.
[[nodiscard]] constexpr int rounds(int fast, int sanitized) noexcept {
  return kSanitized ? sanitized : fast;
}

/// What is left of a program that ran to its end.
struct Finished {
  /// As `ChildProgram::exit_code`.
  std::optional<int> exit_code;
  std::string output;
  std::string errors;
};

/// A folder of its own, and the programs of this build at work in it.
class ProcessTest : public ::testing::Test {
 protected:
  ProcessTest();
  ~ProcessTest() override;

  /// A path in the folder.
  [[nodiscard]] std::string path(std::string_view name) const {
    return folder_ + "/" + std::string(name);
  }
  /// The daemon's socket, in a folder that holds nothing else.
  [[nodiscard]] std::string socket_path() const { return path("run/overlapd.sock"); }
  /// What is in the socket's folder, in order.
  [[nodiscard]] std::vector<std::string> socket_folder() const;

  /// Starts the daemon and waits until it answers; the test fails if it does not.
  [[nodiscard]] DaemonProcess start_daemon(const std::vector<std::string>& options = {}) const;
  /// Starts `overlap-send` for the daemon's socket.
  [[nodiscard]] ChildProgram start_send(std::vector<std::string> arguments, int input = -1) const;
  /// The same to its end.
  [[nodiscard]] Finished send(std::vector<std::string> arguments, int input = -1) const;
  /// Runs a program to its end.
  [[nodiscard]] static Finished run(const ProgramStart& start);
  [[nodiscard]] static Finished finish(ChildProgram& program);

  /// Makes a file of bytes that follow no pattern. @return its path
  std::string make_file(std::string_view name, std::uint64_t bytes) const;
  /// As `make_file` would write.
  [[nodiscard]] static std::string some_bytes(std::uint64_t bytes);
  [[nodiscard]] static std::string read_file(const std::string& path);
  static void write_file(const std::string& path, std::string_view bytes);

  /// Whether `overlap-check` finds every byte of an output right; the failure says what it said.
  [[nodiscard]] static ::testing::AssertionResult is_right(const std::string& kernel,
                                                           const std::string& params,
                                                           const std::string& input,
                                                           std::uint64_t slot_bytes,
                                                           const std::string& output);

 private:
  std::string folder_;
};

}  // namespace overlap::testing
