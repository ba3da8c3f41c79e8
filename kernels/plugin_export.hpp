#pragma once

#include "kernels/batch_items.hpp"
#include "kernels/kernel.hpp"
#include "kernels/overlap_kernel.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Before the definition of a plug-in's one entry, in a library whose other symbols are hidden.
#define OVERLAP_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace overlap {

/// A `Kernel` as the C ABI has it. No exception gets across: it becomes a refusal, a batch of failed
/// jobs or a failed launch.
///
/// Of jobs that failed on the host so, the state is made zero bytes, as many as the jobs' own plans
/// say. A kernel whose state grows with the input clears it before it throws: an earlier, larger job
/// may have used more, and nothing here knows how much there is.
class ExportedKernel {
 public:
  explicit ExportedKernel(std::unique_ptr<const Kernel> kernel) : kernel_(std::move(kernel)) {
    for (const Parameter& parameter : kernel_->parameters()) {
      add_parameter(parameter);
    }
    c_.struct_bytes = sizeof c_;
    c_.param_count = static_cast<std::uint32_t>(params_.size());
    c_.param_stride_bytes = sizeof(overlap_parameter);
    c_.name = keep(kernel_->name());
    c_.summary = keep(kernel_->summary());
    c_.table_help = keep(kernel_->table_help());
    c_.params = params_.data();
    c_.context = const_cast<Kernel*>(kernel_.get());  // C has no pointer that fits both
    c_.granule_bytes = granule_bytes;
    c_.plan = plan;
    c_.table_bytes = table_bytes;
    c_.prepare = prepare;
    c_.run = kernel_->has_host() ? run : nullptr;
    c_.launch = kernel_->has_cuda() ? launch : nullptr;
  }
  ExportedKernel(const ExportedKernel&) = delete;
  ExportedKernel& operator=(const ExportedKernel&) = delete;

  /// Lives as long as this object.
  [[nodiscard]] const overlap_kernel* c() const noexcept { return &c_; }

 private:
  static constexpr int kRefused = 1;
  /// `cudaErrorInvalidValue`, by its number, as a plug-in may be built without CUDA: of this launch
  /// alone, where `cudaErrorUnknown` would say that the GPU is lost.
  static constexpr int kFailedLaunch = 1;

  const char* keep(std::string_view text) { return texts_.emplace_back(text).c_str(); }

  void add_parameter(const Parameter& parameter) {
    std::vector<const char*>& names = choices_.emplace_back();
    for (const std::string_view choice : parameter.choices) {
      names.push_back(keep(choice));
    }
    overlap_parameter& c = params_.emplace_back();
    c.name = keep(parameter.name);
    c.type = static_cast<std::uint32_t>(parameter.type);
    c.flags = parameter.per_job ? OVERLAP_PARAMETER_PER_JOB : 0;
    c.default_value = parameter.default_value;
    c.minimum = parameter.minimum;
    c.maximum = parameter.maximum;
    c.unit = keep(parameter.unit);
    c.help = keep(parameter.help);
    c.choices = names.empty() ? nullptr : names.data();
    c.choice_count = static_cast<std::uint32_t>(names.size());
  }

  static const Kernel& kernel_of(const overlap_kernel* self) noexcept {
    return *static_cast<const Kernel*>(self->context);
  }
  static ParameterView view(const overlap_kernel* self,
                            const overlap_param_value* params) noexcept {
    return {params, self->param_count};
  }

  static void write_text(std::string_view from, char* text, std::size_t text_bytes) noexcept {
    if (text == nullptr || text_bytes == 0) {
      return;
    }
    const std::size_t count = std::min(from.size(), text_bytes - 1);
    std::memcpy(text, from.data(), count);
    text[count] = '\0';
  }

  /// Calls `body`, which returns 0 or writes a text; an exception is a refusal too.
  template <class Body>
  static int refusing(char* text, std::size_t text_bytes, const Body& body) noexcept {
    try {
      return body();
    } catch (const std::exception& error) {
      write_text(error.what(), text, text_bytes);
    } catch (...) {
      write_text("the kernel threw something that is no std::exception", text, text_bytes);
    }
    return kRefused;
  }

  static std::uint64_t granule_bytes(const overlap_kernel* self,
                                     const overlap_param_value* params) noexcept {
    return kernel_of(self).granule_bytes(view(self, params));
  }

  static std::uint64_t table_bytes(const overlap_kernel* self,
                                   const overlap_param_value* params) noexcept {
    return kernel_of(self).table_bytes(view(self, params));
  }

