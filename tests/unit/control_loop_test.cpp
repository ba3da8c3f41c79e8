#include "daemon/control/control_loop.hpp"

#include "daemon/device/host_device.hpp"
#include "daemon/source/source_kernels.hpp"
#include "daemon/stop_signals.hpp"
#include "tests/unit/control_fixture.hpp"
#include "tests/unit/fake_toolchain.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::channel_bytes;
using testing::eventually;
using testing::page_slots;
using testing::RawClient;
using testing::says;

constexpr auto kOk = static_cast<std::uint16_t>(JobStatus::ok);

class ControlLoopTest : public ::testing::Test {
 protected:
  void start() { daemon_.emplace(device_, settings_); }
  [[nodiscard]] RawClient client() { return RawClient(daemon_->socket_path()); }
  [[nodiscard]] RawClient attached(std::uint32_t slot_count = 4) {
    RawClient client(daemon_->socket_path());
    client.attach(page_slots(slot_count));
    return client;
  }
  [[nodiscard]] bool log_says(const char* text) {
    return eventually([&] { return daemon_->log_text().find(text) != std::string::npos; });
  }

  testing::SharedDevice device_;
  ControlSettings settings_ = testing::roomy_settings();
  std::optional<testing::RunningDaemon> daemon_;
};

TEST_F(ControlLoopTest, TellsItsStatusToWhoeverAsks) {
  settings_.backend_note = "no GPU was found: error 100";
  start();
  const StatusReply idle = daemon_->status();
  EXPECT_EQ(idle.pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(idle.channel_count, 0U);
  EXPECT_EQ(idle.pinned_bytes, 0U);
  EXPECT_EQ(idle.jobs_done, 0U);
  EXPECT_EQ(read_text(idle.version), OVERLAP_VERSION);
  EXPECT_EQ(read_text(idle.backend), "virtual");
  EXPECT_EQ(read_text(idle.device), "virtual time");
  EXPECT_EQ(read_text(idle.backend_note), "no GPU was found: error 100");

  RawClient producer = attached();
  for (std::uint64_t job = 1; job <= 3; ++job) {
    producer.submit(job, 0);
    ASSERT_TRUE(producer.collect());
  }
  EXPECT_TRUE(eventually([&] { return daemon_->status().jobs_done == 3; }));
  const StatusReply busy = daemon_->status();
  EXPECT_EQ(busy.channel_count, 1U);
  EXPECT_EQ(busy.pinned_bytes, channel_bytes(page_slots(4)));
  EXPECT_EQ(busy.jobs_failed, 0U);
  EXPECT_EQ(busy.jobs_retried, 0U);
  EXPECT_EQ(busy.input_bytes_done, 3U * 4096);
  EXPECT_EQ(busy.output_bytes_done, 3U * 4096);
  EXPECT_GE(busy.batches, 1U);
  EXPECT_GE(busy.uptime_ns, idle.uptime_ns);
}

TEST_F(ControlLoopTest, WakesParkedChannelsByTheirDoorbells) {
  settings_.idle.park_after = 1ms;
  start();
  RawClient first = attached();
  RawClient second = attached();
  for (std::uint64_t job = 1; job <= 5; ++job) {
    for (RawClient* producer : {&first, &second}) {
      // Told to ring: nobody polls the channel any more.
      ASSERT_TRUE(eventually([&] { return producer->view().daemon_words().asleep.load() != 0; }));
      producer->submit(job, 0);
      const auto completion = producer->collect();
      ASSERT_TRUE(completion);
      EXPECT_EQ(completion->job_id, job);
    }
  }
}

TEST_F(ControlLoopTest, StopsAtOnceWhenThereIsNothingToDo) {
  start();
  daemon_->ask_to_stop();
  EXPECT_EQ(daemon_->await_end(), RunOutcome::stopped);
  EXPECT_TRUE(says(daemon_->log_text(), {"asked to stop by signal 15"}));
}

TEST_F(ControlLoopTest, TellsEveryProducerThatItStops) {
  start();
  RawClient silent = client();
  static_cast<void>(silent.ask_status());
  RawClient first = attached();
  RawClient second = attached();
  daemon_->ask_to_stop();
  for (RawClient* producer : {&silent, &first, &second}) {
    const auto notice = producer->receive<ClosingNotice>(MessageType::closing);
    EXPECT_EQ(notice.reason, CloseReason::drain);
    EXPECT_TRUE(says(read_text(notice.text), {"stopped by its administrator"}));
    EXPECT_TRUE(producer->sees_the_end());
  }
  EXPECT_EQ(daemon_->await_end(), RunOutcome::stopped);
  EXPECT_EQ(device_.pinned_range_count(), 0U);
}

TEST_F(ControlLoopTest, FinishesTheJobsAtHandBeforeItStops) {
  start();
  RawClient producer = attached();
  device_.hold_kernels(true);
  for (std::uint64_t job = 1; job <= 4; ++job) {
    producer.submit(job, static_cast<std::uint32_t>(job) - 1);
  }
  ASSERT_TRUE(producer.await_issued(0));
  ASSERT_TRUE(
      eventually([&] { return producer.view().daemon_words().submission_head.load() == 4; }));
  daemon_->ask_to_stop();
  ASSERT_TRUE(log_says("finishing the jobs at hand"));
  EXPECT_FALSE(producer.has_news());
  device_.hold_kernels(false);
  const auto notice = producer.receive<ClosingNotice>(MessageType::closing);
  EXPECT_EQ(notice.reason, CloseReason::drain);
  for (std::uint64_t job = 1; job <= 4; ++job) {
    const auto completion = producer.collect();
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->job_id, job);
    EXPECT_EQ(completion->status, kOk);
    EXPECT_TRUE(producer.output_is_copy(job, static_cast<std::uint32_t>(job) - 1));
  }
  EXPECT_EQ(daemon_->await_end(), RunOutcome::stopped);
  EXPECT_EQ(device_.pinned_range_count(), 0U);
}

