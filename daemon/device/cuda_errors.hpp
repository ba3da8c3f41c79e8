#pragma once

#include <string>

namespace overlap {

/// Whether a process that got this `cudaError_t` value can never use its context again: the
/// documentation says so ("must be terminated and relaunched"), or the device or driver is gone.
///
/// An error that is not listed may still be such a one in disguise; a second, harmless call tells.
/// Thread safety: any.
[[nodiscard]] bool ends_the_context(int code) noexcept;

/// "cudaErrorInvalidValue (1): invalid argument". Needs no driver. Thread safety: any.
[[nodiscard]] std::string cuda_error_text(int code);

}  // namespace overlap
