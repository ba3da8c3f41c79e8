#include "tests/bench/bench_producer.hpp"

#include "producer/producer.hpp"
#include "shared/monotonic_clock.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace overlap::bench {
namespace {

/// Every so many jobs one latency is kept, so that a round's list stays short.
constexpr std::uint64_t kLatencyStride = 16;

class ResubmittingProducer {
 public:
  explicit ResubmittingProducer(const ProducerLoad& load)
      : load_(load),
        producer_({.socket_path = load.socket_path,
                   .pipelines = {"scale:a=" + number(load.a) + ",b=" + number(load.b)},
                   .slot_count = load.slot_count,
                   .input_bytes = load.slot_bytes}) {
    std::vector<Slot> slots;
    for (std::uint32_t i = 0; i < load.slot_count; ++i) {
      slots.push_back(producer_.acquire());
      const auto input = slots.back().input<float>();
      for (std::size_t k = 0; k < input.size(); ++k) {
        input[k] = static_cast<float>((k * 31 + i * 17) % 4093);
      }
    }
  }

  RoundOutcome run(std::uint64_t duration_ns) {
    latencies_.clear();
    const std::uint64_t start_ns = monotonic_now_ns();
    std::uint64_t jobs = 0;
    submit_free();
    while (monotonic_now_ns() - start_ns < duration_ns) {
      jobs += collect_some();
      submit_free();
    }
    // The rate is of what ended within the time; what is under way is waited for and checked.
    RoundOutcome outcome;
    outcome.jobs = jobs;
    outcome.seconds = static_cast<double>(monotonic_now_ns() - start_ns) * 1e-9;
    producer_.flush();
    while (auto result = producer_.try_any()) {
      check(*result);
    }
    std::sort(latencies_.begin(), latencies_.end());
    if (!latencies_.empty()) {
      outcome.p50_us = latencies_[latencies_.size() / 2];
      outcome.p99_us = latencies_[latencies_.size() * 99 / 100];
    }
    return outcome;
  }

 private:
  static std::string number(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
  }

  void submit_free() {
    submissions_.clear();
    while (auto slot = producer_.try_acquire()) {
      submissions_.push_back({.slot = std::move(*slot)});
    }
    if (!submissions_.empty()) {
      static_cast<void>(producer_.submit_many(submissions_));
    }
  }

  std::uint64_t collect_some() {
    std::uint64_t count = 0;
    std::optional<Result> result = producer_.wait_any();
    while (result) {
      if (!result->ok()) {
        throw std::runtime_error("a job failed: " + result->status_text());
      }
      if (seen_++ % kLatencyStride == 0) {
        latencies_.push_back(static_cast<double>(result->collected_ns() - result->ready_ns()) *
                             1e-3);
      }
      result->release();
      ++count;
      result = producer_.try_any();
    }
    return count;
  }

  void check(const Result& result) const {
    const auto input = result.input<float>();
    const auto output = result.output<float>();
    bool right = result.ok() && input.size() == output.size();
    for (std::size_t k = 0; right && k < input.size(); ++k) {
      right = output[k] == static_cast<float>(load_.a * input[k] + load_.b);
    }
    if (!right) {
      throw std::runtime_error("a result is wrong");
    }
  }

  ProducerLoad load_;
  Producer producer_;
  std::vector<Submission> submissions_;
  std::vector<double> latencies_;
  std::uint64_t seen_ = 0;
};

}  // namespace

std::string RoundOutcome::to_line() const {
  std::ostringstream text;
  text << "done " << jobs << ' ' << seconds << ' ' << p50_us << ' ' << p99_us;
  return text.str();
}

RoundOutcome RoundOutcome::from_line(const std::string& line) {
  std::istringstream text(line);
  std::string word;
  RoundOutcome outcome;
  if (!(text >> word >> outcome.jobs >> outcome.seconds >> outcome.p50_us >> outcome.p99_us) ||
      word != "done") {
    throw std::runtime_error("a producer says: " + line);
  }
  return outcome;
}

int run_producer(const ProducerLoad& load) {
  try {
    ResubmittingProducer producer(load);
    std::cout << "ready" << std::endl;
    std::string word;
    std::uint64_t milliseconds = 0;
    while (std::cin >> word >> milliseconds) {
      std::cout << producer.run(milliseconds * 1'000'000).to_line() << std::endl;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
}

}  // namespace overlap::bench
