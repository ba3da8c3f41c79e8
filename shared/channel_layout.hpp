#pragma once

// The bytes of a channel's control region, ABI major 1. Structs, constants and assertions only; who
// writes what and when is the table in shared/README.md, and tests/unit/channel_layout_test.cpp
// declares the same layout a second time.
//
// Incompatible, and so a new major: moving, resizing or removing a field; another unit or meaning for
// one; another writer; another memory order; another size of a ring entry; another rule for a
// capacity or a stride. Compatible, and so a new minor: a meaning for reserved bytes that are zero, a
// new opcode, status, flag or region kind that is only used once both sides have said they know it.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace overlap {

inline constexpr std::uint32_t kAbiMajor = 1;
inline constexpr std::uint32_t kAbiMinor = 0;

/// The eight bytes "OVERLAP1" as a little-endian number; reads otherwise on another byte order.
inline constexpr std::uint64_t kChannelMagic = 0x3150414c'5245564fULL;

/// Distance between words of different writers: two cache lines, for adjacent-line prefetch.
inline constexpr std::size_t kSeparationBytes = 128;
inline constexpr std::size_t kPageBytes = 4096;
/// Inputs and outputs start at multiples of this within their region.
inline constexpr std::size_t kSmallStrideBytes = 256;

inline constexpr std::uint32_t kMaxSlotCount = 1U << 20;
inline constexpr std::size_t kParamBytes = 24;

/// What `ChannelHeader::version` holds once everything else in the memory means something.
inline constexpr std::uint32_t kPublishedVersion = (kAbiMajor << 16U) | kAbiMinor;

using SharedWord = std::atomic<std::uint32_t>;
static_assert(SharedWord::is_always_lock_free && sizeof(SharedWord) == 4);

/// Page 0. Written once by the daemon before 'ready'; `version` last, with a release store.
struct ChannelHeader {
  std::uint64_t magic;
  std::uint32_t header_bytes;
  SharedWord version;
  std::uint32_t slot_count;
  std::uint32_t ring_capacity;
  std::uint32_t semaphore_bytes;
  std::uint32_t reserved_0;
  std::uint64_t features;
  std::uint64_t total_bytes;
  std::uint64_t input_bytes;
  std::uint64_t input_stride_bytes;
  std::uint64_t output_bytes;
  std::uint64_t output_stride_bytes;
  std::uint64_t table_bytes;
  std::uint64_t submissions_offset_bytes;
  std::uint64_t completions_offset_bytes;
  std::uint64_t issued_offset_bytes;
  std::uint64_t inputs_offset_bytes;
  std::uint64_t outputs_offset_bytes;
  std::uint64_t tables_offset_bytes;
};

/// How a producer sleeps; the value of `ProducerWords::waiting`.
enum class WaitKind : std::uint32_t { none = 0, semaphore = 1, descriptor = 2 };

/// Words that only the producer writes.
struct ProducerWords {
  alignas(kSeparationBytes) SharedWord submission_tail;
  alignas(kSeparationBytes) SharedWord completion_head;
  alignas(kSeparationBytes) SharedWord waiting;
};

/// Words that only the daemon writes.
struct DaemonWords {
  alignas(kSeparationBytes) SharedWord submission_head;
  alignas(kSeparationBytes) SharedWord completion_tail;
  alignas(kSeparationBytes) SharedWord asleep;
};

/// Room for the `boost::interprocess::interprocess_semaphore`; both sides write it, nothing else is
/// near it.
struct SemaphoreStorage {
  alignas(kSeparationBytes) std::byte bytes[kSeparationBytes];
};

enum class Opcode : std::uint8_t { job = 0, table_update = 1, reset_state = 2, cancel = 3 };

/// Run with nothing else issued: the job was on the device when a daemon died.
inline constexpr std::uint16_t kSubmissionIsolate = 1U << 0U;
/// Bits that say which of the job's own parameters are given; see `SubmissionEntry::params`.
inline constexpr std::size_t kMaxJobParameters = kParamBytes / sizeof(std::uint64_t);
[[nodiscard]] constexpr std::uint16_t submission_parameter_flag(std::size_t index) noexcept {
  return static_cast<std::uint16_t>(1U << (1U + index));
}
inline constexpr std::uint16_t kSubmissionParameters = 0b1110;
inline constexpr std::uint16_t kKnownSubmissionFlags = kSubmissionIsolate | kSubmissionParameters;

/// The slot of an entry that is about none.
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

/// What `SubmissionEntry::params` of a `table_update` says. The table's length is in `input_bytes`,
/// its pipeline in `pipeline_index`.
struct TableUpdate {
  /// Within the table region; a multiple of kSmallStrideBytes.
  std::uint64_t offset_bytes;
  std::uint32_t stage_index;
  std::uint32_t reserved_0;
  std::uint64_t reserved_1;
};

/// One entry of the submission ring.
struct SubmissionEntry {
  std::uint64_t job_id;
  std::uint32_t slot;
  std::uint8_t opcode;
  std::uint8_t pipeline_index;
  std::uint16_t flags;
  std::uint64_t input_bytes;
  /// CLOCK_MONOTONIC; 0 for none.
  std::uint64_t deadline_ns;
  /// CLOCK_MONOTONIC, when the producer had filled the slot: its claim.
  std::uint64_t ready_ns;
  /// Of a job: the first stage's per-job parameters in the order of their declaration, 8 bytes each,
  /// those that its flags name. Of a `table_update`: a TableUpdate.
  std::byte params[kParamBytes];
};

