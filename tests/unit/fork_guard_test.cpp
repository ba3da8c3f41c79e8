#include "producer/fork_guard.hpp"

#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <functional>
#include <memory>
#include <thread>

namespace overlap::testing {
namespace {

/// Runs `in_child` in a forked child and says whether it returned true.
bool holds_in_child(const std::function<bool()>& in_child) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(in_child() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool is_closed(int fd) { return ::fcntl(fd, F_GETFD) == -1 && errno == EBADF; }

template <class Call>
bool is_forked_error(Call call) {
  try {
    call();
  } catch (const ForkedProcess&) {
    return true;
  }
  return false;
}

TEST(ForkGuard, ClosesAPrivateDescriptorInTheChildAlone) {
  PrivateDescriptor sut;
  {
    const NoForkSection section;
    sut = PrivateDescriptor(make_eventfd(), section);
  }
  EXPECT_TRUE(holds_in_child([&] { return is_closed(sut.get()); }));
  EXPECT_FALSE(is_closed(sut.get()));
}

TEST(ForkGuard, DoesNotCloseANumberThatTheChildUsesAnew) {
  auto sut = std::make_unique<PrivateDescriptor>();
  {
    const NoForkSection section;
    *sut = PrivateDescriptor(make_eventfd(), section);
  }
  EXPECT_TRUE(holds_in_child([&] {
    const int number = sut->get();
    ::dup2(STDERR_FILENO, number);
    sut.reset();
    return !is_closed(number);
  }));
}

TEST(ForkGuard, RaisesTheFlagInTheChildAlone) {
  const ForkFlag sut;
  EXPECT_TRUE(holds_in_child([&] { return sut.raised(); }));
  EXPECT_FALSE(sut.raised());
  EXPECT_NO_THROW(sut.check());
}

TEST(ForkGuard, EveryHandleOfAProducerSaysSoInAChild) {
  const SocketFolder folder;
  const FakeDaemon daemon(folder.path("daemon.sock"));
  Producer producer(small_channel(folder.path("daemon.sock")));
  Slot slot = producer.acquire();
  fill(slot, 2);
  Result result = producer.wait(submit_filled(producer, 1));
  EXPECT_TRUE(holds_in_child([&] {
    return is_forked_error([&] { static_cast<void>(producer.acquire()); }) &&
           is_forked_error([&] { static_cast<void>(producer.try_any()); }) &&
           is_forked_error([&] { producer.flush(); }) &&
           is_forked_error([&] { producer.submit(std::move(slot)); }) &&
           is_forked_error([&] { producer.cancel(JobId{1}); }) &&
           is_forked_error([&] { static_cast<void>(producer.completion_fd()); }) &&
           is_forked_error([&] { static_cast<void>(producer.backend()); }) && is_forked_error([&] {
             static_cast<void>(producer.try_acquire_many({&slot, 1}));
           }) &&
           is_forked_error([&] {
             static_cast<void>(producer.wait_any_many({&result, 1}));
           }) &&
           is_forked_error([&] { producer.release_many(std::span(&result, 1)); }) &&
           is_forked_error([&] { static_cast<void>(producer.counters()); }) &&
           is_forked_error([&] { static_cast<void>(result.output()); }) &&
           is_forked_error([&] { static_cast<void>(result.status()); });
  }));
  // The parent has noticed nothing.
  EXPECT_TRUE(answers_its_tag(result));
  EXPECT_TRUE(answers_its_tag(producer.wait(producer.submit(std::move(slot), 2))));
}

TEST(ForkGuard, DestructorsDoNothingInAChild) {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path("daemon.sock"), {{.hold = true}});
  auto producer = std::make_unique<Producer>(small_channel(folder.path("daemon.sock")));
  auto slot = std::make_unique<Slot>(producer->acquire());
  const JobId id = submit_filled(*producer, 1);
  daemon.await_taken(1);
  // A thread is asleep on the semaphore meanwhile, and the child has none of it.
  std::thread waiter([&] { EXPECT_TRUE(answers_its_tag(producer->wait(id))); });
  EXPECT_TRUE(holds_in_child([&] {
    slot.reset();
    producer.reset();
    return true;
  }));
  daemon.answer_held();
  waiter.join();
}

TEST(ForkGuard, AChildThatLivesOnDoesNotHideTheDeathOfItsParent) {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path("daemon.sock"));
  auto producer = std::make_unique<Producer>(small_channel(folder.path("daemon.sock")));
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe_ends[1]);
    char end = 0;
    static_cast<void>(::read(pipe_ends[0], &end, 1));
    ::_exit(0);
  }
  producer.reset();
  daemon.await_ended(1);
  ::close(pipe_ends[1]);
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
}

}  // namespace
}  // namespace overlap::testing
