#include "shared/control_protocol.hpp"

#include "shared/channel_layout.hpp"

#include <gtest/gtest.h>

#include <semaphore.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace overlap {
namespace {

// The messages of version 1, a second time: see channel_layout_test.cpp before editing a number.
// No message has a gap, so every byte belongs to a named field and a 32-bit compiler agrees.
constexpr std::uint32_t kExpectedProtocolVersion = 1;
static_assert(kAbiMajor == kExpectedProtocolVersion);
template <class Message>
constexpr bool kHasNoGap = std::has_unique_object_representations_v<Message>;

static_assert(kMessageMagic == 0x434c564fU && kMaxMessageBytes == 8192);
static_assert(kMaxPipelineTextBytes == 4096 && kMaxPipelines == 32 && kMaxReplyTextBytes == 1024);
static_assert(kMaxRegions == 8 && kSupportedFeatures == 7);
static_assert(kFeatureTables == 1 && kFeatureState == 2 && kFeatureJobParameters == 4);
static_assert(kMaxTables == 32 && kAttachHistoryLost == 1);
static_assert(kWakeSemaphore == 1 && kWakeDescriptor == 2);
static_assert(static_cast<int>(OutputLocation::host) == 0);
static_assert(static_cast<int>(RegionKind::control) == 0);
static_assert(static_cast<int>(RegionKind::inputs) == 1);
static_assert(static_cast<int>(RegionKind::outputs) == 2);
static_assert(static_cast<int>(RegionKind::tables) == 3);
static_assert(static_cast<int>(MessageType::attach_request) == 1);
static_assert(static_cast<int>(MessageType::attach_reply) == 2);
static_assert(static_cast<int>(MessageType::mapped) == 3);
static_assert(static_cast<int>(MessageType::ready) == 4);
static_assert(static_cast<int>(MessageType::refused) == 5);
static_assert(static_cast<int>(MessageType::closing) == 6);
static_assert(static_cast<int>(MessageType::status_request) == 7);
static_assert(static_cast<int>(MessageType::status_reply) == 8);

static_assert(sizeof(MessageHeader) == 16 && kHasNoGap<MessageHeader>);
static_assert(offsetof(MessageHeader, magic) == 0 && sizeof(MessageHeader::magic) == 4);
static_assert(offsetof(MessageHeader, type) == 4 && sizeof(MessageHeader::type) == 4);
static_assert(offsetof(MessageHeader, struct_bytes) == 8);
static_assert(offsetof(MessageHeader, reserved) == 12 && sizeof(MessageHeader::reserved) == 4);

static_assert(sizeof(AttachRequest) == 5008 && kHasNoGap<AttachRequest>);
static_assert(offsetof(AttachRequest, abi_major) == 16);
static_assert(offsetof(AttachRequest, abi_minor_min) == 20);
static_assert(offsetof(AttachRequest, abi_minor_max) == 24);
static_assert(offsetof(AttachRequest, semaphore_bytes) == 28);
static_assert(offsetof(AttachRequest, features_offered) == 32);
static_assert(offsetof(AttachRequest, features_required) == 40);
static_assert(offsetof(AttachRequest, architecture) == 48);
static_assert(offsetof(AttachRequest, libc) == 64);
static_assert(offsetof(AttachRequest, page_bytes) == 80);
static_assert(offsetof(AttachRequest, slot_count) == 84);
static_assert(offsetof(AttachRequest, input_bytes) == 88);
static_assert(offsetof(AttachRequest, output_bytes) == 96);
static_assert(offsetof(AttachRequest, table_bytes) == 104);
static_assert(offsetof(AttachRequest, wake_kinds) == 112);
static_assert(offsetof(AttachRequest, output_location) == 116);
static_assert(offsetof(AttachRequest, pipeline_count) == 120);
static_assert(offsetof(AttachRequest, pipeline_text_bytes) == 124);
static_assert(offsetof(AttachRequest, pipeline_text) == 128);
static_assert(offsetof(AttachRequest, priority) == 4224);
static_assert(offsetof(AttachRequest, weight) == 4228);
static_assert(offsetof(AttachRequest, flags) == 4232);
static_assert(offsetof(AttachRequest, table_count) == 4236);
static_assert(offsetof(AttachRequest, tables) == 4240);
static_assert(sizeof(TableEntry) == 24 && kHasNoGap<TableEntry>);
static_assert(offsetof(TableEntry, offset_bytes) == 0 && offsetof(TableEntry, bytes) == 8);
static_assert(offsetof(TableEntry, pipeline_index) == 16 &&
              offsetof(TableEntry, stage_index) == 17);

static_assert(sizeof(RegionEntry) == 32 && kHasNoGap<RegionEntry>);
static_assert(offsetof(RegionEntry, kind) == 0 && offsetof(RegionEntry, descriptor_index) == 4);
static_assert(offsetof(RegionEntry, offset_bytes) == 8 && offsetof(RegionEntry, bytes) == 16);
static_assert(offsetof(RegionEntry, stride_bytes) == 24);

static_assert(sizeof(AttachReply) == 3696 && kHasNoGap<AttachReply>);
static_assert(offsetof(AttachReply, code) == 16 && offsetof(AttachReply, abi_major) == 20);
static_assert(offsetof(AttachReply, abi_minor) == 24 && offsetof(AttachReply, slot_count) == 28);
static_assert(offsetof(AttachReply, features_accepted) == 32);
static_assert(offsetof(AttachReply, input_bytes) == 40);
static_assert(offsetof(AttachReply, output_bytes) == 48);
static_assert(offsetof(AttachReply, total_bytes) == 56);
static_assert(offsetof(AttachReply, max_slot_count) == 64);
static_assert(offsetof(AttachReply, region_count) == 68);
static_assert(offsetof(AttachReply, max_slot_bytes) == 72);
static_assert(offsetof(AttachReply, max_channel_bytes) == 80);
static_assert(offsetof(AttachReply, regions) == 88 && offsetof(AttachReply, backend) == 344);
static_assert(offsetof(AttachReply, text) == 360);
static_assert(offsetof(AttachReply, stateful_pipelines) == 1384);
static_assert(offsetof(AttachReply, job_parameters) == 1392);
static_assert(sizeof(JobParameterEntry) == 24 && kHasNoGap<JobParameterEntry>);
static_assert(offsetof(JobParameterEntry, name) == 0 && offsetof(JobParameterEntry, type) == 23);

static_assert(sizeof(MappedNotice) == 16 && sizeof(ReadyNotice) == 16);
static_assert(sizeof(StatusRequest) == 16);
static_assert(sizeof(RefusedNotice) == 1048 && kHasNoGap<RefusedNotice>);
static_assert(offsetof(RefusedNotice, code) == 16 && offsetof(RefusedNotice, reserved) == 20);
static_assert(offsetof(RefusedNotice, text) == 24);
static_assert(sizeof(ClosingNotice) == 1048 && kHasNoGap<ClosingNotice>);
static_assert(offsetof(ClosingNotice, reason) == 16 && offsetof(ClosingNotice, reserved) == 20);
static_assert(offsetof(ClosingNotice, text) == 24);

static_assert(sizeof(StatusReply) == 808 && kHasNoGap<StatusReply>);
static_assert(offsetof(StatusReply, pid) == 16 && offsetof(StatusReply, channel_count) == 20);
static_assert(offsetof(StatusReply, uptime_ns) == 24 && offsetof(StatusReply, pinned_bytes) == 32);
static_assert(offsetof(StatusReply, jobs_done) == 40 && offsetof(StatusReply, jobs_failed) == 48);
static_assert(offsetof(StatusReply, input_bytes_done) == 56);
static_assert(offsetof(StatusReply, output_bytes_done) == 64);
static_assert(offsetof(StatusReply, batches) == 72);
static_assert(offsetof(StatusReply, producer_wakes) == 80);
static_assert(offsetof(StatusReply, engine_sleeps) == 88);
static_assert(offsetof(StatusReply, version) == 96 && offsetof(StatusReply, backend) == 128);
static_assert(offsetof(StatusReply, device) == 144 && offsetof(StatusReply, backend_note) == 272);
static_assert(offsetof(StatusReply, jobs_retried) == 784);
static_assert(offsetof(StatusReply, batches_mapped) == 792);
static_assert(offsetof(StatusReply, batches_gathered) == 800);

// The list of kernels. f64 fields keep it from having unique representations: every byte is named.
static_assert(static_cast<int>(MessageType::kernel_list_request) == 9);
static_assert(static_cast<int>(MessageType::kernel_list_reply) == 10);
static_assert(sizeof(KernelListRequest) == 24 && kHasNoGap<KernelListRequest>);
static_assert(offsetof(KernelListRequest, index) == 16);
static_assert(offsetof(KernelListRequest, reserved) == 20);
static_assert(kMaxListedParameters == 16 && kMaxListedChoices == 64);
static_assert(kMaxListedTextBytes == 6144);
static_assert(static_cast<int>(ListedKind::none) == 0 && static_cast<int>(ListedKind::kernel) == 1);
static_assert(static_cast<int>(ListedKind::refused) == 2);
static_assert(static_cast<int>(ListedType::real) == 0 &&
              static_cast<int>(ListedType::integer) == 1);
static_assert(static_cast<int>(ListedType::choice) == 2);
static_assert(kListedHost == 1 && kListedCuda == 2 && kListedStateful == 4 && kListedTable == 8);
static_assert(kListedPerJob == 1 && sizeof(ListedValue) == 8);
static_assert(sizeof(ListedParameterEntry) == 4 * 4 + 8 + 2 * 8);
static_assert(offsetof(ListedParameterEntry, type) == 0);
static_assert(offsetof(ListedParameterEntry, flags) == 4);
static_assert(offsetof(ListedParameterEntry, choice_count) == 8);
static_assert(offsetof(ListedParameterEntry, default_value) == 16);
static_assert(offsetof(ListedParameterEntry, minimum) == 24);
static_assert(offsetof(ListedParameterEntry, maximum) == 32);
static_assert(sizeof(KernelListReply) == 16 + 6 * 4 + 16 * 40 + 6144);
static_assert(offsetof(KernelListReply, index) == 16 && offsetof(KernelListReply, count) == 20);
static_assert(offsetof(KernelListReply, kind) == 24 && offsetof(KernelListReply, flags) == 28);
static_assert(offsetof(KernelListReply, parameter_count) == 32);
static_assert(offsetof(KernelListReply, text_bytes) == 36);
static_assert(offsetof(KernelListReply, parameters) == 40 &&
              offsetof(KernelListReply, text) == 680);

constexpr GeometryRequest kGeometry{3, 5000, 100, 70};

std::vector<std::byte> packet_of(const auto& message) {
  const auto bytes = std::as_bytes(std::span(&message, 1));
  return {bytes.begin(), bytes.end()};
}

AttachRequest request_of(const std::vector<std::string>& pipelines = {"copy"}) {
  return make_attach_request(kGeometry, pipelines);
}

TEST(ControlProtocol, ReadsBackEveryMessageItWrote) {
  auto request = request_of({"scale:a=2,b=1|copy", "copy"});
  request.features_required = UINT64_MAX;
  const auto sut = read_message<AttachRequest>(packet_of(request), MessageType::attach_request);
  ASSERT_TRUE(sut);
  EXPECT_EQ(packet_of(*sut), packet_of(request));

  auto closing = make_message<ClosingNotice>(MessageType::closing);
  closing.reason = CloseReason::limit;
  write_text(closing.text, "too many bytes");
  const auto notice = read_message<ClosingNotice>(packet_of(closing), MessageType::closing);
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->reason, CloseReason::limit);
  EXPECT_EQ(read_text(notice->text), "too many bytes");

