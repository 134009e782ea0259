/* LINK: kernels -- what kernels.def promises beyond the numbers of one call, of both variants. */
#include "kernels/math/codes.h"
#include "kernels/math/split.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_cases.h"

static Threads *team;
static KernelVariant variant;

static CaseCall make(const char *kernel, const int64_t *dim, int32_t dims, const double *attr,
                     int32_t attrs, Mode mode) {
  KernelCase from = {.kernel = kernel};
  memcpy(from.dim, dim, (size_t)dims * sizeof *dim);
  memcpy(from.attr, attr, (size_t)attrs * sizeof *attr);
  CaseCall c;
  CHECK(case_make(&from, mode, 5, &c));
  return c;
}

#define DIMS(...)  (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8
#define ATTRS(...) (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / 8

static void run(CaseCall *c) {
  call_run(&c->call, variant, team);
}

static bool same_memory(const Call *a, int32_t i, const Call *b, int32_t j) {
  return memcmp(a->operand[i], b->operand[j], (size_t)a->bytes[i]) == 0;
}

static void test_updates(const char *kernel) {
  TEST("no update writes anything in a step that does not count") {
    CaseCall c = make(kernel, DIMS(100), ATTRS(0.9, 0.9, 1e-8, 0.1), MODE_MIXED);
    CaseCall before = make(kernel, DIMS(100), ATTRS(0.9, 0.9, 1e-8, 0.1), MODE_MIXED);
    c.call.control.step_counts = 0;
    run(&c);
    for (int32_t i = 0; i < c.call.operand_count; i++)
      CHECK(same_memory(&c.call, i, &before.call, i));
    c.call.control.step_counts = 1;
    run(&c);
    CHECK(!same_memory(&c.call, 1, &before.call, 1));
    call_free(&c.call);
    call_free(&before.call);
  }
}

/* The gradient, the parameter and the last operand each have a NaN. */
static void test_update_nan(const char *kernel) {
  TEST("a NaN of an update stays in its element") {
    enum { N = 600 };
    static const int64_t nan_at[] = {7, 301, 555};
    CaseCall c = make(kernel, DIMS(N), ATTRS(0.9, 0.9, 1e-8, 0.1), MODE_MIXED);
    CaseCall clean = make(kernel, DIMS(N), ATTRS(0.9, 0.9, 1e-8, 0.1), MODE_MIXED);
    const int32_t operand[] = {0, 1, c.call.operand_count - 1};
    for (int k = 0; k < 3; k++)
      call_set(&c.call, operand[k], nan_at[k], (double)NAN);
    run(&c);
    run(&clean);
    for (int64_t i = 0; i < N; i++) {
      if (i == nan_at[0] || i == nan_at[1] || i == nan_at[2])
        CHECK(isnan(call_get(&c.call, 1, i)));
      else
        for (int32_t k = 1; k < c.call.operand_count; k++)
          CHECK(call_get(&c.call, k, i) == call_get(&clean.call, k, i));
    }
    call_free(&c.call);
    call_free(&clean.call);
  }
}

static void test_master(const char *kernel, int32_t master) {
  TEST("the parameter is the rounded master copy") {
    CaseCall c = make(kernel, DIMS(333), ATTRS(0.9, 0.9, 1e-8, 0.1), MODE_BF16);
    run(&c);
    for (int64_t i = 0; i < 333; i++) {
      uint16_t rounded = bf16_from_float((float)call_get(&c.call, master, i));
      CHECK_INT(((uint16_t *)c.call.operand[1])[i], rounded);
    }
    call_free(&c.call);
  }
}