TEST_F(ControlLoopTest, TakesNobodyInWhileItStops) {
  start();
  RawClient producer = attached();
  device_.hold_kernels(true);
  producer.submit(1, 0);
  ASSERT_TRUE(producer.await_issued(0));
  daemon_->ask_to_stop();
  ASSERT_TRUE(log_says("finishing the jobs at hand"));
  RawClient late = client();
  EXPECT_EQ(late.ask_status().channel_count, 1U);
  late.send_request(page_slots(1));
  const AttachReply reply = late.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::stopping);
  EXPECT_TRUE(says(read_text(reply.text), {"is stopping", "try again"}));
  device_.hold_kernels(false);
  EXPECT_EQ(daemon_->await_end(), RunOutcome::stopped);
}

TEST_F(ControlLoopTest, WaitsForNoJobOnceItIsAskedToStopTwice) {
  start();
  RawClient producer = attached();
  device_.hold_kernels(true);
  producer.submit(1, 0);
  ASSERT_TRUE(producer.await_issued(0));
  daemon_->ask_to_stop();
  ASSERT_TRUE(log_says("finishing the jobs at hand"));
  EXPECT_FALSE(producer.has_news());
  daemon_->ask_to_stop();
  EXPECT_EQ(producer.receive<ClosingNotice>(MessageType::closing).reason, CloseReason::drain);
  EXPECT_TRUE(says(daemon_->log_text(), {"asked to stop again"}));
  // The device still uses the memory: it may not go before.
  EXPECT_EQ(device_.calls(Call::unpin), 0U);
  device_.hold_kernels(false);
  EXPECT_EQ(daemon_->await_end(), RunOutcome::stopped);
  EXPECT_EQ(device_.pinned_range_count(), 0U);
}

