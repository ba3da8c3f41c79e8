#include "daemon/device/cuda_end_words.hpp"

#include <cstring>

namespace overlap {
namespace {

constexpr std::size_t kPageBytes = 4096;
/// The device writes one while the host reads another: they share no line, nor a pair of them.
constexpr std::size_t kWordStrideBytes = 128;
/// The first version of the call that needs no option of the driver to be set.
constexpr unsigned kCallVersion = 11'070;

}  // namespace

CudaEndWords::CudaEndWords(int device) {
  void* call = nullptr;
  cudaDriverEntryPointQueryResult found{};
  if (cudaSetDevice(device) == cudaSuccess &&
      cudaGetDriverEntryPointByVersion("cuStreamWriteValue32", &call, kCallVersion,
                                       cudaEnableDefault, &found) == cudaSuccess &&
      found == cudaDriverEntryPointSuccess) {
    write_value_ = reinterpret_cast<WriteValue>(call);
  }
  (void)cudaGetLastError();
}

CudaEndWords::~CudaEndWords() {
  for (std::byte* const page : pages_) {
    if (cudaFreeHost(page) != cudaSuccess) {
      (void)cudaGetLastError();
    }
  }
}

const volatile std::uint32_t* CudaEndWords::create() {
  if (write_value_ == nullptr) {
    return nullptr;
  }
  if (pages_.empty() || used_in_page_ + kWordStrideBytes > kPageBytes) {
    void* page = nullptr;
    if (cudaHostAlloc(&page, kPageBytes, cudaHostAllocPortable | cudaHostAllocMapped) !=
        cudaSuccess) {
      (void)cudaGetLastError();
      return nullptr;
    }
    std::memset(page, 0, kPageBytes);
    pages_.push_back(static_cast<std::byte*>(page));
    used_in_page_ = 0;
  }
  std::byte* const word = pages_.back() + used_in_page_;
  used_in_page_ += kWordStrideBytes;
  return reinterpret_cast<const volatile std::uint32_t*>(word);
}

cudaError_t CudaEndWords::write(cudaStream_t stream, const volatile std::uint32_t* word,
                                std::uint32_t value) noexcept {
  constexpr unsigned kWithBarrier = 0;
  // Error numbers of the driver are those of the runtime.
  return static_cast<cudaError_t>(
      write_value_(stream, reinterpret_cast<std::uintptr_t>(word), value, kWithBarrier));
}

}  // namespace overlap
