#include "daemon/control/channel_store.hpp"

#include "daemon/device/virtual_time_device.hpp"
#include "tests/unit/control_fixture.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

namespace overlap {
namespace {

using Call = VirtualTimeDevice::Call;
using testing::says;

constexpr std::uint64_t kChunkBytes = 8192;
constexpr DeviceStatus kFailed{DeviceOutcome::failed, 2};

/// Notes what is pinned, on a device whose calls fail by script.
class PinBook final : private testing::VirtualDeviceHolder, public testing::ForwardingDevice {
 public:
  PinBook() : ForwardingDevice(virtual_device) {}
  DeviceStatus pin(std::span<std::byte> range) override {
    pins.push_back(range);
    return ForwardingDevice::pin(range);
  }
  DeviceStatus unpin(std::byte* start) override {
    unpins.push_back(start);
    return ForwardingDevice::unpin(start);
  }
  VirtualTimeDevice& script() { return virtual_device; }

  std::vector<std::span<std::byte>> pins;
  std::vector<std::byte*> unpins;
};

class ChannelStoreTest : public ::testing::Test {
 protected:
  ChannelStoreTest() { settings_.pin_chunk_bytes = kChunkBytes; }

  /// 5 slots of 4 KiB in 8 KiB chunks: 3 ranges of inputs, 3 of outputs.
  ChannelGeometry geometry_ = std::get<ChannelGeometry>(
      plan_geometry({5, 4096, 4000, 100}, {1024, 1U << 20U, 1U << 20U, 1U << 26U}));
  std::vector<PinRange> ranges_ = pin_ranges(plan_pinning(geometry_, kChunkBytes));
  PinBook device_;
  StoreSettings settings_;
  std::string warning_;
  PrepareTimes times_;
  /// Bytes that were pinned at each gap between two pins.
  std::vector<std::uint64_t> gaps_;
  PrepareSteps steps_{[] { return true; },
                      [this](std::uint64_t pinned) { gaps_.push_back(pinned); }};