TEST_F(ControlLoopTest, WaitsForJobsNoLongerThanTheDrainTimeout) {
  settings_.drain_timeout = 50ms;
  start();
  RawClient producer = attached();
  device_.hold_kernels(true);
  producer.submit(1, 0);
  ASSERT_TRUE(producer.await_issued(0));
  daemon_->ask_to_stop();
  EXPECT_EQ(producer.receive<ClosingNotice>(MessageType::closing).reason, CloseReason::drain);
  EXPECT_TRUE(says(daemon_->log_text(), {"within the drain time-out"}));
  device_.hold_kernels(false);
  EXPECT_EQ(daemon_->await_end(), RunOutcome::stopped);
}

TEST_F(ControlLoopTest, StopsInEveryStateOfAnAttach) {
  start();
  RawClient connected = client();
  static_cast<void>(connected.ask_status());
  RawClient offered = client();
  offered.send_request(page_slots(1));
  EXPECT_EQ(offered.receive_reply().code, AttachCode::accepted);
  device_.pin_gate.close();
  RawClient preparing = client();
  preparing.send_request(page_slots(1));
  EXPECT_EQ(preparing.receive_reply().code, AttachCode::accepted);
  preparing.map();
  ASSERT_TRUE(device_.pin_gate.await_visitor());
  RawClient allocating = client();
  allocating.send_request(page_slots(1));
  static_cast<void>(daemon_->status());
  daemon_->ask_to_stop();
  for (RawClient* sut : {&connected, &offered, &preparing, &allocating}) {
    EXPECT_EQ(sut->receive<ClosingNotice>(MessageType::closing).reason, CloseReason::drain);
    EXPECT_TRUE(sut->sees_the_end());
  }
  device_.pin_gate.open();
  EXPECT_EQ(daemon_->await_end(), RunOutcome::stopped);
  EXPECT_EQ(device_.pinned_range_count(), 0U);
}

TEST_F(ControlLoopTest, StopsForARealSignal) {
  sigset_t old_mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &old_mask);
  for (const int signal : {SIGTERM, SIGINT}) {
    const StopSignals stop_signals;
    testing::RunningDaemon sut(device_, settings_, stop_signals.descriptor());
    RawClient producer(sut.socket_path());
    producer.attach(page_slots(1));
    ASSERT_EQ(pthread_kill(sut.thread(), signal), 0);
    EXPECT_EQ(producer.receive<ClosingNotice>(MessageType::closing).reason, CloseReason::drain);
    EXPECT_EQ(sut.await_end(), RunOutcome::stopped);
    EXPECT_TRUE(says(sut.log_text(), {"by signal " + std::to_string(signal)}));
  }
  pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
}

TEST_F(ControlLoopTest, EndsWhenTheDeviceIsLost) {
  start();
  RawClient producer = attached();
  device_.fail(Call::complete, 1, {DeviceOutcome::lost, 719});
  producer.submit(1, 0);
  EXPECT_EQ(daemon_->await_end(), RunOutcome::device_lost);
  EXPECT_TRUE(says(daemon_->log_text(), {"device is lost", "scripted error 719", "restart"}));
  // Nothing may be asked of such a device any more.
  EXPECT_EQ(device_.calls(Call::unpin), 0U);
}

TEST_F(ControlLoopTest, EndsWhenTheDeviceIsLostWhileItStops) {
  start();
  RawClient producer = attached();
  device_.hold_kernels(true);
  device_.fail(Call::complete, 1, {DeviceOutcome::lost, 719});
  producer.submit(1, 0);
  ASSERT_TRUE(producer.await_issued(0));
  daemon_->ask_to_stop();
  ASSERT_TRUE(log_says("finishing the jobs at hand"));
  device_.hold_kernels(false);
  EXPECT_EQ(daemon_->await_end(), RunOutcome::device_lost);
}