/// Finished after its deadline had passed.
inline constexpr std::uint16_t kCompletionLate = 1U << 0U;
/// The first result after a stateful kernel lost its history.
inline constexpr std::uint16_t kCompletionDiscontinuity = 1U << 1U;

/// One entry of the completion ring. Times are CLOCK_MONOTONIC; 0 where the job never got there.
struct CompletionEntry {
  std::uint64_t job_id;
  std::uint32_t slot;
  std::uint16_t status;
  std::uint16_t flags;
  std::uint64_t output_bytes;
  std::uint64_t ready_ns;
  std::uint64_t taken_ns;
  std::uint64_t issued_ns;
  std::uint64_t done_ns;
  std::uint32_t detail_code;
  std::uint32_t detail_value;
};

inline constexpr std::size_t kProducerWordsOffsetBytes = kPageBytes;
inline constexpr std::size_t kDaemonWordsOffsetBytes =
    kProducerWordsOffsetBytes + sizeof(ProducerWords);
inline constexpr std::size_t kSemaphoreOffsetBytes = kDaemonWordsOffsetBytes + sizeof(DaemonWords);
inline constexpr std::size_t kSubmissionsOffsetBytes = 2 * kPageBytes;

static_assert(offsetof(ChannelHeader, magic) == 0);
static_assert(offsetof(ChannelHeader, header_bytes) == 8);
static_assert(offsetof(ChannelHeader, version) == 12);
static_assert(offsetof(ChannelHeader, slot_count) == 16);
static_assert(offsetof(ChannelHeader, ring_capacity) == 20);
static_assert(offsetof(ChannelHeader, semaphore_bytes) == 24);
static_assert(offsetof(ChannelHeader, reserved_0) == 28);
static_assert(offsetof(ChannelHeader, features) == 32);
static_assert(offsetof(ChannelHeader, total_bytes) == 40);
static_assert(offsetof(ChannelHeader, input_bytes) == 48);
static_assert(offsetof(ChannelHeader, input_stride_bytes) == 56);
static_assert(offsetof(ChannelHeader, output_bytes) == 64);
static_assert(offsetof(ChannelHeader, output_stride_bytes) == 72);
static_assert(offsetof(ChannelHeader, table_bytes) == 80);
static_assert(offsetof(ChannelHeader, submissions_offset_bytes) == 88);
static_assert(offsetof(ChannelHeader, completions_offset_bytes) == 96);
static_assert(offsetof(ChannelHeader, issued_offset_bytes) == 104);
static_assert(offsetof(ChannelHeader, inputs_offset_bytes) == 112);
static_assert(offsetof(ChannelHeader, outputs_offset_bytes) == 120);
static_assert(offsetof(ChannelHeader, tables_offset_bytes) == 128);
static_assert(sizeof(ChannelHeader) == 136 && sizeof(ChannelHeader) <= kPageBytes);

static_assert(offsetof(ProducerWords, submission_tail) == 0);
static_assert(offsetof(ProducerWords, completion_head) == 128);
static_assert(offsetof(ProducerWords, waiting) == 256);
static_assert(sizeof(ProducerWords) == 384);
static_assert(offsetof(DaemonWords, submission_head) == 0);
static_assert(offsetof(DaemonWords, completion_tail) == 128);
static_assert(offsetof(DaemonWords, asleep) == 256);
static_assert(sizeof(DaemonWords) == 384);
static_assert(sizeof(SemaphoreStorage) == kSeparationBytes);
static_assert(kSemaphoreOffsetBytes + sizeof(SemaphoreStorage) <= kSubmissionsOffsetBytes);

static_assert(offsetof(SubmissionEntry, job_id) == 0);
static_assert(offsetof(SubmissionEntry, slot) == 8);
static_assert(offsetof(SubmissionEntry, opcode) == 12);
static_assert(offsetof(SubmissionEntry, pipeline_index) == 13);
static_assert(offsetof(SubmissionEntry, flags) == 14);
static_assert(offsetof(SubmissionEntry, input_bytes) == 16);
static_assert(offsetof(SubmissionEntry, deadline_ns) == 24);
static_assert(offsetof(SubmissionEntry, ready_ns) == 32);
static_assert(offsetof(SubmissionEntry, params) == 40);
static_assert(sizeof(SubmissionEntry) == 64);

static_assert(kMaxJobParameters == 3);
static_assert(offsetof(TableUpdate, offset_bytes) == 0);
static_assert(offsetof(TableUpdate, stage_index) == 8);
static_assert(sizeof(TableUpdate) == kParamBytes);

static_assert(offsetof(CompletionEntry, job_id) == 0);
static_assert(offsetof(CompletionEntry, slot) == 8);
static_assert(offsetof(CompletionEntry, status) == 12);
static_assert(offsetof(CompletionEntry, flags) == 14);
static_assert(offsetof(CompletionEntry, output_bytes) == 16);
static_assert(offsetof(CompletionEntry, ready_ns) == 24);
static_assert(offsetof(CompletionEntry, taken_ns) == 32);
static_assert(offsetof(CompletionEntry, issued_ns) == 40);
static_assert(offsetof(CompletionEntry, done_ns) == 48);
static_assert(offsetof(CompletionEntry, detail_code) == 56);
static_assert(offsetof(CompletionEntry, detail_value) == 60);
static_assert(sizeof(CompletionEntry) == 64);

}  // namespace overlap