  const auto mapped = packet_of(make_message<MappedNotice>(MessageType::mapped));
  EXPECT_TRUE(read_message<MappedNotice>(mapped, MessageType::mapped));
  EXPECT_EQ(message_type(mapped), MessageType::mapped);
}

TEST(ControlProtocol, BeginsEveryMessageWithMagicTypeAndLength) {
  const auto sut = packet_of(make_message<StatusReply>(MessageType::status_reply));
  EXPECT_EQ(std::memcmp(sut.data(), "OVLC\x08\0\0\0\x28\x03\0\0\0\0\0\0", 16), 0);
  EXPECT_EQ(std::ranges::count(sut, std::byte{0}), 808 - 7);
}

TEST(ControlProtocol, ReadsNoMessageOfAnotherType) {
  const auto packet = packet_of(make_message<ReadyNotice>(MessageType::ready));
  EXPECT_FALSE(read_message<RefusedNotice>(packet, MessageType::refused));
  EXPECT_FALSE(read_message<MappedNotice>(packet, MessageType::mapped));
}

TEST(ControlProtocol, ReadsNothingShorterThanAHeader) {
  const auto packet = packet_of(make_message<MappedNotice>(MessageType::mapped));
  for (std::size_t bytes = 0; bytes < sizeof(MessageHeader); ++bytes) {
    EXPECT_FALSE(message_type(std::span(packet).first(bytes))) << bytes;
  }
}