/* The same step of an f32 in two parts, or with a copy of it. */
static void test_split(const char *split, const char *master, int32_t rest) {
  enum { COUNT = 333 };
  TEST("a split parameter in full has the bits of a master") {
    CaseCall c = make(split, DIMS(COUNT), ATTRS(0.9, 0.9, 1e-8, 0.1), MODE_MIXED);
    CaseCall m = make(master, DIMS(COUNT), ATTRS(0.9, 0.9, 1e-8, 0.1), MODE_MIXED);
    uint16_t *high = c.call.operand[1];
    int16_t *low = c.call.operand[rest];
    for (int64_t i = 0; i < COUNT; i++) {
      float truth = (float)call_get(&m.call, rest, i);
      high[i] = split_high(truth), low[i] = split_low(truth);
    }
    run(&c);
    run(&m);
    for (int64_t i = 0; i < COUNT; i++)
      CHECK(split_join(high[i], low[i]) == ((const float *)m.call.operand[rest])[i]);
    call_free(&c.call);
    call_free(&m.call);
  }
}

/* An update of a whole tensor; momentum or both betas are 0, so that the moments are those of the
 * gradient alone, whose bits all variants have. */
static CaseCall make_coded(const char *kernel, int64_t n) {
  CaseCall c = make(kernel, DIMS(n, n, n, n, n, (n + CODES_BLOCK - 1) / CODES_BLOCK),
                    ATTRS(0, 0, 0, 0), MODE_MIXED);
  c.call.control.clip_scale = 1;
  return c;
}

static void test_codes(void) {
  enum { COUNT = 1000, M = 2, V = 3, M_MAX = 4, V_MAX = 5 };
  TEST("codes of moments: those of every variant, near their numbers, and no positive one is 0") {
    CaseCall c = make_coded("adamw", COUNT), plain = make_coded("adamw", COUNT);
    for (int64_t i = 0; i < COUNT; i++) { /* the second block is of zeros */
      double g = i / CODES_BLOCK == 1 ? 0 : call_get(&c.call, 0, i) * pow(2, -(double)(i % 40));
      call_set(&c.call, 0, i, g), call_set(&plain.call, 0, i, g);
    }
    run(&c);
    call_run(&plain.call, KERNEL_REFERENCE, NULL);
    for (int32_t k = M; k <= V_MAX; k++)
      CHECK(same_memory(&c.call, k, &plain.call, k));
    for (int64_t i = 0; i < COUNT; i++) {
      const double g = call_get(&c.call, 0, i);
      const double m_max = call_get(&c.call, M_MAX, i / CODES_BLOCK);
      const double v_max = call_get(&c.call, V_MAX, i / CODES_BLOCK);
      const uint8_t m = ((uint8_t *)c.call.operand[M])[i], v = ((uint8_t *)c.call.operand[V])[i];
      CHECK_NEAR(codes_signed_value(m) * m_max, g, 0.45 * fabs(g) + 5e-7 * m_max);
      CHECK_NEAR(codes_positive_value(v) * v_max, g * g, 0.45 * g * g + 5e-7 * v_max);
      CHECK((v == 0) == (g == 0));
      if (i / CODES_BLOCK == 1) CHECK(m == 0 && m_max == 0);
    }
    call_free(&c.call), call_free(&plain.call);
  }
}

/* v after so many updates of a gradient of 1: the mean of its elements. */
static void test_narrow_moments(void) {
  enum { COUNT = 512, UPDATES = 3000 };
  TEST("a bf16 v of a constant gradient arrives: to nearest it stops at a quarter") {
    CaseCall c = make("adamw", DIMS(COUNT), ATTRS(0.9, 0.999, 1e-8, 0), MODE_BF16);
    double sum = 0;
    CHECK_INT(c.call.dtype[3], DTYPE_BF16);
    for (int64_t i = 0; i < COUNT; i++)
      call_set(&c.call, 0, i, 1), call_set(&c.call, 3, i, 0);
    c.call.control.clip_scale = 1;
    for (c.call.control.updates = 1; c.call.control.updates <= UPDATES; c.call.control.updates++)
      run(&c);
    for (int64_t i = 0; i < COUNT; i++)
      sum += call_get(&c.call, 3, i) / COUNT;
    CHECK_NEAR(sum, 1 - pow(0.999, UPDATES), 0.02);
    call_free(&c.call);
  }
}

