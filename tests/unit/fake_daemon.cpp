#include "tests/unit/fake_daemon.hpp"

#include "shared/control_socket.hpp"
#include "shared/monotonic_clock.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace overlap::testing {

struct FakeDaemon::Client {
  FileDescriptor socket;
  DaemonScript script;
  FileDescriptor memory;
  FileDescriptor doorbell;
  FileDescriptor wake;
  ChannelGeometry geometry;
  std::unique_ptr<ChannelMapping> mapping;
  ChannelView view;
  SubmissionReader submissions;
  CompletionWriter completions;
  bool ready = false;
  std::uint32_t answered = 0;
  std::vector<SubmissionEntry> in_hand;
  std::vector<SubmissionEntry> updates_in_hand;
  /// As the producer named them, and what they hold now.
  std::vector<TableEntry> tables;
  std::vector<std::vector<std::byte>> contents;
  /// Of the jobs in hand, where it is a table's.
  std::map<std::uint64_t, std::byte> masks;
  /// Pipelines whose next job to be taken is the first one without their history, and those jobs.
  std::uint32_t lost_history = 0;
  std::set<std::uint64_t> discontinuous;
};

FakeDaemon::FakeDaemon(std::string socket_path, std::vector<DaemonScript> scripts)
    : path_(std::move(socket_path)),
      scripts_(std::move(scripts)),
      listener_(listen_at(path_, SOCK_SEQPACKET)),
      control_(make_eventfd()),
      thread_([this] { run(); }) {}

FakeDaemon::~FakeDaemon() {
  do_on_thread([this] {
    stopping_ = true;
    client_.reset();
    listener_.reset();
    ::unlink(path_.c_str());
  });
  thread_.join();
}

std::vector<SubmissionEntry> FakeDaemon::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

std::vector<AttachRequest> FakeDaemon::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeDaemon::await_taken(std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return taken_.size() >= count; });
}

void FakeDaemon::await_ended(std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ >= count; });
}

void FakeDaemon::answer_held() {
  do_on_thread([this] {
    client_->script.hold = false;
    serve();
  });
}

void FakeDaemon::answer_oldest(std::size_t count) {
  do_on_thread([this, count] {
    for (std::size_t i = 0; i < count; ++i) {
      complete(client_->in_hand.at(i), JobStatus::ok);
    }
    client_->in_hand.erase(client_->in_hand.begin(),
                           client_->in_hand.begin() + static_cast<std::ptrdiff_t>(count));
    publish();
  });
}

void FakeDaemon::answer_updates(std::size_t count, JobStatus status) {
  do_on_thread([this, count, status] {
    for (std::size_t i = 0; i < count; ++i) {
      answer_update(client_->updates_in_hand.at(0), status);
      client_->updates_in_hand.erase(client_->updates_in_hand.begin());
    }
    publish();
  });
}

std::vector<std::vector<std::byte>> FakeDaemon::first_tables() const {
  const std::lock_guard lock(mutex_);
  return first_tables_;
}

void FakeDaemon::end_oldest(JobStatus status) {
  do_on_thread([this, status] {
    complete(client_->in_hand.at(0), status);
    client_->in_hand.erase(client_->in_hand.begin());
    publish();
  });
}

void FakeDaemon::hang_up(bool mark_issued) {
  do_on_thread([this, mark_issued] { die(mark_issued); });
}

void FakeDaemon::close(CloseReason reason, const std::string& text) {
  do_on_thread([&] {
    auto notice = make_message<ClosingNotice>(MessageType::closing);
    notice.reason = reason;
    write_text(notice.text, text);
    static_cast<void>(send_packet(client_->socket, message_bytes(notice)));
    die(true);
  });
}

void FakeDaemon::wake_for_nothing() {
  do_on_thread([this] {
    client_->view.semaphore().post();
    ring(client_->wake.get());
  });
}

void FakeDaemon::answer_nonsense() {
  do_on_thread([this] {
    SubmissionEntry entry{};
    entry.job_id = 999'999;
    complete(entry, JobStatus::ok);
    publish();
  });
}

