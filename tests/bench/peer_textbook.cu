#include "tests/bench/peer_textbook.hpp"

#include "kernels/kernel_registry.hpp"
#include "kernels/pipeline.hpp"
#include "tests/bench/payload.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <stdexcept>
#include <vector>

namespace overlap::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kBlock = 256;

/// The second vector is not the first.
constexpr std::uint32_t kSecondSeed = 1234;

__global__ void add_plainly(const float* a, const float* b, float* c, std::uint64_t count,
                            std::uint32_t repeat) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) {
    for (std::uint32_t pass = 0; pass < repeat; ++pass) {
      c[i] = a[i] + b[i];
    }
  }
}

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("the textbook program: ") + what + ": " +
                             cudaGetErrorString(error));
  }
}

/// Memory of one kind that goes with this object.
class Memory {
 public:
  Memory(bool on_device, std::uint64_t bytes) : on_device_(on_device) {
    void* memory = nullptr;
    check(on_device ? cudaMalloc(&memory, bytes) : cudaMallocHost(&memory, bytes), "memory");
    floats_ = static_cast<float*>(memory);
  }
  ~Memory() { static_cast<void>(on_device_ ? cudaFree(floats_) : cudaFreeHost(floats_)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] float* floats() const { return floats_; }

 private:
  bool on_device_;
  float* floats_ = nullptr;
};

class Streams {
 public:
  explicit Streams(std::uint32_t count) : streams_(count) {
    for (cudaStream_t& stream : streams_) {
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    }
  }
  ~Streams() {
    for (cudaStream_t stream : streams_) {
      cudaStreamDestroy(stream);
    }
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  [[nodiscard]] cudaStream_t at(std::size_t index) const { return streams_[index]; }
  void wait() const {
    for (cudaStream_t stream : streams_) {
      check(cudaStreamSynchronize(stream), "waiting for a stream");
    }
  }

 private:
  std::vector<cudaStream_t> streams_;
};

class CudaTextbook final : public TextbookProgram {
 public:
  CudaTextbook(std::uint64_t count, std::uint32_t repeat)
      : count_(count),
        repeat_(repeat),
        kernels_(KernelRegistry::with_builtin_kernels()),
        pipeline_(Pipeline::parse(pipeline_text(Work::vector_add, repeat), kernels_)),
        host_a_(false, count * sizeof(float)),
        host_b_(false, count * sizeof(float)),
        host_c_(false, count * sizeof(float)),
        device_in_(true, 2 * count * sizeof(float)),
        device_out_(true, count * sizeof(float)) {
    fill_payload({host_a_.floats(), count}, 0);
    fill_payload({host_b_.floats(), count}, kSecondSeed);
  }

  double run_sequential(Kernel kernel) override {
    const Streams one(1);
    return timed([&] { issue(kernel, 0, count_, one.at(0)); }, one);
  }

  double run_overlapped(Kernel kernel, std::uint32_t stream_count) override {
    const Streams streams(stream_count);
    // Whole 4 KiB, so that every part of the vectors is aligned.
    constexpr std::uint64_t kGrain = 1024;
    const std::uint64_t grains = count_ / kGrain;
    return timed(
        [&] {
          for (std::uint64_t i = 0; i < stream_count; ++i) {
            const std::uint64_t first = grains * i / stream_count * kGrain;
            const std::uint64_t last = grains * (i + 1) / stream_count * kGrain;
            if (last > first) {
              issue(kernel, first, last - first, streams.at(i));
            }
          }
        },
        streams);
  }

 private:
  template <class Issue>
  double timed(Issue issue_all, const Streams& streams) {
    std::fill_n(host_c_.floats(), count_, -1.0F);
    check(cudaDeviceSynchronize(), "waiting for the device");
    const auto start = Clock::now();
    issue_all();
    streams.wait();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    verify();
    return seconds;
  }

  void issue(Kernel kernel, std::uint64_t first, std::uint64_t count, cudaStream_t stream) const {
    // On the device the two parts of a chunk lie behind each other, as the daemon's kernel has them.
    float* const in = device_in_.floats() + 2 * first;
    float* const out = device_out_.floats() + first;
    const std::uint64_t bytes = count * sizeof(float);
    check(cudaMemcpyAsync(in, host_a_.floats() + first, bytes, cudaMemcpyHostToDevice, stream),
          "a copy");
    check(cudaMemcpyAsync(in + count, host_b_.floats() + first, bytes, cudaMemcpyHostToDevice,
                          stream),
          "a copy");
    if (kernel == Kernel::plain) {
      const auto blocks = static_cast<unsigned>((count + kBlock - 1) / kBlock);
      add_plainly<<<blocks, kBlock, 0, stream>>>(in, in + count, out, count, repeat_);
      check(cudaGetLastError(), "a launch");
    } else {
      launch_daemons(in, out, bytes, stream);
    }
    check(cudaMemcpyAsync(host_c_.floats() + first, out, bytes, cudaMemcpyDeviceToHost, stream),
          "a copy");
  }

  void launch_daemons(const float* in, float* out, std::uint64_t bytes, cudaStream_t stream) const {
    const Stage& stage = pipeline_.stages().front();
    std::uint64_t output_bytes = bytes;
    std::uint32_t status = OVERLAP_ITEM_OK;
    overlap_batch_item item{};
    item.input = in;
    item.input_bytes = 2 * bytes;
    item.output = out;
    item.output_capacity_bytes = bytes;
    item.params = stage.params.data();
    item.output_bytes = &output_bytes;
    item.status = &status;
    overlap_batch batch{};
    batch.struct_bytes = sizeof batch;
    batch.item_stride_bytes = sizeof item;
    batch.item_count = 1;
    batch.param_count = static_cast<std::uint32_t>(stage.params.size());
    batch.items = &item;
    batch.params = stage.params.data();
    batch.max_input_bytes = 2 * bytes;
    check(static_cast<cudaError_t>(stage.kernel->launch(batch, stream)), "a launch");
  }

  void verify() const {
    const float* const a = host_a_.floats();
    const float* const b = host_b_.floats();
    const float* const c = host_c_.floats();
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < count_; ++i) {
      wrong += c[i] == a[i] + b[i] ? 0 : 1;
    }
    if (wrong != 0) {
      throw std::runtime_error("the textbook program: " + std::to_string(wrong) +
                               " sums are wrong");
    }
  }

  std::uint64_t count_;
  std::uint32_t repeat_;
  KernelRegistry kernels_;
  Pipeline pipeline_;
  Memory host_a_;
  Memory host_b_;
  Memory host_c_;
  Memory device_in_;
  Memory device_out_;
};

}  // namespace

TextbookOrReason make_textbook_program(std::uint64_t element_count, std::uint32_t repeat) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return {nullptr, "left out: the textbook program in process: there is no GPU"};
  }
  return {std::make_unique<CudaTextbook>(element_count, repeat), ""};
}

}  // namespace overlap::bench
