#pragma once

// Messages on the control socket: one SOCK_SEQPACKET packet each, fixed width, native byte order
// (both ends share a machine). A message begins with `MessageHeader`; `struct_bytes` lets a later
// minor append fields, which a reader that does not know them ignores and a missing one reads as 0.

#include "shared/channel_geometry.hpp"
#include "shared/channel_layout.hpp"
#include "shared/channel_priority.hpp"
#include "shared/job_status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace overlap {

/// "OVLC": first bytes of every message, so that a stranger's socket is told apart.
inline constexpr std::uint32_t kMessageMagic = 0x434c564fU;
inline constexpr std::size_t kMaxMessageBytes = 8192;
inline constexpr std::size_t kMaxPipelineTextBytes = 4096;
inline constexpr std::size_t kMaxPipelines = 32;
inline constexpr std::size_t kMaxReplyTextBytes = 1024;

// Optional abilities: each is used only once both sides have said that they know it.
/// Channel tables: `AttachRequest::tables`, opcode `table_update`.
inline constexpr std::uint64_t kFeatureTables = 1U << 0U;
/// Stateful pipelines: `AttachReply::stateful_pipelines`, opcode `reset_state`.
inline constexpr std::uint64_t kFeatureState = 1U << 1U;
/// A job's own parameters: `AttachReply::job_parameters`, the flags of a submission.
inline constexpr std::uint64_t kFeatureJobParameters = 1U << 2U;
inline constexpr std::uint64_t kSupportedFeatures =
    kFeatureTables | kFeatureState | kFeatureJobParameters;

enum class MessageType : std::uint32_t {
  attach_request = 1,
  /// With the descriptors memory, doorbell, wake, when accepted.
  attach_reply = 2,
  /// The producer has mapped the memory.
  mapped = 3,
  /// The channel may be used.
  ready = 4,
  /// Instead of `ready`: why not.
  refused = 5,
  /// The daemon ends the channel, with a reason.
  closing = 6,
  status_request = 7,
  status_reply = 8,
  kernel_list_request = 9,
  kernel_list_reply = 10,
};

struct MessageHeader {
  std::uint32_t magic = kMessageMagic;
  MessageType type{};
  /// Of the whole message, header included.
  std::uint32_t struct_bytes = 0;
  std::uint32_t reserved = 0;
};

/// Where results go. Version 1 knows the host alone.
enum class OutputLocation : std::uint32_t { host = 0 };

/// Bits of the ways a producer may ask to be woken.
inline constexpr std::uint32_t kWakeSemaphore = 1U << 0U;
inline constexpr std::uint32_t kWakeDescriptor = 1U << 1U;

inline constexpr std::size_t kMaxTables = 32;

/// A table that the producer has written to the table region before it says 'mapped'.
struct TableEntry {
  /// Within the table region; a multiple of kSmallStrideBytes.
  std::uint64_t offset_bytes;
  std::uint64_t bytes;
  std::uint8_t pipeline_index;
  std::uint8_t stage_index;
  std::uint16_t reserved_0;
  std::uint32_t reserved_1;
};

/// Bits of `AttachRequest::flags`.
/// An earlier channel's history is lost: the first result of every stateful pipeline says so.
inline constexpr std::uint32_t kAttachHistoryLost = 1U << 0U;

struct AttachRequest {
  MessageHeader header;
  std::uint32_t abi_major;
  std::uint32_t abi_minor_min;
  std::uint32_t abi_minor_max;
  std::uint32_t semaphore_bytes;
  std::uint64_t features_offered;
  std::uint64_t features_required;
  /// `uname` machine name, zero-padded.
  char architecture[16];
  /// Name of the C library, zero-padded: the semaphore's layout is its affair.
  char libc[16];
  std::uint32_t page_bytes;
  std::uint32_t slot_count;
  std::uint64_t input_bytes;
  /// 0 leaves it to the daemon: the most that the pipelines make of a full input area.
  std::uint64_t output_bytes;
  std::uint64_t table_bytes;
  std::uint32_t wake_kinds;
  OutputLocation output_location;
  std::uint32_t pipeline_count;
  std::uint32_t pipeline_text_bytes;
  /// `pipeline_count` texts, each followed by a zero byte.
  char pipeline_text[kMaxPipelineTextBytes];
  ChannelPriority priority;
  /// Share of device time among the channels of its priority; 0 means 1.
  std::uint32_t weight;
  std::uint32_t flags;
  std::uint32_t table_count;
  TableEntry tables[kMaxTables];
};

enum class RegionKind : std::uint32_t { control = 0, inputs = 1, outputs = 2, tables = 3 };

