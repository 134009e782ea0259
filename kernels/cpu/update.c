/* update.c -- optimizers at the speed of memory: every operand is read and written once.
 *
 * A block of 256 elements goes through three passes, between which its numbers are fp32 in the
 * first cache: the optimizer makes a step and moves the moments, the parameter takes the step,
 * moments become codes. So how a state is stored is written once for all optimizers:
 * reference/update.h says what the storages are. Roots and divisions keep one unit of the processor
 * busy, so the draws that round the next 64 elements' moments are made between them. */
#include <math.h>

#include "kernels/cpu/philox_lanes.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec_codes.h"
#include "kernels/init.h"
#include "kernels/math/stochastic.h"

typedef enum UpdateKind { KIND_ADAMW, KIND_SGD, KIND_LION } UpdateKind;
typedef enum MomentStorage {
  STORED_PLAIN,
  STORED_MASTER,
  STORED_SPLIT,
  STORED_KAHAN,
  STORED_STOCHASTIC
} MomentStorage;

typedef struct Rates {
  UpdateKind kind;
  MomentStorage storage;
  float beta1, one_minus_beta1, beta2, one_minus_beta2; /* beta1: sgd's momentum */
  float clip, lr, shrink, keep;                         /* shrink: lr decay; keep: 1 - lr decay */
  float step_size, inverse_root, eps; /* adamw: step_size m / (sqrt(v) inverse_root + eps) */
  int32_t rest;                       /* operand after the moments: master, low, compensation */
  int32_t maxima[STREAMS];            /* operands of the moments' maxima; 0: they are no codes */
  InitPart part;                      /* where draws are: of which elements, */
  uint64_t key[STREAMS], updates;     /* and of which streams and update */
  PhiloxKeys keys[STREAMS];
  StochasticStream last_moment;
} Rates;

enum { BLOCK = CODES_BLOCK };
static const CodesMap maps[STREAMS] = {[STREAM_M] = CODES_SIGNED, [STREAM_V] = CODES_POSITIVE};

/* Elements [first, first + n) of all operands. Arrays are zero, or hold anything, from n on. */
typedef struct Elements {
  int64_t first, n;
  float moment[STREAMS][BLOCK], step[BLOCK];
  float most[STREAMS]; /* the largest magnitude of a moment that becomes codes */
  /* Draws of the moments: of those before the current group, of it, and where elements are adjacent
   * in the whole tensor of the next one, which may be the next block's first. */
  uint16_t draws[STREAMS][BLOCK + PHILOX_DRAWS];
  uint64_t draw_first; /* Philox block of the first element */
  uint64_t drawn_next; /* of the draws that are there already, of a block after this; 0: none are */
} Elements;

#define EACH_VEC(i, n)                                                                             \
  int64_t i = 0;                                                                                   \
  i < (n);                                                                                         \
  i += LANES

/* ---- draws */

/* Fills `to` with random draws, at most one Philox call's worth of adjacent elements; padding gets
 * zeros. */
static int64_t draw_run(const Rates *r, StochasticStream stream, int64_t i, int64_t most,
                        uint16_t *to) {
  const InitRun run = init_run(&r->part, i);
  const int64_t count = min64(run.length, most);
  if (run.padding) {
    memset(to, 0, (size_t)count * sizeof *to);
    return count;
  }
  const uint64_t block = (uint64_t)run.element / STOCHASTIC_ELEMENTS;
  const int64_t skipped = run.element % STOCHASTIC_ELEMENTS;
  if (skipped == 0 && count >= PHILOX_RUNS * PHILOX_DRAWS) {
    philox_draws(r->key[stream], r->updates, block, PHILOX_RUNS, to);
    return PHILOX_RUNS * PHILOX_DRAWS;
  }
  uint16_t draws[PHILOX_DRAWS];
  const int64_t taken = min64(count, PHILOX_DRAWS - skipped);
  philox_draws(r->key[stream], r->updates, block, 1, draws);
  memcpy(to, draws + skipped, (size_t)taken * sizeof *to);
  return taken;
}

/* True if the block's draws follow one another, so that they may be made group by group. */
static bool begin_draws(const Rates *r, Elements *at) {
  const InitRun run = init_run(&r->part, at->first);
  if (run.padding || run.length < BLOCK || run.element % STOCHASTIC_ELEMENTS != 0) return false;
  at->draw_first = (uint64_t)run.element / STOCHASTIC_ELEMENTS;
  for (StochasticStream stream = STREAM_M; stream <= r->last_moment; stream++)
    if (at->drawn_next == at->draw_first && at->drawn_next != 0)
      memcpy(at->draws[stream], at->draws[stream] + BLOCK, PHILOX_DRAWS * sizeof **at->draws);
    else
      philox_draws(r->key[stream], r->updates, at->draw_first, 1, at->draws[stream]);
  at->drawn_next = at->draw_first + BLOCK / STOCHASTIC_ELEMENTS;
  return true;
}

