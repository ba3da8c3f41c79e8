#include "kernels/kernel_registry.hpp"

#include "kernels/imaging/gaussian_blur.hpp"
#include "kernels/imaging/grayscale.hpp"
#include "kernels/imaging/lut.hpp"
#include "kernels/imaging/resize.hpp"
#include "kernels/imaging/sobel.hpp"
#include "kernels/numeric/convert.hpp"
#include "kernels/numeric/copy.hpp"
#include "kernels/numeric/histogram.hpp"
#include "kernels/numeric/reduce.hpp"
#include "kernels/numeric/saxpy.hpp"
#include "kernels/numeric/scale.hpp"
#include "kernels/numeric/spin.hpp"
#include "kernels/numeric/transpose.hpp"
#include "kernels/numeric/vector_add.hpp"
#include "kernels/signal/fir.hpp"
#include "kernels/signal/integrate.hpp"
#include "kernels/signal/power_spectrum.hpp"

#if OVERLAP_TEST_KERNELS
#include "kernels/numeric/fault.hpp"
#endif

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace overlap {
namespace {

/// A name that a pipeline's text can hold: the separators `:`, `,`, `=` and `|` stay out.
bool is_kernel_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char character) {
    return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9') ||
           character == '_';
  });
}

void check_kernel(const Kernel* kernel) {
  if (kernel == nullptr) {
    throw std::invalid_argument("no kernel to register: the pointer is null");
  }
  if (!is_kernel_name(kernel->name())) {
    throw std::invalid_argument("kernel name '" + std::string(kernel->name()) +
                                "' cannot be written in a pipeline; use a-z, 0-9 and _ only");
  }
}

}  // namespace

KernelRegistry KernelRegistry::with_builtin_kernels() {
  KernelRegistry registry;
  registry.add(std::make_unique<ConvertKernel>());
  registry.add(std::make_unique<CopyKernel>());
  registry.add(std::make_unique<FirKernel>());
  registry.add(std::make_unique<GaussianBlurKernel>());
  registry.add(std::make_unique<GrayscaleKernel>());
  registry.add(std::make_unique<HistogramKernel>());
  registry.add(std::make_unique<IntegrateKernel>());
  registry.add(std::make_unique<LutKernel>());
  registry.add(std::make_unique<PowerSpectrumKernel>());
  registry.add(std::make_unique<ReduceKernel>());
  registry.add(std::make_unique<ResizeKernel>());
  registry.add(std::make_unique<SaxpyKernel>());
  registry.add(std::make_unique<ScaleKernel>());
  registry.add(std::make_unique<SobelKernel>());
  registry.add(std::make_unique<SpinKernel>());
  registry.add(std::make_unique<TransposeKernel>());
  registry.add(std::make_unique<VectorAddKernel>());
#if OVERLAP_TEST_KERNELS
  registry.add(std::make_unique<FaultKernel>());
#endif
  return registry;
}

void KernelRegistry::add(std::unique_ptr<Kernel> kernel) {
  check_kernel(kernel.get());
  const std::string name(kernel->name());
  if (find(name) != nullptr) {
    throw std::invalid_argument("kernel name '" + name + "' is taken; choose another");
  }
  const auto after =
      std::find_if(kernels_.begin(), kernels_.end(),
                   [&name](const std::unique_ptr<Kernel>& known) { return known->name() > name; });
  kernels_.insert(after, std::move(kernel));
}

void KernelRegistry::replace(std::unique_ptr<Kernel> kernel) {
  check_kernel(kernel.get());
  for (std::unique_ptr<Kernel>& known : kernels_) {
    if (known->name() == kernel->name()) {
      retired_.reserve(retired_.size() + 1);
      retired_.push_back(std::exchange(known, std::move(kernel)));
      return;
    }
  }
  add(std::move(kernel));
}

void KernelRegistry::add_refused(RefusedKernels refused) {
  for (RefusedKernels& known : refused_) {
    if (known.file == refused.file) {
      known = std::move(refused);
      return;
    }
  }
  refused_.push_back(std::move(refused));
}

void KernelRegistry::forget_refused(std::string_view file) {
  std::erase_if(refused_, [file](const RefusedKernels& known) { return known.file == file; });
}

const Kernel* KernelRegistry::find(std::string_view name) const noexcept {
  for (const std::unique_ptr<Kernel>& kernel : kernels_) {
    if (kernel->name() == name) {
      return kernel.get();
    }
  }
  return nullptr;
}

std::vector<const Kernel*> KernelRegistry::all() const {
  std::vector<const Kernel*> result;
  result.reserve(kernels_.size());
  for (const std::unique_ptr<Kernel>& kernel : kernels_) {
    result.push_back(kernel.get());
  }
  return result;
}

}  // namespace overlap
