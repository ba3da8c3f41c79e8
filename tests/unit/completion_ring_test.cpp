#include "shared/completion_ring.hpp"

#include "shared/channel_memory.hpp"
#include "shared/file_descriptor.hpp"
#include "shared/submission_ring.hpp"
#include "tests/unit/guarded_memory.hpp"

#include <gtest/gtest.h>
#include <boost/date_time/posix_time/posix_time_types.hpp>

#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <variant>

namespace overlap {
namespace {

constexpr int kBoundMs = 30'000;

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// Entry number `i`: no byte is constant, and the detail is the hash of the rest.
CompletionEntry make_entry(std::uint64_t i) {
  CompletionEntry entry{i,
                        static_cast<std::uint32_t>(mix(i)),
                        static_cast<std::uint16_t>(mix(i) >> 32U),
                        static_cast<std::uint16_t>(mix(i) >> 48U),
                        mix(i + 1),
                        mix(i + 2),
                        mix(i + 3),
                        mix(i + 4),
                        mix(i + 5),
                        0,
                        0};
  std::uint64_t hash = 0;
  for (std::size_t at = 0; at < offsetof(CompletionEntry, detail_code); at += 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, reinterpret_cast<const std::byte*>(&entry) + at, sizeof part);
    hash = mix(hash ^ part) + 1;
  }
  entry.detail_code = static_cast<std::uint32_t>(hash);
  entry.detail_value = static_cast<std::uint32_t>(hash >> 32U);
  return entry;
}

bool is_whole(const CompletionEntry& entry) {
  const CompletionEntry expected = make_entry(entry.job_id);
  return std::memcmp(&entry, &expected, sizeof entry) == 0;
}

// As in submission_ring_test.cpp: puts the indices of both ends close to the wrap.
std::uint32_t& tail_of(CompletionWriter& writer);
std::uint32_t& head_of(CompletionReader& reader);
template <std::uint32_t CompletionWriter::*Tail, std::uint32_t CompletionReader::*Head>
struct Indices {
  friend std::uint32_t& tail_of(CompletionWriter& writer) { return writer.*Tail; }
  friend std::uint32_t& head_of(CompletionReader& reader) { return reader.*Head; }
};
template struct Indices<&CompletionWriter::tail_, &CompletionReader::head_>;

ChannelGeometry geometry_of(std::uint32_t slots, std::uint64_t slot_bytes = 1) {
  return std::get<ChannelGeometry>(
      plan_geometry({slots, slot_bytes, slot_bytes, 0}, {64, slot_bytes, 0, 1U << 20U}));
}

/// Both ends of one ring, in this process; `slots` of 1, 2, 4 give capacities of 2, 4, 8.
struct Ring {
  explicit Ring(std::uint32_t slots, std::uint32_t first_index = 0)
      : memory(geometry_of(slots).total_bytes), view(memory.bytes(), geometry_of(slots)) {
    write_channel(view, 0);
    view.daemon_words().completion_tail.store(first_index);
    view.producer_words().completion_head.store(first_index);
    writer = CompletionWriter(view);
    reader = CompletionReader(view);
    tail_of(writer) = first_index;
    head_of(reader) = first_index;
  }