struct RegionEntry {
  RegionKind kind;
  /// Which of the descriptors of this message holds it; version 1 has one memory.
  std::uint32_t descriptor_index;
  std::uint64_t offset_bytes;
  std::uint64_t bytes;
  /// Distance of two slots; 0 where the region is not per slot.
  std::uint64_t stride_bytes;
};

inline constexpr std::size_t kMaxRegions = 8;

/// One parameter that a job may bring; no name: there is none.
struct JobParameterEntry {
  /// Zero-padded; a longer name cannot be given by a job.
  char name[23];
  /// 0 for a real number (f64), 1 for an integer (i64).
  std::uint8_t type;
};

struct AttachReply {
  MessageHeader header;
  AttachCode code;
  std::uint32_t abi_major;
  std::uint32_t abi_minor;
  std::uint32_t slot_count;
  std::uint64_t features_accepted;
  std::uint64_t input_bytes;
  std::uint64_t output_bytes;
  std::uint64_t total_bytes;
  /// The daemon's limits, so that a refused producer can ask again.
  std::uint32_t max_slot_count;
  std::uint32_t region_count;
  std::uint64_t max_slot_bytes;
  std::uint64_t max_channel_bytes;
  RegionEntry regions[kMaxRegions];
  /// "cuda" or "host", zero-padded.
  char backend[16];
  /// Why not, zero-terminated; empty when accepted.
  char text[kMaxReplyTextBytes];
  /// A bit for each pipeline whose jobs depend on the ones before them.
  std::uint32_t stateful_pipelines;
  std::uint32_t reserved;
  /// Of each pipeline's first stage, in the order of `SubmissionEntry::params`.
  JobParameterEntry job_parameters[kMaxPipelines][kMaxJobParameters];
};

struct MappedNotice {
  MessageHeader header;
};

struct ReadyNotice {
  MessageHeader header;
};

struct RefusedNotice {
  MessageHeader header;
  AttachCode code;
  std::uint32_t reserved;
  char text[kMaxReplyTextBytes];
};

struct ClosingNotice {
  MessageHeader header;
  CloseReason reason;
  std::uint32_t reserved;
  char text[kMaxReplyTextBytes];
};

struct StatusRequest {
  MessageHeader header;
};

struct StatusReply {
  MessageHeader header;
  std::uint32_t pid;
  std::uint32_t channel_count;
  std::uint64_t uptime_ns;
  std::uint64_t pinned_bytes;
  std::uint64_t jobs_done;
  std::uint64_t jobs_failed;
  std::uint64_t input_bytes_done;
  std::uint64_t output_bytes_done;
  std::uint64_t batches;
  /// Semaphore posts and eventfd rings, done only for producers that waited.
  std::uint64_t producer_wakes;
  std::uint64_t engine_sleeps;
  char version[32];
  char backend[16];
  char device[128];
  /// Why this backend and not the other, or empty.
  char backend_note[512];
  /// Jobs that ran a second time, alone, after a batch had failed.
  std::uint64_t jobs_retried;
  /// Those of `batches` whose bytes kernels moved: in the slots, or gathered into a buffer.
  std::uint64_t batches_mapped;
  std::uint64_t batches_gathered;
};

static_assert(sizeof(MessageHeader) == 16);
static_assert(sizeof(AttachRequest) <= kMaxMessageBytes);
static_assert(offsetof(AttachRequest, abi_major) == 16);
static_assert(offsetof(AttachRequest, features_offered) == 32);
static_assert(offsetof(AttachRequest, architecture) == 48);
static_assert(offsetof(AttachRequest, libc) == 64);
static_assert(offsetof(AttachRequest, slot_count) == 84);
static_assert(offsetof(AttachRequest, input_bytes) == 88);
static_assert(offsetof(AttachRequest, wake_kinds) == 112);
static_assert(offsetof(AttachRequest, pipeline_text) == 128);
static_assert(offsetof(AttachRequest, priority) == 4224);
static_assert(sizeof(TableEntry) == 24);
static_assert(offsetof(AttachRequest, flags) == 4232);
static_assert(offsetof(AttachRequest, tables) == 4240);
static_assert(sizeof(RegionEntry) == 32);
static_assert(sizeof(JobParameterEntry) == 24);
static_assert(offsetof(AttachReply, stateful_pipelines) == 1384);
static_assert(offsetof(AttachReply, job_parameters) == 1392);
static_assert(offsetof(AttachReply, regions) == 88);
static_assert(sizeof(AttachReply) <= kMaxMessageBytes);
static_assert(sizeof(StatusReply) <= kMaxMessageBytes);

// ------------------------------------------------------------------------------- list of kernels

inline constexpr std::size_t kMaxListedParameters = 16;
inline constexpr std::size_t kMaxListedChoices = 64;
inline constexpr std::size_t kMaxListedTextBytes = 6144;

