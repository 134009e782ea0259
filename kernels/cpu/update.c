/* update.c -- optimizers at the speed of memory: every operand is read and written once.
 *
 * A block of 256 elements goes through three passes, between which its numbers are fp32 in the
 * first cache: the optimizer makes a step and moves the moments, the parameter takes the step,
 * moments become codes. So how a state is stored is written once for all optimizers:
 * reference/update.h says what the storages are. Roots and divisions keep one unit of the processor
 * busy, so the draws that round the next 64 elements are made between them. The last elements of a
 * tensor are padded to a block in memory of our own. */
#include <math.h>

#include "kernels/cpu/philox_draws.h"
#include "kernels/cpu/ranges.h"
#include "kernels/cpu/vec_codes.h"
#include "kernels/cpu/vec_two.h"
#include "kernels/init.h"
#include "kernels/math/bf16.h"

typedef enum UpdateKind { KIND_ADAMW, KIND_SGD, KIND_LION } UpdateKind;
typedef enum ParamStorage {
  STORED_PLAIN,
  STORED_MASTER,
  STORED_SPLIT,
  STORED_KAHAN,
  STORED_STOCHASTIC
} ParamStorage;

typedef struct Rates {
  UpdateKind kind;
  ParamStorage storage;
  float beta1, one_minus_beta1, beta2, one_minus_beta2; /* beta1: sgd's momentum */
  float clip, lr, shrink, keep;                         /* shrink: lr decay; keep: 1 - lr decay */
  float step_size, inverse_root, eps; /* adamw: step_size m / (sqrt(v) inverse_root + eps) */
  int32_t rest;                       /* operand after the moments: master, low, compensation */
  int32_t operands;                   /* before the maxima */
  int32_t maxima[STREAMS];            /* operands of the moments' maxima; 0: they are no codes */
  InitPart part;                      /* where draws are: of which elements, */
  PhiloxStream draws[STREAMS];        /* and of which streams */
  Encoder encoder[STREAMS];
  StochasticStream last_moment;
} Rates;

enum { BLOCK = CODES_BLOCK };
static const CodesMap maps[STREAMS] = {[STREAM_M] = CODES_SIGNED, [STREAM_V] = CODES_POSITIVE};

/* Elements [first, first + n) of every operand. */
typedef struct UpdateBlock {
  int64_t first, n;
  const void *grad;
  void *param, *rest, *moment[STREAMS];
  float *maximum[STREAMS]; /* of codes; else unused */
  DType grad_dtype, param_dtype, moment_dtype;
  /* Draws of all groups up to the current one, and, where elements are adjacent in the whole
   * tensor, of the next group, which may be the first of the next block. */
  _Alignas(64) uint16_t draws[STREAMS][BLOCK + PHILOX_DRAWS];
  uint64_t draw_first; /* Philox block of the first element */
  /* Philox block of the draws that are already made for a later block; 0: none */
  uint64_t drawn_next;
  _Alignas(64) float step[BLOCK], coded[STREAMS][BLOCK]; /* coded: moments that become codes, */
  float most[STREAMS];                                   /* and their largest magnitudes */
} UpdateBlock;

#define EACH_TWO(i)                                                                                \
  int64_t i = 0;                                                                                   \
  i < BLOCK;                                                                                       \
  i += TWO

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
    philox_draws(&r->draws[stream], block, PHILOX_RUNS, to);
    return PHILOX_RUNS * PHILOX_DRAWS;
  }
  uint16_t draws[PHILOX_DRAWS];
  const int64_t taken = min64(count, PHILOX_DRAWS - skipped);
  philox_draws(&r->draws[stream], block, 1, draws);
  memcpy(to, draws + skipped, (size_t)taken * sizeof *to);
  return taken;
}

static void draw_all(const Rates *r, StochasticStream stream, UpdateBlock *at) {
  for (int64_t k = 0; k < at->n;)
    k += draw_run(r, stream, at->first + k, at->n - k, at->draws[stream] + k);
}

/* The streams that are drawn group by group, between roots. */
typedef struct Streams {
  StochasticStream first, last; /* none if last is before first */
} Streams;

