/* update.h -- how the reference's optimizers keep the truth of a parameter and their moments, and
 * move them.
 *
 *   plain    the parameter itself
 *   master   an f32 copy; the parameter is its rounding
 *   split    the parameter is the upper half of an f32, `low` the rest (kernels/math/split.h)
 *   kahan    the parameter is a bf16, and `compensation` what its last rounding added too much
 *            (Kahan summation of updates, arXiv:2010.06192)
 *   stochastic  the parameter is a bf16, rounded by chance (kernels/math/stochastic.h)
 *
 * A moment is an f32; a bf16, rounded by chance; or codes (kernels/math/codes.h). */
#ifndef LOCKSTEP_REFERENCE_UPDATE_H
#define LOCKSTEP_REFERENCE_UPDATE_H

#include <assert.h>

#include "kernels/init.h"
#include "kernels/math/codes.h"
#include "kernels/math/split.h"
#include "kernels/math/stochastic.h"
#include "kernels/reference/access.h"

typedef enum ParamStorage {
  STORED_PLAIN,
  STORED_MASTER,
  STORED_SPLIT,
  STORED_KAHAN,
  STORED_STOCHASTIC
} ParamStorage;

typedef struct Update {
  const KernelArgs *args;
  ParamStorage storage;
  InitPart part;
  double lr, clip_scale, decay;
  double beta1_rest, beta2_rest; /* 1 - beta^t, of the optimizer's first two numbers */
  Tensor param, rest;            /* rest: master, low or compensation; not of a plain parameter */
  Tensor m, v;
  const float *m_max, *v_max; /* of codes */
} Update;

/* The step of an element, whose moments it moves. `v` is NULL where there is one moment. */
typedef double StepRule(const Update *update, double g, double *m, double *v);

static inline uint32_t draw_of(const Update *update, StochasticStream stream, int64_t i) {
  const KernelArgs *args = update->args;
  const InitRun run = init_run(&update->part, i);
  uint32_t word[4];
  if (run.padding) return 0;
  philox4(stochastic_key(kernel_seed(args), args->key, stream),
          (uint64_t) * (const int64_t *)args->control[1],
          (uint64_t)run.element / STOCHASTIC_ELEMENTS, word);
  return stochastic_draw(word, run.element);
}

/* ---- moments */

static inline double moment_at(Tensor moment, const float *most, StochasticStream stream,
                               int64_t i) {
  if (moment.dtype != DTYPE_U8) return load(moment, i);
  assert(most != NULL); /* codes have maxima: the operands of the row say so */
  const uint8_t code = ((const uint8_t *)moment.at)[i];
  const float value = stream == STREAM_M ? codes_signed_value(code) : codes_positive_value(code);
  return (double)(value * most[i / CODES_BLOCK]);
}

static inline void code_moments(uint8_t *to, float *most, StochasticStream stream, int64_t n,
                                const double *from) {
  static const CodesMap maps[] = {[STREAM_M] = CODES_SIGNED, [STREAM_V] = CODES_POSITIVE};
  *most = 0;
  for (int64_t k = 0; k < n; k++)
    *most = fmaxf(*most, fabsf((float)from[k]));
  const float inverse = codes_inverse(*most);
  for (int64_t k = 0; k < n; k++)
    to[k] = *most == 0           ? 0
            : stream == STREAM_M ? codes_signed(&maps[stream], (float)from[k], inverse)
                                 : codes_positive(&maps[stream], (float)from[k], inverse);
}

/* Moments [first, first + n), which are a block of codes or its beginning. */
static inline void store_moments(const Update *update, Tensor moment, const float *most,
                                 StochasticStream stream, int64_t first, int64_t n,
                                 const double *from) {
  if (moment.dtype == DTYPE_U8) {
    code_moments((uint8_t *)moment.at + first, (float *)most + first / CODES_BLOCK, stream, n,
                 from);
    return;
  }
  for (int64_t k = 0; k < n; k++) {
    if (moment.dtype == DTYPE_BF16)
      ((uint16_t *)moment.at)[first + k] =
          bf16_stochastic((float)from[k], draw_of(update, stream, first + k));
    else
      store(moment, first + k, from[k]);
  }
}

/* ---- the truth of a parameter */

/* value - (shrink value + step), rounded once; the whole change is one number, decay included,
 * because a decay that is rounded by itself is lost. */
