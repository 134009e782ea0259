/* init.c -- initial values, drawn as the reference draws them: bit for bit, on every thread. */
#include "kernels/init.h"

#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"
#include "kernels/math/philox.h"

typedef struct Draw {
  uint64_t key;
  DType dtype;
  bool normal;
} Draw;

static void fill(const KernelArgs *args, int64_t first, int64_t end, float value) {
  for (int64_t i = first; i < end; i += LANES)
    v_put_n(args->operand[0], i, end - i, (DType)args->dtype[0], v_set(value));
}

/* out[i] is the tensor's `element`; the others follow. A Philox block has four elements. */
static void draw_run(const KernelArgs *args, const Draw *d, int64_t first, int64_t end,
                     int64_t element) {
  double a = args->attr[0], b = d->normal ? args->attr[1] : args->attr[1] - args->attr[0];
  for (int64_t i = first - element % 4; i < end; i += 4) {
    uint32_t word[4];
    double value[4];
    philox4(d->key, 0, (uint64_t)(element + (i - first)) / 4, word);
    if (d->normal)
      philox_normal4(word, value);
    else
      for (int k = 0; k < 4; k++)
        value[k] = philox_uniform(word[k]);
    for (int64_t k = max64(i, first); k < min64(i + 4, end); k++)
      float_put(args->operand[0], k, d->dtype, (float)(a + b * value[k - i]));
  }
}

static void draw_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  InitPart part = init_part(args);
  while (first < end) {
    InitRun run = init_run(&part, first);
    int64_t stop = min64(end, first + run.length);
    if (run.padding)
      fill(args, first, stop, 0);
    else
      draw_run(args, (const Draw *)context, first, stop, run.element);
    first = stop;
  }
}

static bool draw(const KernelArgs *args, bool normal) {
  if (!cpu_floats(args, 1, 0)) return false;
  Draw d = {philox_mix(kernel_seed(args), args->key), (DType)args->dtype[0], normal};
  cpu_ranges(args, args->dim[0], GRAIN_ELEMENTS, draw_range, &d);
  return true;
}

void CPU(init_normal)(const KernelArgs *args) {
  if (!draw(args, true)) reference_init_normal(args);
}

void CPU(init_uniform)(const KernelArgs *args) {
  if (!draw(args, false)) reference_init_uniform(args);
}

static void fill_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  InitPart part = init_part(args);
  (void)context;
  while (first < end) {
    InitRun run = init_run(&part, first);
    int64_t stop = min64(end, first + run.length);
    fill(args, first, stop, run.padding ? 0 : (float)args->attr[0]);
    first = stop;
  }
}

void CPU(init_constant)(const KernelArgs *args) {
  if (cpu_floats(args, 1, 0))
    cpu_ranges(args, args->dim[0], GRAIN_STREAM, fill_range, NULL);
  else
    reference_init_constant(args);
}