/* From 1.0, with the other numbers such that every update is -1e-4. */
static double after_updates(const char *kernel, int32_t count) {
  CaseCall c = make(kernel, DIMS(1), ATTRS(0, 0), MODE_MIXED);
  for (int32_t i = 1; i < c.call.operand_count; i++)
    call_set(&c.call, i, 0, i == 1);
  call_set(&c.call, 0, 0, 1);
  c.call.control.lr = 1e-4;
  c.call.control.clip_scale = 1;
  for (int32_t i = 0; i < count; i++)
    run(&c);
  double value = call_get(&c.call, 1, 0);
  if (c.call.operand_count == 4) value -= call_get(&c.call, 3, 0);
  call_free(&c.call);
  return value;
}

static void test_small_updates(void) {
  TEST("1,000 updates of -1e-4 from 1.0: compensated they arrive, rounded to nearest they do not") {
    CHECK_NEAR(after_updates("sgd_kahan", 1000), 0.9, 1e-3);
    CaseCall c = make("sgd", DIMS(1), ATTRS(0, 0), MODE_BF16);
    call_set(&c.call, 0, 0, 1), call_set(&c.call, 1, 0, 1), call_set(&c.call, 2, 0, 0);
    c.call.control.lr = 1e-4, c.call.control.clip_scale = 1;
    for (int32_t i = 0; i < 1000; i++)
      run(&c);
    CHECK_NEAR(call_get(&c.call, 1, 0), 1, 0);
    call_free(&c.call);
  }
}

/* From 1.0, all elements by -1e-4; each draws for itself, and a piece as the whole does. */
static void test_stochastic(void) {
  enum { COUNT = 4000, UPDATES = 100, FIRST = 13, PIECE = 600 };
  TEST("updates that round by chance arrive on average, alike for a piece of the tensor") {
    CaseCall c = make("sgd_stochastic", DIMS(COUNT, COUNT, COUNT, COUNT, COUNT), ATTRS(0, 0, 0, 0),
                      MODE_MIXED);
    CaseCall piece = make("sgd_stochastic", DIMS(PIECE, COUNT, COUNT, COUNT, COUNT),
                          ATTRS(0, 0, FIRST, 0), MODE_MIXED);
    CaseCall *both[] = {&c, &piece};
    double sum = 0;
    for (int k = 0; k < 2; k++) {
      Control *control = &both[k]->call.control;
      control->lr = 1e-4, control->clip_scale = 1;
      for (int64_t i = 0; i < call_count(&both[k]->call, 1); i++)
        call_set(&both[k]->call, 0, i, 1), call_set(&both[k]->call, 1, i, 1);
      for (control->updates = 1; control->updates <= UPDATES; control->updates++)
        run(both[k]);
    }
    for (int64_t i = 0; i < COUNT; i++)
      sum += call_get(&c.call, 1, i);
    CHECK_NEAR(sum / COUNT, 1 - UPDATES * 1e-4, 4e-4); /* its standard error is 1e-4 */
    for (int64_t i = 0; i < PIECE; i++)
      CHECK(call_get(&piece.call, 1, i) == call_get(&c.call, 1, FIRST + i));
    call_free(&c.call);
    call_free(&piece.call);
  }
}

/* The lower word of Philox's counter overflows within the piece: an element is an eighth of a
 * block. Moments are the gradients by 1 + 2^-10, which is exact in f32 and is rounded to bf16. */
static void test_far_draws(void) {
  enum { PIECE = 1000, M = 2 };
  TEST("draws of a tensor with more than 2^35 elements are those of their numbers") {
    const int64_t first = (INT64_C(1) << 35) - 496, all = first + PIECE;
    CaseCall c = make("sgd_stochastic", DIMS(PIECE, PIECE, PIECE, PIECE, all),
                      ATTRS(0, 0, 0, (double)first), MODE_BF16);
    CaseCall plain = make("sgd_stochastic", DIMS(PIECE, PIECE, PIECE, PIECE, all),
                          ATTRS(0, 0, 0, (double)first), MODE_BF16);
    c.call.control.clip_scale = plain.call.control.clip_scale = 1 + 0x1p-10;
    run(&c);
    call_run(&plain.call, KERNEL_REFERENCE, NULL);
    CHECK(same_memory(&c.call, M, &plain.call, M));
    call_free(&c.call), call_free(&plain.call);
  }
}

