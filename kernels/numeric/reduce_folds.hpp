#pragma once

#include "kernels/numeric/reduce.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace overlap {

// The arithmetic of `reduce`, the same source for host and CUDA: `constexpr`, so that both may call
// it, and compiled without contraction on both. The order is in reduce.hpp.

inline constexpr std::uint32_t kRunBytes = 16 * 1024;
/// Threads that share a run; the lanes of a thread are the elements of 16 bytes.
inline constexpr std::uint32_t kRunThreads = 32;
/// Lanes of a segment's runs.
inline constexpr std::uint32_t kRunLanes = 256;
/// Room for the result of a run, whichever it is.
inline constexpr std::uint32_t kPartBytes = 32;

template <class Element>
inline constexpr std::uint32_t kRunElements = kRunBytes / sizeof(Element);
template <class Element>
inline constexpr std::uint32_t kThreadLanes = 16 / sizeof(Element);

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): __extension__

// ------------------------------------------------------------- results of lanes, threads and runs

struct FloatSum {
  double sum = 0;
};

[[nodiscard]] constexpr FloatSum combined(FloatSum a, FloatSum b) noexcept {
  return {a.sum + b.sum};
}

struct IntegerSum {
  std::int64_t sum = 0;
};

[[nodiscard]] constexpr IntegerSum combined(IntegerSum a, IntegerSum b) noexcept {
  return {a.sum + b.sum};
}

/// The smallest key; of NaN it is the smallest there is.
template <class Key>
struct Extreme {
  Key key = std::numeric_limits<Key>::max();
};

template <class Key>
[[nodiscard]] constexpr Extreme<Key> combined(Extreme<Key> a, Extreme<Key> b) noexcept {
  return b.key < a.key ? b : a;
}

/// Deviations from one number, and their squares.
struct Deviations {
  double sum = 0;
  double squares = 0;
};

[[nodiscard]] constexpr Deviations combined(Deviations a, Deviations b) noexcept {
  return {a.sum + b.sum, a.squares + b.squares};
}

/// Squares of the deviations from the mean, which is `origin + offset`. The two stay apart: means of
/// runs differ by far less than their last places, if they are large.
struct FloatSpread {
  double count = 0;
  double origin = 0;
  double offset = 0;
  double squares = 0;
};

[[nodiscard]] constexpr FloatSpread combined(const FloatSpread& a, const FloatSpread& b) noexcept {
  if (a.count == 0 || b.count == 0) {
    return a.count == 0 ? b : a;
  }
  const double count = a.count + b.count;
  const double share = b.count / count;
  const double apart = (b.origin - a.origin) + (b.offset - a.offset);
  return {count, a.origin, a.offset + apart * share,
          (a.squares + b.squares) + (apart * apart) * (a.count * share)};
}

/// Sum, and the sums of the lower and upper 32 bits of all squares.
struct IntegerSpread {
  std::int64_t sum = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

[[nodiscard]] constexpr IntegerSpread combined(const IntegerSpread& a,
                                               const IntegerSpread& b) noexcept {
  return {a.sum + b.sum, a.low + b.low, a.high + b.high};
}

/// To nearest, ties to even.
[[nodiscard]] constexpr double rounded(Wide value) noexcept {
  std::uint32_t shift = 0;
  for (auto above = static_cast<std::uint64_t>(value >> 64U); above != 0; above >>= 1U) {
    ++shift;
  }
  if (shift == 0) {
    return static_cast<double>(static_cast<std::uint64_t>(value));
  }
  // 64 bits, the last of which says whether anything was lost, are more than f64 needs to round.
  const std::uint64_t lost = value << (128U - shift) == 0 ? 0 : 1;
  const auto top = static_cast<std::uint64_t>(value >> shift) | lost;
  return static_cast<double>(top) * static_cast<double>(std::uint64_t{1} << (shift - 1)) * 2.0;
}

// ---------------------------------------------------------------- one thread's elements of a run
//
// A fold has the types `Run`, what threads of a run put together, and `Part`, what runs do. It is
// made with the first element of its run.

template <class T>
class SumFold {
 public:
  using Element = T;
  using Run = std::conditional_t<std::is_integral_v<T>, IntegerSum, FloatSum>;
  using Part = Run;
  static constexpr bool kNeedsFirst = false;

