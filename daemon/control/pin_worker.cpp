#include "daemon/control/pin_worker.hpp"

#include "daemon/control/engine_quiet.hpp"
#include "daemon/control/numa_placement.hpp"
#include "kernels/parameter_text.hpp"
#include "shared/monotonic_clock.hpp"

#include <pthread.h>
#include <algorithm>
#include <csignal>

namespace overlap {
namespace {

/// Reports of progress on the way of a channel, not one a chunk: there may be very many of those.
constexpr std::uint64_t kProgressSteps = 8;
constexpr unsigned kMostTouchThreads = 4;

}  // namespace

PinWorker::PinWorker(Device& device, const StoreSettings& settings, const EngineLoad& load,
                     std::function<void(PinReport)> report)
    : device_(device),
      settings_(settings),
      load_(load),
      report_(std::move(report)),
      thread_([this] { run(); }) {}

PinWorker::~PinWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PinWorker::allocate(ChannelId channel, const ChannelGeometry& geometry,
                         std::vector<Pipeline> pipelines, std::uint64_t kept_bytes) {
  post({channel, Allocate{geometry, std::move(pipelines), kept_bytes}});
}

void PinWorker::prepare(ChannelId channel, FileDescriptor memory, const ChannelGeometry& geometry,
                        std::uint64_t features) {
  post({channel, Prepare{std::move(memory), geometry, features}});
}

void PinWorker::cancel(ChannelId channel) {
  {
    const std::lock_guard lock(mutex_);
    if (current_ == channel) {
      current_wanted_ = false;
    }
    for (Task& task : tasks_) {
      if (task.channel == channel) {
        task.wanted = false;
      }
    }
  }
  changed_.notify_all();
}

void PinWorker::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void PinWorker::run() {
  // Signals belong to the daemon's main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "pin worker");
  // Of this thread alone: channel memory is allocated here and nowhere else.
  prefer_numa_node(device_.properties().numa_node);
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return;
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    current_ = task.channel;
    current_wanted_ = task.wanted;
    lock.unlock();
    PinReport report = perform(task);
    lock.lock();
    current_.reset();
    lock.unlock();
    report_(std::move(report));
  }
}

PinReport PinWorker::perform(Task& task) {
  if (auto* prepare_work = std::get_if<Prepare>(&task.work)) {
    return prepare(task.channel, *prepare_work);
  }
  if (!is_wanted()) {
    return StoreAllocated{task.channel,
                          StoreRefusal{AttachCode::memory_refused, "nobody waits for it any more"}};
  }
  const auto& work = std::get<Allocate>(task.work);
  if (auto refusal = prepare_kernels(work)) {
    return StoreAllocated{task.channel, std::move(*refusal)};
  }
  const std::uint64_t started_ns = monotonic_now_ns();
  auto outcome = allocate_store(work.geometry, work.kept_bytes);
  return StoreAllocated{task.channel, std::move(outcome), monotonic_now_ns() - started_ns};
}

std::optional<StoreRefusal> PinWorker::prepare_kernels(const Allocate& work) {
  for (const Pipeline& pipeline : work.pipelines) {
    const std::uint64_t largest_bytes = pipeline.largest_input_bytes(work.geometry.input_bytes);
    const auto planned = pipeline.plan(largest_bytes);
    const auto* const plan = std::get_if<PipelinePlan>(&planned);
    for (std::size_t i = 0; plan != nullptr && i < pipeline.stages().size(); ++i) {
      const Stage& stage = pipeline.stages()[i];
      const std::uint64_t bytes = i == 0 ? largest_bytes : plan->stages[i - 1].max_output_bytes;
      if (const auto refusal = device_.prepare(*stage.kernel, stage.params, bytes)) {
        return StoreRefusal{AttachCode::pipeline_refused,
                            "stage " + std::to_string(i + 1) + " of pipeline " +
                                quoted(pipeline.text()) + " cannot run: " + refusal->text};
      }
    }
  }
  return std::nullopt;
}

PinReport PinWorker::prepare(ChannelId channel, Prepare& work) {
  PrepareSteps steps;
  // The cores are for the jobs where there are any.
  steps.touch_threads =
      is_busy(load_, monotonic_now_ns())
          ? 1
          : std::clamp(std::thread::hardware_concurrency(), 1U, kMostTouchThreads);
  std::uint64_t reported = 0;
  steps.is_wanted = [this] { return is_wanted(); };
  steps.between_pins = [&](std::uint64_t pinned_bytes) {
    const std::uint64_t step = pinned_bytes / (work.geometry.total_bytes / kProgressSteps + 1);
    if (step != reported) {
      reported = step;
      report_(StoreProgress{channel, pinned_bytes});
    }
    pause();
  };
  StorePrepared report{channel, StoreRefusal{}, {}, {}};
  report.outcome = prepare_store(std::move(work.memory), work.geometry, work.features, device_,
                                 settings_, steps, report.times, report.warning);
  return report;
}

bool PinWorker::is_wanted() {
  const std::lock_guard lock(mutex_);
  return current_wanted_;
}

void PinWorker::pause() {
  if (!is_busy(load_, monotonic_now_ns())) {
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, settings_.pin_gap, [this] { return stopping_ || !current_wanted_; });
}

}  // namespace overlap
