#include "daemon/engine/served_pipeline.hpp"

#include <algorithm>
#include <cstring>

namespace overlap {
namespace {

/// Bit for bit, so that -0 and 0, or two NaNs, are told apart.
bool same_parameters(const ParameterValues& a, const ParameterValues& b) noexcept {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a.front()) == 0);
}

bool do_the_same(const ServedPipeline& a, const ServedPipeline& b) noexcept {
  return std::ranges::equal(a.stages(), b.stages(), [](const Stage& x, const Stage& y) {
    return x.kernel == y.kernel && same_parameters(x.params, y.params);
  });
}

}  // namespace

std::shared_ptr<ServedPipeline> PipelineTable::share(std::shared_ptr<ServedPipeline> offered) {
  std::erase_if(served_, [](const auto& weak) { return weak.expired(); });
  for (const auto& weak : served_) {
    const auto served = weak.lock();
    if (do_the_same(*served, *offered)) {
      return served;
    }
  }
  served_.push_back(offered);
  return offered;
}

}  // namespace overlap
