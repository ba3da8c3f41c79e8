#include "shared/channel_memory.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <utility>

namespace overlap {
namespace {

constexpr std::uint64_t kBytes = 64 * 4096;

using Word = std::atomic<std::uint32_t>;

Word& word_in(const ChannelMapping& mapping, std::size_t offset_bytes) {
  return *reinterpret_cast<Word*>(mapping.bytes().data() + offset_bytes);
}

/// Runs `child` in a forked process and gives its exit status, or -1 if it ended otherwise.
int exit_status_of(const std::function<int()>& child) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::_exit(child());
  }
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The error of `make`, or 0; its text goes to `text`.
int error_of(const std::function<void()>& make, std::string& text) {
  try {
    make();
  } catch (const ChannelMemoryError& error) {
    text = error.what();
    return error.error_number();
  }
  return 0;
}

/// The `VmFlags` of the mapping that holds `place`, as /proc/self/smaps has them.
std::string vm_flags_of(const void* place) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(place);
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream text(line);
    std::uintptr_t first = 0;
    std::uintptr_t last = 0;
    char dash = 0;
    if (text >> std::hex >> first >> dash >> last && dash == '-') {
      inside = first <= wanted && wanted < last;
    } else if (inside && line.rfind("VmFlags:", 0) == 0) {
      return line + " ";
    }
  }
  return "";
}