/* Every pattern of bits with `split_all`; else one in 4,099, and all near ties. */
static void test_split_bits(bool split_all) {
  int64_t lost = 0, far = 0;
  TEST("a split f32 comes back, and its upper half is a neighbour of it") {
    for (uint64_t i = 0; i < UINT64_C(1) << 32;
         i += split_all || (i & 0xffff) == 0x8000 ? 1 : 4099) {
      const uint32_t bits = (uint32_t)i;
      uint32_t back_bits;
      float value, back;
      memcpy(&value, &bits, sizeof value);
      back = split_join(split_high(value), split_low(value));
      memcpy(&back_bits, &back, sizeof back_bits);
      lost += back_bits != bits;
      far += (int64_t)split_high(value) != (int64_t)((i + 0x8000) >> 16 & 0xffff);
    }
    CHECK_INT(lost, 0);
    CHECK_INT(far, 0);
  }
}

static void test_grad_norm(void) {
  CaseCall c = make("grad_norm", DIMS(3), ATTRS(2), MODE_F32);
  double *partial = c.call.operand[0];
  TEST("the norm is the root of the sum, and clips") {
    partial[0] = 9, partial[1] = 16, partial[2] = 0;
    run(&c);
    CHECK_NEAR(c.call.control.grad_norm, 5, 0);
    CHECK_NEAR(c.call.control.clip_scale, 2 / (5 + 1e-6), 1e-15);
    c.call.attr[0] = 5;
    run(&c);
    CHECK_NEAR(c.call.control.clip_scale, 1, 0);
    c.call.attr[0] = 0;
    run(&c);
    CHECK_NEAR(c.call.control.clip_scale, 1, 0);
    CHECK_INT(c.call.control.step_counts, 1);
  }
  TEST("a step without a target that counts makes no update") {
    int64_t updates = c.call.control.updates;
    for (int targets = 0; targets < 2; targets++) {
      c.call.control.targets = targets;
      run(&c);
      CHECK_INT(c.call.control.step_counts, targets);
      CHECK_INT(c.call.control.updates, updates + targets);
    }
  }
  TEST("nor does one whose norm is infinite or no number") {
    for (int nan = 0; nan < 2; nan++) {
      c.call.control.step_counts = 1;
      partial[1] = nan ? (double)NAN : (double)INFINITY;
      run(&c);
      CHECK_INT(c.call.control.step_counts, 0);
    }
  }
  call_free(&c.call);
}

static void test_square_sum(Mode mode) {
  TEST("an infinity or a NaN anywhere reaches the sum of squares") {
    CaseCall c = make("square_sum", DIMS(9001), ATTRS(0), mode);
    for (int64_t at = 0; at < 9001; at += 1500)
      for (int nan = 0; nan < 2; nan++) {
        double old = call_get(&c.call, 0, at);
        call_set(&c.call, 0, at, nan ? (double)NAN : (double)INFINITY);
        run(&c);
        CHECK(!isfinite(call_get(&c.call, 1, 0)));
        call_set(&c.call, 0, at, old);
      }
    run(&c);
    CHECK(isfinite(call_get(&c.call, 1, 0)));
    call_free(&c.call);
  }
}