  [[nodiscard]] FileDescriptor allocate() const {
    return std::get<FileDescriptor>(allocate_store(geometry_));
  }
  [[nodiscard]] std::variant<ChannelStore, StoreRefusal> prepare(FileDescriptor memory) {
    return prepare_store(std::move(memory), geometry_, 0, device_, settings_, steps_, times_,
                         warning_);
  }
  [[nodiscard]] static std::string give_back_at_once(ChannelStore store, Device& device) {
    return give_back(std::move(store), device, [] {});
  }
  [[nodiscard]] ChannelStore prepared() { return std::get<ChannelStore>(prepare(allocate())); }
  [[nodiscard]] std::size_t pinned_count() { return device_.script().pinned_range_count(); }
};

TEST_F(ChannelStoreTest, AllocatesEveryPageOfExactlyTheBytes) {
  const FileDescriptor sut = allocate();
  EXPECT_EQ(channel_memory_bytes(sut), geometry_.total_bytes);
  struct stat status {};
  ASSERT_EQ(::fstat(sut.get(), &status), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status.st_blocks) * 512, geometry_.total_bytes);
  EXPECT_NE(::fcntl(sut.get(), F_GETFD) & FD_CLOEXEC, 0);
}

/// No file of this process grows beyond 64 MiB as long as it lives: where a refusal is expected, its
/// absence must not cost the machine its memory.
class FileSizeLimit {
 public:
  FileSizeLimit() : old_action_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{rlim_t{64} << 20U, old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    ::signal(SIGXFSZ, old_action_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  sighandler_t old_action_;
  rlimit old_limit_{};
};

std::string allocation_refusal(ChannelGeometry geometry, std::uint64_t total_bytes) {
  const FileSizeLimit net;
  geometry.total_bytes = total_bytes;
  const auto sut = allocate_store(geometry);
  const auto* refused = std::get_if<StoreRefusal>(&sut);
  EXPECT_TRUE(refused != nullptr && refused->code == AttachCode::memory_refused);
  return refused == nullptr ? std::string() : refused->text;
}

TEST_F(ChannelStoreTest, RefusesMoreThanThereIsBeforeItTakesAnyOfIt) {
  for (const std::uint64_t bytes : {std::uint64_t{1} << 60U, std::uint64_t{1} << 62U}) {
    EXPECT_TRUE(says(allocation_refusal(geometry_, bytes), {"the channel needs", "ask for less"}));
  }
}

TEST_F(ChannelStoreTest, RefusesWhatWouldBeTooMuchWithWhatIsKeptBesideIt) {
  const auto sut = allocate_store(geometry_, std::uint64_t{1} << 60U);
  const auto* refused = std::get_if<StoreRefusal>(&sut);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->code, AttachCode::memory_refused);
  EXPECT_TRUE(says(refused->text, {"the channel needs", "ask for less"}));
}

TEST_F(ChannelStoreTest, RefusesWhatTheSystemDoesNotGive) {
  EXPECT_TRUE(says(allocation_refusal(geometry_, std::uint64_t{65} << 20U),
                   {"65MiB", "File too large", "ask for less"}));
}

TEST_F(ChannelStoreTest, PinsExactlyTheRangesInOrder) {
  const ChannelStore sut = prepared();
  ASSERT_EQ(ranges_.size(), 7U);
  ASSERT_EQ(device_.pins.size(), ranges_.size());
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    EXPECT_EQ(device_.pins[i].data(), sut.mapping.bytes().data() + ranges_[i].offset_bytes);
    EXPECT_EQ(device_.pins[i].size(), ranges_[i].bytes);
    EXPECT_EQ(sut.pinned[i], device_.pins[i].data());
  }
  EXPECT_TRUE(warning_.empty());
}

TEST_F(ChannelStoreTest, PinsNoControlWords) {
  const ChannelStore sut = prepared();
  std::byte* const base = sut.mapping.bytes().data();
  for (const auto& range : device_.pins) {
    EXPECT_GE(range.data(), base + geometry_.inputs_offset_bytes);
    EXPECT_LE(range.data() + range.size(), base + geometry_.total_bytes);
  }
}

TEST_F(ChannelStoreTest, LetsOthersToTheDriverBetweenTwoCalls) {
  ChannelStore sut = prepared();
  EXPECT_EQ(gaps_, (std::vector<std::uint64_t>{8192, 16384, 20480, 28672, 36864, 40960}));
  std::vector<std::size_t> pinned_before_each;
  EXPECT_EQ(
      give_back(std::move(sut), device_, [&] { pinned_before_each.push_back(pinned_count()); }),
      "");
  EXPECT_EQ(pinned_before_each, (std::vector<std::size_t>{7, 6, 5, 4, 3, 2, 1}));
}

TEST_F(ChannelStoreTest, IsPinnedNoFurtherOnceNobodyWantsIt) {
  for (std::size_t wanted_pins = 0; wanted_pins < ranges_.size(); ++wanted_pins) {
    steps_.is_wanted = [&] { return pinned_count() < wanted_pins; };
    auto sut = prepare(allocate());
    ASSERT_TRUE(std::holds_alternative<ChannelStore>(sut));
    auto& store = std::get<ChannelStore>(sut);
    EXPECT_EQ(store.pinned.size(), wanted_pins);
    EXPECT_EQ(give_back_at_once(std::move(store), device_), "");
    EXPECT_EQ(pinned_count(), 0U);
  }
}

TEST_F(ChannelStoreTest, IsNotPublishedOnceNobodyWantsIt) {
  // Wanted until the last range is pinned.
  steps_.is_wanted = [&] { return pinned_count() < ranges_.size(); };
  const ChannelStore sut = std::get<ChannelStore>(prepare(allocate()));
  EXPECT_EQ(sut.pinned.size(), ranges_.size());
  EXPECT_FALSE(is_published(sut.view()));
}

TEST_F(ChannelStoreTest, SaysWhereTheTimeWent) {
  static_cast<void>(prepared());
  EXPECT_GT(times_.touch_ns, 0U);
  EXPECT_GT(times_.pin_ns, 0U);
}

TEST_F(ChannelStoreTest, GivesBackEveryRangeOnce) {
  ChannelStore sut = prepared();
  EXPECT_EQ(pinned_count(), ranges_.size());
  std::vector<std::byte*> expected = sut.pinned;
  EXPECT_EQ(give_back_at_once(std::move(sut), device_), "");
  EXPECT_EQ(pinned_count(), 0U);
  std::sort(expected.begin(), expected.end());
  std::sort(device_.unpins.begin(), device_.unpins.end());
  EXPECT_EQ(device_.unpins, expected);
}

TEST_F(ChannelStoreTest, GivesBackTheRestWhereOneUnpinningFails) {
  for (std::size_t nth = 1; nth <= ranges_.size(); ++nth) {
    PinBook device;
    device.script().fail(Call::unpin, nth, kFailed);
    ChannelStore sut = std::get<ChannelStore>(
        prepare_store(allocate(), geometry_, 0, device, settings_, steps_, times_, warning_));
    EXPECT_TRUE(
        says(give_back_at_once(std::move(sut), device), {"unpinning failed", "scripted error 2"}));
    EXPECT_EQ(device.unpins.size(), ranges_.size());
    EXPECT_EQ(device.script().pinned_range_count(), 0U);
  }
}

TEST_F(ChannelStoreTest, RollsBackWhereverPinningFailsAndRefusesIfItMustBePinned) {
  settings_.require_pinned = true;
  for (const int code : {1, 2, 712, 800, 801}) {
    for (std::size_t nth = 1; nth <= ranges_.size(); ++nth) {
      PinBook device;
      device.script().fail(Call::pin, nth, {DeviceOutcome::failed, code});
      const auto sut =
          prepare_store(allocate(), geometry_, 0, device, settings_, steps_, times_, warning_);
      const auto* refused = std::get_if<StoreRefusal>(&sut);
      ASSERT_NE(refused, nullptr) << nth;
      EXPECT_EQ(refused->code, AttachCode::pinning_failed);
      EXPECT_TRUE(says(refused->text,
                       {"pinning", "scripted error " + std::to_string(code), "ask for less"}));
      EXPECT_EQ(device.script().pinned_range_count(), 0U) << nth;
      EXPECT_EQ(device.unpins.size(), nth - 1);
    }
  }
  EXPECT_TRUE(warning_.empty());
}

TEST_F(ChannelStoreTest, GoesOnUnpinnedWithAWarningIfItNeedNotBePinned) {
  for (std::size_t nth = 1; nth <= ranges_.size(); ++nth) {
    PinBook device;
    device.script().fail(Call::pin, nth, kFailed);
    warning_.clear();
    auto sut = prepare_store(allocate(), geometry_, 0, device, settings_, steps_, times_, warning_);
    ASSERT_TRUE(std::holds_alternative<ChannelStore>(sut)) << nth;
    EXPECT_TRUE(says(warning_, {"scripted error 2", "pageable"}));
    EXPECT_TRUE(std::get<ChannelStore>(sut).pinned.empty());
    EXPECT_EQ(device.script().pinned_range_count(), 0U);
    EXPECT_TRUE(is_published(std::get<ChannelStore>(sut).view()));
    EXPECT_EQ(give_back_at_once(std::move(std::get<ChannelStore>(sut)), device), "");
    EXPECT_EQ(device.unpins.size(), nth - 1);
  }
}

TEST_F(ChannelStoreTest, IsSealedInPlaceWhileBothMappingsGoOnWorking) {
  FileDescriptor memory = allocate();
  const FileDescriptor theirs(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  const ChannelMapping producer(theirs, geometry_.total_bytes, InheritMapping::no);
  const ChannelStore sut = std::get<ChannelStore>(prepare(std::move(memory)));
  const int seals = ::fcntl(theirs.get(), F_GET_SEALS);
  EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  EXPECT_NE(::ftruncate(theirs.get(), 0), 0);
  EXPECT_NE(::fallocate(theirs.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, theirs.get(), 0), MAP_FAILED);
  const ChannelView their_view(producer.bytes(), geometry_);
  their_view.input(4)[4095] = std::byte{0x77};
  EXPECT_EQ(sut.view().input(4)[4095], std::byte{0x77});
  sut.view().output(4)[3999] = std::byte{0x78};
  EXPECT_EQ(their_view.output(4)[3999], std::byte{0x78});
}

TEST_F(ChannelStoreTest, HoldsNoWordNorRingThatTheProducerWroteBeforeItBegan) {
  FileDescriptor memory = allocate();
  const FileDescriptor theirs(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  const ChannelMapping producer(theirs, geometry_.total_bytes, InheritMapping::no);
  std::memset(producer.bytes().data(), 0xff, producer.bytes().size());
  const ChannelStore sut = std::get<ChannelStore>(prepare(std::move(memory)));
  EXPECT_TRUE(is_published(sut.view()));
  const ChannelView view = sut.view();
  EXPECT_EQ(view.producer_words().submission_tail.load(), 0U);
  EXPECT_EQ(view.producer_words().completion_head.load(), 0U);
  EXPECT_EQ(view.producer_words().waiting.load(), 0U);
  EXPECT_EQ(view.daemon_words().completion_tail.load(), 0U);
  EXPECT_FALSE(view.semaphore().try_wait());
  const auto rings = sut.mapping.bytes().subspan(
      geometry_.submissions_offset_bytes,
      geometry_.inputs_offset_bytes - geometry_.submissions_offset_bytes);
  EXPECT_TRUE(
      std::all_of(rings.begin(), rings.end(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST_F(ChannelStoreTest, LeavesTheAreasAsTheProducerMayHaveWrittenThemByNow) {
  FileDescriptor memory = allocate();
  const FileDescriptor theirs(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  const ChannelMapping producer(theirs, geometry_.total_bytes, InheritMapping::no);
  const ChannelView their_view(producer.bytes(), geometry_);
  their_view.input(4)[4095] = std::byte{0x77};
  const ChannelStore sut = std::get<ChannelStore>(prepare(std::move(memory)));
  EXPECT_EQ(sut.view().input(4)[4095], std::byte{0x77});
  EXPECT_EQ(sut.view().input(3)[4095], std::byte{0});
}

TEST_F(ChannelStoreTest, NeedsNoDescriptorOnceItIsMapped) {
  FileDescriptor memory = allocate();
  const std::size_t before = testing::open_descriptor_count();
  const ChannelStore sut = std::get<ChannelStore>(prepare(std::move(memory)));
  EXPECT_EQ(testing::open_descriptor_count(), before - 1);
}

TEST_F(ChannelStoreTest, HasItsPagesBackThatTheProducerPunchedOut) {
  FileDescriptor memory = allocate();
  const FileDescriptor theirs(::fcntl(memory.get(), F_DUPFD_CLOEXEC, 0));
  ASSERT_EQ(::fallocate(theirs.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                        static_cast<off_t>(geometry_.total_bytes)),
            0);
  const ChannelStore sut = std::get<ChannelStore>(prepare(std::move(memory)));
  struct stat status {};
  ASSERT_EQ(::fstat(theirs.get(), &status), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status.st_blocks) * 512, geometry_.total_bytes);
  EXPECT_TRUE(is_published(sut.view()));
}

TEST_F(ChannelStoreTest, IsRefusedUnpinnedWhereTheProducerSealedItFirst) {
  for (const int seals : {F_SEAL_SEAL, F_SEAL_WRITE, F_SEAL_WRITE | F_SEAL_SEAL}) {
    FileDescriptor memory = allocate();
    ASSERT_EQ(::fcntl(memory.get(), F_ADD_SEALS, seals), 0) << seals;
    const auto sut = prepare(std::move(memory));
    const auto* refused = std::get_if<StoreRefusal>(&sut);
    ASSERT_NE(refused, nullptr) << seals;
    EXPECT_EQ(refused->code, AttachCode::memory_refused);
    EXPECT_FALSE(refused->text.empty());
  }
  EXPECT_TRUE(device_.pins.empty());
}

TEST_F(ChannelStoreTest, ClosesItsMemoryWhenItIsGivenBack) {
  const std::size_t before = testing::open_descriptor_count();
  for (int round = 0; round < 100; ++round) {
    EXPECT_EQ(give_back_at_once(prepared(), device_), "");
  }
  EXPECT_EQ(testing::open_descriptor_count(), before);
  EXPECT_EQ(pinned_count(), 0U);
}

TEST_F(ChannelStoreTest, PairsPinsAndUnpinsForEveryNumberOfSlots) {
  for (const std::uint32_t slots : {1U, 2U, 3U, 7U, 64U}) {
    for (const std::uint64_t bytes : {1U, 256U, 4096U, 4097U, 12288U, 100000U}) {
      geometry_ = std::get<ChannelGeometry>(
          plan_geometry({slots, bytes, bytes, 0}, {1024, 1U << 20U, 0, 1U << 26U}));
      EXPECT_EQ(give_back_at_once(prepared(), device_), "");
      EXPECT_EQ(pinned_count(), 0U) << slots << " of " << bytes;
    }
  }
  EXPECT_EQ(device_.pins.size(), device_.unpins.size());
}

}  // namespace
}  // namespace overlap
