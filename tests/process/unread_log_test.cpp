// A log that nobody reads never holds the daemon up.

#include "tests/process/process_test.hpp"
#include "tests/unit/raw_client.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

namespace overlap::testing {
namespace {

using UnreadLog = ProcessTest;

/// A pipe with no room left.
Pipe full_pipe() {
  Pipe pipe;
  const int flags = ::fcntl(pipe.writer.get(), F_GETFL);
  ::fcntl(pipe.writer.get(), F_SETFL, flags | O_NONBLOCK);
  const std::array<char, 4096> bytes{};
  while (::write(pipe.writer.get(), bytes.data(), bytes.size()) > 0) {
  }
  // As a program finds it that was started with it.
  ::fcntl(pipe.writer.get(), F_SETFL, flags);
  return pipe;
}

TEST_F(UnreadLog, StopsNeitherProducersNorTheDaemonsEnd) {
  const Pipe pipe = full_pipe();
  DaemonProcess sut(socket_path(), {"--log-level", "debug"}, pipe.writer.get());
  ASSERT_TRUE(sut.answers());
  for (std::uint64_t round = 1; round <= static_cast<std::uint64_t>(rounds(200, 60)); ++round) {
    RawClient client(socket_path());
    client.attach({2, 4096, 4096, 0});
    client.submit(round, 1);
    ASSERT_TRUE(client.collect());
    ASSERT_TRUE(client.output_is_copy(round, 1));
  }
  ASSERT_TRUE(sut.await([&] { return sut.status().channel_count == 0; }));
  EXPECT_EQ(sut.stop(), 0);
  EXPECT_TRUE(socket_folder().empty());
}

TEST_F(UnreadLog, WhoseReaderHasGoneIsNoReasonToGo) {
  Pipe pipe;
  DaemonProcess sut(socket_path(), {"--log-level", "debug"}, pipe.writer.get());
  pipe.reader.reset();
  pipe.writer.reset();
  ASSERT_TRUE(sut.answers());
  RawClient client(socket_path());
  client.attach({2, 4096, 4096, 0});
  client.submit(1, 0);
  EXPECT_TRUE(client.collect());
  EXPECT_EQ(sut.stop(), 0);
}

}  // namespace
}  // namespace overlap::testing