static inline void truth_move(const Update *update, int64_t i, double shrink, double step) {
  const Tensor param = update->param, rest = update->rest;
  if (update->storage == STORED_SPLIT) {
    uint16_t *high = (uint16_t *)param.at + i;
    int16_t *low = (int16_t *)rest.at + i;
    float moved = (float)((double)split_join(*high, *low) * (1 - shrink) - step);
    *high = split_high(moved);
    *low = split_low(moved);
  } else if (update->storage == STORED_KAHAN) {
    double before = load(param, i), y = -(shrink * before + step) - load(rest, i);
    store(param, i, before + y);
    store(rest, i, load(param, i) - before - y);
  } else if (update->storage == STORED_STOCHASTIC) {
    float moved = (float)(load(param, i) * (1 - shrink) - step);
    ((uint16_t *)param.at)[i] = bf16_stochastic(moved, draw_of(update, STREAM_PARAM, i));
  } else {
    Tensor whole = update->storage == STORED_MASTER ? rest : param;
    store(whole, i, load(whole, i) * (1 - shrink) - step);
    if (update->storage == STORED_MASTER) store(param, i, load(whole, i));
  }
}

/* ---- the kernels */

/* `numbers` of the optimizer, of which the last is the decay. */
static inline Update update_of(const KernelArgs *args, ParamStorage storage, int32_t moments,
                               int32_t numbers) {
  const double updates = (double)*(const int64_t *)args->control[1];
  Update update = {.args = args,
                   .storage = storage,
                   .part = init_part_at(args, numbers),
                   .lr = *(const double *)args->control[2],
                   .clip_scale = *(const double *)args->control[3],
                   .decay = args->attr[numbers - 1],
                   .beta1_rest = 1 - pow(args->attr[0], updates),
                   .beta2_rest = 1 - pow(args->attr[1], updates),
                   .param = tensor(args, 1),
                   .m = tensor(args, 2)};
  int32_t next = 2 + moments;
  if (moments > 1) update.v = tensor(args, 3);
  if (storage != STORED_PLAIN && storage != STORED_STOCHASTIC) update.rest = tensor(args, next++);
  if (next < args->operand_count) update.m_max = args->operand[next++];
  if (next < args->operand_count) update.v_max = args->operand[next];
  return update;
}

static inline void update_all(const Update *update, int32_t moments, StepRule *rule) {
  const Tensor grad = tensor(update->args, 0);
  const int64_t all = update->args->dim[0];
  for (int64_t first = 0; first < all; first += CODES_BLOCK) {
    const int64_t n = all - first < CODES_BLOCK ? all - first : CODES_BLOCK;
    double m[CODES_BLOCK], v[CODES_BLOCK] = {0};
    for (int64_t k = 0, i = first; k < n; k++, i++) {
      m[k] = moment_at(update->m, update->m_max, STREAM_M, i);
      if (moments > 1) v[k] = moment_at(update->v, update->v_max, STREAM_V, i);
      const double step = rule(update, load(grad, i) * update->clip_scale, &m[k], &v[k]);
      truth_move(update, i, update->lr * update->decay, step);
    }
    store_moments(update, update->m, update->m_max, STREAM_M, first, n, m);
    if (moments > 1) store_moments(update, update->v, update->v_max, STREAM_V, first, n, v);
  }
}

static inline void reference_update(const KernelArgs *args, ParamStorage storage, int32_t moments,
                                    int32_t numbers, StepRule *rule) {
  if (*(const int64_t *)args->control[4] == 0) return; /* the step does not count */
  const Update update = update_of(args, storage, moments, numbers);
  update_all(&update, moments, rule);
}

#define REFERENCE_UPDATE(name, storage, moments, numbers, rule)                                    \
  void reference_##name(const KernelArgs *args) {                                                  \
    reference_update(args, storage, moments, numbers, rule);                                       \
  }
/* The kernels of an optimizer: NAME, NAME_master and so on. `numbers`: how many of its attrs come
 * before those of draws. */
#define REFERENCE_UPDATES(name, moments, numbers)                                                  \
  REFERENCE_UPDATE(name, STORED_PLAIN, moments, numbers, name)                                     \
  REFERENCE_UPDATE(name##_master, STORED_MASTER, moments, numbers, name)                           \
  REFERENCE_UPDATE(name##_split, STORED_SPLIT, moments, numbers, name)                             \
  REFERENCE_UPDATE(name##_kahan, STORED_KAHAN, moments, numbers, name)                             \
  REFERENCE_UPDATE(name##_stochastic, STORED_STOCHASTIC, moments, numbers, name)

#endif
