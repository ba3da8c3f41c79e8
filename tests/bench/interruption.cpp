#include "tests/bench/interruption.hpp"

#include <csignal>

namespace overlap::bench {
namespace {

// All that a signal handler may touch.
volatile std::sig_atomic_t interrupted = 0;

void note_interruption(int /*signal*/) { interrupted = 1; }

void set_handler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: whoever waits for a child process shall notice.
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void catch_interruptions() {
  set_handler(note_interruption);
  // A child process that has gone is an error of a write, with a message.
  std::signal(SIGPIPE, SIG_IGN);
}

void restore_interruptions() { set_handler(SIG_DFL); }

bool is_interrupted() noexcept { return interrupted != 0; }

void throw_if_interrupted() {
  if (is_interrupted()) {
    throw Interrupted();
  }
}

}  // namespace overlap::bench
