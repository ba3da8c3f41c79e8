#include "tests/bench/measured_workload.hpp"

namespace overlap::bench {

WorkloadOrReason make_cuda_workload(const WorkloadParts& /*parts*/,
                                    std::uint32_t /*compared_jobs*/) {
  return {nullptr, "the benchmark was built without CUDA"};
}

}  // namespace overlap::bench
