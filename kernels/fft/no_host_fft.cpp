#include "kernels/fft/host_fft.hpp"

// For builds without kissfft, where nothing of this is ever called.

namespace overlap {

struct ComplexFft::Parts {};

ComplexFft::ComplexFft(std::size_t /*n*/, bool /*inverse*/) {}
ComplexFft::~ComplexFft() = default;

void HostFft::transform(const float* /*in*/, float* /*out*/, std::span<Complex> /*scratch*/) const {
}
std::size_t HostFft::scratch_count() const noexcept { return 0; }

bool fft_has_host() noexcept { return false; }

std::shared_ptr<const HostFft> HostFftCache::get(const FftParams& /*wanted*/) { return nullptr; }

}  // namespace overlap
