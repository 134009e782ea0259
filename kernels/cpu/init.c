/* init.c -- initial values, drawn as the reference draws them: bit for bit, on every thread. */
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec.h"
#include "kernels/philox.h"

typedef struct Draw {
  uint64_t key;
  bool bf16, normal;
} Draw;

/* first is a multiple of 4. */
static void draw_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Draw *d = (const Draw *)context;
  double a = args->attr[0], b = d->normal ? args->attr[1] : args->attr[1] - args->attr[0];
  for (; first < end; first += 4) {
    uint32_t word[4];
    double value[4];
    philox4(d->key, 0, (uint64_t)first / 4, word);
    if (d->normal)
      philox_normal4(word, value);
    else
      for (int i = 0; i < 4; i++)
        value[i] = philox_uniform(word[i]);
    for (int64_t i = first; i < min64(first + 4, end); i++)
      float_put(args->operand[0], i, d->bf16, (float)(a + b * value[i - first]));
  }
}

static bool draw(const KernelArgs *args, bool normal) {
  if (!cpu_floats(args, 1, 0)) return false;
  Draw d = {philox_mix(args->control->seed, args->key), args->dtype[0] == DTYPE_BF16, normal};
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
  Vec value = v_set((float)args->attr[0]);
  (void)context;
  for (int64_t i = first; i < end; i += LANES)
    v_put_n(args->operand[0], i, end - i, args->dtype[0] == DTYPE_BF16, value);
}

void CPU(init_constant)(const KernelArgs *args) {
  if (cpu_floats(args, 1, 0))
    cpu_ranges(args, args->dim[0], GRAIN_STREAM, fill_range, NULL);
  else
    reference_init_constant(args);
}
