// boost::interprocess::message_queue: one queue of requests for all, one of results a producer. Every
// message carries who sent it and which of its buffers it came from.
#include "tests/bench/kernel_call.hpp"
#include "tests/bench/message_peers.hpp"

#include "shared/byte_size.hpp"
#include "shared/monotonic_clock.hpp"

#include <boost/interprocess/ipc/message_queue.hpp>

#include <sys/statvfs.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace overlap::bench {
namespace {

namespace ipc = boost::interprocess;

/// In front of the payload, as long as a cache line so that the payload is aligned.
struct alignas(64) Header {
  std::uint32_t producer;
  std::uint32_t slot;
};

/// A message with its payload as floats.
class Message {
 public:
  explicit Message(std::uint64_t payload_bytes)
      : lines_(1 + (payload_bytes + sizeof(Header) - 1) / sizeof(Header)),
        bytes_(sizeof(Header) + payload_bytes) {}

  [[nodiscard]] Header& header() { return lines_.front(); }
  [[nodiscard]] std::span<float> payload() {
    return {reinterpret_cast<float*>(lines_.data() + 1), (bytes_ - sizeof(Header)) / sizeof(float)};
  }
  void send(ipc::message_queue& queue) const { queue.send(lines_.data(), bytes_, 0); }
  void receive(ipc::message_queue& queue) {
    std::size_t received = 0;
    unsigned priority = 0;
    queue.receive(lines_.data(), bytes_, received, priority);
    if (received != bytes_) {
      throw std::runtime_error("a message has another length");
    }
  }
  [[nodiscard]] bool try_receive(ipc::message_queue& queue) {
    std::size_t received = 0;
    unsigned priority = 0;
    return queue.try_receive(lines_.data(), bytes_, received, priority);
  }

 private:
  std::vector<Header> lines_;
  std::size_t bytes_;
};

std::string requests_name(const std::string& name) { return name + "-requests"; }
std::string results_name(const std::string& name, std::uint32_t producer) {
  return name + "-results-" + std::to_string(producer);
}

class Worker final : public Role {
 public:
  explicit Worker(const RoleOptions& options)
      : kernel_(pipeline_text(Work::scale)),
        requests_(ipc::open_only, requests_name(options.socket_path).c_str()) {
    for (std::uint32_t producer = 0; producer < options.count; ++producer) {
      results_.push_back(std::make_unique<ipc::message_queue>(
          ipc::open_only, results_name(options.socket_path, producer).c_str()));
    }
    for (std::uint32_t t = 0; t < options.thread_count; ++t) {
      // They run until the process is ended.
      std::thread([this, bytes = options.slot_bytes] { serve(bytes); }).detach();
    }
  }

  RoundOutcome run(std::chrono::nanoseconds /*duration*/, const std::string& /*how*/) override {
    throw std::runtime_error("a worker runs nothing by itself");
  }

 private:
  void serve(std::uint64_t bytes) {
    Message input(bytes);
    Message output(bytes);
    while (true) {
      input.receive(requests_);
      output.header() = input.header();
      kernel_.run(input.payload().data(), output.payload().data(), bytes);
      output.send(*results_.at(input.header().producer));
    }
  }

  KernelCall kernel_;
  ipc::message_queue requests_;
  std::vector<std::unique_ptr<ipc::message_queue>> results_;
};

class QueueProducer final : public Role {
 public:
  explicit QueueProducer(const RoleOptions& options)
      : requests_(ipc::open_only, requests_name(options.socket_path).c_str()),
        results_(ipc::open_only, results_name(options.socket_path, options.index).c_str()),
        inputs_(options.slot_count, Message(options.slot_bytes)),
        result_(options.slot_bytes),
        seed_(options.index) {
    for (std::uint32_t slot = 0; slot < options.slot_count; ++slot) {
      inputs_[slot].header() = {.producer = options.index, .slot = slot};
    }
  }

  void prepare() override {
    for (Message& input : inputs_) {
      fill_payload(input.payload(), seed_++);
    }
  }