static void test_padding(void) {
  TEST("padding ids read zeros and get no gradient") {
    CaseCall c = make("embedding", DIMS(4, 3, 2), ATTRS(0), MODE_F32);
    memcpy(c.call.operand[1], (const int32_t[]){1, -1, 0, -7}, 16);
    run(&c);
    for (int64_t i = 0; i < 3; i++) {
      CHECK_NEAR(call_get(&c.call, 2, i), call_get(&c.call, 0, 3 + i), 0);
      CHECK_NEAR(call_get(&c.call, 2, 3 + i), 0, 0);
      CHECK_NEAR(call_get(&c.call, 2, 9 + i), 0, 0);
    }
    call_free(&c.call);
    c = make("embedding_backward", DIMS(2, 3, 2), ATTRS(0), MODE_F32);
    memcpy(c.call.operand[1], (const int32_t[]){-1, 1}, 8);
    run(&c);
    for (int64_t i = 0; i < 3; i++) {
      CHECK_NEAR(call_get(&c.call, 2, i), 0, 0);
      CHECK_NEAR(call_get(&c.call, 2, 3 + i), call_get(&c.call, 0, 3 + i), 0);
    }
    call_free(&c.call);
  }
  TEST("rows without weight add nothing and have no gradient") {
    CaseCall c = make("cross_entropy_train", DIMS(3, 4, 4), ATTRS(0.5), MODE_F32);
    memcpy(c.call.operand[1], (const int32_t[]){-1, -100, -1}, 12);
    run(&c);
    CHECK_NEAR(call_get(&c.call, 2, 0), 0, 0);
    CHECK_NEAR(call_get(&c.call, 2, 1), 0, 0);
    for (int64_t i = 0; i < 12; i++)
      CHECK_NEAR(call_get(&c.call, 0, i), 0, 0);
    call_free(&c.call);
  }
  TEST("logits far apart do not overflow") {
    CaseCall c = make("cross_entropy_train", DIMS(1, 3, 3), ATTRS(1), MODE_F32);
    memcpy(c.call.operand[0], (const float[]){1e4f, -1e4f, 1e4f}, 12);
    *(int32_t *)c.call.operand[1] = 1;
    run(&c);
    CHECK_NEAR(call_get(&c.call, 2, 0), 2e4 + log(2), 1e-2);
    CHECK_NEAR(call_get(&c.call, 0, 0), 0.5, 1e-6);
    CHECK_NEAR(call_get(&c.call, 0, 1), -1, 1e-6);
    call_free(&c.call);
  }
}

/* Ones in, so that what comes out is the mask itself. */
static CaseCall masked_ones(int64_t samples, int64_t per_sample, int64_t sample_first) {
  CaseCall c =
      make("dropout", DIMS(samples, 1, 1, 1, per_sample, 1, 1, 1, 1), ATTRS(0.4), MODE_F32);
  for (int64_t i = 0; i < samples * per_sample; i++)
    call_set(&c.call, 0, i, 1);
  c.call.sample_first = sample_first;
  run(&c);
  return c;
}

static void test_dropout(void) {
  TEST("a micro-batch sees its part of the mask of the global batch") {
    enum { PER_SAMPLE = 37 };
    CaseCall whole = masked_ones(6, PER_SAMPLE, 0), part = masked_ones(2, PER_SAMPLE, 3);
    uint64_t key = philox_mix(5, philox_mix(5, 1));
    for (int64_t i = 0; i < 2 * PER_SAMPLE; i++) {
      double want = call_get(&whole.call, 1, 3 * PER_SAMPLE + i);
      bool keep = philox_keep(key, 3, 3 * PER_SAMPLE + i, philox_threshold(0.4));
      CHECK_NEAR(call_get(&part.call, 1, i), want, 0);
      CHECK_NEAR(want, keep ? 1 / 0.6 : 0, 1e-6);
    }
    call_free(&whole.call);
    call_free(&part.call);
  }
}

