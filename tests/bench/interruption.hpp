#pragma once

#include <stdexcept>

namespace overlap::bench {

/// Somebody pressed Ctrl-C or sent SIGTERM.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("interrupted") {}
};

/// From here on SIGINT and SIGTERM end the run through `Interrupted`, so that child processes, shared
/// memory and temporary folders go with their owners.
void catch_interruptions();

/// Undoes that, in a child of `fork`.
void restore_interruptions();

[[nodiscard]] bool is_interrupted() noexcept;

/// @throws Interrupted if there was one
void throw_if_interrupted();

}  // namespace overlap::bench
