// ZeroMQ over ipc://. Every connection is a PAIR between a producer and one thread of the worker,
// answered in order: no routing frames, one part a message, which is the fastest that it offers.
#include "tests/bench/kernel_call.hpp"
#include "tests/bench/message_peers.hpp"
#include "tests/bench/temporary_folder.hpp"

#include "shared/monotonic_clock.hpp"

#include <zmq.hpp>

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <thread>
#include <vector>

namespace overlap::bench {
namespace {

std::string endpoint(const std::string& folder, std::uint32_t connection) {
  return "ipc://" + folder + "/" + std::to_string(connection);
}

zmq::socket_t make_socket(zmq::context_t& context) {
  zmq::socket_t socket(context, zmq::socket_type::pair);
  // What is in flight is bounded by the producers.
  socket.set(zmq::sockopt::sndhwm, 0);
  socket.set(zmq::sockopt::rcvhwm, 0);
  socket.set(zmq::sockopt::linger, 0);
  return socket;
}

bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(float) == 0;
}

/// Runs the kernel on every message and sends the result back.
class Worker final : public Role {
 public:
  explicit Worker(const RoleOptions& options)
      : kernel_(pipeline_text(Work::scale)), context_(static_cast<int>(options.thread_count)) {
    const std::uint32_t thread_count = options.thread_count;
    for (std::uint32_t t = 0; t < thread_count; ++t) {
      std::vector<zmq::socket_t> sockets;
      for (std::uint32_t c = t; c < options.count; c += thread_count) {
        sockets.push_back(make_socket(context_));
        sockets.back().bind(endpoint(options.socket_path, c));
      }
      if (!sockets.empty()) {
        // They run until the process is ended.
        std::thread([this, mine = std::move(sockets)]() mutable { serve(mine); }).detach();
      }
    }
  }

  RoundOutcome run(std::chrono::nanoseconds /*duration*/, const std::string& /*how*/) override {
    throw std::runtime_error("a worker runs nothing by itself");
  }

 private:
  void serve(std::vector<zmq::socket_t>& sockets) const {
    std::vector<zmq::pollitem_t> items;
    items.reserve(sockets.size());
    for (zmq::socket_t& socket : sockets) {
      items.push_back({socket.handle(), 0, ZMQ_POLLIN, 0});
    }
    std::vector<float> aligned;
    zmq::message_t input;
    while (true) {
      if (sockets.size() > 1) {
        zmq::poll(items);
      }
      for (std::size_t i = 0; i < sockets.size(); ++i) {
        // With one connection: wait right here.
        if (sockets.size() == 1) {
          static_cast<void>(sockets[i].recv(input));
          answer(sockets[i], input, aligned);
        }
        while (sockets[i].recv(input, zmq::recv_flags::dontwait)) {
          answer(sockets[i], input, aligned);
        }
      }
    }
  }

  void answer(zmq::socket_t& socket, const zmq::message_t& input,
              std::vector<float>& aligned) const {
    const void* from = input.data();
    // A small message lies in the middle of ZeroMQ's receive buffer; a kernel wants whole floats.
    if (!is_aligned(from)) {
      aligned.resize(input.size() / sizeof(float));
      std::memcpy(aligned.data(), from, input.size());
      from = aligned.data();
    }
    zmq::message_t output(input.size());
    kernel_.run(from, output.data(), input.size());
    socket.send(output, zmq::send_flags::none);
  }

  KernelCall kernel_;
  zmq::context_t context_;
};

/// Keeps `slot_count` messages in flight, spread over its `count` connections.
class ZeromqProducer final : public Role {
 public:
  explicit ZeromqProducer(const RoleOptions& options) : slot_bytes_(options.slot_bytes) {
    inputs_.resize(options.slot_count, std::vector<float>(slot_bytes_ / sizeof(float)));
    for (std::uint32_t c = 0; c < options.count; ++c) {
      connections_.push_back({make_socket(context_), {}, {}});
      connections_.back().socket.connect(
          endpoint(options.socket_path, options.index * options.count + c));
    }
    for (std::uint32_t slot = 0; slot < options.slot_count; ++slot) {
      connections_[slot % options.count].slots.push_back(slot);
    }
    for (Connection& connection : connections_) {
      items_.push_back({connection.socket.handle(), 0, ZMQ_POLLIN, 0});
    }
    seed_ = options.index;
  }