/* True if the block's draws follow one another, so that they may be made group by group. */
static bool begin_draws(const Rates *r, Streams streams, UpdateBlock *at) {
  const InitRun run = init_run(&r->part, at->first);
  if (run.padding || run.length < BLOCK || run.element % STOCHASTIC_ELEMENTS != 0) return false;
  at->draw_first = (uint64_t)run.element / STOCHASTIC_ELEMENTS;
  for (StochasticStream stream = streams.first; stream <= streams.last; stream++)
    if (at->drawn_next == at->draw_first && at->drawn_next != 0)
      memcpy(at->draws[stream], at->draws[stream] + BLOCK, PHILOX_DRAWS * sizeof **at->draws);
    else
      philox_draws(&r->draws[stream], at->draw_first, 1, at->draws[stream]);
  at->drawn_next = at->draw_first + BLOCK / STOCHASTIC_ELEMENTS;
  return true;
}

/* ---- moments */

static void store_codes(const Encoder *encoder, StochasticStream stream, const float from[BLOCK],
                        float most, uint8_t codes[BLOCK]) {
  const float inverse = codes_inverse(most);
  if (most == 0)
    memset(codes, 0, BLOCK);
  else if (!(most < INFINITY))
    for (int64_t i = 0; i < BLOCK; i++)
      codes[i] = stream == STREAM_M ? codes_signed(&maps[stream], from[i], inverse)
                                    : codes_positive(&maps[stream], from[i], inverse);
  else if (stream == STREAM_M)
    for (int64_t i = 0; i < BLOCK; i += CODES_GROUP)
      v_encode(encoder, codes + i, from + i, inverse, true);
  else
    for (int64_t i = 0; i < BLOCK; i += CODES_GROUP)
      v_encode(encoder, codes + i, from + i, inverse, false);
}

