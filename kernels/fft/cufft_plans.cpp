#include "kernels/fft/cufft_plans.hpp"

#include "kernels/batch_items.hpp"
#include "kernels/fft/cufft_library.hpp"
#include "kernels/fft/fft_cuda.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

namespace overlap {
namespace {

constexpr int kInvalidValue = 1;  // cudaErrorInvalidValue

/// Lengths and types whose plans are kept.
constexpr std::size_t kKeptSets = 32;
/// Jobs up to this much input are cheaper to move than to have a call of their own each.
constexpr std::uint64_t kMovedBytes = std::uint64_t{1} << 20;

/// One batch on its way to cuFFT.
class FftLaunch {
 public:
  FftLaunch(CufftPlanSet& plans, const FftParams& wanted, const overlap_batch& batch, void* stream)
      : plans_(plans), wanted_(wanted), batch_(batch), stream_(stream) {}

  [[nodiscard]] int run() {
    std::uint32_t begin = 0;
    while (begin < batch_.item_count) {
      const std::uint64_t transforms = transforms_of(begin);
      if (transforms == 0) {
        ++begin;
        continue;
      }
      const std::uint32_t side_by_side = end_of(begin, [this](std::uint32_t index) {
        return inputs_adjoin(index) && outputs_adjoin(index);
      });
      std::uint32_t end = side_by_side;
      if (transforms * wanted_.input_bytes() <= kMovedBytes) {
        end = std::max(side_by_side, end_of(begin, [this, transforms](std::uint32_t index) {
                         return transforms_of(index + 1) == transforms;
                       }));
      }
      const int status =
          end == side_by_side ? transform_where_they_lie(begin, end) : transform_moved(begin, end);
      if (status != 0) {
        return status;
      }
      begin = end;
    }
    return 0;
  }

 private:
  [[nodiscard]] const overlap_batch_item& item(std::uint32_t index) const {
    return item_at(batch_, index);
  }

  /// Transforms of an item. Its size may be known on the GPU alone; what its output has room for is
  /// then computed, which does no harm where the size turns out to be 0.
  [[nodiscard]] std::uint64_t transforms_of(std::uint32_t index) const {
    if ((batch_.flags & OVERLAP_BATCH_SIZES_ON_DEVICE) == 0) {
      return item(index).input_bytes / wanted_.input_bytes();
    }
    return std::min(batch_.max_input_bytes / wanted_.input_bytes(),
                    item(index).output_capacity_bytes / wanted_.output_bytes());
  }

  /// Whether the next item begins where this one ends.
  [[nodiscard]] bool inputs_adjoin(std::uint32_t index) const {
    return static_cast<const std::byte*>(item(index).input) +
               transforms_of(index) * wanted_.input_bytes() ==
           item(index + 1).input;
  }
  [[nodiscard]] bool outputs_adjoin(std::uint32_t index) const {
    return static_cast<std::byte*>(item(index).output) +
               transforms_of(index) * wanted_.output_bytes() ==
           item(index + 1).output;
  }

  /// The end of the items from `begin` on each of which goes with the next.
  template <class GoesWithNext>
  [[nodiscard]] std::uint32_t end_of(std::uint32_t begin,
                                     const GoesWithNext& goes_with_next) const {
    std::uint32_t last = begin;
    while (last + 1 < batch_.item_count && goes_with_next(last)) {
      ++last;
    }
    return last + 1;
  }

  [[nodiscard]] DeviceWorkspace workspace() const {
    return {static_cast<std::byte*>(batch_.workspace), batch_.workspace_bytes};
  }

  /// Items that lie side by side.
  [[nodiscard]] int transform_where_they_lie(std::uint32_t begin, std::uint32_t end) {
    TransformRun run{static_cast<const std::byte*>(item(begin).input),
                     static_cast<std::byte*>(item(begin).output), 0};
    for (std::uint32_t index = begin; index < end; ++index) {
      run.count += transforms_of(index);
    }
    const int status = plans_.execute(run, wanted_.inverse, workspace(), stream_);
    if (status != 0 || wanted_.scale == 1.0F) {
      return status;
    }
    return scale_floats(run.output, run.count * wanted_.output_bytes() / sizeof(float),
                        wanted_.scale, stream_);
  }

  /// How much of the workspace moved items take.
  struct MovedLayout {
    std::uint64_t input_bytes;  ///< 0: the inputs stay where they are
    std::uint64_t output_bytes;

    [[nodiscard]] static constexpr std::uint64_t aligned(std::uint64_t bytes) {
      return (bytes + 255) / 256 * 256;
    }
    [[nodiscard]] std::uint64_t bytes() const {
      return aligned(input_bytes) + aligned(output_bytes);
    }
  };

  /// Complex values are transformed where they were moved to, so that they need room only once.
  [[nodiscard]] MovedLayout moved_layout(std::uint64_t transforms, bool move_inputs) const {
    const bool twice = move_inputs && wanted_.type != FftType::c2c;
    return {twice ? transforms * wanted_.input_bytes() : 0, transforms * wanted_.output_bytes()};
  }

  /// Items of the same size, anywhere.
  [[nodiscard]] int transform_moved(std::uint32_t begin, std::uint32_t end) {
    const std::uint64_t each = transforms_of(begin);
    bool move_inputs = false;
    for (std::uint32_t index = begin; index + 1 < end && !move_inputs; ++index) {
      move_inputs = !inputs_adjoin(index);
    }
    while (begin < end) {
      std::uint32_t count = end - begin;
      while (count > 1 && !fits(count * each, move_inputs)) {
        count /= 2;
      }
      const int status = count == 1 ? transform_where_they_lie(begin, begin + 1)
                                    : transform_moved(begin, count, each, move_inputs);
      if (status != 0) {
        return status;
      }
      begin += count;
    }
    return 0;
  }

