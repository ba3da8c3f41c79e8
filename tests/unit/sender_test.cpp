#include "producer/send/sender.hpp"

#include "tests/unit/fake_daemon.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

namespace overlap::testing {
namespace {

constexpr std::uint64_t kJobBytes = 1024;

/// Gives the input, each byte changed by the table's only one; from a channel's second job on also by
/// 1.
class XorTable final : public Kernel {
 public:
  std::string_view name() const noexcept override { return "xor_table"; }
  std::string_view summary() const noexcept override { return "for a test"; }
  std::span<const Parameter> parameters() const noexcept override { return {}; }
  std::uint64_t table_bytes(ParameterView /*params*/) const noexcept override { return 1; }
  std::uint64_t granule_bytes(ParameterView /*params*/) const noexcept override { return 1; }
  PlanOrRefusal plan(ParameterView /*params*/, std::uint64_t input_bytes) const override {
    Plan plan;
    plan.max_output_bytes = input_bytes;
    plan.state_bytes = 1;
    return plan;
  }
  void run(const overlap_batch& /*batch*/) const override {}
  bool has_cuda() const noexcept override { return false; }
  int launch(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) const override { return 1; }
  std::uint64_t reference(const ReferenceJob& job) const override {
    for (std::size_t i = 0; i < job.input.size(); ++i) {
      job.output[i] = job.input[i] ^ job.table[0] ^ job.state[0];
    }
    job.state[0] = std::byte{1};
    return job.input.size();
  }
};

/// Everything around a sender, against a fake daemon that copies.
struct SenderTest : ::testing::Test {
  SendReport send(InputSource& source, const SendOptions& options = {},
                  const DaemonScript& script = {.mask = std::byte{0}},
                  const char* kernel = "copy") {
    const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
    const Pipeline pipeline = Pipeline::parse(kernel, kernels);
    FakeDaemon daemon(folder.path("daemon.sock"), {script, {.mask = script.mask}});
    Producer producer({.socket_path = folder.path("daemon.sock"),
                       .pipelines = {kernel},
                       .slot_count = 4,
                       .input_bytes = kJobBytes});
    ProgressBar progress(std::nullopt, -1);
    OutputSink sink(FileDescriptor(::dup(output.get())), "output");
    Sender sut(producer, pipeline, source, &sink, stop, progress, options);
    return sut.run();
  }

  std::vector<std::byte> written() const {
    std::vector<std::byte> bytes(1U << 20U);
    const ssize_t got = ::pread(output.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }

  static std::vector<std::byte> pattern(std::uint64_t bytes) {
    std::vector<std::byte> all(bytes);
    PatternSource source(bytes);
    EXPECT_EQ(source.read(all), bytes);
    return all;
  }

  static FileDescriptor pipe_with(const std::vector<std::byte>& bytes) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    EXPECT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(ends[1]);
    return FileDescriptor(ends[0]);
  }