static void draw_all(const Rates *r, StochasticStream stream, const Elements *at, uint16_t *to) {
  for (int64_t k = 0; k < at->n;)
    k += draw_run(r, stream, at->first + k, at->n - k, to + k);
}

/* ---- moments */

/* A moment of a block before its step, in memory: codes of part of a block are copied, because
 * vectors read beyond its end. */
typedef struct Moment {
  const void *from;
  Vec most;
  Decoder decoder;
} Moment;

ALWAYS_INLINE Moment moment_of(const KernelArgs *args, const Rates *r, StochasticStream stream,
                               DType dtype, const Elements *at, uint8_t tail[BLOCK]) {
  Moment moment = {args->operand[1 + (int32_t)stream], v_set(0.0f), v_decoder(stream == STREAM_M)};
  if (dtype != DTYPE_U8) {
    moment.from = (const char *)moment.from + at->first * dtype_bytes(dtype);
    return moment;
  }
  const uint8_t *codes = (const uint8_t *)moment.from + at->first;
  moment.most = v_set(((const float *)args->operand[r->maxima[stream]])[at->first / CODES_BLOCK]);
  moment.from = at->n < BLOCK ? memcpy(tail, codes, (size_t)at->n) : codes;
  return moment;
}

/* Elements [i, i + n). */
ALWAYS_INLINE Vec moment_at(const Moment *moment, DType dtype, bool is_signed, int64_t i,
                            int64_t n) {
  if (dtype != DTYPE_U8) return v_get_n(moment->from, i, n, dtype);
  return v_mul(v_decode(&moment->decoder, (const uint8_t *)moment->from + i, is_signed),
               moment->most);
}

ALWAYS_INLINE void encode_all(const CodesMap *map, const float from[BLOCK], float inverse,
                              int64_t n, bool is_signed, uint8_t *to) {
  const Encoder encoder = v_encoder(map, is_signed);
  for (EACH_VEC(i, n))
    v_encode(&encoder, to + i, v_load(from + i), inverse, is_signed);
}

static void store_codes(StochasticStream stream, const float from[BLOCK], int64_t n, float most,
                        uint8_t *codes) {
  uint8_t all[BLOCK];
  uint8_t *to = n < BLOCK ? all : codes;
  const float inverse = codes_inverse(most);
  if (most == 0)
    memset(to, 0, (size_t)n);
  else if (stream == STREAM_M)
    encode_all(&maps[stream], from, inverse, n, true, to);
  else
    encode_all(&maps[stream], from, inverse, n, false, to);
  if (n < BLOCK) memcpy(codes, all, (size_t)n);
}

/* Moments that are no codes have been written in place already. */
static void store_moment(const KernelArgs *args, const Rates *r, StochasticStream stream,
                         const Elements *at) {
  if (args->dtype[1 + (int32_t)stream] != DTYPE_U8) return;
  uint8_t *codes = (uint8_t *)args->operand[1 + (int32_t)stream] + at->first;
  float *most = (float *)args->operand[r->maxima[stream]] + at->first / CODES_BLOCK;
  *most = at->most[stream];
  store_codes(stream, at->moment[stream], at->n, *most, codes);
}

/* ---- steps */

ALWAYS_INLINE Vec sign_of(Vec x) { /* NaN stays */
  Vec zero = v_set(0.0f);
  return v_less_select(zero, x, v_set(1.0f), v_less_select(x, zero, v_set(-1.0f), x));
}

/* share a + (1 - share) b */
ALWAYS_INLINE Vec mix(float share, Vec a, Vec b) {
  return v_fma(v_set(share), a, v_mul(v_set(1 - share), b));
}

/* The step, without the rate for all but adamw; moves the moments. */
ALWAYS_INLINE Vec step_of(const Rates *r, UpdateKind kind, Vec g, Vec *m, Vec *v) {
  if (kind == KIND_ADAMW) {
    *m = v_fma(v_set(r->beta1), *m, v_mul(v_set(r->one_minus_beta1), g));
    *v = v_fma(v_set(r->beta2), *v, v_mul(v_mul(v_set(r->one_minus_beta2), g), g));
    Vec root = v_fma(v_sqrt(*v), v_set(r->inverse_root), v_set(r->eps));
    return v_div(v_mul(v_set(r->step_size), *m), root);
  }
  if (kind == KIND_SGD) {
    *m = v_fma(v_set(r->beta1), *m, g);
    return *m;
  }
  Vec step = sign_of(mix(r->beta1, *m, g));
  *m = mix(r->beta2, *m, g);
  return step;
}

