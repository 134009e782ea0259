/* fill.cu -- sets a part of a tensor to one number. */
#include "kernels/cuda/cuda.h"

extern "C" {
#include "kernels/cuda/fill.h"
}

template <class T> __global__ void fill(FillRows r, T *first, float value) {
  for (EACH_ELEMENT(i, r.samples * r.rows * r.width)) {
    const int64_t row = i / r.width, sample = row / r.rows;
    put(first + sample * r.sample_stride + row % r.rows * r.row_stride + i % r.width, value);
  }
}

template <class T>
static KernelStatus run_fill(const KernelArgs *args, const FillRows *r, void *first, float value,
                             const char **why) {
  Launch run(args, why, "fill");
  run.flat(r->samples * r->rows * r->width, fill<T>, *r, (T *)first, value);
  return run.status;
}

extern "C" KernelStatus cuda_fill(const KernelArgs *args, const FillRows *rows, uint32_t dtype,
                                  void *first, float value, const char **why) {
  return with_float(dtype, why, [=](auto number) {
    return run_fill<decltype(number)>(args, rows, first, value, why);
  });
}
