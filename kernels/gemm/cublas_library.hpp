#pragma once

#include <cstddef>
#include <string>

namespace overlap {

/// The functions of cuBLAS that are needed, as its C ABI has them (cublas_api.h, the same since
/// 11.0): so that neither its headers nor its library are needed to build.
struct CublasLibrary {
  using Handle = void*;
  static constexpr int kSuccess = 0;
  static constexpr int kAllocFailed = 3;
  /// No transposition.
  static constexpr int kAsItIs = 0;

  int (*create)(Handle* handle);
  int (*destroy)(Handle handle);
  int (*set_stream)(Handle handle, void* stream);
  int (*set_workspace)(Handle handle, void* workspace, std::size_t bytes);
  int (*sgemm)(Handle handle, int transpose_a, int transpose_b, int m, int n, int k,
               const float* alpha, const float* a, int lda, const float* b, int ldb,
               const float* beta, float* c, int ldc);

  /// Opens libcublas at the first call that finds it; it stays open. Thread safety: any.
  /// @return null, and why, if there is none
  [[nodiscard]] static const CublasLibrary* open(std::string& why);
};

}  // namespace overlap