TEST(ControlProtocol, ReadsNothingOfAStranger) {
  auto packet = packet_of(make_message<MappedNotice>(MessageType::mapped));
  for (std::size_t i = 0; i < 4; ++i) {
    packet[i] ^= std::byte{1};
    EXPECT_FALSE(message_type(packet)) << "byte " << i << " of the magic";
    packet[i] ^= std::byte{1};
  }
  EXPECT_TRUE(message_type(packet));
}

TEST(ControlProtocol, ReadsNothingThatLiesAboutItsLength) {
  auto request = request_of();
  for (const std::uint32_t lie : {0U, 15U, 16U, 5007U, 5009U, 8192U, 1U << 31U, UINT32_MAX}) {
    request.header.struct_bytes = lie;
    EXPECT_FALSE(message_type(packet_of(request))) << lie;
  }
}

TEST(ControlProtocol, ReadsALongerMessageOfALaterMinorAndIgnoresItsTail) {
  auto request = request_of();
  request.header.struct_bytes += 40;
  auto packet = packet_of(request);
  packet.insert(packet.end(), 40, std::byte{0xee});
  const auto sut = read_message<AttachRequest>(packet, MessageType::attach_request);
  ASSERT_TRUE(sut);
  EXPECT_EQ(packet_of(*sut), packet_of(request));
}

