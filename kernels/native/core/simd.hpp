// Which instructions functions of this core may be compiled for beside the portable ones.
#pragma once

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define FOREBAY_AVX2 1
// FMA and F16C come with every processor that has AVX2; each is asked for all the same.
#define FOREBAY_AVX2_TARGET __attribute__((target("avx2,fma,f16c")))
#endif

namespace forebay {

// Whether this processor runs functions marked FOREBAY_AVX2_TARGET.
inline bool has_avx2() noexcept {
#if defined(FOREBAY_AVX2)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                          __builtin_cpu_supports("f16c");
  return has;
#else
  return false;
#endif
}

}  // namespace forebay
