#include "kernels/signal/integrate.hpp"

#include <algorithm>
#include <cstring>

namespace overlap {
namespace {

template <class Value>
Value value_at(std::span<const std::byte> bytes, std::size_t index) {
  Value value{};
  std::memcpy(&value, &bytes[index * sizeof value], sizeof value);
  return value;
}

template <class Value>
void put_value(std::span<std::byte> bytes, std::size_t index, Value value) {
  std::memcpy(&bytes[index * sizeof value], &value, sizeof value);
}

}  // namespace

/// The state: how many jobs, of how many elements, then the sums.
std::uint64_t IntegrateKernel::reference(const ReferenceJob& job) const {
  const std::int64_t wanted = job.params[0].i64;
  const bool divide = job.params[1].choice_index != 0;
  const std::size_t count = job.input.size() / sizeof(float);
  if (count == 0) {
    return 0;
  }
  const auto jobs = value_at<std::int64_t>(job.state, 0);
  if (jobs != 0 && value_at<std::uint64_t>(job.state, 1) != count) {
    std::ranges::fill(job.state, std::byte{});
    return 0;
  }
  const std::span<std::byte> sums = job.state.subspan(2 * sizeof(std::int64_t));
  const bool last = jobs + 1 == wanted;
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(value_at<float>(job.input, i));
    const volatile double sum = jobs == 0 ? x : value_at<double>(sums, i) + x;
    put_value<double>(sums, i, sum);
    if (last) {
      const volatile double result = divide ? sum / static_cast<double>(wanted) : sum;
      put_value(job.output, i, static_cast<float>(result));
    }
  }
  put_value<std::int64_t>(job.state, 0, last ? 0 : jobs + 1);
  put_value<std::uint64_t>(job.state, 1, count);
  return last ? count * sizeof(float) : 0;
}

}  // namespace overlap