  constexpr SumFold(ReduceOp /*op*/, Element /*first*/) noexcept {}

  [[gnu::always_inline]] constexpr void add(Element x, std::uint32_t lane) noexcept {
    if constexpr (std::is_integral_v<T>) {
      lanes_[0] += x;
    } else {
      lanes_[lane] += static_cast<double>(x);
    }
  }

  [[nodiscard]] constexpr Run run() const noexcept {
    if constexpr (sizeof lanes_ / sizeof lanes_[0] == 4) {
      return {(lanes_[0] + lanes_[1]) + (lanes_[2] + lanes_[3])};
    } else if constexpr (sizeof lanes_ / sizeof lanes_[0] == 2) {
      return {lanes_[0] + lanes_[1]};
    } else {
      return {static_cast<std::int64_t>(lanes_[0])};
    }
  }
  [[nodiscard]] static constexpr Part part(Run run, Element /*first*/,
                                           std::uint32_t /*count*/) noexcept {
    return run;
  }
  [[nodiscard]] static constexpr double result(Part part, std::uint64_t count,
                                               ReduceOp op) noexcept {
    const auto sum = static_cast<double>(part.sum);
    return op == ReduceOp::mean ? sum / static_cast<double>(count) : sum;
  }

 private:
  // A thread's share of a run of bytes or words stays far below 32 bits.
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double,
                                 std::conditional_t<sizeof(T) < 4, std::int32_t, std::int64_t>>;
  Sum lanes_[std::is_integral_v<T> ? 1 : kThreadLanes<T>] = {};
};

/// Elements as integers of the same order; for `max` in the opposite one.
template <class T>
class ExtremeFold {
 public:
  using Element = T;
  using Key = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  using Run = Extreme<Key>;
  using Part = Run;
  static constexpr bool kNeedsFirst = false;

  constexpr ExtremeFold(ReduceOp op, Element /*first*/) noexcept : flip_(flip_of(op)) {}

  [[gnu::always_inline]] constexpr void add(Element x, std::uint32_t /*lane*/) noexcept {
    const Key key = key_of(x);
    best_.key = key < best_.key ? key : best_.key;
  }

  [[nodiscard]] constexpr Run run() const noexcept { return best_; }
  [[nodiscard]] static constexpr Part part(Run run, Element /*first*/,
                                           std::uint32_t /*count*/) noexcept {
    return run;
  }
  [[nodiscard]] static constexpr double result(Part part, std::uint64_t /*count*/,
                                               ReduceOp op) noexcept {
    const auto key = static_cast<Key>(part.key ^ flip_of(op));
    if constexpr (std::is_floating_point_v<T>) {
      if (part.key == kNaN) {
        return std::numeric_limits<double>::quiet_NaN();
      }
      return static_cast<double>(std::bit_cast<T>(ordered(key)));
    } else {
      return static_cast<double>(key);
    }
  }

 private:
  static constexpr Key kNaN = std::numeric_limits<Key>::min();

  [[nodiscard]] static constexpr Key flip_of(ReduceOp op) noexcept {
    return op == ReduceOp::max ? Key{-1} : Key{0};
  }
  /// From a float's bits to an integer of the same order, and back.
  [[nodiscard]] static constexpr Key ordered(Key bits) noexcept {
    return bits < 0 ? static_cast<Key>(bits ^ std::numeric_limits<Key>::max()) : bits;
  }
  [[nodiscard]] [[gnu::always_inline]] constexpr Key key_of(Element x) const noexcept {
    if constexpr (std::is_floating_point_v<T>) {
      const bool is_number = x == x;  // NOLINT(misc-redundant-expression): not so for NaN
      return is_number ? static_cast<Key>(ordered(std::bit_cast<Key>(x)) ^ flip_) : kNaN;
    } else {
      return static_cast<Key>(static_cast<Key>(x) ^ flip_);
    }
  }

  Run best_{};
  Key flip_;
};

template <class T>
class FloatSpreadFold {
 public:
  using Element = T;
  using Run = Deviations;
  using Part = FloatSpread;
  static constexpr bool kNeedsFirst = true;

  constexpr FloatSpreadFold(ReduceOp /*op*/, Element first) noexcept
      : first_(static_cast<double>(first)) {}

