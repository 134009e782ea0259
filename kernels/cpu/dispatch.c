/* dispatch.c -- cpu_NAME for every FAST kernel: the best level this machine can run. */
#include "kernels/kernel.h"
#include "kernels/variants.h"

#undef FAST
#undef PLAIN

#if defined(__x86_64__)

typedef enum Level { LEVEL_NONE, LEVEL_AVX2, LEVEL_AVX512 } Level;

static Level level(void) {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return LEVEL_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return LEVEL_AVX2;
  return LEVEL_NONE;
}

#define PLAIN(name)
#define FAST(name)                                                                                 \
  void cpu_##name##_avx2(const KernelArgs *args);                                                  \
  void cpu_##name##_avx512(const KernelArgs *args);                                                \
  void cpu_##name(const KernelArgs *args) {                                                        \
    switch (level()) {                                                                             \
    case LEVEL_AVX512: cpu_##name##_avx512(args); break;                                           \
    case LEVEL_AVX2: cpu_##name##_avx2(args); break;                                               \
    case LEVEL_NONE: reference_##name(args); break;                                                \
    }                                                                                              \
  }

#else

#define PLAIN(name)
#define FAST(name)                                                                                 \
  void cpu_##name(const KernelArgs *args) {                                                        \
    reference_##name(args);                                                                        \
  }

#endif

#define KERNEL(name, variant) variant(name)
#include "kernels/kernels.def"
