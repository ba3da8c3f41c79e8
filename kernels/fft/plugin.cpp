#include "kernels/fft/fft.hpp"
#include "kernels/plugin_export.hpp"

OVERLAP_PLUGIN_EXPORT const overlap_plugin* overlap_plugin_entry() {
  return overlap::export_plugin<overlap::FftKernel>("fft", OVERLAP_VERSION);
}