static void test_attention_dropout(void) {
  TEST("attention drops the elements that kernels.def numbers") {
    enum { SEQ = 5, HALF = SEQ / 2 };
    CaseCall c = make("attention", DIMS(2, SEQ, 4, 2, SEQ, 20, 10, 10),
                      ATTRS(0, 0, 0.4, 0, HALF, 0, HALF, 0, 4, SEQ), MODE_F32);
    c.call.sample_first = 7; /* scale 0: every probability is 1/SEQ; v is the identity */
    for (int64_t i = 0; i < 2 * SEQ * 2 * SEQ; i++)
      call_set(&c.call, 2, i, i % SEQ == i / (2 * SEQ) % SEQ);
    run(&c);
    uint64_t key = philox_mix(c.call.control.seed, c.call.key);
    for (int64_t i = 0; i < 2 * SEQ * 4 * SEQ; i++) {
      int64_t key_token = i % SEQ, h = i / SEQ % 4, token = i / (4 * SEQ) % SEQ;
      int64_t sample = 7 + i / (4 * SEQ * SEQ);
      int64_t element = ((sample * 4 + h) * SEQ + token) * SEQ + key_token;
      bool keep = philox_keep(key, c.call.control.step, element, philox_threshold(0.4));
      CHECK_NEAR(call_get(&c.call, 3, i), keep ? 1 / (SEQ * 0.6) : 0, 1e-6);
    }
    call_free(&c.call);
  }
}

/* Points operand `from` of `fused` into one buffer that stands for operands from, from + 1, from
 * + 2. */
static void fuse(CaseCall *fused, int32_t from, const int64_t *width, int64_t tokens) {
  int64_t stride = width[0] + width[1] + width[2], offset = 0;
  static Call buffers;
  int32_t buffer = call_add(&buffers, DTYPE_F32, tokens * stride);
  for (int32_t part = 0; part < 3; part++) {
    float *to = (float *)buffers.operand[buffer] + offset;
    const float *old = fused->call.operand[from + part];
    for (int64_t t = 0; t < tokens; t++)
      memcpy(to + t * stride, old + t * width[part], (size_t)width[part] * sizeof *to);
    free(fused->call.operand[from + part]);
    fused->call.operand[from + part] = to;
    fused->call.shared[from + part] = true;
    offset += width[part];
  }
}

static void test_fused_buffer(void) {
  TEST("q, k, v and their gradients may lie side by side in one buffer") {
    const int64_t tokens = 2 * 9, width[3] = {4 * 8, 2 * 8, 2 * 8};
    CaseCall apart = make("attention_backward", DIMS(2, 9, 4, 2, 8, 32, 16, 16, 32, 16, 16),
                          ATTRS(1, 0.35, 0.2, 0, 4, 0, 4, 0, 4, 9), MODE_F32);
    CaseCall fused = make("attention_backward", DIMS(2, 9, 4, 2, 8, 32, 16, 16, 32, 16, 16),
                          ATTRS(1, 0.35, 0.2, 0, 4, 0, 4, 0, 4, 9), MODE_F32);
    for (int32_t part = 0; part < 6; part++)
      fused.call.dim[5 + part] = 64;
    fuse(&fused, 1, width, tokens);
    fuse(&fused, 6, width, tokens);
    run(&apart);
    run(&fused);
    for (int32_t part = 0; part < 3; part++)
      for (int64_t t = 0; t < tokens; t++) {
        const float *a = (const float *)apart.call.operand[6 + part] + t * width[part];
        const float *b = (const float *)fused.call.operand[6 + part] + t * 64;
        CHECK(memcmp(a, b, (size_t)width[part] * sizeof *a) == 0);
      }
    call_free(&apart.call);
    call_free(&fused.call);
  }
}