void FakeDaemon::do_on_thread(std::function<void()> action) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    actions_.emplace_back([&] {
      action();
      done.set_value();
    });
  }
  ring(control_.get());
  done.get_future().wait();
}

void FakeDaemon::run_actions() {
  silence(control_.get());
  for (;;) {
    std::function<void()> action;
    {
      const std::lock_guard lock(mutex_);
      if (actions_.empty()) {
        return;
      }
      action = std::move(actions_.front());
      actions_.pop_front();
    }
    action();
  }
}

void FakeDaemon::run() {
  while (!stopping_) {
    bool sleep = true;
    if (client_ && client_->ready) {
      serve();
      if (client_) {
        sleep = !client_->script.sleepless && !client_->submissions.fall_asleep();
      }
    }
    std::array<pollfd, 4> watched{
        pollfd{control_.get(), POLLIN, 0}, pollfd{client_ ? -1 : listener_.get(), POLLIN, 0},
        pollfd{client_ ? client_->socket.get() : -1, POLLIN, 0},
        pollfd{client_ && client_->ready ? client_->doorbell.get() : -1, POLLIN, 0}};
    ::poll(watched.data(), watched.size(), sleep ? -1 : 0);
    if (watched[3].revents != 0) {
      silence(client_->doorbell.get());
    }
    if (watched[2].revents != 0) {
      serve_socket();
    }
    if (watched[1].revents != 0) {
      accept_client();
    }
    if (watched[0].revents != 0) {
      run_actions();
    }
  }
}

void FakeDaemon::accept_client() {
  FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    return;
  }
  client_ = std::make_unique<Client>();
  client_->socket = std::move(socket);
  client_->script = scripts_[std::min(connections_++, scripts_.size() - 1)];
}

void FakeDaemon::serve_socket() {
  const Packet packet = receive_packet(client_->socket);
  if (packet.outcome == Packet::Outcome::closed) {
    note_end();
    return;
  }
  if (const auto request = read_message<AttachRequest>(packet.bytes, MessageType::attach_request)) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(*request);
    }
    answer_request(*request);
  } else if (message_type(packet.bytes) == MessageType::mapped) {
    make_ready();
  }
}

void FakeDaemon::answer_request(const AttachRequest& request) {
  const DaemonScript& script = client_->script;
  if (script.attach == DaemonScript::Attach::stay_silent) {
    return;
  }
  if (script.attach == DaemonScript::Attach::answer_garbage) {
    static_cast<void>(send_packet(client_->socket, message_bytes("HTTP/1.1 400 Bad Request")));
    return;
  }
  auto reply = make_message<AttachReply>(MessageType::attach_reply);
  if (script.attach == DaemonScript::Attach::refuse) {
    reply.code = script.code;
    write_text(reply.text, script.text);
    static_cast<void>(send_packet(client_->socket, message_bytes(reply)));
    return;
  }
  const std::uint64_t chosen = script.output_bytes != 0 ? script.output_bytes : request.input_bytes;
  const auto planned = plan_geometry(
      {request.slot_count, request.input_bytes,
       request.output_bytes != 0 ? request.output_bytes : chosen, request.table_bytes},
      {kMaxSlotCount, 1ULL << 30U, 1ULL << 30U, 1ULL << 32U});
  client_->geometry = std::get<ChannelGeometry>(planned);
  client_->memory = create_channel_memory(client_->geometry.total_bytes);
  client_->doorbell = make_eventfd();
  client_->wake = make_eventfd();
  write_geometry(reply, client_->geometry);
  client_->tables.assign(request.tables, request.tables + request.table_count);
  client_->lost_history = (request.flags & kAttachHistoryLost) != 0 ? script.stateful_pipelines : 0;
  reply.features_accepted = request.features_offered & script.features;
  reply.stateful_pipelines = script.stateful_pipelines;
  for (std::size_t i = 0; i < script.job_parameters.size(); ++i) {
    for (auto& parameters : reply.job_parameters) {
      write_text(parameters[i].name, script.job_parameters[i].first);
      parameters[i].type = script.job_parameters[i].second ? 1 : 0;
    }
  }
  reply.max_slot_count = 1024;
  write_text(reply.backend, "fake");
  const std::array<int, 3> descriptors{client_->memory.get(), client_->doorbell.get(),
                                       client_->wake.get()};
  static_cast<void>(send_packet(client_->socket, message_bytes(reply), descriptors));
}

