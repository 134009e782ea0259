/* adamw_storages_test.c -- AdamW in every storage of parameters and of moments, against the same
 * updates in double precision: how far the parameters are apart, as a part of how far they moved.
 * LINK: runtime */
#include <math.h>

#include "kernels/math/split.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_cases.h"

enum { COUNT = 4096, UPDATES = 200 };
enum { GRAD, PARAM, M, V, REST };

static const double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0.1;

typedef enum Moments { MOMENTS_F32, MOMENTS_BF16, MOMENTS_INT8, MOMENTS } Moments;

typedef struct Storage {
  const char *kernel;
  double bound[MOMENTS]; /* about twice what is found */
} Storage;

/* A weight that rounds by chance is wrong by a step of bf16, whatever it moved; moments of eight
 * bits are wrong by some percent, and steps with them. */
static const Storage storages[] = {
    {"adamw_master", {1e-5, 1e-2, 0.12}},
    {"adamw_split", {1e-5, 1e-2, 0.12}},
    {"adamw_kahan", {1e-4, 1e-2, 0.12}},
    {"adamw_stochastic", {0.1, 0.1, 0.15}},
};

/* A gradient with a direction of each element, and noise of the same size. Blocks of codes have
 * sizes from 1 to 1e-6, and elements of a block two decades: squares below 1e-6 of a block's
 * largest are all one code. */
static double gradient(int64_t i, int64_t update) {
  const double size = pow(10, -(double)(i / CODES_BLOCK % 7) - (double)(i % 9) / 4);
  const uint64_t draw = philox_mix((uint64_t)i * 977 + 1, (uint64_t)update);
  return size * ((double)(draw % 2001) / 1000 - 1 + (i % 2 == 0 ? 0.5 : -0.5));
}

static double truth_of(const Call *call, const char *kernel, int64_t i) {
  const char *how = strchr(kernel, '_') + 1;
  if (strcmp(how, "master") == 0) return call_get(call, REST, i);
  if (strcmp(how, "kahan") == 0) return call_get(call, PARAM, i) - call_get(call, REST, i);
  if (strcmp(how, "split") == 0)
    return (double)split_join(((const uint16_t *)call->operand[PARAM])[i],
                              ((const int16_t *)call->operand[REST])[i]);
  return call_get(call, PARAM, i);
}

/* Parameters of bf16 numbers, so that every storage begins with the same. */
static void begin(CaseCall *c, const char *kernel, double *from) {
  for (int32_t k = PARAM; k < c->call.operand_count; k++)
    memset(c->call.operand[k], 0, (size_t)c->call.bytes[k]);
  for (int64_t i = 0; i < COUNT; i++) {
    call_set(&c->call, PARAM, i, 0.02 + 0.2 * sin((double)i));
    from[i] = call_get(&c->call, PARAM, i);
    if (strstr(kernel, "master") != NULL) call_set(&c->call, REST, i, from[i]);
  }
}

/* The same update of one element in double precision. */
static void move(double *w, double *m, double *v, double g, int64_t update) {
  *m = beta1 * *m + (1 - beta1) * g;
  *v = beta2 * *v + (1 - beta2) * g * g;
  const double root = sqrt(*v) / sqrt(1 - pow(beta2, (double)update));
  *w -= lr * decay * *w + lr / (1 - pow(beta1, (double)update)) * *m / (root + eps);
}

/* Root mean squares over all elements: distance from double precision by the way. */
static double distance(const char *kernel, Moments moments, Threads *team) {
  static double w[COUNT], m[COUNT], v[COUNT], from[COUNT];
  KernelCase at = {
      .kernel = kernel,
      .dim = {COUNT, COUNT, COUNT, COUNT, COUNT, moments == MOMENTS_INT8 ? COUNT / CODES_BLOCK : 0},
      .attr = {beta1, beta2, eps, decay}};
  CaseCall c;
  double apart = 0, way = 0;
  CHECK(case_make(&at, moments == MOMENTS_BF16 ? MODE_BF16 : MODE_MIXED, 1, &c));
  begin(&c, kernel, w);
  memcpy(from, w, sizeof w);
  memset(m, 0, sizeof m), memset(v, 0, sizeof v);
  c.call.control.lr = lr;
  c.call.control.clip_scale = 1;
  for (int64_t update = 1; update <= UPDATES; update++) {
    c.call.control.updates = update;
    for (int64_t i = 0; i < COUNT; i++) {
      call_set(&c.call, GRAD, i, gradient(i, update));
      move(&w[i], &m[i], &v[i], call_get(&c.call, GRAD, i), update);
    }
    call_run(&c.call, KERNEL_FAST, team);
  }
  for (int64_t i = 0; i < COUNT; i++) {
    const double d = truth_of(&c.call, kernel, i) - w[i], moved = w[i] - from[i];
    apart += d * d, way += moved * moved;
  }
  call_free(&c.call);
  return sqrt(apart / way);
}

int main(void) {
  Threads *team = threads_new(2, NULL);
  if (team == NULL) return 1;
  TEST("200 updates of AdamW in every storage, against double precision")
  for (size_t s = 0; s < sizeof storages / sizeof *storages; s++)
    for (Moments moments = 0; moments < MOMENTS; moments++) {
      static const char *const names[MOMENTS] = {"fp32", "bf16", "int8"};
      const double found = distance(storages[s].kernel, moments, team);
      printf("%s, moments in %s: %.2g of the way\n", storages[s].kernel, names[moments], found);
      CHECK(found < storages[s].bound[moments]);
    }
  threads_free(team);
  CHECK_DONE();
}
