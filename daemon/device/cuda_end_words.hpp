#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace overlap {

/// Words in pinned memory of this process alone that streams write once all work before is over and
/// its bytes are visible (`cuStreamWriteValue32`). Reading one costs the host a load where asking an
/// event costs a call into the driver, and it is seen 2.7 us sooner (H200, one 4 KiB job).
///
/// A word says nothing of errors: a stream that has failed never writes it.
/// Restricted: one thread.
class CudaEndWords {
 public:
  /// Looks the driver's call up; without it there are no words.
  explicit CudaEndWords(int device);
  CudaEndWords(const CudaEndWords&) = delete;
  CudaEndWords& operator=(const CudaEndWords&) = delete;
  /// @pre no stream writes a word any more
  ~CudaEndWords();

  /// A word of its own, 0 at first; null if there are none.
  [[nodiscard]] const volatile std::uint32_t* create();
  /// Enqueues the writing of `value`. @pre `word` came from here
  [[nodiscard]] cudaError_t write(cudaStream_t stream, const volatile std::uint32_t* word,
                                  std::uint32_t value) noexcept;

  /// Whether a stream has written `value`. Acquires: what the stream did before is visible then.
  [[nodiscard]] static bool holds(const volatile std::uint32_t* word,
                                  std::uint32_t value) noexcept {
    const std::uint32_t seen = *word;
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return seen == value;
  }

 private:
  /// `cuStreamWriteValue32`, in the types of its C signature.
  using WriteValue = int (*)(cudaStream_t stream, unsigned long long address, std::uint32_t value,
                             unsigned flags);

  WriteValue write_value_ = nullptr;
  std::vector<std::byte*> pages_;
  std::size_t used_in_page_ = 0;
};

}  // namespace overlap