void FakeDaemon::make_ready() {
  if (client_->script.attach == DaemonScript::Attach::refuse_mapped) {
    auto refused = make_message<RefusedNotice>(MessageType::refused);
    refused.code = client_->script.code;
    write_text(refused.text, client_->script.text);
    static_cast<void>(send_packet(client_->socket, message_bytes(refused)));
    return;
  }
  client_->mapping = std::make_unique<ChannelMapping>(
      client_->memory, client_->geometry.total_bytes, InheritMapping::yes);
  seal_channel_memory(client_->memory);
  client_->view = ChannelView(client_->mapping->bytes(), client_->geometry);
  for (const TableEntry& table : client_->tables) {
    const auto content = client_->view.tables().subspan(table.offset_bytes, table.bytes);
    client_->contents.emplace_back(content.begin(), content.end());
  }
  {
    const std::lock_guard lock(mutex_);
    first_tables_ = client_->contents;
  }
  write_channel(client_->view, 0);
  client_->submissions = SubmissionReader(client_->view);
  client_->completions = CompletionWriter(client_->view);
  if (client_->script.sleepless) {
    client_->submissions.stay_awake();
  }
  client_->ready = true;
  static_cast<void>(
      send_packet(client_->socket, message_bytes(make_message<ReadyNotice>(MessageType::ready))));
}

