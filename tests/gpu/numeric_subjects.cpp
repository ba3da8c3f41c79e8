#include "tests/gpu/kernel_subjects.hpp"

#include <algorithm>
#include <utility>

namespace overlap::test {

/// Of segments: a thread, a few and a warp each; that begin anywhere; of more than one run.
constexpr std::size_t kLengths[] = {0, 1, 3, 4, 9, 16, 50, 64, 1000, 4097, 20'000};

std::vector<KernelSubject> numeric_subjects() {
  std::vector<KernelSubject> all = {{"copy", ElementKind::u8, 1},
                                    {"vector_add", ElementKind::f32, 2},
                                    {"vector_add:repeat=3", ElementKind::f32, 2}};
  for (const char* const saxpy : {"saxpy:a=-0.1", "saxpy:a=1.000244140625", "saxpy:a=1e-45"}) {
    all.push_back({saxpy, ElementKind::f32, 2});
  }
  const std::pair<const char*, ElementKind> types[] = {{"u8", ElementKind::u8},
                                                       {"i16", ElementKind::i16},
                                                       {"i32", ElementKind::i32},
                                                       {"f32", ElementKind::f32},
                                                       {"f64", ElementKind::f64}};
  for (const auto& [type, kind] : types) {
    for (const char* const factors : {"a=2,b=1", "a=-0.5,b=0.25", "a=0.1,b=0.7", "a=-1e30,b=1e30",
                                      "a=1e-40,b=1e-42", "a=1.000244140625,b=-1.00048828125"}) {
      all.push_back({"scale:" + std::string(factors) + ",type=" + type, kind, 1});
    }
  }
  const std::pair<std::size_t, std::size_t> shapes[] = {
      {1, 1},    {2, 2},   {4, 4},     {1, 100},  {100, 1},  {3, 7},    {30, 30},
      {31, 33},  {32, 32}, {33, 64},   {64, 33},  {5, 1000}, {1000, 5}, {2, 3000},
      {3000, 2}, {17, 31}, {100, 257}, {32, 500}, {500, 32}};
  for (const auto& [rows, cols] : shapes) {
    all.push_back({"transpose:rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols),
                   ElementKind::i32, rows * cols});
  }
  const std::pair<const char*, ElementKind> converted[] = {
      {"u8", ElementKind::u8},   {"i16", ElementKind::i16},   {"i32", ElementKind::i32},
      {"f16", ElementKind::f16}, {"bf16", ElementKind::bf16}, {"f32", ElementKind::f32},
      {"f64", ElementKind::f64}};
  for (const auto& [from, from_kind] : converted) {
    for (const auto& [to, to_kind] : converted) {
      for (const char* const factors : {"", ",scale=-0.1,offset=0.7"}) {
        all.push_back({"convert:from=" + std::string(from) + ",to=" + to + factors,
                       from_kind,
                       1,
                       {},
                       same_elements(to_kind)});
      }
    }
  }
  for (const char* const text :
       {"histogram", "histogram:bins=1", "histogram:bins=10", "histogram:bins=255"}) {
    all.push_back({text, ElementKind::u8, 1, {}, same_elements(ElementKind::i32)});
  }
  // From many copies of the bins to none, and bins beyond shared memory.
  for (const char* const range :
       {"bins=1,lower=-3e38,upper=3e38", "bins=7,lower=-2,upper=0.1", "bins=256", "bins=300",
        "bins=5000,lower=-1,upper=1", "bins=12032,lower=-1e30,upper=1e30",
        "bins=12033,lower=-1e30,upper=1e30", "bins=12288,lower=-1e30,upper=1e30",
        "bins=65536,lower=-1e30,upper=1e30"}) {
    all.push_back({"histogram:type=f32," + std::string(range),
                   ElementKind::f32,
                   1,
                   {},
                   same_elements(ElementKind::i32)});
  }
  all.push_back({"spin:microseconds=20", ElementKind::u8, 1});
  for (const char* const op : {"sum", "min", "max", "mean", "variance"}) {
    for (const auto& [type, kind] : types) {
      for (const std::size_t length : kLengths) {
        KernelSubject subject{
            "reduce:op=" + std::string(op) + ",type=" + type + ",length=" + std::to_string(length),
            kind,
            std::max<std::size_t>(length, 1),
            {},
            same_elements(ElementKind::f64)};
        all.push_back(subject);
        if (kind == ElementKind::f32 || kind == ElementKind::f64) {
          // Awkward numbers make NaN of most sums.
          subject.make_input =
              kind == ElementKind::f32 ? finite_input<float> : finite_input<double>;
          all.push_back(subject);
        }
      }
    }
  }
  // Words and single elements, wide and narrow, ragged and whole tiles, many small frames.
  const std::pair<std::size_t, std::size_t> wide_shapes[] = {
      {1, 1},  {2, 3},   {7, 5},    {64, 64},   {128, 128}, {132, 260}, {131, 67},
      {63, 4}, {4, 900}, {900, 33}, {130, 258}, {66, 1000}, {512, 512}};
  for (const std::size_t width :
       {std::size_t{1}, std::size_t{2}, std::size_t{8}, std::size_t{16}}) {
    for (const auto& [rows, cols] : wide_shapes) {
      all.push_back({"transpose:rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols) +
                         ",element_bytes=" + std::to_string(width),
                     ElementKind::u8, rows * cols * width});
    }
  }
  return all;
}

}  // namespace overlap::test