/// Asks for one entry of the list of kernels. Anyone may, at any time.
struct KernelListRequest {
  MessageHeader header;
  /// From 0.
  std::uint32_t index;
  std::uint32_t reserved;
};

/// What an entry is; none: the list has no entry of that index.
enum class ListedKind : std::uint32_t { none = 0, kernel = 1, refused = 2 };

enum class ListedType : std::uint32_t { real = 0, integer = 1, choice = 2 };

// Bits of `KernelListReply::flags`.
inline constexpr std::uint32_t kListedHost = 1U << 0U;
inline constexpr std::uint32_t kListedCuda = 1U << 1U;
/// Jobs of a channel depend on the ones before them.
inline constexpr std::uint32_t kListedStateful = 1U << 2U;
/// A channel has to bring a table.
inline constexpr std::uint32_t kListedTable = 1U << 3U;

/// Bit of `ListedParameterEntry::flags`: a job may bring a value of its own.
inline constexpr std::uint32_t kListedPerJob = 1U << 0U;

union ListedValue {
  std::int64_t i64;
  double f64;
  std::uint64_t choice_index;
};

struct ListedParameterEntry {
  ListedType type;
  std::uint32_t flags;
  std::uint32_t choice_count;
  std::uint32_t reserved;
  ListedValue default_value;
  /// Inclusive; 0 for a choice.
  double minimum;
  double maximum;
};

struct KernelListReply {
  MessageHeader header;
  std::uint32_t index;
  /// Entries of the list: kernels in alphabetical order, then refused files.
  std::uint32_t count;
  ListedKind kind;
  std::uint32_t flags;
  std::uint32_t parameter_count;
  std::uint32_t text_bytes;
  ListedParameterEntry parameters[kMaxListedParameters];
  /// Each followed by a zero byte: name, origin, summary (of a refused file: why); of each parameter
  /// name, unit, choices; what the table holds; of each parameter its help.
  char text[kMaxListedTextBytes];
};

static_assert(sizeof(ListedParameterEntry) == 40);
static_assert(offsetof(KernelListReply, parameters) == 40);
static_assert(offsetof(KernelListReply, text) == 680);
static_assert(sizeof(KernelListReply) <= kMaxMessageBytes);

/// A zeroed message of the given kind with its header filled in.
template <class Message>
[[nodiscard]] Message make_message(MessageType type) noexcept {
  static_assert(std::is_trivially_copyable_v<Message>);
  Message message{};
  message.header.type = type;
  message.header.struct_bytes = sizeof(Message);
  return message;
}

/// The type of a packet, or none if it is too short, not ours or lies about its length.
[[nodiscard]] std::optional<MessageType> message_type(std::span<const std::byte> packet) noexcept;

/// Reads a packet as a message of the given type: fields that it lacks are 0, fields beyond ours are
/// ignored.
template <class Message>
[[nodiscard]] std::optional<Message> read_message(std::span<const std::byte> packet,
                                                  MessageType type) noexcept {
  static_assert(std::is_trivially_copyable_v<Message>);
  if (message_type(packet) != type) {
    return std::nullopt;
  }
  Message message{};
  std::memcpy(static_cast<void*>(&message), packet.data(),
              packet.size() < sizeof(Message) ? packet.size() : sizeof(Message));
  return message;
}

/// Copies text into a zero-terminated field, cut if need be.
void write_text(std::span<char> field, std::string_view text) noexcept;
/// The text of a field that may lack its terminator.
[[nodiscard]] std::string_view read_text(std::span<const char> field) noexcept;

/// The request of this build for the given channel.
/// @throws std::length_error if there are too many pipelines or their text is too long
[[nodiscard]] AttachRequest make_attach_request(const GeometryRequest& geometry,
                                                std::span<const std::string> pipelines);

/// The pipelines' texts, or none if count and text do not agree.
[[nodiscard]] std::optional<std::vector<std::string>> pipeline_texts(const AttachRequest& request);

/// What both sides agreed on.
struct Negotiated {
  std::uint32_t abi_minor;
  std::uint64_t features;
};

struct NegotiationRefusal {
  AttachCode code;
  std::string text;
};

/// Holds version, platform and features of a request against this build.
[[nodiscard]] std::variant<Negotiated, NegotiationRefusal> negotiate(const AttachRequest& request);

/// Fills geometry and regions of an accepting reply.
void write_geometry(AttachReply& reply, const ChannelGeometry& geometry) noexcept;

/// The geometry of a reply, or none if it is not one that this version lays out.
[[nodiscard]] std::optional<ChannelGeometry> read_geometry(const AttachReply& reply) noexcept;

}  // namespace overlap