static void test_init(void) {
  TEST("initial values are functions of seed, key and element") {
    CaseCall a = make("init_normal", DIMS(103, 103, 103, 103, 103), ATTRS(2, 0.5), MODE_F32);
    CaseCall b = make("init_normal", DIMS(50, 50, 50, 50, 50), ATTRS(2, 0.5), MODE_F32);
    CaseCall c = make("init_normal", DIMS(50, 50, 50, 50, 50), ATTRS(2, 0.5), MODE_F32);
    c.call.key++;
    run(&a);
    run(&b);
    run(&c);
    CHECK(same_memory(&b.call, 0, &a.call, 0));
    CHECK(!same_memory(&b.call, 0, &c.call, 0));
    uint32_t word[4];
    double normal[4];
    philox4(philox_mix(5, a.call.key), 0, 25, word);
    philox_normal4(word, normal);
    CHECK_NEAR(call_get(&a.call, 0, 102), 2 + 0.5 * normal[2], 1e-6);
    call_free(&a.call);
    call_free(&b.call);
    call_free(&c.call);
  }
}

static void test_copy(void) {
  TEST("copy moves rows between views and leaves the gaps") {
    enum { ROWS = 5, COLS = 3, FROM = 7, TO = 4 };
    CaseCall c = make("copy", DIMS(ROWS, COLS, FROM, TO), ATTRS(0), MODE_BF16);
    CaseCall before = make("copy", DIMS(ROWS, COLS, FROM, TO), ATTRS(0), MODE_BF16);
    run(&c);
    for (int64_t i = 0; i < (ROWS - 1) * TO + COLS; i++) {
      bool gap = i % TO >= COLS;
      double want =
          gap ? call_get(&before.call, 1, i) : call_get(&c.call, 0, i / TO * FROM + i % TO);
      CHECK_NEAR(call_get(&c.call, 1, i), want, 0);
    }
    call_free(&c.call);
    call_free(&before.call);
  }
}

static void test_pieces(void) {
  TEST("gathered, each member's pieces are adjacent; scattered, they are as they were") {
    /* two members; two pieces of one element, then one of two */
    CaseCall c = make("gather_pieces", DIMS(2, 2, 2, 1, 1, 2), ATTRS(0), MODE_BF16);
    CaseCall back = make("scatter_pieces", DIMS(2, 2, 2, 1, 1, 2), ATTRS(0), MODE_BF16);
    const int64_t from[] = {0, 2, 4, 5, 1, 3, 6, 7}; /* by place in y */
    run(&c);
    for (int64_t i = 0; i < 8; i++) {
      CHECK_NEAR(call_get(&c.call, 1, i), call_get(&c.call, 0, from[i]), 0);
      call_set(&back.call, 0, i, call_get(&c.call, 1, i));
    }
    run(&back);
    for (int64_t i = 0; i < 8; i++)
      CHECK_NEAR(call_get(&back.call, 1, i), call_get(&c.call, 0, i), 0);
    call_free(&c.call);
    call_free(&back.call);
  }
}

int main(int argc, char **argv) {
  team = threads_new(2, NULL);
  for (variant = KERNEL_REFERENCE; variant <= KERNEL_FAST; variant++) {
    test_updates("adamw");
    test_updates("adamw_master");
    test_updates("sgd");
    test_updates("sgd_master");
    test_updates("lion");
    test_updates("lion_master");
    test_master("adamw_master", 4);
    test_master("sgd_master", 3);
    test_master("lion_master", 3);
    test_updates("adamw_split");
    test_updates("adamw_kahan");
    test_update_nan("adamw_kahan");
    test_updates("sgd_split");
    test_updates("sgd_kahan");
    test_update_nan("sgd_kahan");
    test_updates("lion_split");
    test_updates("lion_kahan");
    test_update_nan("lion_kahan");
    test_split("adamw_split", "adamw_master", 4);
    test_split("sgd_split", "sgd_master", 3);
    test_split("lion_split", "lion_master", 3);
    test_small_updates();
    test_stochastic();
    test_far_draws();
    test_codes();
    test_narrow_moments();
    test_grad_norm();
    test_square_sum(MODE_F32);
    test_square_sum(MODE_BF16);
    test_padding();
    test_dropout();
    test_attention_dropout();
    test_fused_buffer();
    test_init();
    test_copy();
    test_pieces();
  }
  test_split_bits(argc > 1 && strcmp(argv[1], "all") == 0);
  threads_free(team);
  CHECK_DONE();
}