  RoundOutcome run(std::chrono::nanoseconds duration, const std::string& /*how*/) override {
    const auto duration_ns = static_cast<std::uint64_t>(duration.count());
    RoundOutcome outcome;
    const std::uint64_t start_ns = monotonic_now_ns();
    // Neither queue can be full: both have room for all that is in flight.
    for (const Message& input : inputs_) {
      input.send(requests_);
    }
    while (monotonic_now_ns() - start_ns < duration_ns || outcome.jobs == 0) {
      result_.receive(results_);
      do {
        inputs_.at(result_.header().slot).send(requests_);
        ++outcome.jobs;
      } while (result_.try_receive(results_));
    }
    outcome.seconds = static_cast<double>(monotonic_now_ns() - start_ns) * 1e-9;
    for (std::size_t left = inputs_.size(); left > 0; --left) {
      result_.receive(results_);
      if (!is_right(Work::scale, inputs_.at(result_.header().slot).payload(), result_.payload())) {
        throw std::runtime_error("a result is wrong");
      }
    }
    return outcome;
  }

 private:
  ipc::message_queue requests_;
  ipc::message_queue results_;
  std::vector<Message> inputs_;
  Message result_;
  std::uint32_t seed_;
};

/// Queues with names that nobody sees for longer than it takes to open them.
class NamedQueues {
 public:
  NamedQueues(const MessageLoad& load, std::uint32_t depth)
      : name_("overlap-bench-" + std::to_string(::getpid())), producers_(load.producer_count) {
    remove();
    const std::size_t bytes = sizeof(Header) + load.slot_bytes;
    make(requests_name(name_), std::size_t{depth} * producers_, bytes);
    for (std::uint32_t producer = 0; producer < producers_; ++producer) {
      make(results_name(name_, producer), depth, bytes);
    }
  }
  ~NamedQueues() { remove(); }
  NamedQueues(const NamedQueues&) = delete;
  NamedQueues& operator=(const NamedQueues&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  void remove() noexcept {
    ipc::message_queue::remove(requests_name(name_).c_str());
    for (std::uint32_t producer = 0; producer < producers_; ++producer) {
      ipc::message_queue::remove(results_name(name_, producer).c_str());
    }
  }

 private:
  static void make(const std::string& name, std::size_t depth, std::size_t bytes) {
    const ipc::message_queue queue(ipc::create_only, name.c_str(), depth, bytes,
                                   ipc::permissions(0600));
  }

  std::string name_;
  std::uint32_t producers_;
};

class QueuePeer final : public MessagePeer {
 public:
  QueuePeer(const MessageLoad& load, std::uint32_t depth)
      : queues_(load, depth),
        worker_(1, role("queue-worker", load, depth)),
        producers_(load.producer_count, role("queue-producer", load, depth)) {
    queues_.remove();
  }

  [[nodiscard]] std::string name() const override { return "message_queue"; }
  FleetOutcome run(std::chrono::milliseconds duration) override {
    return producers_.run(producers_.size(), duration);
  }

 private:
  [[nodiscard]] RoleOptions role(const std::string& name, const MessageLoad& load,
                                 std::uint32_t depth) const {
    RoleOptions role;
    role.role = name;
    role.socket_path = queues_.name();
    role.slot_bytes = load.slot_bytes;
    role.slot_count = depth;
    role.count = load.producer_count;
    role.thread_count = load.thread_count;
    return role;
  }

  NamedQueues queues_;
  ProcessFleet worker_;
  ProcessFleet producers_;
};

/// Messages in flight of each producer for which there is shared memory; both queues hold them all.
std::uint32_t depth_for(const MessageLoad& load) {
  constexpr std::uint64_t kMostQueueBytes = std::uint64_t{1} << 30U;
  struct statvfs memory {};
  const std::uint64_t free_bytes =
      ::statvfs("/dev/shm", &memory) == 0 ? memory.f_bavail * memory.f_frsize : 0;
  const std::uint64_t room =
      std::min(kMostQueueBytes, free_bytes / 2) /
      (std::uint64_t{2} * load.producer_count * (load.slot_bytes + sizeof(Header)));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(load.slot_count, room));
}

}  // namespace

MessagePeerOrReason start_message_queue_peer(const MessageLoad& load) {
  const std::uint32_t depth = depth_for(load);
  if (depth == 0) {
    return {nullptr, "left out: message_queue of " + format_bytes(load.slot_bytes) +
                         ": too little shared memory in /dev/shm"};
  }
  return {std::make_unique<QueuePeer>(load, depth), ""};
}

std::unique_ptr<Role> make_message_queue_role(const RoleOptions& options) {
  if (options.role == "queue-worker") {
    return std::make_unique<Worker>(options);
  }
  return std::make_unique<QueueProducer>(options);
}

}  // namespace overlap::bench