  [[gnu::always_inline]] constexpr void add(Element x, std::uint32_t lane) noexcept {
    const double deviation = static_cast<double>(x) - first_;
    lanes_[lane].sum += deviation;
    lanes_[lane].squares += deviation * deviation;
  }

  [[nodiscard]] constexpr Run run() const noexcept {
    if constexpr (kThreadLanes<T> == 4) {
      return combined(combined(lanes_[0], lanes_[1]), combined(lanes_[2], lanes_[3]));
    } else {
      return combined(lanes_[0], lanes_[1]);
    }
  }
  [[nodiscard]] static constexpr Part part(Run run, Element first, std::uint32_t count) noexcept {
    const auto number = static_cast<double>(count);
    return {number, static_cast<double>(first), run.sum / number,
            run.squares - (run.sum * run.sum) / number};
  }
  [[nodiscard]] static constexpr double result(const Part& part, std::uint64_t count,
                                               ReduceOp /*op*/) noexcept {
    return part.squares / static_cast<double>(count);
  }

 private:
  Deviations lanes_[kThreadLanes<T>] = {};
  double first_;
};

template <class T>
class IntegerSpreadFold {
 public:
  using Element = T;
  using Run = IntegerSpread;
  using Part = IntegerSpread;
  static constexpr bool kNeedsFirst = false;

  constexpr IntegerSpreadFold(ReduceOp /*op*/, Element /*first*/) noexcept {}

  [[gnu::always_inline]] constexpr void add(Element x, std::uint32_t /*lane*/) noexcept {
    sum_ += x;
    if constexpr (sizeof(T) < 4) {
      low_ += static_cast<std::uint32_t>(static_cast<std::int32_t>(x) * x);
    } else {
      const auto square = static_cast<std::uint64_t>(static_cast<std::int64_t>(x) * x);
      low_ += static_cast<std::uint32_t>(square);
      high_ += square >> 32U;
    }
  }

  [[nodiscard]] constexpr Run run() const noexcept { return {sum_, low_, high_}; }
  [[nodiscard]] static constexpr Part part(const Run& run, Element /*first*/,
                                           std::uint32_t /*count*/) noexcept {
    return run;
  }
  /// (count * sum of squares - sum^2) / count^2, with a numerator below 2^127.
  [[nodiscard]] static constexpr double result(const Part& part, std::uint64_t count,
                                               ReduceOp /*op*/) noexcept {
    const Wide squares = (static_cast<Wide>(part.high) << 32U) + part.low;
    const std::uint64_t magnitude = part.sum < 0 ? 0 - static_cast<std::uint64_t>(part.sum)
                                                 : static_cast<std::uint64_t>(part.sum);
    const Wide numerator = count * squares - static_cast<Wide>(magnitude) * magnitude;
    const auto number = static_cast<double>(count);
    return rounded(numerator) / (number * number);
  }

 private:
  // A thread's share of a run: at most 512 bytes, whose squares stay below 2^25.
  std::conditional_t<(sizeof(T) < 4), std::int32_t, std::int64_t> sum_ = 0;
  std::conditional_t<(sizeof(T) < 2), std::uint32_t, std::uint64_t> low_ = 0;
  std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::uint64_t> high_ = 0;
};

template <class T>
using SpreadFold =
    std::conditional_t<std::is_integral_v<T>, IntegerSpreadFold<T>, FloatSpreadFold<T>>;

/// Calls `body` with the type of the fold that `params` ask for, as a null pointer.
template <class Body>
auto with_fold(const ReduceParams& params, const Body& body) {
  const auto with_op = [&params, &body](auto element) {
    using Element = decltype(element);
    switch (params.op) {
      case ReduceOp::min:
      case ReduceOp::max:
        return body(static_cast<ExtremeFold<Element>*>(nullptr));
      case ReduceOp::variance:
        return body(static_cast<SpreadFold<Element>*>(nullptr));
      default:
        return body(static_cast<SumFold<Element>*>(nullptr));
    }
  };
  switch (params.type) {
    case ReduceType::u8:
      return with_op(std::uint8_t{});
    case ReduceType::i16:
      return with_op(std::int16_t{});
    case ReduceType::i32:
      return with_op(std::int32_t{});
    case ReduceType::f32:
      return with_op(float{});
    default:
      return with_op(double{});
  }
}

}  // namespace overlap
