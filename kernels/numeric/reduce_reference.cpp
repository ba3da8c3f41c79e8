#include "kernels/numeric/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace overlap {
namespace {

/// Count, mean as first + offset, and sum of the squares of the deviations from it.
struct Spread {
  double count = 0;
  double first = 0;
  double offset = 0;
  double squares = 0;
};

Spread chan(const Spread& a, const Spread& b) {
  if (b.count == 0) {
    return a;
  }
  if (a.count == 0) {
    return b;
  }
  // Through memory, so that no compiler option can fuse two roundings.
  const volatile double count = a.count + b.count;
  const volatile double share = b.count / count;
  const volatile double first_apart = b.first - a.first;
  const volatile double offset_apart = b.offset - a.offset;
  const volatile double apart = first_apart + offset_apart;
  const volatile double moved = apart * share;
  const volatile double offset = a.offset + moved;
  const volatile double apart_squared = apart * apart;
  const volatile double weight = a.count * share;
  const volatile double between = apart_squared * weight;
  const volatile double within = a.squares + b.squares;
  const volatile double squares = within + between;
  return {count, a.first, offset, squares};
}

/// Items to lanes in turn, in order; then neighbours pairwise until one is left.
template <class Item, class Put>
Item in_lanes(const std::vector<Item>& items, std::size_t lane_count, const Put& put) {
  std::vector<Item> lanes(lane_count);
  for (std::size_t i = 0; i < items.size(); ++i) {
    lanes[i % lane_count] = put(lanes[i % lane_count], items[i]);
  }
  while (lanes.size() > 1) {
    std::vector<Item> halved;
    for (std::size_t i = 0; i < lanes.size(); i += 2) {
      halved.push_back(put(lanes[i], lanes[i + 1]));
    }
    lanes = std::move(halved);
  }
  return lanes.front();
}

double add(double a, double b) {
  const volatile double sum = a + b;
  return sum;
}

constexpr std::size_t kReferenceRunLanes = 256;

/// Cuts a segment into runs of 16 KiB.
template <class Element, class Body>
auto for_runs(const std::vector<Element>& segment, const Body& body) {
  constexpr std::size_t kElements = 16'384 / sizeof(Element);
  std::vector<decltype(body(std::vector<double>()))> results;
  for (std::size_t at = 0; at < segment.size(); at += kElements) {
    const std::size_t here = std::min(kElements, segment.size() - at);
    const auto first = segment.begin() + static_cast<std::ptrdiff_t>(at);
    results.push_back(body(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(here))));
  }
  return results;
}

template <class Float>
double float_sum(const std::vector<Float>& segment) {
  constexpr std::size_t kLanes = 512 / sizeof(Float);
  const auto runs =
      for_runs(segment, [](const std::vector<double>& run) { return in_lanes(run, kLanes, add); });
  return in_lanes(runs, kReferenceRunLanes, add);
}

template <class Float>
double float_variance(const std::vector<Float>& segment) {
  constexpr std::size_t kLanes = 512 / sizeof(Float);
  const auto runs = for_runs(segment, [](const std::vector<double>& run) {
    std::vector<double> deviations;
    std::vector<double> squares;
    for (const double x : run) {
      const volatile double deviation = x - run.front();
      const volatile double square = deviation * deviation;
      deviations.push_back(static_cast<double>(deviation));
      squares.push_back(static_cast<double>(square));
    }
    const double sum = in_lanes(deviations, kLanes, add);
    const double square_sum = in_lanes(squares, kLanes, add);
    const auto count = static_cast<double>(run.size());
    const volatile double offset = sum / count;
    const volatile double sum_squared = sum * sum;
    const volatile double surplus = sum_squared / count;
    const volatile double spread = square_sum - surplus;
    return Spread{count, run.front(), offset, spread};
  });
  return in_lanes(runs, kReferenceRunLanes, chan).squares / static_cast<double>(segment.size());
}

template <class Element>
double extreme(const std::vector<Element>& segment, bool largest) {
  double best = segment.front();
  for (const Element element : segment) {
    const double x = element;
    if (std::isnan(x)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const bool below = x < best || (x == best && std::signbit(x) && !std::signbit(best));
    const bool above = x > best || (x == best && !std::signbit(x) && std::signbit(best));
    best = (largest ? above : below) ? x : best;
  }
  return best;
}

/// Rounded by hand: the nearest f64, ties to even.
__extension__ typedef unsigned __int128 Unsigned128;  // NOLINT(modernize-use-using): __extension__

double nearest(Unsigned128 value) {
  Unsigned128 unit = 1;
  while (value / unit >= Unsigned128{1} << 53U) {
    unit *= 2;
  }
  auto steps = static_cast<std::uint64_t>(value / unit);
  const Unsigned128 rest = value % unit;
  if (rest * 2 > unit || (rest != 0 && rest * 2 == unit && steps % 2 != 0)) {
    ++steps;
  }
  double result = static_cast<double>(steps);
  for (; unit > 1; unit /= 2) {
    result *= 2;
  }
  return result;
}

template <class Integer>
double integer_sum(const std::vector<Integer>& segment) {
  std::int64_t sum = 0;
  for (const Integer x : segment) {
    sum += x;
  }
  return static_cast<double>(sum);
}

template <class Integer>
double integer_variance(const std::vector<Integer>& segment) {
  const std::uint64_t count = segment.size();
  std::int64_t sum = 0;
  Unsigned128 squares = 0;
  for (const Integer x : segment) {
    sum += x;
    squares += static_cast<std::uint64_t>(static_cast<std::int64_t>(x) * x);
  }
  const Unsigned128 magnitude = sum < 0 ? Unsigned128{1} + static_cast<std::uint64_t>(-(sum + 1))
                                        : static_cast<std::uint64_t>(sum);
  const auto number = static_cast<double>(count);
  return nearest(squares * count - magnitude * magnitude) / (number * number);
}

template <class Element>
double reduced(const std::vector<Element>& segment, std::uint64_t op) {
  if (op == 1 || op == 2) {
    return extreme(segment, op == 2);
  }
  if constexpr (std::is_floating_point_v<Element>) {
    const double sum = op == 4 ? 0 : float_sum(segment);
    return op == 4   ? float_variance(segment)
           : op == 3 ? sum / static_cast<double>(segment.size())
                     : sum;
  } else {
    const double sum = integer_sum(segment);
    return op == 4   ? integer_variance(segment)
           : op == 3 ? sum / static_cast<double>(segment.size())
                     : sum;
  }
}

template <class Element>
std::uint64_t reduce_all(const ReferenceJob& job) {
  const std::uint64_t all = job.input.size() / sizeof(Element);
  const auto length = job.params[2].i64 == 0 ? all : static_cast<std::uint64_t>(job.params[2].i64);
  std::uint64_t written = 0;
  for (std::uint64_t at = 0; at < all; at += length) {
    std::vector<Element> segment(length);
    std::memcpy(segment.data(), &job.input[at * sizeof(Element)], length * sizeof(Element));
    const double result = reduced(segment, job.params[0].choice_index);
    std::memcpy(&job.output[written], &result, sizeof result);
    written += sizeof result;
  }
  return written;
}

}  // namespace

std::uint64_t ReduceKernel::reference(const ReferenceJob& job) const {
  switch (job.params[1].choice_index) {
    case 0:
      return reduce_all<std::uint8_t>(job);
    case 1:
      return reduce_all<std::int16_t>(job);
    case 2:
      return reduce_all<std::int32_t>(job);
    case 3:
      return reduce_all<float>(job);
    default:
      return reduce_all<double>(job);
  }
}

}  // namespace overlap
