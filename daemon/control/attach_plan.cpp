#include "daemon/control/attach_plan.hpp"

#include "daemon/control/table_plan.hpp"
#include "daemon/engine/batch.hpp"
#include "daemon/engine/table_uploads.hpp"
#include "kernels/parameter_text.hpp"
#include "shared/byte_size.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace overlap {
namespace {

/// What a pipeline makes of the largest input that fits, or why it cannot serve this channel.
std::variant<PipelinePlan, std::string> check_pipeline(const Pipeline& pipeline,
                                                       std::uint64_t input_bytes,
                                                       const GeometryLimits& limits,
                                                       bool needs_cuda) {
  if (pipeline.stages().size() > kMaxStages) {
    return "pipeline " + quoted(pipeline.text()) + " has " +
           std::to_string(pipeline.stages().size()) + " stages, the limit is " +
           std::to_string(kMaxStages) + "; split it over two channels";
  }
  for (const Stage& stage : pipeline.stages()) {
    if (stage.params.size() > kMaxStageParameters) {
      return "kernel '" + std::string(stage.kernel->name()) + "' has too many parameters";
    }
    if (needs_cuda && !stage.kernel->has_cuda()) {
      return "kernel '" + std::string(stage.kernel->name()) +
             "' has no CUDA implementation; use a daemon with backend=host";
    }
    if (!needs_cuda && !stage.kernel->has_host()) {
      return "kernel '" + std::string(stage.kernel->name()) +
             "' has no host implementation; use a daemon with backend=cuda, or a plug-in that "
             "gives "
             "this kernel a host function";
    }
  }
  const std::uint64_t largest = pipeline.largest_input_bytes(input_bytes);
  if (largest == 0) {
    return "an input area of " + format_bytes(input_bytes) + " is shorter than pipeline " +
           quoted(pipeline.text()) + " needs: its element or frame is " +
           format_bytes(pipeline.granule_bytes()) + "; ask for larger slots";
  }
  auto plan = std::get<PipelinePlan>(pipeline.plan(largest));
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    // What lies between two stages, or beside one, never shows in the channel's geometry.
    const std::uint64_t bytes =
        std::max(plan.stages[i].max_output_bytes, plan.stages[i].workspace_bytes);
    if (bytes > limits.max_channel_bytes) {
      return "stage " + std::to_string(i + 1) + " of pipeline " + quoted(pipeline.text()) +
             " takes " + format_bytes(bytes) + " of a full input area, the limit is " +
             format_bytes(limits.max_channel_bytes) +
             "; ask for smaller slots or raise max-channel-bytes";
    }
  }
  for (std::size_t i = 0; i + 1 < plan.stages.size(); ++i) {
    if (plan.stages[i].output_size == OutputSize::up_to) {
      return "stage " + std::to_string(i + 1) + " of pipeline " + quoted(pipeline.text()) +
             " makes results of any size, which no stage behind it can be planned for; put it last";
    }
  }
  return plan;
}

std::string keeps_too_much(const Pipeline& pipeline, std::uint64_t limit) {
  return "with pipeline " + quoted(pipeline.text()) +
         " the channel's kernels keep more from job to job than " + format_bytes(limit) +
         "; ask for smaller slots or raise max-channel-bytes";
}

/// What the features that both sides have do not allow for.
std::optional<std::string> missing_feature(const AttachPlan& plan) {
  const std::uint64_t features = plan.negotiated.features;
  if (plan.stateful_pipelines != 0 && (features & kFeatureState) == 0) {
    return "pipeline " +
           quoted(
               plan.pipelines[static_cast<std::size_t>(std::countr_zero(plan.stateful_pipelines))]
                   .text()) +
           " keeps a state from job to job, which the producer's library cannot tell the loss of; "
           "use a newer library";
  }
  if (!plan.tables.empty() && (features & kFeatureTables) == 0) {
    return "the request names tables and does not offer the feature; use a newer library";
  }
  return std::nullopt;
}

AttachRefusal output_too_small(const Pipeline& pipeline, std::uint64_t needed,
                               std::uint64_t asked) {
  return {AttachCode::geometry_refused,
          "pipeline " + quoted(pipeline.text()) + " makes up to " + format_bytes(needed) +
              " of a full input area, the output area is " + format_bytes(asked) +
              "; ask for larger output areas, or for 0 to leave it to the daemon"};
}

}  // namespace

