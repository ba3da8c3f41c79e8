#include "producer/send/result_check.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

namespace overlap {
namespace {

ElementKind kind_of(const char* text) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  return element_kind(Pipeline::parse(text, kernels));
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

TEST(ResultCheck, KnowsWhatAPipelineGives) {
  EXPECT_EQ(kind_of("copy"), ElementKind::bytes);
  EXPECT_EQ(kind_of("scale"), ElementKind::f32);
  EXPECT_EQ(kind_of("scale:type=f64"), ElementKind::f64);
  EXPECT_EQ(kind_of("scale:type=u8"), ElementKind::bytes);
  EXPECT_EQ(kind_of("vector_add"), ElementKind::f32);
  EXPECT_EQ(kind_of("scale|copy"), ElementKind::f32);
}

TEST(ResultCheck, FindsOneWrongBitAndAWrongLength) {
  const std::vector<float> a{1, 2, 3};
  std::vector<float> b = a;
  EXPECT_TRUE(same_result(ElementKind::f32, bytes_of(a), bytes_of(b)));
  b[2] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(b[2]) ^ 1U);
  EXPECT_FALSE(same_result(ElementKind::f32, bytes_of(a), bytes_of(b)));
  EXPECT_FALSE(same_result(ElementKind::bytes, bytes_of(a), bytes_of(b)));
  EXPECT_FALSE(same_result(ElementKind::bytes, bytes_of(a), bytes_of(a).first(8)));
  EXPECT_TRUE(same_result(ElementKind::bytes, {}, {}));
}

TEST(ResultCheck, TellsZerosApartButNotNans) {
  const std::vector<float> zeros{0.0F};
  const std::vector<float> minus{-0.0F};
  EXPECT_FALSE(same_result(ElementKind::f32, bytes_of(zeros), bytes_of(minus)));
  const std::vector<std::uint32_t> a{0x7fc00000U};
  const std::vector<std::uint32_t> b{0xffc00001U};
  EXPECT_TRUE(same_result(ElementKind::f32, bytes_of(a), bytes_of(b)));
  EXPECT_FALSE(same_result(ElementKind::bytes, bytes_of(a), bytes_of(b)));
  const std::vector<std::uint64_t> c{0x7ff8000000000000ULL};
  const std::vector<std::uint64_t> d{0x7ff8000000000001ULL};
  EXPECT_TRUE(same_result(ElementKind::f64, bytes_of(c), bytes_of(d)));
}

}  // namespace
}  // namespace overlap