  void prepare() override {
    for (std::vector<float>& input : inputs_) {
      fill_payload(input, seed_++);
    }
  }

  RoundOutcome run(std::chrono::nanoseconds duration, const std::string& /*how*/) override {
    const auto duration_ns = static_cast<std::uint64_t>(duration.count());
    RoundOutcome outcome;
    const std::uint64_t start_ns = monotonic_now_ns();
    for (Connection& connection : connections_) {
      for (const std::uint32_t slot : connection.slots) {
        send(connection, slot);
      }
    }
    while (monotonic_now_ns() - start_ns < duration_ns || outcome.jobs == 0) {
      zmq::poll(items_);
      for (Connection& connection : connections_) {
        while (connection.socket.recv(result_, zmq::recv_flags::dontwait)) {
          send(connection, take_first(connection));
          ++outcome.jobs;
        }
      }
    }
    outcome.seconds = static_cast<double>(monotonic_now_ns() - start_ns) * 1e-9;
    for (Connection& connection : connections_) {
      while (!connection.in_flight.empty()) {
        static_cast<void>(connection.socket.recv(result_));
        check(take_first(connection));
      }
    }
    return outcome;
  }

 private:
  struct Connection {
    zmq::socket_t socket;
    std::vector<std::uint32_t> slots;
    /// In the order in which they are answered.
    std::deque<std::uint32_t> in_flight;
  };

  void send(Connection& connection, std::uint32_t slot) {
    // Not copied here: ZeroMQ reads it where it lies.
    zmq::message_t message(
        inputs_[slot].data(), slot_bytes_, [](void*, void*) {}, nullptr);
    connection.socket.send(message, zmq::send_flags::none);
    connection.in_flight.push_back(slot);
  }

  static std::uint32_t take_first(Connection& connection) {
    const std::uint32_t slot = connection.in_flight.front();
    connection.in_flight.pop_front();
    return slot;
  }

  void check(std::uint32_t slot) {
    std::vector<float> output(result_.size() / sizeof(float));
    std::memcpy(output.data(), result_.data(), result_.size());
    if (!is_right(Work::scale, inputs_[slot], output)) {
      throw std::runtime_error("a result is wrong");
    }
  }

  std::uint64_t slot_bytes_;
  std::vector<std::vector<float>> inputs_;
  zmq::context_t context_;
  std::vector<Connection> connections_;
  std::vector<zmq::pollitem_t> items_;
  zmq::message_t result_;
  std::uint32_t seed_ = 0;
};

class ZeromqPeer final : public MessagePeer {
 public:
  explicit ZeromqPeer(const MessageLoad& load)
      : worker_(1, worker_role(load)), producers_(load.producer_count, producer_role(load)) {}

  [[nodiscard]] std::string name() const override { return "ZeroMQ ipc"; }
  FleetOutcome run(std::chrono::milliseconds duration) override {
    return producers_.run(producers_.size(), duration);
  }

 private:
  /// Of one producer: with more threads than producers all of them have work.
  static std::uint32_t connection_count(const MessageLoad& load) {
    return std::clamp(load.thread_count / load.producer_count, 1U, load.slot_count);
  }
  [[nodiscard]] RoleOptions worker_role(const MessageLoad& load) const {
    RoleOptions role;
    role.role = "zeromq-worker";
    role.socket_path = folder_.path();
    role.count = connection_count(load) * load.producer_count;
    role.thread_count = load.thread_count;
    return role;
  }
  [[nodiscard]] RoleOptions producer_role(const MessageLoad& load) const {
    RoleOptions role;
    role.role = "zeromq-producer";
    role.socket_path = folder_.path();
    role.slot_bytes = load.slot_bytes;
    role.slot_count = load.slot_count;
    role.count = connection_count(load);
    return role;
  }

  TemporaryFolder folder_;
  ProcessFleet worker_;
  ProcessFleet producers_;
};

}  // namespace

MessagePeerOrReason start_zeromq_peer(const MessageLoad& load) {
  return {std::make_unique<ZeromqPeer>(load), ""};
}

std::unique_ptr<Role> make_zeromq_role(const RoleOptions& options) {
  if (options.role == "zeromq-worker") {
    return std::make_unique<Worker>(options);
  }
  return std::make_unique<ZeromqProducer>(options);
}

}  // namespace overlap::bench