static void store_moments(const Rates *r, UpdateBlock *at) {
  for (StochasticStream stream = STREAM_M; stream <= r->last_moment; stream++) {
    *at->maximum[stream] = at->most[stream];
    store_codes(&r->encoder[stream], stream, at->coded[stream], at->most[stream],
                at->moment[stream]);
  }
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

/* The moments of a block as they were, and the largest magnitudes of the new ones so far. */
typedef struct UpdatePass {
  Decoder decoder[STREAMS];
  Vec scale[STREAMS], most[STREAMS];
} UpdatePass;

ALWAYS_INLINE Two load_moment(const UpdatePass *pass, const UpdateBlock *at,
                              StochasticStream stream, DType dtype, int64_t i) {
  if (dtype != DTYPE_U8) return two_load(at->moment[stream], i, dtype);
  const uint8_t *codes = (const uint8_t *)at->moment[stream] + i;
  Two x;
  UNROLL for (int k = 0; k < 2; k++) x.at[k] = v_mul(
      v_decode(&pass->decoder[stream], codes + k * LANES, stream == STREAM_M), pass->scale[stream]);
  return x;
}

/* Stores a moment; keeps one that becomes a code for store_moments. */
ALWAYS_INLINE void store_moment(UpdatePass *pass, UpdateBlock *at, StochasticStream stream,
                                DType dtype, int64_t i, Two x) {
  if (dtype == DTYPE_F32) {
    two_store(at->moment[stream], i, DTYPE_F32, x);
  } else if (dtype == DTYPE_BF16) {
    two_store_stochastic((uint16_t *)at->moment[stream] + i, x, at->draws[stream] + i);
  } else {
    two_store(at->coded[stream], i, DTYPE_F32, x);
    UNROLL for (int k = 0; k < 2; k++) pass->most[stream] =
        v_max(v_abs(x.at[k]), pass->most[stream]); /* passes a NaN by */
  }
}

/* Elements [i, i + TWO) of a block. */
ALWAYS_INLINE void make_step(const Rates *r, UpdateKind kind, DType dtype, UpdatePass *pass,
                             UpdateBlock *at, int64_t i) {
  const bool has_v = kind == KIND_ADAMW;
  const Two g = two_load(at->grad, i, at->grad_dtype);
  Two m = load_moment(pass, at, STREAM_M, dtype, i), v = g, step;
  if (has_v) v = load_moment(pass, at, STREAM_V, dtype, i);
  UNROLL for (int k = 0; k < 2; k++) step.at[k] =
      step_of(r, kind, v_mul(g.at[k], v_set(r->clip)), &m.at[k], &v.at[k]);
  two_store(at->step, i, DTYPE_F32, step);
  store_moment(pass, at, STREAM_M, dtype, i, m);
  if (has_v) store_moment(pass, at, STREAM_V, dtype, i, v);
}

/* Makes the steps of a block group by group, and the draws of the next group between the steps of
 * the current one. */
ALWAYS_INLINE void make_steps_drawing(const Rates *r, UpdateKind kind, DType dtype, Streams streams,
                                      UpdatePass *pass, UpdateBlock *at) {
  enum { STEPS = PHILOX_DRAWS / TWO, ROUNDS = (PHILOX_ROUNDS - PHILOX_ROUNDS_BEGUN) / STEPS };
  for (int64_t group = 0; group < BLOCK; group += PHILOX_DRAWS) {
    const int64_t next = group + PHILOX_DRAWS;
    const uint64_t first = at->draw_first + (uint64_t)next / STOCHASTIC_ELEMENTS;
    PhiloxRun run[STREAMS];
    UNROLL for (int s = (int)streams.first; s <= (int)streams.last; s++) run[s] =
        philox_begin(&r->draws[s], first);
    UNROLL for (int k = 0; k < STEPS; k++) {
      const int done = PHILOX_ROUNDS_BEGUN + k * ROUNDS;
      UNROLL for (int s = (int)streams.first; s <= (int)streams.last; s++)
          philox_rounds(&run[s], &r->draws[s], done, done + ROUNDS);
      make_step(r, kind, dtype, pass, at, group + k * TWO);
    }
    UNROLL for (int s = (int)streams.first; s <= (int)streams.last; s++)
        philox_end(&run[s], at->draws[s] + next);
  }
}

/* `streams`: the streams whose draws are made between the steps. */
ALWAYS_INLINE void make_steps(const Rates *r, UpdateKind kind, DType dtype, Streams streams,
                              UpdateBlock *at) {
  UpdatePass pass;
  for (StochasticStream stream = STREAM_M; stream <= r->last_moment; stream++) {
    pass.most[stream] = v_set(0.0f);
    if (dtype == DTYPE_U8) {
      pass.decoder[stream] = v_decoder(stream == STREAM_M);
      pass.scale[stream] = v_set(*at->maximum[stream]);
    }
  }
  if (streams.first <= streams.last && at->n == BLOCK && begin_draws(r, streams, at)) {
    make_steps_drawing(r, kind, dtype, streams, &pass, at);
  } else {
    for (StochasticStream stream = streams.first; stream <= streams.last; stream++)
      draw_all(r, stream, at);
    for (EACH_TWO(i))
      make_step(r, kind, dtype, &pass, at, i);
  }
  for (StochasticStream stream = STREAM_M; dtype == DTYPE_U8 && stream <= r->last_moment; stream++)
    at->most[stream] = v_largest(pass.most[stream]);
}

ALWAYS_INLINE void make_steps_of(const Rates *r, UpdateKind kind, UpdateBlock *at) {
  const Streams none = {STREAM_M, STREAM_PARAM}, param = {STREAM_PARAM, STREAM_PARAM};
  const Streams moments = {STREAM_M, kind == KIND_ADAMW ? STREAM_V : STREAM_M};
  if (at->moment_dtype == DTYPE_F32)
    make_steps(r, kind, DTYPE_F32, none, at);
  else if (at->moment_dtype == DTYPE_BF16)
    make_steps(r, kind, DTYPE_BF16, moments, at);
  else if (r->storage == STORED_STOCHASTIC)
    make_steps(r, kind, DTYPE_U8, param, at);
  else
    make_steps(r, kind, DTYPE_U8, none, at);
}

/* ---- the parameter */

/* (1 - shrink) p - step. `is_scaled`: the step is, by the rate. */
ALWAYS_INLINE Two moved(const Rates *r, bool is_scaled, Two p, Two step) {
  UNROLL for (int k = 0; k < 2; k++) {
    const Vec kept = v_mul(p.at[k], v_set(r->keep));
    p.at[k] = is_scaled ? v_sub(kept, step.at[k]) : v_fma(v_set(-r->lr), step.at[k], kept);
  }
  return p;
}

/* One element of take_kahan. */
static float take_kahan_one(const Rates *r, bool is_scaled, uint16_t *param, float lost,
                            float step) {
  const float before = bf16_to_float(*param);
  const float change = fmaf(r->shrink, before, is_scaled ? step : r->lr * step);
  const float y = -change - lost;
  *param = bf16_from_float(before + y);
  return bf16_to_float(*param) - before - y;
}

static __attribute__((noinline)) void take_kahan_each(const Rates *r, bool is_scaled,
                                                      const UpdateBlock *at, int64_t i) {
  uint16_t *param = (uint16_t *)at->param, *rest = (uint16_t *)at->rest;
  for (; i < BLOCK; i++)
    rest[i] = bf16_from_float(
        take_kahan_one(r, is_scaled, param + i, bf16_to_float(rest[i]), at->step[i]));
}

/* The whole change is one number, from which the last compensation is taken. A NaN anywhere makes
 * the new compensation a NaN; then all elements from there on are taken one by one. */
ALWAYS_INLINE void take_kahan(const Rates *r, bool is_scaled, const UpdateBlock *at) {
  uint16_t *param = (uint16_t *)at->param, *rest = (uint16_t *)at->rest;
  const Vec shrink = v_set(r->shrink), lr = v_set(r->lr);
  for (EACH_TWO(i)) {
    const Two before = two_load_bf16(param + i), lost = two_load_bf16(rest + i);
    const Two step = two_load(at->step, i, DTYPE_F32);
    Two y;
    Bits rounded[2];
    UNROLL for (int k = 0; k < 2; k++) {
      const Vec scaled = is_scaled ? step.at[k] : v_mul(lr, step.at[k]);
      y.at[k] = v_neg_sub(v_fma(shrink, before.at[k], scaled), lost.at[k]);
      rounded[k] = bits_nearest(bits_of(v_add(before.at[k], y.at[k])));
      const Vec after = bits_floats(bits_and(rounded[k], bits_set(0xffff0000u)));
      y.at[k] = v_sub(v_sub(after, before.at[k]), y.at[k]);
    }
    if (two_has_nan(y)) {
      take_kahan_each(r, is_scaled, at, i);
      return;
    }
    two_store_upper(param + i, rounded[0], rounded[1]);
    two_store_upper(rest + i, bits_nearest(bits_of(y.at[0])), bits_nearest(bits_of(y.at[1])));
  }
}

/* Stores elements [i, i + TWO) of the parameter and of its rest, after the step. */
ALWAYS_INLINE void take_step(const Rates *r, bool is_scaled, ParamStorage storage,
                             const UpdateBlock *at, int64_t i) {
  const Two step = two_load(at->step, i, DTYPE_F32);
  uint16_t *narrow = (uint16_t *)at->param + i; /* of storages of bf16 */
  if (storage == STORED_PLAIN) {
    const Two p = moved(r, is_scaled, two_load(at->param, i, at->param_dtype), step);
    two_store(at->param, i, at->param_dtype, p);
  } else if (storage == STORED_MASTER) {
    const Two p = moved(r, is_scaled, two_load(at->rest, i, DTYPE_F32), step);
    two_store(at->rest, i, DTYPE_F32, p);
    two_store(at->param, i, at->param_dtype, p);
  } else if (storage == STORED_SPLIT) {
    int16_t *low = (int16_t *)at->rest + i;
    two_store_split(narrow, low, moved(r, is_scaled, two_load_split(narrow, low), step));
  } else {
    const Two p = moved(r, is_scaled, two_load_bf16(narrow), step);
    two_store_stochastic(narrow, p, at->draws[STREAM_PARAM] + i);
  }
}

ALWAYS_INLINE void take_steps(const Rates *r, ParamStorage storage, UpdateBlock *at) {
  const bool is_scaled = r->kind == KIND_ADAMW;
  /* Beside codes they are drawn in make_steps. */
  if (storage == STORED_STOCHASTIC && at->moment_dtype != DTYPE_U8) draw_all(r, STREAM_PARAM, at);
  if (storage == STORED_KAHAN) {
    take_kahan(r, is_scaled, at);
    return;
  }
  for (EACH_TWO(i))
    take_step(r, is_scaled, storage, at, i);
}

/* ---- a range */

static void update_block(const Rates *r, UpdateBlock *at) {
  switch (r->kind) {
  case KIND_ADAMW: make_steps_of(r, KIND_ADAMW, at); break;
  case KIND_SGD: make_steps_of(r, KIND_SGD, at); break;
  case KIND_LION: make_steps_of(r, KIND_LION, at); break;
  }
  switch (r->storage) {
  case STORED_PLAIN: take_steps(r, STORED_PLAIN, at); break;
  case STORED_MASTER: take_steps(r, STORED_MASTER, at); break;
  case STORED_SPLIT: take_steps(r, STORED_SPLIT, at); break;
  case STORED_KAHAN: take_steps(r, STORED_KAHAN, at); break;
  case STORED_STOCHASTIC: take_steps(r, STORED_STOCHASTIC, at); break;
  }
  if (at->moment_dtype == DTYPE_U8) store_moments(r, at);
}

static void *element_of(const KernelArgs *args, int32_t operand, int64_t i) {
  return (char *)args->operand[operand] + i * dtype_bytes((DType)args->dtype[operand]);
}

static void point_at(const KernelArgs *args, const Rates *r, int64_t first, UpdateBlock *at) {
  at->first = first;
  at->grad = element_of(args, 0, first);
  at->param = element_of(args, 1, first);
  at->rest = element_of(args, r->rest, first);
  for (StochasticStream stream = STREAM_M; stream <= r->last_moment; stream++) {
    at->moment[stream] = element_of(args, 1 + (int32_t)stream, first);
    at->maximum[stream] = (float *)args->operand[r->maxima[stream]] + first / BLOCK;
  }
}

/* The last elements: their operands are copied, padded with zeros, updated and copied back. */
static void update_tail(const KernelArgs *args, const Rates *r, UpdateBlock *at) {
  _Alignas(64) char padded[KERNEL_OPERANDS_MAX][BLOCK * sizeof(float)] = {0};
  if (at->moment_dtype == DTYPE_U8) memset(padded[1 + STREAM_M], CODES_SIGNED_ZERO, BLOCK);
  for (int32_t k = 0; k < r->operands; k++)
    memcpy(padded[k], element_of(args, k, at->first),
           (size_t)(at->n * dtype_bytes((DType)args->dtype[k])));
  at->grad = padded[0];
  at->param = padded[1];
  at->rest = padded[r->rest];
  for (StochasticStream stream = STREAM_M; stream <= r->last_moment; stream++)
    at->moment[stream] = padded[1 + (int32_t)stream];
  update_block(r, at);
  for (int32_t k = 1; k < r->operands; k++)
    memcpy(element_of(args, k, at->first), padded[k],
           (size_t)(at->n * dtype_bytes((DType)args->dtype[k])));
}

_Static_assert(GRAIN_STREAM % BLOCK == 0, "a block of codes is in one range");

static void update_range(const KernelArgs *args, const void *context, int64_t first, int64_t end) {
  const Rates *r = (const Rates *)context;
  UpdateBlock at = {.grad_dtype = (DType)args->dtype[0],
                    .param_dtype = (DType)args->dtype[1],
                    .moment_dtype = (DType)args->dtype[2]};
  for (int64_t i = first; i < end; i += BLOCK) {
    at.n = min64(end - i, BLOCK);
    point_at(args, r, i, &at);
    if (at.n == BLOCK)
      update_block(r, &at);
    else
      update_tail(args, r, &at);
  }
}

/* ---- the numbers of a step */

/* `numbers` of the optimizer, of which the last is the decay. */
static Rates rates_of(const KernelArgs *args, UpdateKind kind, ParamStorage storage,
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
             .operands = first_maximum,
             .part = init_part_at(args, numbers)};
  for (StochasticStream stream = STREAM_PARAM; stream < STREAMS; stream++)
    r.draws[stream] = philox_stream(stochastic_key(kernel_seed(args), args->key, stream),
                                    (uint64_t) * (const int64_t *)args->control[1]);
  for (StochasticStream stream = STREAM_M; stream < STREAMS; stream++)
    r.encoder[stream] = v_encoder(&maps[stream]);
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
