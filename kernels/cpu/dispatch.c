/* dispatch.c -- cpu_NAME for every FAST kernel: the best level this machine can run. */
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/variants.h"

#undef FAST
#undef PLAIN

#if defined(__x86_64__)

typedef enum Level { LEVEL_UNKNOWN, LEVEL_NONE, LEVEL_AVX2, LEVEL_AVX512 } Level;

static Level find_level(void) {
  const char *highest = getenv("LOCKSTEP_CPU"); /* for tests: avx2 or none */
  if (highest && strcmp(highest, "none") == 0) return LEVEL_NONE;
  if (!(highest && strcmp(highest, "avx2") == 0) && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return LEVEL_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return LEVEL_AVX2;
  return LEVEL_NONE;
}

static Level level(void) {
  static _Atomic int known = LEVEL_UNKNOWN;
  if (known == LEVEL_UNKNOWN) known = (int)find_level();
  return (Level)known;
}

const char *kernel_isa(void) {
  return level() == LEVEL_AVX512 ? "avx512" : level() == LEVEL_AVX2 ? "avx2" : "none";
}

#define PLAIN(name)
#define FAST(name)                                                                                 \
  void cpu_##name##_avx2(const KernelArgs *args);                                                  \
  void cpu_##name##_avx512(const KernelArgs *args);                                                \
  void cpu_##name(const KernelArgs *args) {                                                        \
    switch (level()) {                                                                             \
    case LEVEL_AVX512: cpu_##name##_avx512(args); break;                                           \
    case LEVEL_AVX2: cpu_##name##_avx2(args); break;                                               \
    case LEVEL_UNKNOWN:                                                                            \
    case LEVEL_NONE: reference_##name(args); break;                                                \
    }                                                                                              \
  }

#else

const char *kernel_isa(void) {
  return "none";
}

#define PLAIN(name)
#define FAST(name)                                                                                 \
  void cpu_##name(const KernelArgs *args) {                                                        \
    reference_##name(args);                                                                        \
  }

#endif

#define KERNEL(name, variant, ...) variant(name)
#include "kernels/kernels.def"
