#include "shared/control_protocol.hpp"

#include "shared/channel_layout.hpp"

#include <semaphore.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <algorithm>
#include <stdexcept>

namespace overlap {
namespace {

std::string machine_name() {
  utsname names{};
  return ::uname(&names) == 0 ? std::string(names.machine) : std::string("unknown");
}

// musl defines no macro of its own; whoever is not glibc is told apart by that alone.
#if defined(__GLIBC__)
constexpr std::string_view kLibc = "glibc";
#else
constexpr std::string_view kLibc = "other";
#endif

/// A stranger's text, fit for a log.
std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

std::string range_text(std::uint32_t major, std::uint32_t min, std::uint32_t max) {
  std::string text = std::to_string(major) + "." + std::to_string(min);
  if (max != min) {
    text += "-" + std::to_string(max);
  }
  return text;
}

}  // namespace

std::optional<MessageType> message_type(std::span<const std::byte> packet) noexcept {
  MessageHeader header;
  if (packet.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, packet.data(), sizeof header);
  if (header.magic != kMessageMagic || header.struct_bytes != packet.size()) {
    return std::nullopt;
  }
  return header.type;
}

void write_text(std::span<char> field, std::string_view text) noexcept {
  const std::size_t bytes = std::min(text.size(), field.size() - 1);
  std::copy_n(text.data(), bytes, field.data());
  std::fill(field.begin() + static_cast<std::ptrdiff_t>(bytes), field.end(), '\0');
}

std::string_view read_text(std::span<const char> field) noexcept {
  const auto end = std::find(field.begin(), field.end(), '\0');
  return {field.data(), static_cast<std::size_t>(end - field.begin())};
}

AttachRequest make_attach_request(const GeometryRequest& geometry,
                                  std::span<const std::string> pipelines) {
  auto request = make_message<AttachRequest>(MessageType::attach_request);
  request.abi_major = kAbiMajor;
  request.abi_minor_min = 0;
  request.abi_minor_max = kAbiMinor;
  request.semaphore_bytes = sizeof(sem_t);
  request.features_offered = kSupportedFeatures;
  write_text(request.architecture, machine_name());
  write_text(request.libc, kLibc);
  request.page_bytes = static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE));
  request.slot_count = geometry.slot_count;
  request.input_bytes = geometry.input_bytes;
  request.output_bytes = geometry.output_bytes;
  request.table_bytes = geometry.table_bytes;
  request.wake_kinds = kWakeSemaphore | kWakeDescriptor;
  request.output_location = OutputLocation::host;

  std::string text;
  for (const std::string& pipeline : pipelines) {
    text += pipeline;
    text += '\0';
  }
  if (pipelines.size() > kMaxPipelines || text.size() > kMaxPipelineTextBytes) {
    throw std::length_error("a channel takes at most " + std::to_string(kMaxPipelines) +
                            " pipelines of " + std::to_string(kMaxPipelineTextBytes) +
                            " bytes in all; this one names " + std::to_string(pipelines.size()) +
                            " of " + std::to_string(text.size()));
  }
  request.pipeline_count = static_cast<std::uint32_t>(pipelines.size());
  request.pipeline_text_bytes = static_cast<std::uint32_t>(text.size());
  std::copy(text.begin(), text.end(), request.pipeline_text);
  return request;
}

std::optional<std::vector<std::string>> pipeline_texts(const AttachRequest& request) {
  if (request.pipeline_count == 0 || request.pipeline_count > kMaxPipelines ||
      request.pipeline_text_bytes > kMaxPipelineTextBytes) {
    return std::nullopt;
  }
  std::vector<std::string> texts;
  std::string_view rest(request.pipeline_text, request.pipeline_text_bytes);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) {
      return std::nullopt;
    }
    texts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  if (texts.size() != request.pipeline_count) {
    return std::nullopt;
  }
  return texts;
}