/* Stores a moment; keeps one that becomes a code for store_moment. Returns the largest magnitude so
 * far, which scales the codes of a block. */
ALWAYS_INLINE Vec put_moment(const KernelArgs *args, StochasticStream stream, DType dtype,
                             Elements *at, int64_t i, int64_t left, Vec x, Vec most) {
  if (dtype == DTYPE_F32) {
    v_put_n(args->operand[1 + (int32_t)stream], at->first + i, left, DTYPE_F32, x);
    return most;
  }
  if (dtype == DTYPE_BF16) {
    uint16_t *to = (uint16_t *)args->operand[1 + (int32_t)stream] + at->first + i;
    v_put_stochastic_n(to, left, x, at->draws[stream] + i);
    return most;
  }
  v_store(at->moment[stream] + i, x);
  if (left < LANES) x = v_keep_n(x, left, v_set(0.0f));
  return v_max(most, v_abs(x));
}

/* The moments of a block as they were, and the largest magnitudes of the new ones so far. */
typedef struct UpdatePass {
  Moment from[STREAMS];
  Vec most[STREAMS];
  DType grad_dtype;
} UpdatePass;

/* Elements [i, i + LANES) of a block. */
ALWAYS_INLINE void make_step(const KernelArgs *args, const Rates *r, UpdateKind kind, DType dtype,
                             UpdatePass *pass, Elements *at, int64_t i, int64_t left) {
  const bool has_v = kind == KIND_ADAMW;
  Vec g = v_get_n(args->operand[0], at->first + i, left, pass->grad_dtype);
  g = v_mul(g, v_set(r->clip));
  Vec m = moment_at(&pass->from[STREAM_M], dtype, true, i, left);
  Vec v = has_v ? moment_at(&pass->from[STREAM_V], dtype, false, i, left) : g;
  v_store(at->step + i, step_of(r, kind, g, &m, &v));
  pass->most[STREAM_M] = put_moment(args, STREAM_M, dtype, at, i, left, m, pass->most[STREAM_M]);
  if (has_v)
    pass->most[STREAM_V] = put_moment(args, STREAM_V, dtype, at, i, left, v, pass->most[STREAM_V]);
}

/* A block whose draws are made group by group: those of the next group between the steps of this
 * one. Its elements are whole vectors. */
ALWAYS_INLINE void make_steps_drawing(const KernelArgs *args, const Rates *r, UpdateKind kind,
                                      DType grad_dtype, UpdatePass pass, Elements *at) {
  enum { STEPS = PHILOX_DRAWS / LANES };
  const bool has_v = kind == KIND_ADAMW;
  pass.grad_dtype = grad_dtype; /* a constant here, so that the loop has no branch on it */
  for (int64_t group = 0; group < BLOCK; group += PHILOX_DRAWS) {
    const int64_t next = group + PHILOX_DRAWS;
    const uint64_t first = at->draw_first + (uint64_t)next / STOCHASTIC_ELEMENTS;
    PhiloxRun m = philox_begin(r->updates, first), v = m;
    UNROLL for (int k = 0; k < STEPS; k++) {
      const int from = k * PHILOX_ROUNDS / STEPS, to = (k + 1) * PHILOX_ROUNDS / STEPS;
      philox_rounds(&m, &r->keys[STREAM_M], from, to);
      if (has_v) philox_rounds(&v, &r->keys[STREAM_V], from, to);
      make_step(args, r, kind, DTYPE_BF16, &pass, at, group + k * LANES, LANES);
    }
    philox_end(&m, at->draws[STREAM_M] + next);
    if (has_v) philox_end(&v, at->draws[STREAM_V] + next);
  }
}

