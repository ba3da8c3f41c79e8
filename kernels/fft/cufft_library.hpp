#pragma once

#include <cstddef>
#include <string>

namespace overlap {

/// The functions of cuFFT that are needed, as its C ABI has them (cufft.h, the same since 11.0): so
/// that neither its headers nor its library are needed to build.
struct CufftLibrary {
  static constexpr int kSuccess = 0;
  static constexpr int kAllocFailed = 2;
  static constexpr int kC2C = 0x29;
  static constexpr int kR2C = 0x2a;
  static constexpr int kForward = -1;
  static constexpr int kInverse = 1;

  int (*create)(int* plan);
  int (*destroy)(int plan);
  int (*set_auto_allocation)(int plan, int allocate);
  int (*make_plan_many)(int plan, int rank, long long* n, long long* inembed, long long istride,
                        long long idist, long long* onembed, long long ostride, long long odist,
                        int type, long long batch, std::size_t* work_bytes);
  int (*set_stream)(int plan, void* stream);
  int (*set_work_area)(int plan, void* work_area);
  int (*exec_c2c)(int plan, void* in, void* out, int direction);
  int (*exec_r2c)(int plan, void* in, void* out);

  /// Opens libcufft at the first call that finds it; it stays open. Thread safety: any.
  /// @return null, and why, if there is none
  [[nodiscard]] static const CufftLibrary* open(std::string& why);
};

}  // namespace overlap
