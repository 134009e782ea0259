/* update.h -- how the reference's optimizers keep the truth of a parameter, and move it.
 *
 *   plain    the parameter itself
 *   master   an f32 copy; the parameter is its rounding
 *   split    the parameter is the upper half of an f32, `low` the rest (kernels/math/split.h)
 *   kahan    the parameter is a bf16, and `compensation` what its last rounding added too much
 *            (Kahan summation of updates, arXiv:2010.06192)
 *   stochastic  the parameter is a bf16, rounded by chance (kernels/math/stochastic.h) */
#ifndef LOCKSTEP_REFERENCE_UPDATE_H
#define LOCKSTEP_REFERENCE_UPDATE_H

#include "kernels/init.h"
#include "kernels/math/split.h"
#include "kernels/math/stochastic.h"
#include "kernels/reference/access.h"

typedef enum Storage {
  STORED_PLAIN,
  STORED_MASTER,
  STORED_SPLIT,
  STORED_KAHAN,
  STORED_STOCHASTIC
} Storage;

/* What the row has behind its moments: master, low or compensation; not where it is plain. */
typedef struct Truth {
  Storage storage;
  Tensor param, rest;
  /* stochastic */
  InitPart part;
  uint64_t key, updates;
} Truth;

static inline Truth truth_of(const KernelArgs *args, Storage storage, int32_t rest) {
  Truth truth = {.storage = storage, .param = tensor(args, 1)};
  if (storage != STORED_PLAIN && storage != STORED_STOCHASTIC) truth.rest = tensor(args, rest);
  return truth;
}

/* `attr`: as in init_part_at. */
static inline Truth stochastic_truth(const KernelArgs *args, int32_t attr) {
  Truth truth = truth_of(args, STORED_STOCHASTIC, 0);
  truth.part = init_part_at(args, attr);
  truth.key = stochastic_key(kernel_seed(args), args->key);
  truth.updates = (uint64_t) * (const int64_t *)args->control[1];
  return truth;
}

static inline uint32_t draw_of(const Truth *truth, int64_t i) {
  const InitRun run = init_run(&truth->part, i);
  uint32_t word[4];
  if (run.padding) return 0;
  philox4(truth->key, truth->updates, (uint64_t)run.element / STOCHASTIC_ELEMENTS, word);
  return stochastic_draw(word, run.element);
}

/* value - (shrink value + step), rounded once; the whole change is one number, decay included,
 * because a decay that is rounded by itself is lost. */
static inline void truth_move(const Truth *truth, int64_t i, double shrink, double step) {
  if (truth->storage == STORED_SPLIT) {
    uint16_t *high = (uint16_t *)truth->param.at + i;
    int16_t *low = (int16_t *)truth->rest.at + i;
    float moved = (float)((double)split_join(*high, *low) * (1 - shrink) - step);
    *high = split_high(moved);
    *low = split_low(moved);
  } else if (truth->storage == STORED_KAHAN) {
    double before = load(truth->param, i), y = -(shrink * before + step) - load(truth->rest, i);
    store(truth->param, i, before + y);
    store(truth->rest, i, load(truth->param, i) - before - y);
  } else if (truth->storage == STORED_STOCHASTIC) {
    float moved = (float)(load(truth->param, i) * (1 - shrink) - step);
    ((uint16_t *)truth->param.at)[i] = bf16_stochastic(moved, draw_of(truth, i));
  } else {
    Tensor whole = truth->storage == STORED_MASTER ? truth->rest : truth->param;
    store(whole, i, load(whole, i) * (1 - shrink) - step);
    if (truth->storage == STORED_MASTER) store(truth->param, i, load(whole, i));
  }
}

/* The kernels of an optimizer: NAME, NAME_master and so on. `numbers`: its attrs. */
#define REFERENCE_UPDATES(name, moments, numbers)                                                  \
  void reference_##name(const KernelArgs *args) {                                                  \
    Truth truth = truth_of(args, STORED_PLAIN, 0);                                                 \
    name(args, &truth);                                                                            \
  }                                                                                                \
  void reference_##name##_master(const KernelArgs *args) {                                         \
    Truth truth = truth_of(args, STORED_MASTER, 2 + (moments));                                    \
    name(args, &truth);                                                                            \
  }                                                                                                \
  void reference_##name##_split(const KernelArgs *args) {                                          \
    Truth truth = truth_of(args, STORED_SPLIT, 2 + (moments));                                     \
    name(args, &truth);                                                                            \
  }                                                                                                \
  void reference_##name##_kahan(const KernelArgs *args) {                                          \
    Truth truth = truth_of(args, STORED_KAHAN, 2 + (moments));                                     \
    name(args, &truth);                                                                            \
  }                                                                                                \
  void reference_##name##_stochastic(const KernelArgs *args) {                                     \
    Truth truth = stochastic_truth(args, numbers);                                                 \
    name(args, &truth);                                                                            \
  }

#endif