std::variant<AttachPlan, AttachRefusal> plan_attach(const AttachRequest& request,
                                                    const KernelRegistry& kernels,
                                                    const GeometryLimits& limits, bool needs_cuda,
                                                    const ShareLimits& shares) {
  const auto negotiation = negotiate(request);
  if (const auto* refusal = std::get_if<NegotiationRefusal>(&negotiation)) {
    return AttachRefusal{refusal->code, refusal->text};
  }
  const auto texts = pipeline_texts(request);
  if (!texts) {
    return AttachRefusal{AttachCode::malformed_request,
                         "the list of pipelines is empty or damaged; name at least one"};
  }
  const auto share = plan_share(request, shares);
  if (const auto* refusal = std::get_if<ShareRefusal>(&share)) {
    return AttachRefusal{refusal->code, refusal->text};
  }
  AttachPlan plan{std::get<Negotiated>(negotiation), {}, {}, std::get<ChannelShare>(share)};
  plan.history_lost = (request.flags & kAttachHistoryLost) != 0;
  try {
    for (const std::string& text : *texts) {
      plan.pipelines.push_back(Pipeline::parse(text, kernels));
    }
  } catch (const PipelineError& error) {
    return AttachRefusal{AttachCode::pipeline_refused, error.what()};
  }

  // Sizes that the geometry refuses never reach a kernel's arithmetic.
  GeometryRequest geometry{request.slot_count, request.input_bytes,
                           request.output_bytes == 0 ? 1 : request.output_bytes,
                           request.table_bytes};
  const auto first = plan_geometry(geometry, limits);
  if (const auto* refusal = std::get_if<GeometryRefusal>(&first)) {
    return AttachRefusal{AttachCode::geometry_refused, refusal->text};
  }
  std::uint64_t largest_output = 1;
  for (const Pipeline& pipeline : plan.pipelines) {
    const auto checked = check_pipeline(pipeline, request.input_bytes, limits, needs_cuda);
    if (const auto* text = std::get_if<std::string>(&checked)) {
      return AttachRefusal{AttachCode::pipeline_refused, *text};
    }
    const auto& largest = std::get<PipelinePlan>(checked);
    const std::uint64_t needed = largest.max_output_bytes;
    if (request.output_bytes != 0 && needed > request.output_bytes) {
      return output_too_small(pipeline, needed, request.output_bytes);
    }
    largest_output = std::max(largest_output, needed);
    for (const Plan& stage : largest.stages) {
      if (stage.state_bytes >
          limits.max_channel_bytes - std::min(limits.max_channel_bytes, plan.kept_bytes)) {
        return AttachRefusal{AttachCode::geometry_refused,
                             keeps_too_much(pipeline, limits.max_channel_bytes)};
      }
      plan.kept_bytes += stage.state_bytes;
    }
    if (largest.stateful) {
      plan.stateful_pipelines |= 1U << static_cast<unsigned>(&pipeline - plan.pipelines.data());
    }
  }
  auto tables = plan_tables(request, plan.pipelines);
  if (const auto* text = std::get_if<std::string>(&tables)) {
    return AttachRefusal{AttachCode::pipeline_refused, *text};
  }
  plan.tables = std::move(std::get<std::vector<TableEntry>>(tables));
  if (const auto missing = missing_feature(plan)) {
    return AttachRefusal{AttachCode::feature_missing, *missing};
  }
  if (request.output_bytes == 0) {
    geometry.output_bytes = largest_output;
  }
  const auto laid_out = plan_geometry(geometry, limits);
  if (const auto* refusal = std::get_if<GeometryRefusal>(&laid_out)) {
    return AttachRefusal{AttachCode::geometry_refused, refusal->text};
  }
  plan.geometry = std::get<ChannelGeometry>(laid_out);
  plan.kept_bytes += largest_table_memory(plan.tables);
  if (plan.kept_bytes > limits.max_channel_bytes - plan.geometry.total_bytes) {
    return AttachRefusal{AttachCode::geometry_refused,
                         "the channel needs " + format_bytes(plan.geometry.total_bytes) +
                             ", its kernels and tables keep " + format_bytes(plan.kept_bytes) +
                             " beside that, the limit is " +
                             format_bytes(limits.max_channel_bytes) +
                             "; ask for smaller slots or raise max-channel-bytes"};
  }
  return plan;
}

}  // namespace overlap
