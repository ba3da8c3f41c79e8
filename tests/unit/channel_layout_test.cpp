// The layout of version 1, declared a second time with numbers written by hand. If a test here
// fails, producers and daemons of before the change no longer understand those of after it: read
// "What counts as an incompatible change" in shared/README.md, raise the ABI, and only then edit the
// numbers below and `kExpectedLayoutVersion`.

#include "shared/channel_layout.hpp"

#include "shared/channel_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

namespace overlap {
namespace {

constexpr std::uint32_t kExpectedLayoutVersion = 1;
constexpr std::uint32_t kExpectedMinorVersion = 0;

struct Field {
  std::string_view name;
  std::size_t offset;
  std::size_t size;
  std::size_t alignment;
};

// The compiler's view of one field. Only names and sizes pass through here: no control flow.
#define OVERLAP_FIELD(Struct, field) \
  Field { #field, offsetof(Struct, field), sizeof(Struct::field), alignof(decltype(Struct::field)) }

void expect_same(std::span<const Field> sut, std::span<const Field> expected) {
  ASSERT_EQ(sut.size(), expected.size());
  for (std::size_t i = 0; i < sut.size(); ++i) {
    EXPECT_EQ(sut[i].name, expected[i].name);
    EXPECT_EQ(sut[i].offset, expected[i].offset) << "offset of " << sut[i].name;
    EXPECT_EQ(sut[i].size, expected[i].size) << "size of " << sut[i].name;
    EXPECT_EQ(sut[i].alignment, expected[i].alignment) << "alignment of " << sut[i].name;
  }
}

/// Whether fields lie back to back: then none is missing from the table, and a 32-bit compiler,
/// which aligns 64-bit numbers to 4, lays them out the same way.
bool has_no_gap(std::span<const Field> fields, std::size_t struct_bytes) {
  std::size_t next = 0;
  for (const Field& field : fields) {
    if (field.offset != next) {
      return false;
    }
    next += field.size;
  }
  return next == struct_bytes && struct_bytes % 8 == 0;
}

TEST(ChannelLayout, IsTheVersionThatThisTestDescribes) {
  EXPECT_EQ(kAbiMajor, kExpectedLayoutVersion);
  EXPECT_EQ(kAbiMinor, kExpectedMinorVersion);
  EXPECT_EQ(kPublishedVersion, 0x00010000U);
}

TEST(ChannelLayout, KeepsEveryHeaderField) {
  static constexpr std::array kExpected{
      Field{"magic", 0, 8, 8},
      Field{"header_bytes", 8, 4, 4},
      Field{"version", 12, 4, 4},
      Field{"slot_count", 16, 4, 4},
      Field{"ring_capacity", 20, 4, 4},
      Field{"semaphore_bytes", 24, 4, 4},
      Field{"reserved_0", 28, 4, 4},
      Field{"features", 32, 8, 8},
      Field{"total_bytes", 40, 8, 8},
      Field{"input_bytes", 48, 8, 8},
      Field{"input_stride_bytes", 56, 8, 8},
      Field{"output_bytes", 64, 8, 8},
      Field{"output_stride_bytes", 72, 8, 8},
      Field{"table_bytes", 80, 8, 8},
      Field{"submissions_offset_bytes", 88, 8, 8},
      Field{"completions_offset_bytes", 96, 8, 8},
      Field{"issued_offset_bytes", 104, 8, 8},
      Field{"inputs_offset_bytes", 112, 8, 8},
      Field{"outputs_offset_bytes", 120, 8, 8},
      Field{"tables_offset_bytes", 128, 8, 8},
  };
  const std::array sut{
      OVERLAP_FIELD(ChannelHeader, magic),
      OVERLAP_FIELD(ChannelHeader, header_bytes),
      OVERLAP_FIELD(ChannelHeader, version),
      OVERLAP_FIELD(ChannelHeader, slot_count),
      OVERLAP_FIELD(ChannelHeader, ring_capacity),
      OVERLAP_FIELD(ChannelHeader, semaphore_bytes),
      OVERLAP_FIELD(ChannelHeader, reserved_0),
      OVERLAP_FIELD(ChannelHeader, features),
      OVERLAP_FIELD(ChannelHeader, total_bytes),
      OVERLAP_FIELD(ChannelHeader, input_bytes),
      OVERLAP_FIELD(ChannelHeader, input_stride_bytes),
      OVERLAP_FIELD(ChannelHeader, output_bytes),
      OVERLAP_FIELD(ChannelHeader, output_stride_bytes),
      OVERLAP_FIELD(ChannelHeader, table_bytes),
      OVERLAP_FIELD(ChannelHeader, submissions_offset_bytes),
      OVERLAP_FIELD(ChannelHeader, completions_offset_bytes),
      OVERLAP_FIELD(ChannelHeader, issued_offset_bytes),
      OVERLAP_FIELD(ChannelHeader, inputs_offset_bytes),
      OVERLAP_FIELD(ChannelHeader, outputs_offset_bytes),
      OVERLAP_FIELD(ChannelHeader, tables_offset_bytes),
  };
  expect_same(sut, kExpected);
  EXPECT_TRUE(has_no_gap(sut, 136));
  EXPECT_EQ(sizeof(ChannelHeader), 136U);
}

TEST(ChannelLayout, KeepsTheWordsOfEachSideApart) {
  static constexpr std::array kExpectedProducer{Field{"submission_tail", 0, 4, 4},
                                                Field{"completion_head", 128, 4, 4},
                                                Field{"waiting", 256, 4, 4}};
  static constexpr std::array kExpectedDaemon{Field{"submission_head", 0, 4, 4},
                                              Field{"completion_tail", 128, 4, 4},
                                              Field{"asleep", 256, 4, 4}};
  const std::array producer{OVERLAP_FIELD(ProducerWords, submission_tail),
                            OVERLAP_FIELD(ProducerWords, completion_head),
                            OVERLAP_FIELD(ProducerWords, waiting)};
  const std::array daemon{OVERLAP_FIELD(DaemonWords, submission_head),
                          OVERLAP_FIELD(DaemonWords, completion_tail),
                          OVERLAP_FIELD(DaemonWords, asleep)};
  expect_same(producer, kExpectedProducer);
  expect_same(daemon, kExpectedDaemon);
  EXPECT_EQ(sizeof(ProducerWords), 384U);
  EXPECT_EQ(sizeof(DaemonWords), 384U);
  EXPECT_EQ(sizeof(SemaphoreStorage), 128U);
  EXPECT_EQ(alignof(ProducerWords), 128U);
  EXPECT_EQ(alignof(DaemonWords), 128U);
  EXPECT_EQ(alignof(SemaphoreStorage), 128U);
  // A fourth word, even one that fits a gap, does not compile.
  ProducerWords producer_words{};
  DaemonWords daemon_words{};
  const auto& [tail, head, waiting] = producer_words;
  const auto& [daemon_head, daemon_tail, asleep] = daemon_words;
  EXPECT_EQ(tail + head + waiting + daemon_head + daemon_tail + asleep, 0U);
}

TEST(ChannelLayout, KeepsEverySubmissionField) {
  static constexpr std::array kExpected{
      Field{"job_id", 0, 8, 8},       Field{"slot", 8, 4, 4},
      Field{"opcode", 12, 1, 1},      Field{"pipeline_index", 13, 1, 1},
      Field{"flags", 14, 2, 2},       Field{"input_bytes", 16, 8, 8},
      Field{"deadline_ns", 24, 8, 8}, Field{"ready_ns", 32, 8, 8},
      Field{"params", 40, 24, 1}};
  const std::array sut{
      OVERLAP_FIELD(SubmissionEntry, job_id),      OVERLAP_FIELD(SubmissionEntry, slot),
      OVERLAP_FIELD(SubmissionEntry, opcode),      OVERLAP_FIELD(SubmissionEntry, pipeline_index),
      OVERLAP_FIELD(SubmissionEntry, flags),       OVERLAP_FIELD(SubmissionEntry, input_bytes),
      OVERLAP_FIELD(SubmissionEntry, deadline_ns), OVERLAP_FIELD(SubmissionEntry, ready_ns),
      OVERLAP_FIELD(SubmissionEntry, params)};
  expect_same(sut, kExpected);
  EXPECT_TRUE(has_no_gap(sut, sizeof(SubmissionEntry)));
  EXPECT_EQ(sizeof(SubmissionEntry), 64U);
}

TEST(ChannelLayout, KeepsEveryFieldOfATableUpdate) {
  static constexpr std::array kExpected{
      Field{"offset_bytes", 0, 8, 8}, Field{"stage_index", 8, 4, 4}, Field{"reserved_0", 12, 4, 4},
      Field{"reserved_1", 16, 8, 8}};
  const std::array sut{
      OVERLAP_FIELD(TableUpdate, offset_bytes), OVERLAP_FIELD(TableUpdate, stage_index),
      OVERLAP_FIELD(TableUpdate, reserved_0), OVERLAP_FIELD(TableUpdate, reserved_1)};
  expect_same(sut, kExpected);
  EXPECT_TRUE(has_no_gap(sut, sizeof(TableUpdate)));
  EXPECT_EQ(sizeof(TableUpdate), sizeof(SubmissionEntry::params));
}

TEST(ChannelLayout, GivesEveryParameterOfAJobAFlagOfItsOwn) {
  EXPECT_EQ(kMaxJobParameters, 3U);
  EXPECT_EQ(submission_parameter_flag(0), 2U);
  EXPECT_EQ(submission_parameter_flag(1), 4U);
  EXPECT_EQ(submission_parameter_flag(2), 8U);
}

TEST(ChannelLayout, KeepsEveryCompletionField) {
  static constexpr std::array kExpected{
      Field{"job_id", 0, 8, 8},       Field{"slot", 8, 4, 4},          Field{"status", 12, 2, 2},
      Field{"flags", 14, 2, 2},       Field{"output_bytes", 16, 8, 8}, Field{"ready_ns", 24, 8, 8},
      Field{"taken_ns", 32, 8, 8},    Field{"issued_ns", 40, 8, 8},    Field{"done_ns", 48, 8, 8},
      Field{"detail_code", 56, 4, 4}, Field{"detail_value", 60, 4, 4}};
  const std::array sut{
      OVERLAP_FIELD(CompletionEntry, job_id),       OVERLAP_FIELD(CompletionEntry, slot),
      OVERLAP_FIELD(CompletionEntry, status),       OVERLAP_FIELD(CompletionEntry, flags),
      OVERLAP_FIELD(CompletionEntry, output_bytes), OVERLAP_FIELD(CompletionEntry, ready_ns),
      OVERLAP_FIELD(CompletionEntry, taken_ns),     OVERLAP_FIELD(CompletionEntry, issued_ns),
      OVERLAP_FIELD(CompletionEntry, done_ns),      OVERLAP_FIELD(CompletionEntry, detail_code),
      OVERLAP_FIELD(CompletionEntry, detail_value)};
  expect_same(sut, kExpected);
  EXPECT_TRUE(has_no_gap(sut, sizeof(CompletionEntry)));
  EXPECT_EQ(sizeof(CompletionEntry), 64U);
}

TEST(ChannelLayout, KeepsConstantsAndNumbers) {
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(&kChannelMagic), 8), "OVERLAP1");
  EXPECT_EQ(kSeparationBytes, 128U);
  EXPECT_EQ(kPageBytes, 4096U);
  EXPECT_EQ(kSmallStrideBytes, 256U);
  EXPECT_EQ(kMaxSlotCount, 1048576U);
  EXPECT_EQ(kParamBytes, 24U);
  EXPECT_EQ(kProducerWordsOffsetBytes, 4096U);
  EXPECT_EQ(kDaemonWordsOffsetBytes, 4480U);
  EXPECT_EQ(kSemaphoreOffsetBytes, 4864U);
  EXPECT_EQ(kSubmissionsOffsetBytes, 8192U);
  EXPECT_EQ(static_cast<int>(Opcode::job), 0);
  EXPECT_EQ(static_cast<int>(Opcode::table_update), 1);
  EXPECT_EQ(static_cast<int>(Opcode::reset_state), 2);
  EXPECT_EQ(static_cast<int>(Opcode::cancel), 3);
  EXPECT_EQ(kSubmissionIsolate, 1U);
  EXPECT_EQ(kSubmissionParameters, 0xeU);
  EXPECT_EQ(kKnownSubmissionFlags, 0xfU);
  EXPECT_EQ(kNoSlot, 0xffffffffU);
  EXPECT_EQ(kCompletionLate, 1U);
  EXPECT_EQ(kCompletionDiscontinuity, 2U);
  EXPECT_EQ(static_cast<std::uint32_t>(WaitKind::none), 0U);
  EXPECT_EQ(static_cast<std::uint32_t>(WaitKind::semaphore), 1U);
  EXPECT_EQ(static_cast<std::uint32_t>(WaitKind::descriptor), 2U);
}

TEST(ChannelLayout, KeepsTheRuleForTheRingCapacity) {
  static constexpr std::array<std::array<std::uint32_t, 2>, 8> kExpected{
      {{1, 2}, {2, 4}, {3, 8}, {4, 8}, {5, 16}, {64, 128}, {1000, 2048}, {1048576, 2097152}}};
  for (const auto& [slots, capacity] : kExpected) {
    const auto planned = plan_geometry({slots, 1, 1, 0}, {slots, 1, 0, UINT64_MAX});
    ASSERT_TRUE(std::holds_alternative<ChannelGeometry>(planned)) << slots;
    EXPECT_EQ(std::get<ChannelGeometry>(planned).ring_capacity, capacity) << slots;
  }
}

/// A type with the same bytes for every compiler and word size.
template <class T>
constexpr bool is_fixed_width() {
  if constexpr (std::is_array_v<T>) {
    return is_fixed_width<std::remove_all_extents_t<T>>();
  } else if constexpr (std::is_same_v<T, std::byte> || std::is_same_v<T, SharedWord>) {
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    return is_fixed_width<std::underlying_type_t<T>>();
  } else {
    return std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t> ||
           std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>;
  }
}

template <class... Fields>
constexpr bool all_fixed_width(const Fields&...) {
  return (is_fixed_width<std::remove_cv_t<Fields>>() && ...);
}
static_assert(is_fixed_width<std::byte[24]>() && is_fixed_width<WaitKind>());
static_assert(!is_fixed_width<bool>() && !is_fixed_width<void*>() && !is_fixed_width<int>());

TEST(ChannelLayout, HoldsOnlyFixedWidthTypes) {
  static ChannelHeader header{};
  static SubmissionEntry submission{};
  static CompletionEntry completion{};
  static TableUpdate update{};
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = header;
  EXPECT_TRUE(all_fixed_width(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t));
  const auto& [s0, s1, s2, s3, s4, s5, s6, s7, s8] = submission;
  EXPECT_TRUE(all_fixed_width(s0, s1, s2, s3, s4, s5, s6, s7, s8));
  const auto& [c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10] = completion;
  EXPECT_TRUE(all_fixed_width(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10));
  const auto& [u0, u1, u2, u3] = update;
  EXPECT_TRUE(all_fixed_width(u0, u1, u2, u3));
}

/// Whether a line of a struct declares a pointer or uses a type that is wider on some machines.
bool depends_on_the_word_size(std::string line) {
  std::ranges::replace_if(
      line, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; },
      ' ');
  std::istringstream words(line);
  static const std::set<std::string> kVarying{"size_t", "ptrdiff_t", "intptr_t", "uintptr_t",
                                              "long",   "int",       "unsigned", "short",
                                              "bool",   "time_t",    "off_t",    "wchar_t"};
  return std::any_of(std::istream_iterator<std::string>(words), {},
                     [](const std::string& word) { return kVarying.contains(word); });
}

/// On a 64-bit machine `size_t` *is* `uint64_t`, so only the text tells them apart.
TEST(ChannelLayout, NamesNoTypeWhoseWidthDependsOnTheMachine) {
  EXPECT_TRUE(depends_on_the_word_size("  std::size_t bytes;"));
  EXPECT_FALSE(depends_on_the_word_size("  std::uint64_t size_bytes;"));
  const std::filesystem::path root(OVERLAP_REPOSITORY);
  for (const char* const name : {"shared/channel_layout.hpp", "shared/control_protocol.hpp"}) {
    std::ifstream file(root / name);
    ASSERT_TRUE(file) << "cannot read " << root / name;
    bool in_struct = false;
    int fields_seen = 0;
    for (std::string line; std::getline(file, line);) {
      in_struct = line.starts_with("struct ") || (in_struct && !line.starts_with("};"));
      if (in_struct && line.ends_with(";") && line.find("///") == std::string::npos) {
        ++fields_seen;
        EXPECT_FALSE(depends_on_the_word_size(line)) << name << ": " << line;
        EXPECT_EQ(line.find('*'), std::string::npos) << name << ": " << line;
      }
    }
    EXPECT_GT(fields_seen, 40) << name;
  }
}

}  // namespace
}  // namespace overlap
