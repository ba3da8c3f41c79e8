#pragma once

#include "kernels/pipeline.hpp"

#include <cstdint>
#include <string>

namespace overlap::bench {

/// The daemon's own kernel on the calling thread, one job at a time: for ceilings and peers. Thread
/// safety: any.
class KernelCall {
 public:
  /// @param pipeline of one stage whose output is as large as its input
  explicit KernelCall(const std::string& pipeline);

  /// @pre input and output are aligned to a float and do not overlap
  void run(const void* input, void* output, std::uint64_t bytes) const;

 private:
  Pipeline pipeline_;
};

}  // namespace overlap::bench