ALWAYS_INLINE void make_steps(const KernelArgs *args, const Rates *r, UpdateKind kind, DType dtype,
                              Elements *at) {
  uint8_t tail[STREAMS][BLOCK];
  UpdatePass pass = {.grad_dtype = (DType)args->dtype[0],
                     .most = {[STREAM_M] = v_set(0.0f), [STREAM_V] = v_set(0.0f)}};
  for (StochasticStream stream = STREAM_M; stream <= r->last_moment; stream++)
    pass.from[stream] = moment_of(args, r, stream, dtype, at, tail[stream]);
  if (dtype == DTYPE_BF16 && at->n == BLOCK && begin_draws(r, at)) {
    if (pass.grad_dtype == DTYPE_F32)
      make_steps_drawing(args, r, kind, DTYPE_F32, pass, at);
    else if (pass.grad_dtype == DTYPE_BF16)
      make_steps_drawing(args, r, kind, DTYPE_BF16, pass, at);
    else
      make_steps_drawing(args, r, kind, pass.grad_dtype, pass, at);
    return;
  }
  for (StochasticStream stream = STREAM_M; dtype == DTYPE_BF16 && stream <= r->last_moment;
       stream++)
    draw_all(r, stream, at, at->draws[stream]);
  for (EACH_VEC(i, at->n))
    make_step(args, r, kind, dtype, &pass, at, i, at->n - i);
  at->most[STREAM_M] = v_largest(pass.most[STREAM_M]);
  at->most[STREAM_V] = v_largest(pass.most[STREAM_V]);
}

ALWAYS_INLINE void make_steps_of(const KernelArgs *args, const Rates *r, UpdateKind kind,
                                 Elements *at) {
  switch ((DType)args->dtype[2]) {
  case DTYPE_F32: make_steps(args, r, kind, DTYPE_F32, at); break;
  case DTYPE_BF16: make_steps(args, r, kind, DTYPE_BF16, at); break;
  default: make_steps(args, r, kind, DTYPE_U8, at); break;
  }
}

/* ---- the parameter */

/* (1 - shrink) p - step */
ALWAYS_INLINE Vec moved(const Rates *r, bool is_scaled, Vec p, Vec step) {
  p = v_mul(p, v_set(r->keep));
  return is_scaled ? v_sub(p, step) : v_fma(v_set(-r->lr), step, p);
}

/* Stores elements [i, i + n) of the parameter and of its rest, after the step. `is_scaled`: by the
 * rate. */
ALWAYS_INLINE void take_step(const KernelArgs *args, const Rates *r, bool is_scaled,
                             MomentStorage storage, int64_t i, int64_t n, Vec step,
                             const uint16_t *draws) {
  void *param = args->operand[1], *rest = args->operand[r->rest];
  const DType param_dtype = (DType)args->dtype[1];
  if (storage == STORED_PLAIN) {
    Vec p = moved(r, is_scaled, v_get_n(param, i, n, param_dtype), step);
    v_put_n(param, i, n, param_dtype, p);
  } else if (storage == STORED_MASTER) {
    Vec p = moved(r, is_scaled, v_get_n(rest, i, n, DTYPE_F32), step);
    v_put_n(rest, i, n, DTYPE_F32, p);
    v_put_n(param, i, n, param_dtype, p);
  } else if (storage == STORED_SPLIT) {
    uint16_t *high = (uint16_t *)param + i;
    int16_t *low = (int16_t *)rest + i;
    v_put_split_n(high, low, n, moved(r, is_scaled, v_get_split_n(high, low, n), step));
  } else if (storage == STORED_STOCHASTIC) {
    Vec p = moved(r, is_scaled, v_get_n(param, i, n, DTYPE_BF16), step);
    v_put_stochastic_n((uint16_t *)param + i, n, p, draws);
  } else {
    Vec before = v_get_n(param, i, n, DTYPE_BF16), change = v_mul(before, v_set(r->shrink));
    change = is_scaled ? v_add(change, step) : v_fma(v_set(r->lr), step, change);
    Vec y = v_sub(v_neg(change), v_get_n(rest, i, n, DTYPE_BF16));
    Vec after = v_to_bf16(v_add(before, y));
    v_put_n(param, i, n, DTYPE_BF16, after);
    v_put_n(rest, i, n, DTYPE_BF16, v_sub(v_sub(after, before), y));
  }
}

ALWAYS_INLINE void take_steps(const KernelArgs *args, const Rates *r, MomentStorage storage,
                              const Elements *at) {
  const bool is_scaled = r->kind == KIND_ADAMW;
  uint16_t draws[BLOCK];
  if (storage == STORED_STOCHASTIC) draw_all(r, STREAM_PARAM, at, draws);
  for (EACH_VEC(i, at->n))
    take_step(args, r, is_scaled, storage, at->first + i, at->n - i, v_load(at->step + i),
              draws + i);
}

/* ---- a range */

