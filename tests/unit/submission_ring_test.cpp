#include "shared/submission_ring.hpp"

#include "shared/file_descriptor.hpp"
#include "tests/unit/guarded_memory.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sched.h>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <variant>

namespace overlap {
namespace {

constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// Over everything in front of the parameters.
std::uint64_t hash_of(const SubmissionEntry& entry) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < offsetof(SubmissionEntry, params); i += 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, reinterpret_cast<const std::byte*>(&entry) + i, sizeof part);
    hash = mix(hash ^ part) + 1;
  }
  return hash;
}

/// Entry number `i`: no byte is constant, and the parameters are the hash of the rest, three times.
SubmissionEntry make_entry(std::uint64_t i) {
  SubmissionEntry entry{};
  entry.job_id = i;
  entry.slot = static_cast<std::uint32_t>(mix(i));
  entry.opcode = static_cast<std::uint8_t>(mix(i) >> 32U);
  entry.pipeline_index = static_cast<std::uint8_t>(mix(i) >> 40U);
  entry.flags = static_cast<std::uint16_t>(mix(i) >> 48U);
  entry.input_bytes = mix(i + 1);
  entry.deadline_ns = mix(i + 2);
  entry.ready_ns = mix(i + 3);
  const std::uint64_t hash = hash_of(entry);
  for (std::size_t part = 0; part < 3; ++part) {
    std::memcpy(entry.params + 8 * part, &hash, sizeof hash);
  }
  return entry;
}

bool is_whole(const SubmissionEntry& entry) {
  const SubmissionEntry expected = make_entry(entry.job_id);
  return std::memcmp(&entry, &expected, sizeof entry) == 0;
}

// The classes count from 0, and 2^32 entries are too many for a test: an explicit instantiation may
// name private members, so that the indices of both ends can be put close to the wrap.
std::uint32_t& tail_of(SubmissionWriter& writer);
std::uint32_t& head_of(SubmissionReader& reader);
template <std::uint32_t SubmissionWriter::*Tail, std::uint32_t SubmissionReader::*Head>
struct Indices {
  friend std::uint32_t& tail_of(SubmissionWriter& writer) { return writer.*Tail; }
  friend std::uint32_t& head_of(SubmissionReader& reader) { return reader.*Head; }
};
template struct Indices<&SubmissionWriter::tail_, &SubmissionReader::head_>;

/// Both ends of one ring, in this process; `slots` of 1, 2, 4 give capacities of 2, 4, 8.
struct Ring {
  explicit Ring(std::uint32_t slots, std::uint32_t first_index = 0)
      : geometry(std::get<ChannelGeometry>(plan_geometry({slots, 1, 1, 0}, {64, 1, 0, 1U << 20U}))),
        memory(geometry.total_bytes),
        view(memory.bytes(), geometry) {
    write_channel(view, 0);
    view.producer_words().submission_tail.store(first_index);
    view.daemon_words().submission_head.store(first_index);
    writer = SubmissionWriter(view);
    reader = SubmissionReader(view);
    tail_of(writer) = first_index;
    head_of(reader) = first_index;
  }

  ChannelGeometry geometry;
  GuardedMemory memory;
  ChannelView view;
  SubmissionWriter writer;
  SubmissionReader reader;
};

TEST(SubmissionRing, IsEmptyAtFirst) {
  const Ring sut(1);
  EXPECT_EQ(sut.reader.available(), 0U);
  EXPECT_EQ(sut.reader.capacity(), 2U);
}

TEST(SubmissionRing, ShowsNothingBeforeItIsPublished) {
  Ring sut(1);
  EXPECT_TRUE(sut.writer.write(make_entry(1)));
  EXPECT_EQ(sut.reader.available(), 0U);
  EXPECT_TRUE(sut.writer.publish());
  EXPECT_EQ(sut.reader.available(), 1U);
  EXPECT_TRUE(is_whole(sut.reader.take()));
  EXPECT_EQ(sut.reader.available(), 0U);
}

TEST(SubmissionRing, TakesNoMoreThanItsCapacity) {
  for (const std::uint32_t slots : {1U, 2U, 4U}) {
    Ring sut(slots);
    for (std::uint32_t i = 0; i < 2 * slots; ++i) {
      EXPECT_TRUE(sut.writer.write(make_entry(i)));
    }
    EXPECT_FALSE(sut.writer.write(make_entry(99)));
    EXPECT_TRUE(sut.writer.publish());
    EXPECT_EQ(sut.reader.available(), 2 * slots);
    for (std::uint32_t i = 0; i < 2 * slots; ++i) {
      EXPECT_EQ(sut.reader.take().job_id, i);
    }
  }
}

TEST(SubmissionRing, GivesPlacesBackOnlyWhenTheyAreReleased) {
  Ring sut(1);
  EXPECT_TRUE(sut.writer.write(make_entry(0)));
  EXPECT_TRUE(sut.writer.write(make_entry(1)));
  EXPECT_TRUE(sut.writer.publish());
  EXPECT_EQ(sut.reader.take().job_id, 0U);
  EXPECT_FALSE(sut.writer.write(make_entry(2)));
  sut.reader.release();
  EXPECT_TRUE(sut.writer.write(make_entry(2)));
  EXPECT_FALSE(sut.writer.write(make_entry(3)));
}

