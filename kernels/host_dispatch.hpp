#pragma once

namespace overlap {

// The one place that knows which instruction sets the host loops are compiled for. Explicit calls
// rather than `target_clones`: they mean the same to every compiler, and need no resolver that runs
// at load time, before a sanitizer is ready.

#if defined(__x86_64__)

template <class Loop, class... Args>
[[gnu::target("avx2")]] void run_with_avx2(Args... args) {
  Loop::run(args...);
}

template <class Loop, class... Args>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] void run_with_avx512(Args... args) {
  Loop::run(args...);
}

/// Calls `Loop::run(args...)` compiled for the widest vectors this machine has.
/// `run` is `[[gnu::always_inline]]` and calls nothing that is not inlined, else it stays narrow.
template <class Loop, class... Args>
void run_widest(Args... args) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    run_with_avx512<Loop>(args...);
  } else if (__builtin_cpu_supports("avx2")) {
    run_with_avx2<Loop>(args...);
  } else {
    Loop::run(args...);
  }
}

#else

template <class Loop, class... Args>
void run_widest(Args... args) {
  Loop::run(args...);
}

#endif

}  // namespace overlap