TEST(ControlProtocol, ReadsAShorterMessageOfAnEarlierMinorAsZerosBehindItsEnd) {
  auto request = request_of();
  request.header.struct_bytes = offsetof(AttachRequest, input_bytes);
  auto packet = packet_of(request);
  packet.resize(request.header.struct_bytes);
  const auto sut = read_message<AttachRequest>(packet, MessageType::attach_request);
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->slot_count, 3U);
  EXPECT_EQ(sut->input_bytes, 0U);
  EXPECT_EQ(sut->pipeline_count, 0U);
  EXPECT_EQ(sut->priority, ChannelPriority::normal);
  EXPECT_EQ(sut->weight, 0U);
  EXPECT_EQ(sut->flags, 0U);
  EXPECT_EQ(sut->table_count, 0U);
}

TEST(ControlProtocol, CutsATextThatIsTooLongAndKeepsTheTerminator) {
  char sut[8];
  std::memset(sut, 'x', sizeof sut);
  write_text(sut, "");
  EXPECT_EQ(std::string_view(sut, 8), std::string_view("\0\0\0\0\0\0\0\0", 8));
  write_text(sut, "1234567");
  EXPECT_EQ(read_text(sut), "1234567");
  write_text(sut, "123456789");
  EXPECT_EQ(std::string_view(sut, 8), std::string_view("1234567\0", 8));
  write_text(sut, "ab");
  EXPECT_EQ(std::string_view(sut, 8), std::string_view("ab\0\0\0\0\0\0", 8));
}