static void update_block(const KernelArgs *args, const Rates *r, Elements *at) {
  switch (r->kind) {
  case KIND_ADAMW: make_steps_of(args, r, KIND_ADAMW, at); break;
  case KIND_SGD: make_steps_of(args, r, KIND_SGD, at); break;
  case KIND_LION: make_steps_of(args, r, KIND_LION, at); break;
  }
  switch (r->storage) {
  case STORED_PLAIN: take_steps(args, r, STORED_PLAIN, at); break;
  case STORED_MASTER: take_steps(args, r, STORED_MASTER, at); break;
  case STORED_SPLIT: take_steps(args, r, STORED_SPLIT, at); break;
  case STORED_KAHAN: take_steps(args, r, STORED_KAHAN, at); break;
  case STORED_STOCHASTIC: take_steps(args, r, STORED_STOCHASTIC, at); break;
  }
  store_moment(args, r, STREAM_M, at);
  if (r->kind == KIND_ADAMW) store_moment(args, r, STREAM_V, at);
}

_Static_assert(GRAIN_STREAM % BLOCK == 0, "a block of codes is in one range");

static void update_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  Elements at;
  at.drawn_next = 0;
  for (int64_t i = first; i < end; i += BLOCK) {
    at.first = i;
    at.n = min64(end - i, BLOCK);
    update_block(args, context, &at);
  }
}

/* ---- the numbers of a step */

/* `numbers` of the optimizer, of which the last is the decay. */
static Rates rates_of(const KernelArgs *args, UpdateKind kind, MomentStorage storage,
                      int32_t moments, int32_t numbers) {
  const double lr = *(const double *)args->control[2], *attr = args->attr;
  const double updates = (double)*(const int64_t *)args->control[1], decay = attr[numbers - 1];
  const bool has_rest = storage != STORED_PLAIN && storage != STORED_STOCHASTIC;
  const int32_t first_maximum = 2 + moments + has_rest;
  Rates r = {.kind = kind,
             .storage = storage,
             .beta1 = (float)attr[0],
             .one_minus_beta1 = (float)(1 - attr[0]),
             .beta2 = (float)attr[1],
             .one_minus_beta2 = (float)(1 - attr[1]),
             .clip = (float)*(const double *)args->control[3],
             .lr = (float)lr,
             .shrink = (float)(lr * decay),
             .keep = (float)(1 - lr * decay),
             .rest = has_rest ? 2 + moments : 1,
             .part = init_part_at(args, numbers),
             .updates = (uint64_t) * (const int64_t *)args->control[1]};
  for (StochasticStream stream = STREAM_PARAM; stream < STREAMS; stream++) {
    r.key[stream] = stochastic_key(kernel_seed(args), args->key, stream);
    r.keys[stream] = philox_keys(r.key[stream]);
  }
  r.last_moment = kind == KIND_ADAMW ? STREAM_V : STREAM_M;
  for (int32_t k = 0; k < moments && first_maximum + k < args->operand_count; k++)
    r.maxima[STREAM_M + k] = first_maximum + k;
  if (kind == KIND_ADAMW) {
    r.step_size = (float)(lr / (1 - pow(attr[0], updates)));
    r.inverse_root = (float)(1 / sqrt(1 - pow(attr[1], updates)));
    r.eps = (float)attr[2];
  }
  return r;
}

/* ---- the kernels: of F64 operands, which only tests have, the reference's; and of two moments
 * with two dtypes, which no plan has */

#define UPDATE(name, kind, storage, moments, numbers)                                              \
  void CPU(name)(const KernelArgs *args) {                                                         \
    if (!cpu_floats(args, 2, 0) || args->dtype[2] != args->dtype[1 + (moments)]) {                 \
      reference_##name(args);                                                                      \
      return;                                                                                      \
    }                                                                                              \
    if (*(const int64_t *)args->control[4] == 0) return; /* the step does not count */             \
    const Rates r = rates_of(args, kind, storage, moments, numbers);                               \
    cpu_ranges(args, args->dim[0], GRAIN_STREAM, update_range, &r);                                \
  }
#define UPDATES(name, kind, moments, numbers)                                                      \
  UPDATE(name, kind, STORED_PLAIN, moments, numbers)                                               \
  UPDATE(name##_master, kind, STORED_MASTER, moments, numbers)                                     \
  UPDATE(name##_split, kind, STORED_SPLIT, moments, numbers)                                       \
  UPDATE(name##_kahan, kind, STORED_KAHAN, moments, numbers)                                       \
  UPDATE(name##_stochastic, kind, STORED_STOCHASTIC, moments, numbers)

UPDATES(adamw, KIND_ADAMW, 2, 4)
UPDATES(sgd, KIND_SGD, 1, 2)
UPDATES(lion, KIND_LION, 1, 3)