void FakeDaemon::take() {
  const std::uint32_t available = client_->submissions.available();
  if (available > client_->submissions.capacity()) {
    throw std::runtime_error("the producer broke the rules of the submission ring");
  }
  // As the engine does: nothing whose answer might find no room.
  const std::size_t room = client_->completions.capacity() - client_->completions.uncollected() -
                           client_->in_hand.size() - client_->updates_in_hand.size();
  std::size_t count = std::min<std::size_t>(available, room);
  if (count == 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (; count > 0; --count) {
    const SubmissionEntry entry = client_->submissions.take();
    taken_.push_back(entry);
    switch (static_cast<Opcode>(entry.opcode)) {
      case Opcode::job:
        take_job(entry);
        break;
      case Opcode::table_update:
        take_update(entry);
        break;
      case Opcode::cancel:
        take_cancel(entry);
        break;
      case Opcode::reset_state:
        break;
    }
  }
  client_->submissions.release();
  changed_.notify_all();
}

void FakeDaemon::take_job(const SubmissionEntry& entry) {
  const std::uint32_t pipeline = 1U << entry.pipeline_index;
  if ((entry.flags & ~kKnownSubmissionFlags) != 0) {
    client_->lost_history |= client_->script.stateful_pipelines & pipeline;
    complete(entry, JobStatus::request_refused);
    publish();
    return;
  }
  if ((client_->lost_history & pipeline) != 0) {
    client_->lost_history &= ~pipeline;
    client_->discontinuous.insert(entry.job_id);
  }
  client_->in_hand.push_back(entry);
  for (std::size_t i = client_->tables.size(); client_->script.mask_from_table && i > 0; --i) {
    if (client_->tables[i - 1].pipeline_index == entry.pipeline_index) {
      client_->masks[entry.job_id] = client_->contents[i - 1].front();
    }
  }
}

void FakeDaemon::take_update(const SubmissionEntry& entry) {
  if (client_->script.hold_updates) {
    client_->updates_in_hand.push_back(entry);
    return;
  }
  answer_update(entry, client_->script.update_status);
  publish();
}

void FakeDaemon::answer_update(const SubmissionEntry& entry, JobStatus status) {
  TableUpdate update{};
  std::memcpy(&update, entry.params, sizeof update);
  for (std::size_t i = 0; i < client_->tables.size() && status == JobStatus::ok; ++i) {
    const TableEntry& table = client_->tables[i];
    if (table.pipeline_index == entry.pipeline_index && table.stage_index == update.stage_index) {
      const auto content = client_->view.tables().subspan(update.offset_bytes, entry.input_bytes);
      client_->contents[i].assign(content.begin(), content.end());
    }
  }
  complete(entry, status);
}

void FakeDaemon::take_cancel(const SubmissionEntry& entry) {
  const auto target = std::find_if(client_->in_hand.begin(), client_->in_hand.end(),
                                   [&](const SubmissionEntry& job) {
                                     return job.job_id == entry.job_id && job.slot == entry.slot;
                                   });
  if (target != client_->in_hand.end()) {
    complete(*target, JobStatus::cancelled);
    client_->in_hand.erase(target);
    publish();
  }
}

void FakeDaemon::serve() {
  take();
  Client& client = *client_;
  while (!client.script.hold && client.in_hand.size() >= client.script.reversed_group) {
    if (client.script.die_after && client.answered >= *client.script.die_after) {
      if (client.in_hand.size() >= client.script.die_with_in_hand) {
        die(true);
      }
      return;
    }
    const auto end = client.in_hand.begin() + client.script.reversed_group;
    std::for_each(std::make_reverse_iterator(end), client.in_hand.rend(),
                  [&](const SubmissionEntry& entry) { complete(entry, JobStatus::ok); });
    client.in_hand.erase(client.in_hand.begin(), end);
    publish();
  }
}

void FakeDaemon::complete(const SubmissionEntry& entry, JobStatus status) {
  CompletionEntry done{};
  done.job_id = entry.job_id;
  done.slot = entry.slot;
  done.status = static_cast<std::uint16_t>(status);
  done.ready_ns = entry.ready_ns;
  done.taken_ns = monotonic_now_ns();
  done.issued_ns = done.taken_ns;
  done.done_ns = done.taken_ns;
  if (entry.slot != kNoSlot) {
    done.flags = client_->discontinuous.erase(entry.job_id) != 0 ? kCompletionDiscontinuity : 0;
    ++client_->answered;
  }
  if (status == JobStatus::ok && entry.slot != kNoSlot) {
    const auto table_mask = client_->masks.find(entry.job_id);
    const std::byte mask =
        table_mask != client_->masks.end() ? table_mask->second : client_->script.mask;
    const auto input = client_->view.input(entry.slot);
    const auto output = client_->view.output(entry.slot);
    done.output_bytes = std::min<std::uint64_t>(entry.input_bytes, output.size());
    for (std::size_t i = 0; i < done.output_bytes; ++i) {
      output[i] = input[i] ^ mask;
    }
  }
  if (client_->completions.uncollected() >= client_->completions.capacity()) {
    throw std::runtime_error("the completion ring is full");
  }
  client_->completions.write(done);
}

void FakeDaemon::publish() {
  switch (client_->completions.publish()) {
    case WaitKind::none:
      break;
    case WaitKind::semaphore:
      client_->view.semaphore().post();
      break;
    case WaitKind::descriptor:
      ring(client_->wake.get());
      break;
  }
}

void FakeDaemon::die(bool mark_issued) {
  if (mark_issued) {
    for (const SubmissionEntry& entry : client_->in_hand) {
      client_->view.issued(entry.slot).store(1, std::memory_order_release);
    }
  }
  note_end();
}

void FakeDaemon::note_end() {
  client_.reset();
  const std::lock_guard lock(mutex_);
  ++ended_;
  changed_.notify_all();
}

SocketFolder::SocketFolder() {
  char name[] = "/tmp/overlap-unit-XXXXXX";
  if (::mkdtemp(name) == nullptr) {
    throw std::runtime_error("mkdtemp failed");
  }
  folder_ = name;
}

SocketFolder::~SocketFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

FileDescriptor listen_at(const std::string& path, int type) {
  FileDescriptor listener(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener.get(), 16) != 0) {
    throw std::runtime_error("cannot listen at " + path);
  }
  return listener;
}

}  // namespace overlap::testing
