#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace overlap::bench {

/// The program that every text on streams shows: two vectors are copied to the device, added, and the
/// sum is copied back, once all at a time and once cut into as many parts as there are streams. In
/// process, from and to memory of `cudaMallocHost`. Restricted: one thread.
class TextbookProgram {
 public:
  enum class Kernel : std::uint8_t {
    /// `for (pass...) c[i] = a[i] + b[i];` as it stands in the books, one thread an element: the
    /// compiler may make one pass of it.
    plain,
    /// The daemon's `vector_add`, which really goes over the memory in every pass.
    daemons,
  };

  virtual ~TextbookProgram() = default;

  /// Copy, add, copy back; one after the other.
  /// @return seconds
  /// @throws std::runtime_error, also if a result is wrong
  [[nodiscard]] virtual double run_sequential(Kernel kernel) = 0;
  /// The same in `stream_count` parts, each on a stream of its own. Streams are made beforehand.
  [[nodiscard]] virtual double run_overlapped(Kernel kernel, std::uint32_t stream_count) = 0;
};

/// The program, or why there is none.
struct TextbookOrReason {
  std::unique_ptr<TextbookProgram> program;
  std::string why_not;
};

/// Takes twelve bytes of host and of device memory an element.
/// @param element_count of each vector; a multiple of 1024
/// @param repeat passes of the kernel
[[nodiscard]] TextbookOrReason make_textbook_program(std::uint64_t element_count,
                                                     std::uint32_t repeat);

}  // namespace overlap::bench