TEST_F(ControlLoopTest, AcceptsAgainOnceThereAreDescriptors) {
  start();
  RawClient neighbour = attached();
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  daemon_->socket_path().copy(address.sun_path, sizeof address.sun_path - 1);
  {
    const testing::DescriptorLimit none_left(0);
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    ASSERT_TRUE(log_says("cannot accept a connection: Too many open files"));
    neighbour.submit(1, 0);
    EXPECT_TRUE(neighbour.collect());
  }
  RawClient waited(FileDescriptor(::dup(socket.get())));
  EXPECT_EQ(waited.ask_status().channel_count, 1U);
}

TEST_F(ControlLoopTest, KeepsRoomForOthersWhateverOneUserConnects) {
  settings_.limits.max_channels = 1;
  start();
  RawClient neighbour = attached(1);
  std::vector<RawClient> crowd;
  // Half of the room of 64 beyond the channels is for others.
  for (int i = 0; i < 32; ++i) {
    crowd.push_back(client());
    EXPECT_EQ(crowd.back().ask_status().channel_count, 1U) << i;
  }
  RawClient sut = client();
  const AttachReply reply = sut.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::daemon_full);
  EXPECT_TRUE(says(std::string(read_text(reply.text)),
                   {"uid " + std::to_string(::geteuid()) + " has 33 connections open",
                    "raise max-channels-per-uid"}));
  EXPECT_TRUE(sut.sees_the_end());
  EXPECT_TRUE(says(daemon_->log_text(), {"33 connections open"}));
  neighbour.submit(1, 0);
  EXPECT_TRUE(neighbour.collect());
  crowd.clear();
  EXPECT_TRUE(eventually([&] {
    try {
      return daemon_->status().channel_count == 1;
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
}

TEST_F(ControlLoopTest, LogsOneLineWhenAProducerComes) {
  start();
  RawClient producer = attached();
  const std::string log = daemon_->log_text();
  EXPECT_TRUE(says(log, {"attached: 4 slots", "'copy'", std::to_string(::getpid())}));
  EXPECT_EQ(log.find('\n'), log.size() - 1) << log;
  EXPECT_EQ(log.find("priority"), std::string::npos) << log;
  EXPECT_EQ(log.find("weight"), std::string::npos) << log;
}

TEST_F(ControlLoopTest, LogsAShareThatIsNotTheDefault) {
  start();
  AttachRequest request = make_attach_request(page_slots(1), std::vector<std::string>{"copy"});
  request.priority = ChannelPriority::high;
  request.weight = 8;
  RawClient producer = client();
  ASSERT_TRUE(producer.send(request));
  EXPECT_EQ(producer.receive_reply().code, AttachCode::accepted);
  producer.map();
  producer.await_ready();
  EXPECT_TRUE(says(daemon_->log_text(), {"'copy', priority high, weight 8"}));
}

TEST_F(ControlLoopTest, RefusesAShareAboveItsLimits) {
  settings_.limits.share = {ChannelPriority::normal, 4};
  start();
  for (const auto& [priority, weight, word] :
       {std::tuple(ChannelPriority::high, 1U, "max-priority"),
        std::tuple(ChannelPriority::low, 5U, "max-weight")}) {
    AttachRequest request = make_attach_request(page_slots(1), std::vector<std::string>{"copy"});
    request.priority = priority;
    request.weight = weight;
    RawClient sut = client();
    ASSERT_TRUE(sut.send(request));
    const AttachReply reply = sut.receive_reply();
    EXPECT_EQ(reply.code, AttachCode::not_permitted);
    EXPECT_TRUE(says(read_text(reply.text), {word}));
  }
}

/// While it lives no thread can be started: each would need a larger stack than there is room for.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_attr_init(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 50U);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

class ControlLoopReload : public ::testing::Test {
 protected:
  ControlLoopReload() {
    write("//! kernel halve \"x / 2\"\n//! element halve f32 -> f32\n");
    sources_.load();
    loop_.emplace(listener_, device_, registry_, testing::roomy_settings(), signals_[0].get(),
                  log_.logger(), &sources_);
    serving_ = std::thread([this] { outcome_ = loop_->run(); });
  }
  ~ControlLoopReload() override {
    signal(SIGTERM);
    serving_.join();
    EXPECT_EQ(outcome_, RunOutcome::stopped);
  }
  void write(const std::string& text) const {
    std::ofstream(file_, std::ios::binary) << text;
    ::chmod(file_.c_str(), 0600);
  }
  /// As the signalfd would say.
  void signal(int number) const {
    signalfd_siginfo info{};
    info.ssi_signo = static_cast<std::uint32_t>(number);
    EXPECT_EQ(::write(signals_[1].get(), &info, sizeof info), static_cast<ssize_t>(sizeof info));
  }
  [[nodiscard]] bool logs(std::string_view text, std::size_t times = 1) const {
    return eventually([&] {
      const std::string log = log_.text();
      std::size_t count = 0;
      for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
        ++count;
      }
      return count >= times;
    });
  }
  static std::array<FileDescriptor, 2> pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  }

  testing::SocketFolder folder_;
  std::string file_ = folder_.path("halve.cu");
  testing::KeptLog log_;
  testing::ToolchainScript script_;
  KernelRegistry registry_ = KernelRegistry::with_builtin_kernels();
  SourceKernels sources_{{file_},
                         std::make_unique<testing::FakeToolchain>(script_),
                         KernelCache(folder_.path("cache"), log_.logger()),
                         registry_,
                         log_.logger()};
  testing::SharedDevice device_;
  std::array<FileDescriptor, 2> signals_ = pipe();
  Listener listener_{folder_.path("overlapd.sock"), 0660};
  std::optional<ControlLoop> loop_;
  std::optional<RunOutcome> outcome_;
  std::thread serving_;
};

TEST_F(ControlLoopReload, WithoutAThreadToBeHadIsPutOffAndSaid) {
  {
    const NoThreads none;
    signal(SIGHUP);
    EXPECT_TRUE(logs("cannot read the kernel-source files now"));
  }
  signal(SIGHUP);
  EXPECT_TRUE(logs("has not changed"));
}

TEST_F(ControlLoopReload, AskedForTwicePutsTheFirstOneInServiceThoughTheSecondHasNoThread) {
  std::promise<void> go_on;
  script_.while_compiling = [&] { go_on.get_future().wait(); };
  write("//! kernel halve \"x / 2\"\n//! element halve f32 -> f32\n// new\n");
  signal(SIGHUP);
  EXPECT_TRUE(logs("asked to reload", 1));
  signal(SIGHUP);
  EXPECT_TRUE(logs("asked to reload", 2));
  {
    const NoThreads none;
    go_on.set_value();
    EXPECT_TRUE(logs("cannot read the kernel-source files now"));
  }
  EXPECT_TRUE(logs("kernel 'halve' is now as"));
}

TEST(ControlLoopOnTheHost, ServesAndStops) {
  for (const std::uint32_t workers : {0U, 2U}) {
    HostDevice device(workers);
    testing::RunningDaemon sut(device);
    EXPECT_EQ(read_text(sut.status().backend), "host");
    RawClient producer(sut.socket_path());
    producer.attach(page_slots(8), "copy|copy");
    for (std::uint64_t job = 1; job <= 50; ++job) {
      const auto slot = static_cast<std::uint32_t>(job % 8);
      producer.submit(job, slot);
      const auto completion = producer.collect();
      ASSERT_TRUE(completion);
      EXPECT_EQ(completion->job_id, job);
      EXPECT_EQ(completion->status, kOk);
      EXPECT_TRUE(producer.output_is_copy(job, slot));
    }
    sut.ask_to_stop();
    EXPECT_EQ(producer.receive<ClosingNotice>(MessageType::closing).reason, CloseReason::drain);
    EXPECT_EQ(sut.await_end(), RunOutcome::stopped);
  }
}

}  // namespace
}  // namespace overlap
