#include "tests/gpu/kernel_subjects.hpp"

#include <utility>

namespace overlap::test {

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