  GuardedMemory memory;
  ChannelView view;
  CompletionWriter writer;
  CompletionReader reader;
};

TEST(CompletionRing, IsEmptyAtFirst) {
  const Ring sut(1);
  EXPECT_EQ(sut.reader.available(), 0U);
  EXPECT_EQ(sut.writer.uncollected(), 0U);
  EXPECT_EQ(sut.writer.capacity(), 2U);
  EXPECT_EQ(sut.writer.tail(), 0U);
}

TEST(CompletionRing, ShowsNothingBeforeItIsPublished) {
  Ring sut(1);
  sut.writer.write(make_entry(5));
  EXPECT_EQ(sut.reader.available(), 0U);
  EXPECT_EQ(sut.writer.publish(), WaitKind::none);
  EXPECT_EQ(sut.reader.available(), 1U);
  EXPECT_TRUE(is_whole(sut.reader.take()));
  EXPECT_EQ(sut.reader.available(), 0U);
}

TEST(CompletionRing, CountsAsUncollectedUntilTheProducerReleases) {
  Ring sut(1);
  sut.writer.write(make_entry(0));
  sut.writer.write(make_entry(1));
  EXPECT_EQ(sut.writer.publish(), WaitKind::none);
  EXPECT_EQ(sut.reader.take().job_id, 0U);
  EXPECT_EQ(sut.writer.uncollected(), 2U);
  sut.reader.release();
  EXPECT_EQ(sut.writer.uncollected(), 1U);
  EXPECT_EQ(sut.writer.tail(), 2U);
}

TEST(CompletionRing, ShowsAProducerThatCollectedMoreThanThereWas) {
  Ring sut(2);
  sut.writer.write(make_entry(0));
  for (const std::uint32_t claim : {2U, 1U << 31U, ~0U - 3}) {
    sut.view.producer_words().completion_head.store(claim);
    EXPECT_GT(sut.writer.uncollected(), sut.writer.capacity());
  }
}

TEST(CompletionRing, SaysHowTheProducerWaits) {
  Ring sut(1);
  for (const WaitKind kind : {WaitKind::semaphore, WaitKind::descriptor}) {
    EXPECT_FALSE(sut.reader.start_waiting(kind));
    EXPECT_EQ(sut.writer.publish(), kind);
    sut.reader.stop_waiting();
    EXPECT_EQ(sut.writer.publish(), WaitKind::none);
  }
  for (const std::uint32_t nonsense : {3U, 1U << 31U, ~0U}) {
    sut.view.producer_words().waiting.store(nonsense);
    EXPECT_EQ(sut.writer.publish(), WaitKind::none);
  }
}

TEST(CompletionRing, KeepsAProducerAwakeThatHasSomethingToTake) {
  Ring sut(1);
  sut.writer.write(make_entry(0));
  EXPECT_EQ(sut.writer.publish(), WaitKind::none);
  EXPECT_TRUE(sut.reader.start_waiting(WaitKind::semaphore));
  sut.reader.stop_waiting();
  EXPECT_EQ(sut.reader.take().job_id, 0U);
  EXPECT_FALSE(sut.reader.start_waiting(WaitKind::semaphore));
}

TEST(CompletionRing, CountsAcrossTheWrapOfItsIndices) {
  for (const std::uint32_t slots : {1U, 2U, 4U}) {
    for (std::uint32_t before = 0; before <= 2 * slots + 1; ++before) {
      Ring sut(slots, 0U - before);
      for (std::uint64_t round = 0; round < 4; ++round) {
        std::uint64_t written = 0;
        for (; sut.writer.uncollected() < sut.writer.capacity(); ++written) {
          sut.writer.write(make_entry(round * 100 + written));
        }
        ASSERT_EQ(written, 2 * slots) << before << " before the wrap";
        EXPECT_EQ(sut.writer.publish(), WaitKind::none);
        ASSERT_EQ(sut.reader.available(), 2 * slots);
        for (std::uint64_t i = 0; i < written; ++i) {
          const CompletionEntry entry = sut.reader.take();
          ASSERT_EQ(entry.job_id, round * 100 + i);
          ASSERT_TRUE(is_whole(entry));
        }
        sut.reader.release();
      }
    }
  }
}

/// Nothing but the ring orders the two threads here, so a missing order is a race that
/// ThreadSanitizer sees, and a torn entry does not match its hash.
TEST(CompletionRing, CarriesAMillionWholeEntriesBetweenTwoThreadsAcrossTheWrap) {
  constexpr std::uint64_t kEntries = 1'000'000;
  for (const std::uint32_t slots : {1U, 2U, 4U}) {
    Ring sut(slots, 0U - static_cast<std::uint32_t>(kEntries / 2));
    std::thread daemon([&] {
      for (std::uint64_t i = 0; i < kEntries; ++i) {
        while (sut.writer.uncollected() >= sut.writer.capacity()) {
          static_cast<void>(sut.writer.publish());
          std::this_thread::yield();
        }
        sut.writer.write(make_entry(i));
        if (mix(i) % 3 != 0) {
          static_cast<void>(sut.writer.publish());
        }
      }
      static_cast<void>(sut.writer.publish());
    });
    std::uint64_t wrong = 0;
    for (std::uint64_t taken = 0; taken < kEntries;) {
      const std::uint32_t available = sut.reader.available();
      if (available == 0) {
        std::this_thread::yield();
      }
      wrong += available > sut.writer.capacity() ? 1U : 0U;
      for (std::uint32_t i = 0; i < available; ++i, ++taken) {
        const CompletionEntry entry = sut.reader.take();
        wrong += entry.job_id == taken && is_whole(entry) ? 0U : 1U;
      }
      sut.reader.release();
    }
    daemon.join();
    EXPECT_EQ(wrong, 0U) << "capacity " << sut.writer.capacity();
    EXPECT_EQ(sut.writer.uncollected(), 0U);
  }
}

/// Waits for one post, or gives up after the bound: the bound alone follows the wall clock.
bool wait_bounded(boost::interprocess::interprocess_semaphore& semaphore) {
  return semaphore.timed_wait(boost::posix_time::microsec_clock::universal_time() +
                              boost::posix_time::milliseconds(kBoundMs));
}

bool wait_bounded(const FileDescriptor& wake) {
  pollfd what{wake.get(), POLLIN, 0};
  const bool woken = ::poll(&what, 1, kBoundMs) == 1;
  silence(wake.get());
  return woken;
}

void wake_up(const ChannelView& view, const FileDescriptor& wake, WaitKind kind) {
  if (kind == WaitKind::semaphore) {
    view.semaphore().post();
  } else if (kind == WaitKind::descriptor) {
    ring(wake.get());
  }
}

/// Keeps this thread on the first or the last processor there is: left alone, the kernel puts both ends
/// of a conversation on one, where they never meet in the middle of the handshake.
void stay_on_processor_of_its_own(bool first) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int chosen = -1;
  for (int cpu = 0; cpu < CPU_SETSIZE && (chosen < 0 || !first); ++cpu) {
    chosen = CPU_ISSET(static_cast<unsigned>(cpu), &allowed) ? cpu : chosen;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(chosen), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
}

/// The producer sleeps whenever the ring is empty, in either way, and the daemon publishes the next
/// entry only when the last was taken, about when the producer falls asleep. So every lost wake leaves
/// both waiting for each other, and the bound turns that into a failure.
TEST(CompletionRing, LosesNoWakeOfAProducerThatSleepsWheneverItCan) {
  constexpr std::uint64_t kEntries = 100'000;
  Ring sut(1);
  const FileDescriptor wake = make_eventfd();
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> woken_always{true};
  std::uint64_t slept = 0;
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  std::thread producer([&] {
    stay_on_processor_of_its_own(true);
    while (taken < kEntries && woken_always) {
      if (sut.reader.available() == 0) {
        const bool by_semaphore = taken % 2 == 0;
        if (!sut.reader.start_waiting(by_semaphore ? WaitKind::semaphore : WaitKind::descriptor)) {
          ++slept;
          woken_always = by_semaphore ? wait_bounded(sut.view.semaphore()) : wait_bounded(wake);
        }
        sut.reader.stop_waiting();
        continue;
      }
      woken_always = woken_always && sut.reader.take().job_id == taken;
      sut.reader.release();
      taken.fetch_add(1, std::memory_order_relaxed);
      // It looks again at a different moment each time, from before the next entry to after it.
      for (std::uint64_t spin = mix(taken) % 1024; spin != 0; --spin) {
        static_cast<void>(taken.load(std::memory_order_relaxed));
      }
    }
  });
  stay_on_processor_of_its_own(false);
  for (std::uint64_t i = 0; i < kEntries && woken_always; ++i) {
    sut.writer.write(make_entry(i));
    wake_up(sut.view, wake, sut.writer.publish());
    for (int spin = 0; taken.load(std::memory_order_relaxed) == i && woken_always; ++spin) {
      if (spin > 1000) {
        std::this_thread::yield();
      }
    }
  }
  producer.join();
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_TRUE(woken_always) << "a wake was lost, or an entry came out of order";
  EXPECT_GT(slept, 0U);
}

constexpr std::uint32_t kSlots = 4;
constexpr std::uint64_t kSlotBytes = 300;
constexpr std::uint64_t kJobs = 50'000;

std::byte input_byte(std::uint64_t job) { return static_cast<std::byte>(mix(job)); }

/// The producer's side of a channel in a process of its own: fills slots, sleeps on the semaphore,
/// checks every byte of every result. Returns an exit status: 0, or which check failed.
int run_producer(const FileDescriptor& memory, int doorbell) {
  const ChannelMapping mapping(memory, channel_memory_bytes(memory), InheritMapping::no);
  const ChannelView view(mapping.bytes(), geometry_of(kSlots, kSlotBytes));
  if (!is_published(view)) {
    return 1;
  }
  SubmissionWriter submissions(view);
  CompletionReader completions(view);
  std::uint64_t submitted = 0;
  for (std::uint64_t done = 0; done < kJobs;) {
    for (; submitted < kJobs && submitted - done < kSlots; ++submitted) {
      SubmissionEntry entry{};
      entry.job_id = submitted;
      entry.slot = static_cast<std::uint32_t>(submitted % kSlots);
      entry.input_bytes = kSlotBytes;
      std::ranges::fill(view.input(entry.slot), input_byte(submitted));
      if (!submissions.write(entry)) {
        return 2;
      }
    }
    if (submissions.publish()) {
      ring(doorbell);
    }
    while (completions.available() == 0) {
      if (!completions.start_waiting(WaitKind::semaphore) && !wait_bounded(view.semaphore())) {
        return 3;
      }
      completions.stop_waiting();
    }
    const CompletionEntry entry = completions.take();
    const auto output = view.output(entry.slot);
    const std::byte expected = ~input_byte(done);
    if (entry.job_id != done || std::ranges::count(output, expected) != std::ssize(output)) {
      return 4;
    }
    completions.release();
    ++done;
  }
  return 0;
}

/// The daemon's side: answers with every input byte inverted, sleeps on the doorbell. Returns false
/// when a wake was lost.
bool run_daemon(const ChannelView& view, const FileDescriptor& doorbell) {
  SubmissionReader submissions(view);
  CompletionWriter completions(view);
  for (std::uint64_t done = 0; done < kJobs;) {
    if (submissions.available() == 0) {
      if (!submissions.fall_asleep() && !wait_bounded(doorbell)) {
        return false;
      }
      submissions.stay_awake();
      continue;
    }
    const SubmissionEntry job = submissions.take();
    submissions.release();
    std::ranges::transform(view.input(job.slot % kSlots), view.output(job.slot % kSlots).begin(),
                           [](std::byte byte) { return ~byte; });
    CompletionEntry entry{};
    entry.job_id = job.job_id;
    entry.slot = job.slot;
    completions.write(entry);
    wake_up(view, FileDescriptor(), completions.publish());
    ++done;
  }
  return true;
}

TEST(CompletionRing, CarriesResultsBetweenTwoProcessesOverAChannelMemory) {
  const ChannelGeometry geometry = geometry_of(kSlots, kSlotBytes);
  const FileDescriptor memory = create_channel_memory(geometry.total_bytes);
  const FileDescriptor doorbell = make_eventfd();
  const ChannelMapping mapping(memory, geometry.total_bytes, InheritMapping::no);
  const ChannelView view(mapping.bytes(), geometry);
  write_channel(view, 0);
  const pid_t producer = ::fork();
  ASSERT_GE(producer, 0);
  if (producer == 0) {
    ::_exit(run_producer(memory, doorbell.get()));
  }
  EXPECT_TRUE(run_daemon(view, doorbell)) << "a wake of the daemon was lost";
  int status = 0;
  ASSERT_EQ(::waitpid(producer, &status, 0), producer);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0)
      << "1 not published, 2 ring full, 3 wake lost, 4 wrong job or wrong byte";
}

}  // namespace
}  // namespace overlap
