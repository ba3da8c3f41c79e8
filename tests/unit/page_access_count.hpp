#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

// Counts by construction, not by stopwatch: a counted page is closed to the program, so every
// instruction that touches it faults. The fault opens the page and lets exactly that instruction
// run (the processor's single-step flag); the trap behind it closes the page again. x86-64 only.

namespace overlap::test {

/// A page of zeros whose accesses can be counted.
class CountedPage {
 public:
  CountedPage() : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const memory =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("mmap of a page failed");
    }
    memory_ = static_cast<std::byte*>(memory);
  }
  CountedPage(const CountedPage&) = delete;
  CountedPage& operator=(const CountedPage&) = delete;
  ~CountedPage() { munmap(memory_, bytes_); }

  [[nodiscard]] std::byte* data() const { return memory_; }
  [[nodiscard]] std::uint64_t accesses() const { return accesses_; }

  [[nodiscard]] bool holds(const void* address) const {
    const auto* const byte = static_cast<const std::byte*>(address);
    return byte >= memory_ && byte < memory_ + bytes_;
  }
  void close() { mprotect(memory_, bytes_, PROT_NONE); }
  void open() { mprotect(memory_, bytes_, PROT_READ | PROT_WRITE); }
  void count() { ++accesses_; }

 private:
  std::size_t bytes_;
  std::byte* memory_ = nullptr;
  std::uint64_t accesses_ = 0;
};

namespace page_access {

constexpr long long kSingleStepFlag = 0x100;

/// What the signal handlers need: only set while `count_accesses` runs.
inline std::vector<CountedPage*>& watched() {
  static std::vector<CountedPage*> pages;
  return pages;
}

inline void on_fault(int /*signal*/, siginfo_t* info, void* context) {
  for (CountedPage* const page : watched()) {
    if (page->holds(info->si_addr)) {
      page->count();
      page->open();
      static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kSingleStepFlag;
      return;
    }
  }
  signal(SIGSEGV, SIG_DFL);  // a real fault: let it happen again
}

inline void on_step(int /*signal*/, siginfo_t* /*info*/, void* context) {
  for (CountedPage* const page : watched()) {
    page->close();
  }
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kSingleStepFlag;
}

}  // namespace page_access

/// Counts every instruction of `work` that touches one of `pages`. Thread safety: one at a time.
inline void count_accesses(std::vector<CountedPage*> pages, const std::function<void()>& work) {
  page_access::watched() = std::move(pages);
  struct sigaction fault {};
  fault.sa_sigaction = page_access::on_fault;
  fault.sa_flags = SA_SIGINFO;
  struct sigaction step = fault;
  step.sa_sigaction = page_access::on_step;
  struct sigaction old_fault {};
  struct sigaction old_step {};
  sigaction(SIGSEGV, &fault, &old_fault);
  sigaction(SIGTRAP, &step, &old_step);
  for (CountedPage* const page : page_access::watched()) {
    page->close();
  }
  work();
  for (CountedPage* const page : page_access::watched()) {
    page->open();
  }
  sigaction(SIGSEGV, &old_fault, nullptr);
  sigaction(SIGTRAP, &old_step, nullptr);
  page_access::watched().clear();
}

}  // namespace overlap::test