  static int plan(const overlap_kernel* self, const overlap_param_value* params,
                  std::uint64_t input_bytes, overlap_plan* plan, char* text,
                  std::size_t text_bytes) noexcept {
    return refusing(text, text_bytes, [&] {
      const PlanOrRefusal planned = kernel_of(self).plan(view(self, params), input_bytes);
      if (const auto* const refusal = std::get_if<Refusal>(&planned)) {
        write_text(refusal->text, text, text_bytes);
        return kRefused;
      }
      const Plan& sizes = std::get<Plan>(planned);
      plan->output_size = static_cast<std::uint32_t>(sizes.output_size);
      plan->max_output_bytes = sizes.max_output_bytes;
      plan->workspace_bytes = sizes.workspace_bytes;
      plan->state_bytes = sizes.state_bytes;
      plan->paths = sizes.paths;
      return 0;
    });
  }

  static int prepare(const overlap_kernel* self, const overlap_param_value* params,
                     std::uint64_t input_bytes, int on_gpu, char* text,
                     std::size_t text_bytes) noexcept {
    return refusing(text, text_bytes, [&] {
      const auto refusal = kernel_of(self).prepare(view(self, params), input_bytes, on_gpu != 0);
      if (refusal) {
        write_text(refusal->text, text, text_bytes);
        return kRefused;
      }
      return 0;
    });
  }

  static void run(const overlap_kernel* self, const overlap_batch* batch) noexcept {
    try {
      kernel_of(self).run(*batch);
    } catch (...) {
      for (std::uint32_t index = 0; index < batch->item_count; ++index) {
        const overlap_batch_item& item = item_at(*batch, index);
        *item.status = OVERLAP_ITEM_FAILED;
        clear_state(self, *batch, item);
      }
    }
  }

  /// The job after a failed one begins anew. An empty job has changed nothing.
  static void clear_state(const overlap_kernel* self, const overlap_batch& batch,
                          const overlap_batch_item& item) noexcept {
    if (item.state == nullptr || item.input_bytes == 0) {
      return;
    }
    try {
      const PlanOrRefusal planned =
          kernel_of(self).plan(view(self, batch.params), item.input_bytes);
      if (const auto* const sizes = std::get_if<Plan>(&planned)) {
        std::memset(item.state, 0, sizes->state_bytes);
      }
    } catch (...) {
      // It was planned before, or it would not be in a batch.
    }
  }

  static int launch(const overlap_kernel* self, const overlap_batch* batch, void* stream) noexcept {
    try {
      return kernel_of(self).launch(*batch, stream);
    } catch (...) {
      return kFailedLaunch;
    }
  }

  std::unique_ptr<const Kernel> kernel_;
  overlap_kernel c_{};
  // Deques: what they hold stays where it is.
  std::deque<std::string> texts_;
  std::deque<std::vector<const char*>> choices_;
  std::vector<overlap_parameter> params_;
};

/// A plug-in's description of itself, made of kernels.
class PluginExport {
 public:
  PluginExport(std::string name, std::string version,
               std::vector<std::unique_ptr<const Kernel>> kernels)
      : name_(std::move(name)), version_(std::move(version)) {
    for (std::unique_ptr<const Kernel>& kernel : kernels) {
      list_.push_back(kernels_.emplace_back(std::move(kernel)).c());
    }
    c_ = {sizeof c_,
          OVERLAP_KERNEL_ABI_MAJOR,
          OVERLAP_KERNEL_ABI_MINOR,
          static_cast<std::uint32_t>(list_.size()),
          name_.c_str(),
          version_.c_str(),
          list_.data()};
  }
  PluginExport(const PluginExport&) = delete;
  PluginExport& operator=(const PluginExport&) = delete;

  [[nodiscard]] const overlap_plugin* c() const noexcept { return &c_; }

 private:
  std::string name_;
  std::string version_;
  std::deque<ExportedKernel> kernels_;
  std::vector<const overlap_kernel*> list_;
  overlap_plugin c_{};
};

/// What a plug-in's entry returns, with one kernel of each of these classes:
///
///     OVERLAP_PLUGIN_EXPORT const overlap_plugin* overlap_plugin_entry() {
///       return overlap::export_plugin<MyKernel>("mine", "1.0");
///     }
///
/// @return null if a kernel's constructor throws
template <class... Kernels>
[[nodiscard]] const overlap_plugin* export_plugin(std::string_view name,
                                                  std::string_view version) noexcept {
  try {
    // Never destroyed: threads of the program may still be in a kernel while it ends.
    static const auto* const kPlugin = [&] {
      std::vector<std::unique_ptr<const Kernel>> kernels;
      (kernels.push_back(std::make_unique<const Kernels>()), ...);
      return new PluginExport(std::string(name), std::string(version), std::move(kernels));
    }();
    return kPlugin->c();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace overlap
