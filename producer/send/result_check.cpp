#include "producer/send/result_check.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace overlap {
namespace {

template <class Real, class Bits>
bool same_reals(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  std::size_t offset = 0;
  for (; offset + sizeof(Real) <= a.size(); offset += sizeof(Real)) {
    Bits left = 0;
    Bits right = 0;
    std::memcpy(&left, a.data() + offset, sizeof left);
    std::memcpy(&right, b.data() + offset, sizeof right);
    const bool both_nan =
        std::isnan(std::bit_cast<Real>(left)) && std::isnan(std::bit_cast<Real>(right));
    if (left != right && !both_nan) {
      return false;
    }
  }
  return std::memcmp(a.data() + offset, b.data() + offset, a.size() - offset) == 0;
}

}  // namespace

ElementKind element_kind(const Pipeline& pipeline) {
  ElementKind kind = ElementKind::bytes;
  for (const Stage& stage : pipeline.stages()) {
    if (stage.kernel->name() == "vector_add") {
      kind = ElementKind::f32;
    }
    const auto parameters = stage.kernel->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name == "type" && parameters[i].type == ParameterType::choice) {
        const auto chosen = parameters[i].choices[stage.params[i].choice_index];
        kind = chosen == "f32"   ? ElementKind::f32
               : chosen == "f64" ? ElementKind::f64
                                 : ElementKind::bytes;
      }
    }
  }
  return kind;
}

bool same_result(ElementKind kind, std::span<const std::byte> a,
                 std::span<const std::byte> b) noexcept {
  if (a.size() != b.size()) {
    return false;
  }
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) {
    return true;
  }
  switch (kind) {
    case ElementKind::bytes:
      return false;
    case ElementKind::f32:
      return same_reals<float, std::uint32_t>(a, b);
    case ElementKind::f64:
      return same_reals<double, std::uint64_t>(a, b);
  }
  return false;
}

}  // namespace overlap
