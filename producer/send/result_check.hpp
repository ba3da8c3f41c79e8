#pragma once

#include "kernels/pipeline.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace overlap {

/// What a result's bytes are, as far as comparing goes.
enum class ElementKind : std::uint8_t { bytes, f32, f64 };

/// What the last kernel that computes gives.
[[nodiscard]] ElementKind element_kind(const Pipeline& pipeline);

/// Whether two results are equal bit for bit, the payloads of NaNs aside.
[[nodiscard]] bool same_result(ElementKind kind, std::span<const std::byte> a,
                               std::span<const std::byte> b) noexcept;

}  // namespace overlap