TEST(SubmissionRing, ShowsAProducerThatClaimsMoreThanFits) {
  const Ring sut(2);
  for (const std::uint32_t claim : {5U, 1U << 31U, ~0U}) {
    sut.view.producer_words().submission_tail.store(claim);
    EXPECT_GT(sut.reader.available(), sut.reader.capacity());
  }
}

TEST(SubmissionRing, AsksForTheDoorbellOnlyWhileTheDaemonMayBeAsleep) {
  Ring sut(2);
  EXPECT_TRUE(sut.writer.publish()) << "a daemon that has not polled yet counts as asleep";
  sut.reader.stay_awake();
  EXPECT_FALSE(sut.writer.publish());
  EXPECT_FALSE(sut.reader.fall_asleep());
  EXPECT_TRUE(sut.writer.write(make_entry(0)));
  EXPECT_TRUE(sut.writer.publish());
  EXPECT_TRUE(sut.reader.fall_asleep()) << "there is something to take";
  sut.reader.stay_awake();
  EXPECT_EQ(sut.reader.take().job_id, 0U);
  EXPECT_FALSE(sut.reader.fall_asleep());
}

TEST(SubmissionRing, CountsAcrossTheWrapOfItsIndices) {
  for (const std::uint32_t slots : {1U, 2U, 4U}) {
    for (std::uint32_t before = 0; before <= 2 * slots + 1; ++before) {
      Ring sut(slots, 0U - before);
      for (std::uint64_t round = 0; round < 4; ++round) {
        std::uint64_t written = 0;
        while (sut.writer.write(make_entry(round * 100 + written))) {
          ++written;
        }
        ASSERT_EQ(written, 2 * slots) << before << " before the wrap";
        EXPECT_TRUE(sut.writer.publish());
        ASSERT_EQ(sut.reader.available(), 2 * slots);
        for (std::uint64_t i = 0; i < written; ++i) {
          const SubmissionEntry entry = sut.reader.take();
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
TEST(SubmissionRing, CarriesAMillionWholeEntriesBetweenTwoThreadsAcrossTheWrap) {
  constexpr std::uint64_t kEntries = 1'000'000;
  for (const std::uint32_t slots : {1U, 2U, 4U}) {
    Ring sut(slots, 0U - static_cast<std::uint32_t>(kEntries / 2));
    std::thread producer([&] {
      for (std::uint64_t i = 0; i < kEntries; ++i) {
        while (!sut.writer.write(make_entry(i))) {
          static_cast<void>(sut.writer.publish());
          std::this_thread::yield();
        }
        // Now and then several entries go with one store.
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
      wrong += available > sut.reader.capacity() ? 1U : 0U;
      for (std::uint32_t i = 0; i < available; ++i, ++taken) {
        const SubmissionEntry entry = sut.reader.take();
        wrong += entry.job_id == taken && is_whole(entry) ? 0U : 1U;
      }
      sut.reader.release();
    }
    producer.join();
    EXPECT_EQ(wrong, 0U) << "capacity " << sut.reader.capacity();
    EXPECT_EQ(sut.reader.available(), 0U);
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

/// The daemon sleeps whenever the ring is empty, and the producer publishes the next entry only when
/// the last was taken, about when the daemon falls asleep. So every lost wake leaves both waiting for
/// each other, and the bound turns that into a failure.
TEST(SubmissionRing, LosesNoWakeOfADaemonThatSleepsWheneverItCan) {
  constexpr std::uint64_t kEntries = 100'000;
  constexpr int kBoundMs = 30'000;
  Ring sut(1);
  const FileDescriptor doorbell = make_eventfd();
  std::atomic<std::uint64_t> taken{0};
  std::atomic<bool> woken_always{true};
  std::uint64_t slept = 0;
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  std::thread daemon([&] {
    stay_on_processor_of_its_own(true);
    while (taken < kEntries && woken_always) {
      if (sut.reader.available() == 0) {
        if (!sut.reader.fall_asleep()) {
          ++slept;
          pollfd what{doorbell.get(), POLLIN, 0};
          woken_always = ::poll(&what, 1, kBoundMs) == 1;
          silence(doorbell.get());
        }
        sut.reader.stay_awake();
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
    if (!sut.writer.write(make_entry(i))) {
      woken_always = false;
    }
    if (sut.writer.publish()) {
      ring(doorbell.get());
    }
    for (int spin = 0; taken.load(std::memory_order_relaxed) == i && woken_always; ++spin) {
      if (spin > 1000) {
        std::this_thread::yield();
      }
    }
  }
  daemon.join();
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_TRUE(woken_always) << "a wake was lost, or an entry came out of order";
  EXPECT_GT(slept, 0U);
}

}  // namespace
}  // namespace overlap