TEST(ControlProtocol, ReadsATextWithoutTerminatorUpToTheEndOfItsField) {
  const char sut[4] = {'f', 'u', 'l', 'l'};
  EXPECT_EQ(read_text(sut), "full");
  EXPECT_EQ(read_text(std::span<const char>{}), "");
}

TEST(ControlProtocol, AsksForWhatTheProducerWants) {
  const AttachRequest sut = request_of();
  EXPECT_EQ(sut.header.struct_bytes, 5008U);
  EXPECT_EQ(sut.abi_major, 1U);
  EXPECT_EQ(sut.abi_minor_min, 0U);
  EXPECT_EQ(sut.abi_minor_max, 0U);
  EXPECT_EQ(sut.semaphore_bytes, sizeof(sem_t));
  EXPECT_EQ(sut.page_bytes, static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(sut.slot_count, 3U);
  EXPECT_EQ(sut.input_bytes, 5000U);
  EXPECT_EQ(sut.output_bytes, 100U);
  EXPECT_EQ(sut.table_bytes, 70U);
  EXPECT_EQ(sut.wake_kinds, 3U);
  EXPECT_FALSE(read_text(sut.architecture).empty());
  EXPECT_EQ(sut.features_offered, 7U);
  EXPECT_EQ(sut.features_required, 0U);
  EXPECT_EQ(sut.flags, 0U);
  EXPECT_EQ(sut.table_count, 0U);
}

TEST(ControlProtocol, CarriesThePipelinesOfARequest) {
  const std::vector<std::vector<std::string>> lists{
      {"copy"},
      {"scale:a=2,b=1|transpose:rows=1024,cols=1024", "", "copy"},
      std::vector<std::string>(kMaxPipelines, "copy"),
      {std::string(kMaxPipelineTextBytes - 1, 'k')}};
  for (const auto& pipelines : lists) {
    EXPECT_EQ(pipeline_texts(request_of(pipelines)), pipelines);
  }
}

TEST(ControlProtocol, MakesNoRequestWithTooManyOrTooLongPipelines) {
  EXPECT_THROW(request_of(std::vector<std::string>(kMaxPipelines + 1, "copy")), std::length_error);
  EXPECT_THROW(request_of({std::string(kMaxPipelineTextBytes, 'k')}), std::length_error);
  EXPECT_THROW(request_of({std::string(2048, 'k'), std::string(2047, 'k')}), std::length_error);
}

TEST(ControlProtocol, FindsNoPipelinesWhereCountAndTextDoNotAgree) {
  const AttachRequest good = request_of({"copy", "scale"});
  ASSERT_TRUE(pipeline_texts(good));
  for (const std::uint32_t count : {0U, 1U, 3U, 33U, UINT32_MAX}) {
    AttachRequest sut = good;
    sut.pipeline_count = count;
    EXPECT_FALSE(pipeline_texts(sut)) << count << " pipelines";
  }
  // "copy\0scale\0" is 11 bytes: shorter lacks a terminator, longer holds an empty third text.
  for (const std::uint32_t bytes : {0U, 1U, 5U, 10U, 12U, 4096U, 4097U, 1U << 31U, UINT32_MAX}) {
    AttachRequest sut = good;
    sut.pipeline_text_bytes = bytes;
    EXPECT_FALSE(pipeline_texts(sut)) << bytes << " bytes";
  }
  AttachRequest sut = good;
  std::ranges::fill(sut.pipeline_text, 'x');
  sut.pipeline_text_bytes = kMaxPipelineTextBytes;
  EXPECT_FALSE(pipeline_texts(sut)) << "no terminator at all";
  EXPECT_FALSE(pipeline_texts(request_of({std::string("a\0b", 3)}))) << "a zero in a text";
}

/// The refusal of a request, or an empty one when it was accepted.
NegotiationRefusal refusal_of(const AttachRequest& request) {
  const auto result = negotiate(request);
  const auto* refusal = std::get_if<NegotiationRefusal>(&result);
  return refusal != nullptr ? *refusal : NegotiationRefusal{AttachCode::accepted, ""};
}

void expect_refused(const AttachRequest& request, AttachCode code, std::string_view word) {
  const NegotiationRefusal sut = refusal_of(request);
  EXPECT_EQ(sut.code, code) << sut.text;
  EXPECT_NE(sut.text.find(word), std::string::npos) << "no '" << word << "' in: " << sut.text;
}

TEST(ControlProtocol, AgreesWithARequestOfItsOwnBuild) {
  const auto result = negotiate(request_of());
  ASSERT_TRUE(std::holds_alternative<Negotiated>(result));
  EXPECT_EQ(std::get<Negotiated>(result).abi_minor, 0U);
  EXPECT_EQ(std::get<Negotiated>(result).features, 7U);
}

TEST(ControlProtocol, AgreesOnNoFeatureThatTheProducerDoesNotOffer) {
  AttachRequest earlier = request_of();
  for (const std::uint64_t offered : {std::uint64_t{0}, kFeatureTables, kFeatureState}) {
    earlier.features_offered = offered;
    const auto result = negotiate(earlier);
    ASSERT_TRUE(std::holds_alternative<Negotiated>(result));
    EXPECT_EQ(std::get<Negotiated>(result).features, offered);
  }
}

TEST(ControlProtocol, AgreesOnTheHighestMinorAndTheFeaturesOfBoth) {
  AttachRequest later = request_of();
  later.abi_minor_max = 7;
  later.features_offered = UINT64_MAX;
  const auto result = negotiate(later);
  ASSERT_TRUE(std::holds_alternative<Negotiated>(result));
  EXPECT_EQ(std::get<Negotiated>(result).abi_minor, kAbiMinor);
  EXPECT_EQ(std::get<Negotiated>(result).features, kSupportedFeatures);
}

TEST(ControlProtocol, RefusesEveryOtherVersionNamingBoth) {
  for (const std::uint32_t major : {kAbiMajor - 1, kAbiMajor + 1, UINT32_MAX}) {
    AttachRequest request = request_of();
    request.abi_major = major;
    expect_refused(request, AttachCode::version_mismatch, "ABI 1.0");
    expect_refused(request, AttachCode::version_mismatch, std::to_string(major) + ".0");
  }
  AttachRequest newer = request_of();
  newer.abi_minor_min = kAbiMinor + 1;
  newer.abi_minor_max = kAbiMinor + 4;
  expect_refused(newer, AttachCode::version_mismatch, "1.1-4");
  AttachRequest upside_down = request_of();
  upside_down.abi_minor_min = 1;
  expect_refused(upside_down, AttachCode::version_mismatch, "1.1-0");
}

TEST(ControlProtocol, RefusesEveryOtherPlatformNamingWhatDiffers) {
  AttachRequest request = request_of();
  write_text(request.architecture, "sparc64");
  expect_refused(request, AttachCode::platform_mismatch, "sparc64");
  std::ranges::fill(request.architecture, 'm');
  expect_refused(request, AttachCode::platform_mismatch, "mmmmmmmmmmmmmmmm, ");
  request = request_of();
  write_text(request.libc, "musl");
  expect_refused(request, AttachCode::platform_mismatch, "musl");
  request = request_of();
  request.semaphore_bytes = 16;
  expect_refused(request, AttachCode::platform_mismatch, "16");
  request = request_of();
  request.page_bytes = 65536;
  expect_refused(request, AttachCode::platform_mismatch, "65536");
}

TEST(ControlProtocol, RefusesFeaturesAndPlacesThatItDoesNotHave) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    AttachRequest request = request_of();
    request.features_required = std::uint64_t{1} << bit;
    if (bit < 3) {
      EXPECT_EQ(refusal_of(request).code, AttachCode::accepted) << bit;
    } else {
      expect_refused(request, AttachCode::feature_missing, std::to_string(std::uint64_t{1} << bit));
    }
  }
  AttachRequest request = request_of();
  request.output_location = static_cast<OutputLocation>(1);
  expect_refused(request, AttachCode::feature_missing, "output location 1");
}

