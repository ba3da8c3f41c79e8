#include "daemon/device/link_ceiling.hpp"

#include "daemon/device/cuda_check.hpp"
#include "daemon/device/cuda_handles.hpp"
#include "shared/file_descriptor.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <vector>

namespace overlap {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMaxCopyBytes = std::uint64_t{256} << 20;
/// Large enough that no cache holds it.
constexpr std::uint64_t kMinAreaBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kCopiesPerArea = 4;
constexpr std::size_t kStreamsPerWay = 2;
/// Small copies share an event, so that recording it does not count.
constexpr std::uint64_t kGroupBytes = std::uint64_t{1} << 20;
/// Groups a stream has in flight before the host waits for the oldest.
constexpr std::size_t kGroupsInFlight = 4;
constexpr std::size_t kWindows = 3;

/// A mapped memfd, every page touched, pinned. Unpinned before it is unmapped.
class PinnedMemfd {
 public:
  explicit PinnedMemfd(std::uint64_t bytes) : bytes_(bytes) {
    const FileDescriptor fd(::memfd_create("link-ceiling", MFD_CLOEXEC));
    if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
      throw std::system_error(errno, std::generic_category(),
                              "memfd of " + std::to_string(bytes) + " bytes");
    }
    void* const mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
    if (mapped == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(),
                              "mmap of " + std::to_string(bytes) + " bytes");
    }
    data_ = static_cast<std::byte*>(mapped);
    const cudaError_t code = cudaHostRegister(data_, bytes, cudaHostRegisterPortable);
    if (code != cudaSuccess) {
      ::munmap(data_, bytes_);
    }
    OVERLAP_CUDA_CHECK(code, "cudaHostRegister, " + std::to_string(bytes) + " bytes");
  }
  PinnedMemfd(const PinnedMemfd&) = delete;
  PinnedMemfd& operator=(const PinnedMemfd&) = delete;
  ~PinnedMemfd() {
    if (cudaHostUnregister(data_) != cudaSuccess) {
      (void)cudaGetLastError();
    }
    ::munmap(data_, bytes_);
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::uint64_t bytes_;
  std::byte* data_ = nullptr;
};

class DeviceArea {
 public:
  explicit DeviceArea(std::uint64_t bytes) {
    void* memory = nullptr;
    OVERLAP_CUDA_CHECK(cudaMalloc(&memory, bytes), std::to_string(bytes) + " bytes");
    data_ = static_cast<std::byte*>(memory);
  }
  DeviceArea(const DeviceArea&) = delete;
  DeviceArea& operator=(const DeviceArea&) = delete;
  ~DeviceArea() {
    if (cudaFree(data_) != cudaSuccess) {
      (void)cudaGetLastError();
    }
  }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// Copies one way, over and over, on its own streams.
class Way {
 public:
  Way(cudaMemcpyKind kind, std::uint64_t bytes_per_copy, std::uint64_t area_bytes)
      : kind_(kind),
        bytes_per_copy_(bytes_per_copy),
        copy_count_(area_bytes / bytes_per_copy),
        copies_per_group_(std::max<std::uint64_t>(kGroupBytes / bytes_per_copy, 1)),
        host_(area_bytes),
        device_(area_bytes) {}

  [[nodiscard]] std::uint64_t group_bytes() const noexcept {
    return copies_per_group_ * bytes_per_copy_;
  }

  /// Waits until the oldest group of the next stream is over, then puts a new one there.
  void issue_group() {
    Lane& lane = lanes_[next_group_ % kStreamsPerWay];
    const CudaEvent& over = lane.over[next_group_ / kStreamsPerWay % kGroupsInFlight];
    ++next_group_;
    OVERLAP_CUDA_CHECK(cudaEventSynchronize(over.get()));
    for (std::uint64_t copy = 0; copy < copies_per_group_; ++copy) {
      const std::uint64_t offset_bytes = next_copy_ * bytes_per_copy_;
      next_copy_ = (next_copy_ + 1) % copy_count_;
      const bool inwards = kind_ == cudaMemcpyHostToDevice;
      std::byte* const to = (inwards ? device_.data() : host_.data()) + offset_bytes;
      const std::byte* const from = (inwards ? host_.data() : device_.data()) + offset_bytes;
      OVERLAP_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes_per_copy_, kind_, lane.stream.get()));
    }
    OVERLAP_CUDA_CHECK(cudaEventRecord(over.get(), lane.stream.get()));
  }

  void finish() {
    for (const Lane& lane : lanes_) {
      OVERLAP_CUDA_CHECK(cudaStreamSynchronize(lane.stream.get()));
    }
  }

 private:
  struct Lane {
    std::array<CudaEvent, kGroupsInFlight> over;
    CudaStream stream;
  };

  cudaMemcpyKind kind_;
  std::uint64_t bytes_per_copy_;
  std::uint64_t copy_count_;
  std::uint64_t copies_per_group_;
  std::uint64_t next_copy_ = 0;
  std::size_t next_group_ = 0;
  PinnedMemfd host_;
  DeviceArea device_;
  std::array<Lane, kStreamsPerWay> lanes_;
};

/// GB/s of each of the ways while all of them run: the median of a few windows.
double rate(const std::vector<Way*>& ways, std::chrono::milliseconds total) {
  std::array<double, kWindows> rates{};
  for (double& each : rates) {
    const Clock::time_point start = Clock::now();
    std::uint64_t bytes = 0;
    do {
      for (Way* const way : ways) {
        way->issue_group();
      }
      bytes += ways.front()->group_bytes();
    } while (Clock::now() - start < total / kWindows);
    for (Way* const way : ways) {
      way->finish();
    }
    each = static_cast<double>(bytes) /
           std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  std::sort(rates.begin(), rates.end());
  return rates[kWindows / 2];
}

}  // namespace

LinkProbe measure_link(std::uint64_t bytes_per_copy, std::chrono::milliseconds per_figure,
                       int index) {
  if (bytes_per_copy == 0 || bytes_per_copy > kMaxCopyBytes) {
    return {std::nullopt, "no link to measure with copies of " + std::to_string(bytes_per_copy) +
                              " bytes: 1 B to 256 MiB can be measured"};
  }
  try {
    throw_unless_success(make_current(index), "cudaSetDevice(" + std::to_string(index) + ")");
    const std::uint64_t area_bytes =
        std::max(kMinAreaBytes / bytes_per_copy, kCopiesPerArea) * bytes_per_copy;
    Way in(cudaMemcpyHostToDevice, bytes_per_copy, area_bytes);
    Way out(cudaMemcpyDeviceToHost, bytes_per_copy, area_bytes);
    LinkCeiling ceiling;
    ceiling.host_to_device = rate({&in}, per_figure);
    ceiling.device_to_host = rate({&out}, per_figure);
    ceiling.each_way_of_both = rate({&in, &out}, per_figure);
    return {ceiling, {}};
  } catch (const std::runtime_error& error) {
    return {std::nullopt, std::string("the link cannot be measured: ") + error.what()};
  }
}

}  // namespace overlap