  [[nodiscard]] bool fits(std::uint64_t transforms, bool move_inputs) const {
    const std::optional<std::uint64_t> work_bytes = plans_.work_bytes(transforms);
    const std::uint64_t moved_bytes = moved_layout(transforms, move_inputs).bytes();
    return work_bytes && moved_bytes <= batch_.workspace_bytes &&
           *work_bytes <= batch_.workspace_bytes - moved_bytes;
  }

  [[nodiscard]] int transform_moved(std::uint32_t begin, std::uint32_t count, std::uint64_t each,
                                    bool move_inputs) {
    const std::uint64_t transforms = count * each;
    const MovedLayout layout = moved_layout(transforms, move_inputs);
    std::byte* const moved_outputs = workspace().memory;
    std::byte* const moved_inputs = layout.input_bytes == 0
                                        ? moved_outputs
                                        : moved_outputs + MovedLayout::aligned(layout.output_bytes);
    const overlap_batch items = part_of_batch(begin, count);
    TransformRun run{static_cast<const std::byte*>(item(begin).input), moved_outputs, transforms};
    if (move_inputs) {
      run.input = moved_inputs;
      if (const int status =
              join_inputs(items, moved_inputs, each * wanted_.input_bytes(), stream_);
          status != 0) {
        return status;
      }
    }
    const DeviceWorkspace rest{workspace().memory + layout.bytes(),
                               batch_.workspace_bytes - layout.bytes()};
    if (const int status = plans_.execute(run, wanted_.inverse, rest, stream_); status != 0) {
      return status;
    }
    return part_outputs(items, moved_outputs, each * wanted_.output_bytes(), wanted_.scale,
                        stream_);
  }

  [[nodiscard]] overlap_batch part_of_batch(std::uint32_t begin, std::uint32_t count) const {
    const std::size_t offset = std::size_t{begin} * batch_.item_stride_bytes;
    const auto from = [offset](const overlap_batch_item* items) {
      return reinterpret_cast<const overlap_batch_item*>(reinterpret_cast<const std::byte*>(items) +
                                                         offset);
    };
    overlap_batch part = batch_;
    part.items = from(batch_.items);
    part.device_items = batch_.device_items == nullptr ? nullptr : from(batch_.device_items);
    part.item_count = count;
    return part;
  }

  CufftPlanSet& plans_;
  const FftParams& wanted_;
  const overlap_batch& batch_;
  void* const stream_;
};

}  // namespace

std::shared_ptr<CufftPlanSet> CufftPlans::find(int device, const FftParams& wanted) {
  const std::scoped_lock lock(mutex_);
  return find_locked(device, wanted);
}

std::shared_ptr<CufftPlanSet> CufftPlans::find_locked(int device, const FftParams& wanted) {
  const auto found =
      std::ranges::find_if(sets_, [&](const auto& set) { return set->is_for(device, wanted); });
  if (found == sets_.end()) {
    return nullptr;
  }
  sets_.splice(sets_.begin(), sets_, found);
  return sets_.front();
}

std::shared_ptr<CufftPlanSet> CufftPlans::keep(std::shared_ptr<CufftPlanSet> set, int device,
                                               const FftParams& wanted) {
  const std::scoped_lock lock(mutex_);
  if (std::shared_ptr<CufftPlanSet> other = find_locked(device, wanted)) {
    return other;
  }
  sets_.push_front(std::move(set));
  return sets_.front();
}

void CufftPlans::drop_oldest() {
  std::list<std::shared_ptr<CufftPlanSet>> dropped;
  {
    const std::scoped_lock lock(mutex_);
    while (sets_.size() > kKeptSets) {
      dropped.splice(dropped.begin(), sets_, std::prev(sets_.end()));
    }
  }
  for (const std::shared_ptr<CufftPlanSet>& set : dropped) {
    // Nobody finds it any more; a launch that found it before is about to end.
    while (set.use_count() > 1) {
      std::this_thread::yield();
    }
    (void)wait_for_cuda_device(set->device());
  }
}

std::optional<Refusal> CufftPlans::prepare(const FftParams& wanted) {
  std::string why;
  const CufftLibrary* const library = CufftLibrary::open(why);
  if (library == nullptr) {
    return Refusal{"fft needs cuFFT on the GPU, and it cannot be opened (" + why +
                   "); install libcufft, or run on the host"};
  }
  int device = 0;
  if (const int status = current_cuda_device(device); status != 0) {
    return Refusal{"fft cannot tell which GPU is the current one: CUDA error " +
                   std::to_string(status)};
  }
  if (const std::shared_ptr<CufftPlanSet> known = find(device, wanted)) {
    return known->complete();
  }
  auto made = std::make_shared<CufftPlanSet>(*library, device, wanted);
  if (std::optional<Refusal> refusal = made->complete()) {
    return refusal;
  }
  (void)keep(std::move(made), device, wanted);
  drop_oldest();
  return std::nullopt;
}

int CufftPlans::launch(const FftParams& wanted, const overlap_batch& batch, void* stream) {
  if (batch.max_input_bytes == 0) {
    return 0;
  }
  std::string why;
  const CufftLibrary* const library = CufftLibrary::open(why);
  int device = 0;
  if (library == nullptr) {
    return kInvalidValue;  // `prepare` said why
  }
  if (const int status = current_cuda_device(device); status != 0) {
    return status;
  }
  std::shared_ptr<CufftPlanSet> plans = find(device, wanted);
  if (plans == nullptr) {  // so many lengths are in use that these plans had to go; none go now
    plans = keep(std::make_shared<CufftPlanSet>(*library, device, wanted), device, wanted);
  }
  return FftLaunch(*plans, wanted, batch, stream).run();
}

}  // namespace overlap
