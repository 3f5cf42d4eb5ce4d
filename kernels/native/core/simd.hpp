// Which instructions functions of this core may be compiled for beside the portable ones.
#pragma once

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#include <cpuid.h>

#define FOREBAY_AVX2 1
// FMA and F16C come with every processor that has AVX2; each is asked for all the same.
#define FOREBAY_AVX2_TARGET __attribute__((target("avx2,fma,f16c")))
#endif

namespace forebay {

// Whether this processor runs functions marked FOREBAY_AVX2_TARGET.
inline bool has_avx2() noexcept {
#if defined(FOREBAY_AVX2)
  static const bool has = [] {
    // Clang before 16 knows no "f16c" here. The system keeps its registers if it keeps AVX2's.
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return has;
#else
  return false;
#endif
}

}  // namespace forebay