std::variant<Negotiated, NegotiationRefusal> negotiate(const AttachRequest& request) {
  if (request.abi_major != kAbiMajor || request.abi_minor_min > request.abi_minor_max ||
      request.abi_minor_min > kAbiMinor) {
    return NegotiationRefusal{
        AttachCode::version_mismatch,
        "the daemon speaks channel ABI " + range_text(kAbiMajor, 0, kAbiMinor) + ", the producer " +
            range_text(request.abi_major, request.abi_minor_min, request.abi_minor_max) +
            "; install matching versions"};
  }
  const std::string ours = machine_name();
  if (read_text(request.architecture) != ours || read_text(request.libc) != kLibc ||
      request.semaphore_bytes != sizeof(sem_t) ||
      request.page_bytes != static_cast<std::uint32_t>(::sysconf(_SC_PAGESIZE))) {
    return NegotiationRefusal{
        AttachCode::platform_mismatch,
        "the daemon runs on " + ours + ", " + std::string(kLibc) + ", sem_t of " +
            std::to_string(sizeof(sem_t)) + " bytes, pages of " +
            std::to_string(::sysconf(_SC_PAGESIZE)) + "; the producer on " +
            printable(read_text(request.architecture)) + ", " + printable(read_text(request.libc)) +
            ", " + std::to_string(request.semaphore_bytes) + ", " +
            std::to_string(request.page_bytes) + "; build both for the same platform"};
  }
  if ((request.features_required & ~kSupportedFeatures) != 0) {
    return NegotiationRefusal{AttachCode::feature_missing,
                              "the producer requires feature bits " +
                                  std::to_string(request.features_required & ~kSupportedFeatures) +
                                  " that this daemon does not have; update the daemon"};
  }
  constexpr std::uint32_t kKnownWakes = kWakeSemaphore | kWakeDescriptor;
  if (request.wake_kinds == 0 || (request.wake_kinds & ~kKnownWakes) != 0) {
    return NegotiationRefusal{AttachCode::feature_missing,
                              "wake kinds " + std::to_string(request.wake_kinds) +
                                  " are not known; a producer is woken by semaphore (1) or "
                                  "descriptor (2)"};
  }
  if (request.output_location != OutputLocation::host) {
    return NegotiationRefusal{AttachCode::feature_missing,
                              "output location " +
                                  std::to_string(static_cast<unsigned>(request.output_location)) +
                                  " is not known; results come back to the host (0)"};
  }
  return Negotiated{std::min(request.abi_minor_max, kAbiMinor),
                    request.features_offered & kSupportedFeatures};
}

void write_geometry(AttachReply& reply, const ChannelGeometry& g) noexcept {
  reply.slot_count = g.slot_count;
  reply.input_bytes = g.input_bytes;
  reply.output_bytes = g.output_bytes;
  reply.total_bytes = g.total_bytes;
  reply.region_count = 4;
  reply.regions[0] = {RegionKind::control, 0, 0, g.inputs_offset_bytes, 0};
  reply.regions[1] = {RegionKind::inputs, 0, g.inputs_offset_bytes,
                      g.slot_count * g.input_stride_bytes, g.input_stride_bytes};
  reply.regions[2] = {RegionKind::outputs, 0, g.outputs_offset_bytes,
                      g.slot_count * g.output_stride_bytes, g.output_stride_bytes};
  reply.regions[3] = {RegionKind::tables, 0, g.tables_offset_bytes, g.table_bytes, 0};
}

std::optional<ChannelGeometry> read_geometry(const AttachReply& reply) noexcept {
  if (reply.region_count != 4) {
    return std::nullopt;
  }
  const RegionEntry& control = reply.regions[0];
  const RegionEntry& inputs = reply.regions[1];
  const RegionEntry& outputs = reply.regions[2];
  const RegionEntry& tables = reply.regions[3];
  for (const RegionEntry* region : {&control, &inputs, &outputs, &tables}) {
    if (region->descriptor_index != 0) {
      return std::nullopt;
    }
  }
  if (control.kind != RegionKind::control || inputs.kind != RegionKind::inputs ||
      outputs.kind != RegionKind::outputs || tables.kind != RegionKind::tables ||
      control.offset_bytes != 0) {
    return std::nullopt;
  }
  const GeometryLimits no_limits{kMaxSlotCount, UINT64_MAX, UINT64_MAX, UINT64_MAX};
  const auto planned = plan_geometry(
      {reply.slot_count, reply.input_bytes, reply.output_bytes, tables.bytes}, no_limits);
  const auto* geometry = std::get_if<ChannelGeometry>(&planned);
  if (geometry == nullptr) {
    return std::nullopt;
  }
  AttachReply expected{};
  write_geometry(expected, *geometry);
  const bool same = expected.total_bytes == reply.total_bytes &&
                    std::memcmp(expected.regions, reply.regions, sizeof expected.regions) == 0;
  return same ? std::optional(*geometry) : std::nullopt;
}

}  // namespace overlap
