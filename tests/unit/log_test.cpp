#include "daemon/telemetry/log.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

namespace overlap {
namespace {

/// A pipe that is read only when a test says so.
class Reader {
 public:
  Reader() {
    if (::pipe(descriptors_.data()) != 0) {
      throw std::runtime_error("pipe failed");
    }
    ::fcntl(descriptors_[0], F_SETFL, O_NONBLOCK);
  }
  ~Reader() {
    ::close(descriptors_[0]);
    ::close(descriptors_[1]);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] int writer() const noexcept { return descriptors_[1]; }

  /// Adds everything that can be read without waiting.
  const std::string& drain() {
    std::array<char, 65536> buffer{};
    for (ssize_t count = 0; (count = ::read(descriptors_[0], buffer.data(), buffer.size())) > 0;) {
      text_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text_;
  }

 private:
  std::array<int, 2> descriptors_{-1, -1};
  std::string text_;
};

constexpr int kFlood = 100'000;

void flood(Log& log) {
  for (int number = 0; number < kFlood; ++number) {
    log.logger().info("message {} of a flood that nobody reads", number);
  }
}

TEST(Log, WritesEveryMessageBeforeItIsGone) {
  Reader reader;
  {
    Log sut({}, reader.writer());
    sut.logger().info("one {}", 1);
    sut.logger().warn("two");
    sut.logger().debug("below the level");
    sut.logger().info("caf\xC3\xA9");
  }
  const std::string& text = reader.drain();
  EXPECT_NE(text.find("info one 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("warning two\n"), std::string::npos) << text;
  EXPECT_NE(text.find("caf\xC3\xA9\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("below the level"), std::string::npos) << text;
}

TEST(Log, NeitherCallsNorTheEndWaitForAReaderThatDoesNotRead) {
  Reader reader;
  std::uint64_t dropped_count = 0;
  {
    Log sut({}, reader.writer());
    flood(sut);
    dropped_count = sut.dropped_count();
  }
  // Reaching this line is the assertion: with a sink or a queue that waits, the test hangs.
  EXPECT_GT(dropped_count, 0U);
}

TEST(Log, HasOfferedEverythingToTheOutputWhenItIsDrained) {
  Reader reader;
  Log sut({}, reader.writer());
  for (int number = 0; number < 100; ++number) {
    sut.logger().info("message {}", number);
  }
  EXPECT_TRUE(sut.drain(std::chrono::minutes(1)));
  EXPECT_NE(reader.drain().find("message 99\n"), std::string::npos);
}

TEST(Log, DrainsWithoutWaitingForAReaderThatDoesNotRead) {
  Reader reader;
  Log sut({}, reader.writer());
  flood(sut);
  EXPECT_TRUE(sut.drain(std::chrono::minutes(1)));
}

TEST(Log, SaysHowMuchWasLostOnceItsReaderReadsAgain) {
  Reader reader;
  Log sut({}, reader.writer());
  flood(sut);
  // The queue is still full of the flood; the reader catches up with it and then sees the last.
  for (int attempt = 0; reader.drain().find("the last message") == std::string::npos; ++attempt) {
    ASSERT_LT(attempt, 1'000'000);
    sut.logger().info("the last message");
    std::this_thread::yield();
  }
  EXPECT_NE(reader.drain().find("messages were dropped"), std::string::npos);
}

TEST(Log, CountsAllThatIsNotThere) {
  Reader reader;
  std::uint64_t dropped_count = 0;
  LogSettings settings;
  settings.queue_messages = 16;
  {
    Log sut(settings, reader.writer());
    flood(sut);
    dropped_count = sut.dropped_count();
    // Messages that are neither written nor lost yet are in the queue, which holds 16.
  }
  std::uint64_t written_count = 0;
  const std::string& text = reader.drain();
  for (std::size_t at = 0; (at = text.find("of a flood", at)) != std::string::npos; ++at) {
    ++written_count;
  }
  EXPECT_LE(written_count + dropped_count, std::uint64_t{kFlood});
  EXPECT_GE(written_count + dropped_count + 17, std::uint64_t{kFlood});
}

TEST(Log, CountsAMessageThatCannotBeFormatted) {
  Reader reader;
  Log sut({}, reader.writer());
  sut.logger().info(fmt::runtime("{} and {}"), 1);
  EXPECT_EQ(sut.dropped_count(), 1U);
}

TEST(Log, TakesMessagesFromSeveralThreads) {
  Reader reader;
  {
    Log sut({}, reader.writer());
    std::array<std::thread, 4> threads;
    for (std::thread& thread : threads) {
      thread = std::thread([&sut] {
        for (int number = 0; number < 100; ++number) {
          sut.logger().info("shared");
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
  std::size_t count = 0;
  const std::string& text = reader.drain();
  for (std::size_t at = 0; (at = text.find("shared\n", at)) != std::string::npos; ++at) {
    ++count;
  }
  EXPECT_EQ(count, 400U);
}

}  // namespace
}  // namespace overlap