ChannelGeometry geometry_of(const GeometryRequest& request) {
  return std::get<ChannelGeometry>(
      plan_geometry(request, {kMaxSlotCount, UINT64_MAX, UINT64_MAX, UINT64_MAX}));
}

AttachReply reply_of(const ChannelGeometry& geometry) {
  auto reply = make_message<AttachReply>(MessageType::attach_reply);
  write_geometry(reply, geometry);
  return reply;
}

TEST(ControlProtocol, CarriesAGeometryBothWays) {
  for (const GeometryRequest& request : {GeometryRequest{1, 1, 1, 0}, kGeometry,
                                         GeometryRequest{kMaxSlotCount, 1U << 24U, 1, 4096}}) {
    const ChannelGeometry geometry = geometry_of(request);
    EXPECT_EQ(read_geometry(reply_of(geometry)), geometry);
  }
}

TEST(ControlProtocol, ListsTheRegionsOfAChannel) {
  const AttachReply sut = reply_of(geometry_of(kGeometry));
  EXPECT_EQ(sut.region_count, 4U);
  EXPECT_EQ(sut.total_bytes, 45056U);
  const RegionEntry expected[kMaxRegions] = {{RegionKind::control, 0, 0, 12288, 0},
                                             {RegionKind::inputs, 0, 12288, 24576, 8192},
                                             {RegionKind::outputs, 0, 36864, 768, 256},
                                             {RegionKind::tables, 0, 40960, 70, 0}};
  EXPECT_EQ(std::memcmp(sut.regions, expected, sizeof expected), 0);
}