std::uint64_t allocated_bytes_of(const FileDescriptor& memory) {
  struct stat status {};
  EXPECT_EQ(::fstat(memory.get(), &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST(ChannelMemory, IsExactlyAsLongAsAskedAndAllocated) {
  for (const std::uint64_t bytes : {std::uint64_t{4096}, kBytes}) {
    const FileDescriptor sut = create_channel_memory(bytes);
    EXPECT_EQ(channel_memory_bytes(sut), bytes);
    EXPECT_EQ(allocated_bytes_of(sut), bytes);
    EXPECT_NE(::fcntl(sut.get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(ChannelMemory, BeginsZeroedAndIsOneMemoryInEveryMapping) {
  const FileDescriptor memory = create_channel_memory(kBytes);
  const ChannelMapping first(memory, kBytes, InheritMapping::no);
  const ChannelMapping second(memory, kBytes, InheritMapping::no);
  ASSERT_EQ(first.bytes().size(), kBytes);
  ASSERT_NE(first.bytes().data(), second.bytes().data());
  EXPECT_EQ(word_in(second, kBytes - 4), 0U);
  word_in(first, kBytes - 4) = 7;
  EXPECT_EQ(word_in(second, kBytes - 4), 7U);
}

/// A producer holds the descriptor before it is sealed: a memory that it cut short would be a SIGBUS
/// for whoever touches its pages next.
TEST(ChannelMemory, IsFixedInSizeBeforeAnybodyElseHoldsIt) {
  const FileDescriptor memory = create_channel_memory(kBytes);
  const ChannelMapping mapping(memory, kBytes, InheritMapping::no);
  EXPECT_TRUE(::ftruncate(memory.get(), 0) == -1 && errno == EPERM) << "shrunk";
  EXPECT_TRUE(::ftruncate(memory.get(), 2 * kBytes) == -1 && errno == EPERM) << "grown";
  seal_channel_memory(memory);
  EXPECT_EQ(channel_memory_bytes(memory), kBytes);
}

TEST(ChannelMemory, HasEveryPageOnceSealedThoughSomebodyPunchedHolesBefore) {
  const FileDescriptor memory = create_channel_memory(kBytes);
  const ChannelMapping mapping(memory, kBytes, InheritMapping::no);
  ASSERT_EQ(::fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 8 * 4096),
            0);
  ASSERT_EQ(allocated_bytes_of(memory), kBytes - 8 * 4096);
  seal_channel_memory(memory);
  EXPECT_EQ(allocated_bytes_of(memory), kBytes);
}

TEST(ChannelMemory, HasEverySealAndTakesNoMore) {
  const FileDescriptor sut = create_channel_memory(kBytes);
  seal_channel_memory(sut);
  // SEAL, SHRINK, GROW and FUTURE_WRITE, and not WRITE.
  EXPECT_EQ(::fcntl(sut.get(), F_GET_SEALS), 0x01 | 0x02 | 0x04 | 0x10);
  EXPECT_EQ(::fcntl(sut.get(), F_ADD_SEALS, 0x08), -1);
  EXPECT_EQ(errno, EPERM);
}

/// What a hostile holder of the descriptor could try; each line answers with its error.
void expect_fixed(int memory, std::byte* mapped) {
  EXPECT_TRUE(::ftruncate(memory, 4096) == -1 && errno == EPERM) << "shrunk";
  EXPECT_TRUE(::ftruncate(memory, 2 * kBytes) == -1 && errno == EPERM) << "grown";
  EXPECT_TRUE(::fallocate(memory, 0, kBytes, 4096) == -1 && errno == EPERM) << "extended";
  EXPECT_TRUE(::fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == -1 &&
              errno == EPERM)
      << "punched";
  EXPECT_TRUE(::madvise(mapped, 4096, MADV_REMOVE) == -1 && errno == EPERM) << "removed";
  EXPECT_TRUE(::pwrite(memory, "x", 1, 0) == -1 && errno == EPERM) << "written";
  EXPECT_EQ(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0), MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  void* const read_only = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, memory, 0);
  ASSERT_NE(read_only, MAP_FAILED);
  EXPECT_TRUE(::mprotect(read_only, kBytes, PROT_READ | PROT_WRITE) == -1 && errno == EACCES);
  ::munmap(read_only, kBytes);
  // Opened afresh it is still the same sealed file.
  const FileDescriptor again(
      ::open(("/proc/self/fd/" + std::to_string(memory)).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(again);
  EXPECT_EQ(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0),
            MAP_FAILED);
  EXPECT_TRUE(::ftruncate(again.get(), 0) == -1 && errno == EPERM);
}

TEST(ChannelMemory, IsFixedOnceSealed) {
  const FileDescriptor memory = create_channel_memory(kBytes);
  const ChannelMapping mapping(memory, kBytes, InheritMapping::no);
  word_in(mapping, 0) = 5;
  seal_channel_memory(memory);
  expect_fixed(memory.get(), mapping.bytes().data());
  EXPECT_EQ(word_in(mapping, 0), 5U);
  EXPECT_EQ(channel_memory_bytes(memory), kBytes);
  std::string text;
  EXPECT_EQ(error_of([&] { ChannelMapping late(memory, kBytes, InheritMapping::no); }, text),
            EPERM);
  EXPECT_EQ(text, "mmap of 256KiB: Operation not permitted");
}

/// The attach sequence between two processes: both map, the daemon seals, both go on.
TEST(ChannelMemory, GoesOnWorkingInBothProcessesThatMappedItBeforeTheSeals) {
  const FileDescriptor memory = create_channel_memory(kBytes);
  const ChannelMapping mapping(memory, kBytes, InheritMapping::no);
  const FileDescriptor mapped = make_eventfd();
  const FileDescriptor sealed = make_eventfd();
  for (const FileDescriptor* blocking : {&mapped, &sealed}) {
    ASSERT_EQ(::fcntl(blocking->get(), F_SETFL, 0), 0);
  }
  const pid_t producer = ::fork();
  ASSERT_GE(producer, 0);
  if (producer == 0) {
    const ChannelMapping theirs(memory, kBytes, InheritMapping::no);
    ring(mapped.get());
    silence(sealed.get());
    const bool seen = word_in(theirs, 0) == 11;
    word_in(theirs, kBytes - 4) = 22;
    expect_fixed(memory.get(), theirs.bytes().data());
    ::_exit(seen && !::testing::Test::HasFailure() ? 0 : 1);
  }
  silence(mapped.get());
  seal_channel_memory(memory);
  word_in(mapping, 0) = 11;
  ring(sealed.get());
  int status = 0;
  ASSERT_EQ(::waitpid(producer, &status, 0), producer);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(word_in(mapping, kBytes - 4), 22U);
}

TEST(ChannelMemory, SaysSoWhenItCannotBeSealed) {
  const FileDescriptor sealed = create_channel_memory(4096);
  ASSERT_EQ(::fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_SEAL), 0);
  std::string text;
  EXPECT_EQ(error_of([&] { seal_channel_memory(sealed); }, text), EPERM);
  EXPECT_NE(text.find("F_ADD_SEALS"), std::string::npos) << text;
  EXPECT_EQ(error_of([&] { seal_channel_memory(make_eventfd()); }, text), EINVAL);
}

TEST(ChannelMemory, IsRefusedBeyondTheLimitOnFileSizesNamingCallSizeAndReason) {
  const int status = exit_status_of([] {
    // The kernel also sends a signal for this one.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1U << 20U, 1U << 20U};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string text;
    const int error = error_of([] { static_cast<void>(create_channel_memory(8U << 20U)); }, text);
    return error == EFBIG && text == "fallocate of 8MiB: File too large" ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
}

TEST(ChannelMemory, IsRefusedForSizesThatNoFileHas) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 63U, UINT64_MAX}) {
    std::string text;
    EXPECT_EQ(error_of([&] { static_cast<void>(create_channel_memory(bytes)); }, text), EINVAL);
    EXPECT_EQ(text.rfind("fallocate of ", 0), 0U) << text;
  }
}

TEST(ChannelMemory, IsRefusedWithoutDescriptors) {
  // UndefinedBehaviorSanitizer needs descriptors when it first meets a type: it meets it here, and
  // what was thrown is looked at when the limit is back.
  const ChannelMemoryError expected("memfd_create", EMFILE);
  EXPECT_EQ(expected.error_number(), EMFILE);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::exception_ptr thrown;
  try {
    const FileDescriptor sut = create_channel_memory(4096);
  } catch (...) {
    thrown = std::current_exception();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(thrown);
  std::string text;
  EXPECT_EQ(error_of([&] { std::rethrow_exception(thrown); }, text), EMFILE);
  EXPECT_EQ(text, expected.what());
}

TEST(ChannelMemoryError, CarriesTheNumberAndItsText) {
  const ChannelMemoryError full("fallocate of 1GiB", ENOSPC);
  EXPECT_EQ(full.error_number(), ENOSPC);
  EXPECT_STREQ(full.what(), "fallocate of 1GiB: No space left on device");
  EXPECT_STREQ(ChannelMemoryError("mmap of 1GiB", ENOMEM).what(),
               "mmap of 1GiB: Cannot allocate memory");
}

TEST(ChannelMapping, IsRefusedWhenThereIsNoRoomInTheAddressSpace) {
  const FileDescriptor memory = create_channel_memory(4096);
  std::string text;
  EXPECT_EQ(
      error_of([&] { ChannelMapping sut(memory, std::uint64_t{1} << 60U, InheritMapping::no); },
               text),
      ENOMEM);
  EXPECT_EQ(text, "mmap of 1073741824GiB: Cannot allocate memory");
}

TEST(ChannelMapping, IsEmptyByDefaultAndOnceMovedFrom) {
  const FileDescriptor memory = create_channel_memory(4096);
  ChannelMapping sut;
  EXPECT_TRUE(sut.bytes().empty());
  ChannelMapping other(memory, 4096, InheritMapping::no);
  sut = std::move(other);
  EXPECT_EQ(sut.bytes().size(), 4096U);
  EXPECT_TRUE(other.bytes().empty());  // NOLINT(bugprone-use-after-move): that is what is tested
}

TEST(ChannelMapping, StaysOutOfCoreDumpsAndOutOfForkedChildren) {
  const FileDescriptor memory = create_channel_memory(kBytes);
  const ChannelMapping sut(memory, kBytes, InheritMapping::no);
  const std::string flags = vm_flags_of(sut.bytes().data());
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
  EXPECT_NE(flags.find(" dc "), std::string::npos) << flags;
  EXPECT_NE(flags.find(" sh "), std::string::npos) << flags;
  EXPECT_EQ(exit_status_of([&] { return vm_flags_of(sut.bytes().data()).empty() ? 0 : 1; }), 0);
}

TEST(ChannelMapping, MayGoOnInAForkedChild) {
  const FileDescriptor memory = create_channel_memory(kBytes);
  const ChannelMapping sut(memory, kBytes, InheritMapping::yes);
  const std::string flags = vm_flags_of(sut.bytes().data());
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
  EXPECT_EQ(flags.find(" dc "), std::string::npos) << flags;
  EXPECT_EQ(exit_status_of([&] {
              word_in(sut, 0) = 9;
              return 0;
            }),
            0);
  EXPECT_EQ(word_in(sut, 0), 9U);
}

}  // namespace
}  // namespace overlap
