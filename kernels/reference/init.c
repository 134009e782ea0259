/* init.c -- initial values: element e is a function of the job's seed, the tensor's key and e. */
#include "kernels/init.h"

#include "kernels/math/philox.h"
#include "kernels/reference/access.h"

typedef enum Draw { DRAW_NORMAL, DRAW_UNIFORM, DRAW_CONSTANT } Draw;

static double value_of(const KernelArgs *args, Draw draw, uint64_t key, int64_t element) {
  double a = args->attr[0], b = args->attr[1], normal[4];
  uint32_t word[4];
  if (draw == DRAW_CONSTANT) return a;
  philox4(key, 0, (uint64_t)element / 4, word);
  if (draw == DRAW_UNIFORM) return a + (b - a) * philox_uniform(word[element % 4]);
  philox_normal4(word, normal);
  return a + b * normal[element % 4];
}

static void init(const KernelArgs *args, Draw draw) {
  Tensor out = tensor(args, 0);
  uint64_t key = draw == DRAW_CONSTANT ? 0 : philox_mix(kernel_seed(args), args->key);
  InitPart part = init_part(args);
  for (int64_t i = 0; i < part.n; i++) {
    InitRun run = init_run(&part, i);
    store(out, i, run.padding ? 0 : value_of(args, draw, key, run.element));
  }
}

void reference_init_normal(const KernelArgs *args) {
  init(args, DRAW_NORMAL);
}
void reference_init_uniform(const KernelArgs *args) {
  init(args, DRAW_UNIFORM);
}
void reference_init_constant(const KernelArgs *args) {
  init(args, DRAW_CONSTANT);
}