/// An area may shrink or grow within its stride, for nothing else says how long it is; whatever
/// else a wrong byte changes is refused, so nothing can come to lie outside the memory.
TEST(ControlProtocol, ReadsNoGeometryWithAnyWrongByte) {
  const ChannelGeometry geometry = geometry_of(kGeometry);
  AttachReply sut = reply_of(geometry);
  auto* const bytes = reinterpret_cast<unsigned char*>(&sut);
  int refused = 0;
  int accepted = 0;
  const auto corrupt = [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      for (unsigned flip = 1; flip < 256; ++flip) {
        bytes[i] = static_cast<unsigned char>(bytes[i] ^ flip);
        const auto read = read_geometry(sut);
        bytes[i] = static_cast<unsigned char>(bytes[i] ^ flip);
        refused += read ? 0 : 1;
        accepted += read ? 1 : 0;
        if (read) {
          ChannelGeometry same_regions = *read;
          same_regions.input_bytes = geometry.input_bytes;
          same_regions.output_bytes = geometry.output_bytes;
          same_regions.table_bytes = geometry.table_bytes;
          ASSERT_EQ(same_regions, geometry) << "byte " << i << " xor " << flip;
          ASSERT_LE(read->input_bytes, geometry.input_stride_bytes);
          ASSERT_LE(read->output_bytes, geometry.output_stride_bytes);
          ASSERT_LE(read->tables_offset_bytes + read->table_bytes, geometry.total_bytes);
        }
      }
    }
  };
  corrupt(offsetof(AttachReply, slot_count), offsetof(AttachReply, slot_count) + 4);
  corrupt(offsetof(AttachReply, input_bytes), offsetof(AttachReply, max_slot_count));
  corrupt(offsetof(AttachReply, region_count), offsetof(AttachReply, region_count) + 4);
  corrupt(offsetof(AttachReply, regions), offsetof(AttachReply, backend));
  EXPECT_EQ(refused + accepted, (4 + 24 + 4 + 256) * 255);
  EXPECT_GT(refused, 72000);
}

TEST(ControlProtocol, ReadsNoGeometryBeyondWhatAnyChannelHas) {
  AttachReply sut = reply_of(geometry_of(kGeometry));
  EXPECT_FALSE(read_geometry(AttachReply{}));
  for (const std::uint64_t huge : {std::uint64_t{1} << 62U, std::uint64_t{1} << 63U, UINT64_MAX}) {
    sut.input_bytes = huge;
    EXPECT_FALSE(read_geometry(sut)) << huge;
  }
}

}  // namespace
}  // namespace overlap
