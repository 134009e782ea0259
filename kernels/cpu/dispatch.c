/* dispatch.c -- cpu_NAME for every FAST kernel and fusion, at the level that product.h chose. */
#include "kernels/kernel.h"
#include "kernels/product.h"
#include "kernels/variants.h"

#undef FAST
#undef PLAIN

#if defined(__x86_64__)

#define PLAIN(name)
#define FAST(name)                                                                                 \
  void cpu_##name##_avx2(const KernelArgs *args);                                                  \
  void cpu_##name##_avx512(const KernelArgs *args);                                                \
  void cpu_##name(const KernelArgs *args) {                                                        \
    switch (product_choice()->f32) {                                                               \
    case PRODUCT_AVX512: cpu_##name##_avx512(args); break;                                         \
    case PRODUCT_AVX2: cpu_##name##_avx2(args); break;                                             \
    default: reference_##name(args);                                                               \
    }                                                                                              \
  }

#define ANY(first, second)                                                                         \
  CpuFused cpu_##first##_##second##_avx2, cpu_##first##_##second##_avx512;                         \
  bool cpu_##first##_##second(const KernelArgs *a, const KernelArgs *b) {                          \
    switch (product_choice()->f32) {                                                               \
    case PRODUCT_AVX512: return cpu_##first##_##second##_avx512(a, b);                             \
    case PRODUCT_AVX2: return cpu_##first##_##second##_avx2(a, b);                                 \
    default: return false;                                                                         \
    }                                                                                              \
  }

#else

#define ANY(first, second)                                                                         \
  bool cpu_##first##_##second(const KernelArgs *a, const KernelArgs *b) {                          \
    (void)a, (void)b;                                                                              \
    return false;                                                                                  \
  }

#define PLAIN(name)
#define FAST(name)                                                                                 \
  void cpu_##name(const KernelArgs *args) {                                                        \
    reference_##name(args);                                                                        \
  }

#endif

const char *kernel_isa(void) {
  return product_name(product_choice()->f32);
}

#define KERNEL(name, variant, ...) variant(name)
#include "kernels/kernels.def"
#undef KERNEL

#define CUDA(first, second)
#define OVER(first, second)
#define FUSION(first, of_first, second, of_second, targets) targets(first, second)
#include "kernels/fusions.def"