  StopRequest stop;
  SocketFolder folder;
  FileDescriptor output{::memfd_create("output", MFD_CLOEXEC)};
};

TEST_F(SenderTest, SendsManyJobsAndAShortLastOneInOrder) {
  PatternSource source(20 * kJobBytes + 12);
  const SendReport sut = send(source, {.verify = true}, {.mask = std::byte{0}});
  EXPECT_EQ(sut.jobs, 21U);
  EXPECT_EQ(sut.input_bytes, 20 * kJobBytes + 12);
  EXPECT_EQ(sut.output_bytes, sut.input_bytes);
  EXPECT_EQ(sut.latency.count(), 21U);
  EXPECT_EQ(sut.verified, true);
  EXPECT_EQ(sut.failure, "");
  EXPECT_EQ(written(), pattern(20 * kJobBytes + 12));
}

TEST_F(SenderTest, SendsNothingOfAnEmptyInput) {
  PatternSource source(0);
  const SendReport sut = send(source);
  EXPECT_EQ(sut.jobs, 0U);
  EXPECT_EQ(sut.failure, "");
}

TEST_F(SenderTest, SendsAFileSeveralTimes) {
  FileDescriptor file(::memfd_create("input", MFD_CLOEXEC));
  const auto bytes = pattern(kJobBytes + 100);
  ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::lseek(file.get(), 0, SEEK_SET);
  FileSource source(std::move(file), "file");
  SendOptions thrice;
  thrice.input = "file";
  thrice.count = 3;
  const SendReport sut = send(source, thrice);
  EXPECT_EQ(sut.jobs, 6U);
  EXPECT_EQ(sut.input_bytes, 3 * bytes.size());
  auto expected = bytes;
  expected.insert(expected.end(), bytes.begin(), bytes.end());
  expected.insert(expected.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(written(), expected);
}

TEST_F(SenderTest, SendsThePipesWholeElementsAndNamesTheSurplus) {
  FileSource source(pipe_with(pattern(2 * kJobBytes + 11)), "pipe");
  const SendReport sut = send(source, {.input = "-"}, {.mask = std::byte{0}}, "scale:a=1,b=0");
  EXPECT_EQ(sut.jobs, 3U);
  EXPECT_EQ(sut.input_bytes, 2 * kJobBytes + 8);
  EXPECT_EQ(sut.surplus_bytes, 3U);
  EXPECT_EQ(written(), pattern(2 * kJobBytes + 8));
}

/// Verifies two jobs of a kernel with a table and state against what these daemons answer.
SendReport send_two(const std::string& socket, StopRequest& stop, StateLossAction on_state_loss,
                    const std::vector<DaemonScript>& scripts) {
  KernelRegistry kernels;
  kernels.add(std::make_unique<XorTable>());
  const Pipeline pipeline = Pipeline::parse("xor_table", kernels);
  const std::vector<StageTable> tables{{0, {std::byte{0x30}}}};
  FakeDaemon daemon(socket, scripts);
  Producer producer({.socket_path = socket,
                     .pipelines = {"xor_table"},
                     .slot_count = 4,
                     .input_bytes = kJobBytes,
                     .tables = {{0, 0, tables[0].bytes}},
                     .on_state_loss = on_state_loss});
  PatternSource source(2 * kJobBytes);
  ProgressBar progress(std::nullopt, -1);
  return Sender(producer, pipeline, source, nullptr, stop, progress, {.verify = true}, tables)
      .run();
}

TEST_F(SenderTest, VerifiesJobsInTheirOrderWithTheTablesOfTheChannel) {
  const SendReport sut = send_two(folder.path("daemon.sock"), stop, StateLossAction::end_jobs,
                                  {{.mask = std::byte{0x30}}});
  // This daemon forgets the state, so its second answer is wrong.
  EXPECT_EQ(sut.verified, false);
  EXPECT_NE(sut.failure.find("job 2:"), std::string::npos) << sut.failure;
}

TEST_F(SenderTest, VerifiesFromTheBeginningAfterADiscontinuity) {
  const DaemonScript dies{.die_after = 1, .mask = std::byte{0x30}, .stateful_pipelines = 1};
  const DaemonScript follows{.mask = std::byte{0x30}, .stateful_pipelines = 1};
  const SendReport sut =
      send_two(folder.path("daemon.sock"), stop, StateLossAction::restart, {dies, follows});
  EXPECT_EQ(sut.failure, "");
  EXPECT_EQ(sut.verified, true);
  EXPECT_EQ(sut.resume_count, 1U);
}

TEST_F(SenderTest, SaysThatTheStateWasLost) {
  const DaemonScript dies{.die_after = 1, .mask = std::byte{0x30}, .stateful_pipelines = 1};
  const SendReport sut =
      send_two(folder.path("daemon.sock"), stop, StateLossAction::end_jobs, {dies, {}});
  EXPECT_EQ(sut.verified, false);
  EXPECT_NE(sut.failure.find("job 2: "), std::string::npos) << sut.failure;
}

TEST_F(SenderTest, FindsAWrongResult) {
  PatternSource source(3 * kJobBytes);
  const SendReport sut = send(source, {.verify = true}, {.mask = std::byte{1}});
  EXPECT_EQ(sut.verified, false);
  EXPECT_NE(sut.failure.find("job 1:"), std::string::npos) << sut.failure;
}

TEST_F(SenderTest, LosesNothingWhenTheDaemonDies) {
  PatternSource source(50 * kJobBytes);
  const SendReport sut = send(source, {.verify = true}, {.die_after = 13, .mask = std::byte{0}});
  EXPECT_EQ(sut.jobs, 50U);
  EXPECT_EQ(sut.resume_count, 1U);
  EXPECT_EQ(sut.verified, true);
  EXPECT_EQ(written(), pattern(50 * kJobBytes));
}

TEST_F(SenderTest, WritesResultsWhileThePipeIsQuietAndStopsAtASignal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto bytes = pattern(kJobBytes);
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  FileSource source(FileDescriptor{ends[0]}, "pipe");
  const FileDescriptor writer(ends[1]);
  const pthread_t sending = ::pthread_self();
  std::thread interrupter([&] {
    while (written().size() < kJobBytes) {
      std::this_thread::yield();
    }
    ::pthread_kill(sending, SIGTERM);
  });
  const SendReport sut = send(source, {.input = "-"});
  interrupter.join();
  EXPECT_EQ(sut.signal_number, SIGTERM);
  EXPECT_EQ(sut.jobs, 1U);
  EXPECT_EQ(written(), bytes);
}

TEST(CheckLength, NamesTheSurplusBytes) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  const Pipeline sut = Pipeline::parse("scale", kernels);
  EXPECT_NO_THROW(check_length(sut, "file", 0, 1024));
  EXPECT_NO_THROW(check_length(sut, "file", 1028, 1024));
  try {
    check_length(sut, "file", 2051, 1024);
    FAIL() << "three bytes too many";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("the last 3 bytes are surplus"), std::string::npos)
        << error.what();
  }
}

TEST(JobBytes, IsRoundedDownToWhatThePipelineTakes) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  EXPECT_EQ(job_bytes(Pipeline::parse("copy", kernels), 1003), 1003U);
  EXPECT_EQ(job_bytes(Pipeline::parse("scale", kernels), 1003), 1000U);
  EXPECT_THROW(static_cast<void>(job_bytes(Pipeline::parse("scale", kernels), 3)), UsageError);
}

}  // namespace
}  // namespace overlap::testing
