/* LINK: kernels -- ranks that share one tensor compute, together, what one rank does: the same
 * bits, or where sums are taken in another order, the same to 1e-6. Both variants. */
#include <math.h>

#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

static Threads *team;
static KernelVariant variant;

static Call make(const char *kernel, const int64_t *dim, int32_t dims, const double *attr,
                 int32_t attrs) {
  Call c = {.kernel = kernel, .key = 17, .sample_first = 3};
  memcpy(c.dim, dim, (size_t)dims * sizeof *dim);
  memcpy(c.attr, attr, (size_t)attrs * sizeof *attr);
  c.control = (Control){.updates = 3,
                        .clip_scale = 1,
                        .step_counts = 1,
                        .step = 3,
                        .seed = 5,
                        .targets = 1,
                        .loss_scale = 1};
  return c;
}

#define DIMS(...)  (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8
#define ATTRS(...) (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / 8

static void add_filled(Call *c, DType dtype, int64_t count) {
  int32_t i = call_add(c, dtype, count);
  call_fill(c, i, 99);
}

static void run(Call *c) {
  call_run(c, variant, team);
}

/* Both have the bits of the same element. */
static bool same(const Call *a, int32_t i, int64_t at, const Call *b, int32_t j, int64_t to) {
  int64_t unit = dtype_bytes((DType)a->dtype[i]);
  return memcmp((const char *)a->operand[i] + at * unit, (const char *)b->operand[j] + to * unit,
                (size_t)unit) == 0;
}

/* Where member `m` of `ranks` has its tokens: contiguous parts, or chunks m and 2 ranks - 1 - m. */
static void runs_of(int64_t m, int64_t ranks, int64_t all, bool zigzag, double at[2]) {
  int64_t part = all / ranks, half = part / 2;
  at[0] = (double)(zigzag ? m * half : m * part);
  at[1] = (double)(zigzag ? all - half - m * half : m * part + half);
}

static int64_t token_at(const double runs[2], int64_t seq, int64_t i) {
  return i < seq / 2 ? (int64_t)runs[0] + i : (int64_t)runs[1] + i - seq / 2;
}

static void test_positions(void) {
  TEST("positions of all members are those of the whole, once each") {
    for (int zigzag = 0; zigzag < 2; zigzag++)
      for (int64_t m = 0, seq = 6; m < 4; m++) {
        double at[2];
        runs_of(m, 4, 4 * seq, zigzag, at);
        Call c = make("positions", DIMS(seq), ATTRS(at[0], at[1]));
        call_add(&c, DTYPE_I32, seq);
        run(&c);
        for (int64_t i = 0; i < seq; i++)
          CHECK_INT(((int32_t *)c.operand[0])[i], token_at(at, seq, i));
        call_free(&c);
      }
  }
}

/* ---- rope ---- */

enum { SAMPLES = 2, ALL = 24, MIDDLE = 12, HEADS = 3, HEAD = 34, ROW = HEADS * HEAD };

/* The place in the whole of a member's element i. */
static int64_t rope_element(const double runs[2], int64_t seq, int64_t i) {
  int64_t row = i / ROW;
  return (row / seq * ALL + token_at(runs, seq, row % seq)) * ROW + i % ROW;
}

static Call rope_call(int64_t seq, const double runs[2], DType dtype) {
  Call c =
      make("rope", DIMS(SAMPLES, seq, HEADS, HEAD, ROW, ROW), ATTRS(10000, 1, runs[0], runs[1]));
  add_filled(&c, dtype, SAMPLES * seq * ROW);
  call_add(&c, dtype, SAMPLES * seq * ROW);
  return c;
}

static void check_rope(DType dtype, int64_t ranks, bool zigzag) {
  Call whole = rope_call(ALL, (const double[]){0, MIDDLE}, dtype);
  run(&whole);
  int64_t seq = ALL / ranks, differ = 0;
  for (int64_t m = 0; m < ranks; m++) {
    double at[2];
    runs_of(m, ranks, ALL, zigzag, at);
    Call part = rope_call(seq, at, dtype);
    for (int64_t i = 0; i < call_count(&part, 0); i++)
      call_set(&part, 0, i, call_get(&whole, 0, rope_element(at, seq, i)));
    run(&part);
    for (int64_t i = 0; i < call_count(&part, 1); i++)
      differ += !same(&part, 1, i, &whole, 1, rope_element(at, seq, i));
    call_free(&part);
  }
  CHECK_INT(differ, 0);
  call_free(&whole);
}

static void test_rope(void) {
  TEST("rope turns a token alike, whoever has it") {
    for (DType dtype = DTYPE_F32; dtype <= DTYPE_BF16; dtype++)
      for (int zigzag = 0; zigzag < 2; zigzag++) {
        check_rope(dtype, 2, zigzag);
        check_rope(dtype, 4, zigzag);
      }
  }
}

/* ---- dropout ---- */

/* x[BATCH, SEQ, OUTER, PARTS, INNER], cut by cp into token runs, those by tp into `deep` parts, and
 * the features into `cuts`. */
enum {
  BATCH = 3,
  SEQ = 24,
  HALF = 12,
  OUTER = 2,
  PARTS = 4,
  INNER = 19,
  TOKEN = OUTER * PARTS * INNER
};

typedef struct DropoutCut {
  int64_t cp, deep, cuts;
  bool zigzag, has_batch;
} DropoutCut;

static Call dropout_ones(const int64_t *dim, const double *attr, DType dtype) {
  Call c = make("dropout", dim, 9, attr, 5);
  int64_t n = dim[0] * dim[1] * dim[2] * dim[3] * dim[4];
  call_add(&c, dtype, n);
  call_add(&c, dtype, n);
  for (int64_t i = 0; i < n; i++)
    call_set(&c, 0, i, 1);
  run(&c);
  return c;
}

static int64_t dropout_differs(const Call *whole, const DropoutCut *cut, int64_t m_cp,
                               int64_t m_deep, int64_t m_cut) {
  int64_t run_seq = SEQ / cut->cp, seq = run_seq / cut->deep, parts = PARTS / cut->cuts;
  int64_t token_first = m_deep * seq, part_first = m_cut * parts, differ = 0;
  double at[2];
  runs_of(m_cp, cut->cp, SEQ, cut->zigzag, at);
  Call c = dropout_ones(
      (const int64_t[]){BATCH, seq, OUTER, parts, INNER, cut->has_batch, run_seq, SEQ, PARTS},
      (const double[]){0.3, (double)token_first, at[0], at[1], (double)part_first},
      (DType)whole->dtype[0]);
  for (int64_t i = 0; i < call_count(&c, 1); i++) {
    int64_t inner = i % INNER, p = i / INNER % parts, o = i / INNER / parts % OUTER;
    int64_t row = i / INNER / parts / OUTER, token = token_at(at, run_seq, token_first + row % seq);
    int64_t e = (row / seq * SEQ + token) * TOKEN + (o * PARTS + part_first + p) * INNER + inner;
    differ += !same(&c, 1, i, whole, 1, e);
  }
  call_free(&c);
  return differ;
}

static void check_dropout(DType dtype, DropoutCut cut) {
  Call whole = dropout_ones((const int64_t[]){BATCH, SEQ, 1, 1, TOKEN, cut.has_batch, SEQ, SEQ, 1},
                            (const double[]){0.3, 0, 0, HALF, 0}, dtype);
  int64_t differ = 0;
  for (int64_t m = 0; m < cut.cp * cut.deep * cut.cuts; m++)
    differ += dropout_differs(&whole, &cut, m / cut.cuts / cut.deep, m / cut.cuts % cut.deep,
                              m % cut.cuts);
  CHECK_INT(differ, 0);
  call_free(&whole);
}

static void test_dropout(void) {
  static const DropoutCut cuts[] = {
      {1, 1, 1, false, true},  {2, 1, 1, false, true}, {2, 1, 1, true, true},
      {4, 1, 1, true, false},  {2, 3, 1, true, true},  {1, 4, 1, false, true},
      {1, 1, 4, false, true},  {2, 1, 2, true, true},  {2, 2, 1, false, false},
      {1, 1, 2, false, false},
  };
  TEST("a rank sees its part of the mask: tokens in two runs, parts of those, parts of features") {
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
      for (DType dtype = DTYPE_F32; dtype <= DTYPE_BF16; dtype++)
        check_dropout(dtype, cuts[i]);
  }
  TEST("without batch all samples have one mask, with it each its own") {
    for (int has_batch = 0; has_batch < 2; has_batch++) {
      Call c = dropout_ones((const int64_t[]){2, SEQ, 1, 1, TOKEN, has_batch, SEQ, SEQ, 1},
                            (const double[]){0.3, 0, 0, HALF, 0}, DTYPE_F32);
      int64_t differ = 0, kept = 0;
      for (int64_t i = 0; i < SEQ * TOKEN; i++) {
        differ += !same(&c, 1, i, &c, 1, SEQ * TOKEN + i);
        kept += call_get(&c, 1, i) != 0;
      }
      CHECK(has_batch ? differ > SEQ * TOKEN / 4 : differ == 0);
      CHECK_NEAR((double)kept / (SEQ * TOKEN), 0.7, 0.03);
      call_free(&c);
    }
  }
}

/* ---- init ---- */

/* out[ROWS, COLS], cut along rows or columns into `ranks`, each part into `shards` pieces. */
enum { ROWS = 12, COLS = 44, ELEMENTS = ROWS * COLS, REAL_ROWS = 11 };

typedef struct InitCut {
  int64_t ranks, shards;
  bool columns;
} InitCut;

static double whole_init(const Call *whole, const InitCut *cut, int64_t m, int64_t f) {
  int64_t inner = cut->columns ? COLS / cut->ranks : ELEMENTS / cut->ranks;
  if (f >= ELEMENTS / cut->ranks) return 0;
  int64_t e = cut->columns ? f / inner * COLS + m * inner + f % inner : m * inner + f;
  return e < REAL_ROWS * COLS ? call_get(whole, 0, e) : 0;
}

static void check_init(const char *kernel, DType dtype, InitCut cut) {
  Call whole =
      make(kernel, DIMS(ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS, ELEMENTS), ATTRS(0.5, 0.75, 0, 0));
  call_add(&whole, dtype, ELEMENTS);
  run(&whole);
  int64_t elements = ELEMENTS / cut.ranks, differ = 0;
  int64_t inner = cut.columns ? COLS / cut.ranks : elements;
  int64_t piece = (elements + 32 * cut.shards - 1) / (32 * cut.shards) * 32;
  for (int64_t m = 0; m < cut.ranks * cut.shards; m++) {
    int64_t rank = m / cut.shards, flat_first = m % cut.shards * piece;
    Call c =
        make(kernel, DIMS(piece, elements, inner, cut.columns ? COLS : ELEMENTS, REAL_ROWS * COLS),
             ATTRS(0.5, 0.75, (double)flat_first, (double)(rank * inner)));
    add_filled(&c, dtype, piece);
    run(&c);
    for (int64_t i = 0; i < piece; i++)
      differ += call_get(&c, 0, i) != whole_init(&whole, &cut, rank, flat_first + i);
    call_free(&c);
  }
  CHECK_INT(differ, 0);
  call_free(&whole);
}

static void test_init(void) {
  static const InitCut cuts[] = {{1, 1, false}, {1, 4, false}, {2, 1, false}, {4, 2, false},
                                 {2, 1, true},  {4, 1, true},  {4, 3, true}};
  static const char *const kernels[] = {"init_normal", "init_uniform", "init_constant"};
  static const DType dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F64};
  TEST("cut by rows or columns, and those in pieces: the whole's elements, and 0 for padding") {
    for (int kernel = 0; kernel < 3; kernel++)
      for (int dtype = 0; dtype < 3; dtype++)
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
          check_init(kernels[kernel], dtypes[dtype], cuts[i]);
  }
}

/* ---- embedding ---- */

enum { VOCAB = 12, WIDTH = 21, TOKENS = 40 };

static void set_ids(Call *c, int32_t operand) {
  int32_t *ids = c->operand[operand];
  for (int64_t i = 0; i < TOKENS; i++)
    ids[i] = (int32_t)(i * 7 % (VOCAB + 1)) - 1;
}

static Call embedding_call(const char *kernel, int64_t vocab, int64_t first, DType dtype) {
  bool back = strcmp(kernel, "embedding_backward") == 0;
  Call c = make(kernel, DIMS(TOKENS, WIDTH, vocab), ATTRS((double)first));
  add_filled(&c, dtype, (back ? TOKENS : vocab) * WIDTH);
  call_add(&c, DTYPE_I32, TOKENS);
  add_filled(&c, dtype, (back ? vocab : TOKENS) * WIDTH);
  set_ids(&c, 1);
  return c;
}

static void check_rows(const Call *whole, int64_t vocab, int64_t first) {
  int64_t differ = 0, seen = 0;
  Call c = embedding_call("embedding", vocab, first, (DType)whole->dtype[0]);
  for (int64_t i = 0; i < vocab * WIDTH; i++)
    call_set(&c, 0, i, call_get(whole, 0, first * WIDTH + i));
  run(&c);
  for (int64_t i = 0; i < TOKENS * WIDTH; i++) {
    int32_t id = ((const int32_t *)c.operand[1])[i / WIDTH];
    bool mine = id >= first && id < first + vocab;
    seen += mine;
    differ += mine ? !same(&c, 2, i, whole, 2, i) : call_get(&c, 2, i) != 0;
  }
  CHECK_INT(differ, 0);
  CHECK(seen > 0 && seen < TOKENS * WIDTH);
  call_free(&c);
}

static void check_gradients(const Call *whole, int64_t vocab, int64_t first) {
  int64_t differ = 0;
  Call c = embedding_call("embedding_backward", vocab, first, (DType)whole->dtype[0]);
  run(&c);
  for (int64_t i = 0; i < vocab * WIDTH; i++)
    differ += !same(&c, 2, i, whole, 2, first * WIDTH + i);
  CHECK_INT(differ, 0);
  call_free(&c);
}

static void check_embedding(DType dtype, int64_t ranks) {
  int64_t vocab = VOCAB / ranks;
  Call whole = embedding_call("embedding", VOCAB, 0, dtype);
  Call back = embedding_call("embedding_backward", VOCAB, 0, dtype);
  run(&whole);
  run(&back);
  for (int64_t m = 0; m < ranks; m++) {
    check_rows(&whole, vocab, m * vocab);
    check_gradients(&back, vocab, m * vocab);
  }
  call_free(&back);
  call_free(&whole);
}

static void test_embedding(void) {
  TEST("parts of a table give their rows or zeros, and take their rows' gradients") {
    for (DType dtype = DTYPE_F32; dtype <= DTYPE_BF16; dtype++)
      for (int64_t ranks = 1; ranks <= 4; ranks *= 2)
        check_embedding(dtype, ranks);
  }
}

/* ---- cross entropy ---- */

typedef struct Loss {
  int64_t rows, held, real; /* held: classes with their padding, of all ranks */
  DType dtype;
} Loss;

/* The whole of it, or one rank's: classes [first, first + held) of `from`. */
static Call loss_call(const char *kernel, const Loss *l, int64_t held, int64_t first,
                      const Call *from) {
  bool parts = strncmp(kernel, "cross_entropy_parts", 19) == 0;
  bool stats = strcmp(kernel, "cross_entropy_stats") == 0;
  Call c = make(kernel, DIMS(l->rows, held, l->real, l->held / held),
                ATTRS(stats ? (double)first : 0.125, parts ? (double)first : 0, 0, 0));
  call_add(&c, l->dtype, l->rows * held);
  for (int64_t i = 0; from && i < l->rows * held; i++)
    call_set(&c, 0, i, call_get(from, 0, i / held * l->held + first + i % held));
  call_add(&c, DTYPE_I32, l->rows);
  for (int64_t r = 0; r < l->rows; r++)
    ((int32_t *)c.operand[1])[r] = (int32_t)((r * 13 + 5) % (l->real + 1)) - 1;
  if (parts || stats) call_add(&c, DTYPE_F32, (parts ? l->held / held : 1) * l->rows * 3);
  if (stats) return c;
  call_add(&c, DTYPE_F64, 2);
  call_add(&c, DTYPE_F64, l->rows);
  return c;
}

static void gather_stats(const Loss *l, const Call *logits, int64_t ranks, float *all) {
  int64_t held = l->held / ranks;
  for (int64_t m = 0; m < ranks; m++) {
    Call c = loss_call("cross_entropy_stats", l, held, m * held, logits);
    run(&c);
    memcpy(all + m * l->rows * 3, c.operand[2], (size_t)c.bytes[2]);
    call_free(&c);
  }
}

static void check_rank(const Loss *l, const Call *logits, const Call *whole, const float *stats,
                       const char *kernel, int64_t ranks, int64_t m) {
  int64_t held = l->held / ranks, first = m * held;
  bool train = strcmp(kernel, "cross_entropy_parts_train") == 0, bf16 = l->dtype == DTYPE_BF16;
  Call c = loss_call(kernel, l, held, first, logits);
  memcpy(c.operand[2], stats, (size_t)c.bytes[2]);
  run(&c);
  CHECK_NEAR(call_get(&c, 3, 0), call_get(whole, 2, 0), 1e-6 * call_get(whole, 2, 0));
  CHECK_NEAR(call_get(&c, 3, 1), call_get(whole, 2, 1), 0);
  int64_t differ = 0;
  for (int64_t i = 0; i < l->rows * held; i++) {
    int64_t class = first + i % held, e = i / held * l->held + class;
    double want = call_get(train ? whole : logits, 0, e), got = call_get(&c, 0, i);
    double bound = train ? fabs(want) * (bf16 ? 0x1p-7 : 1e-6) : 0;
    differ += fabs(got - want) > bound || (train && class >= l->real && got != 0);
  }
  CHECK_INT(differ, 0);
  call_free(&c);
}

static void check_loss(const Loss *l, int64_t ranks) {
  Call logits = loss_call("cross_entropy", l, l->held, 0, NULL);
  call_fill(&logits, 0, 3);
  for (int64_t i = 0; i < l->rows * l->held; i++) /* padding is the highest: it must not count */
    call_set(&logits, 0, i, i % l->held < l->real ? 4 * call_get(&logits, 0, i) : 50);
  Call whole = loss_call("cross_entropy_train", l, l->held, 0, &logits);
  run(&whole);
  CHECK(call_get(&whole, 2, 0) > 0);
  Call stats = {.kernel = ""};
  call_add(&stats, DTYPE_F32, ranks * l->rows * 3);
  gather_stats(l, &logits, ranks, stats.operand[0]);
  for (int64_t m = 0; m < ranks; m++) {
    check_rank(l, &logits, &whole, stats.operand[0], "cross_entropy_parts", ranks, m);
    check_rank(l, &logits, &whole, stats.operand[0], "cross_entropy_parts_train", ranks, m);
  }
  call_free(&stats);
  call_free(&whole);
  call_free(&logits);
}

static void test_cross_entropy(void) {
  static const Loss losses[] = {
      {7, 64, 64, DTYPE_F32},     {7, 64, 61, DTYPE_F32},  {5, 36, 3, DTYPE_F32},
      {9, 2056, 2051, DTYPE_F32}, {7, 64, 61, DTYPE_BF16}, {9, 2056, 2051, DTYPE_BF16},
      {5, 36, 31, DTYPE_F64},
  };
  TEST("statistics of parts of the classes give the whole's loss and slopes; padding has no part") {
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
      for (int64_t ranks = 1; ranks <= 4; ranks *= 2)
        check_loss(&losses[i], ranks);
  }
}

/* ---- slice and sum ---- */

enum { SLICES = 3, WHOLE = 24, LENGTH = 5 };

static void check_slice(DType dtype, int64_t ranks, int64_t m, bool zigzag) {
  int64_t part = WHOLE / ranks, differ = 0;
  double at[2];
  runs_of(m, ranks, WHOLE, zigzag, at);
  Call c = make("slice", DIMS(SLICES, WHOLE, part, LENGTH), ATTRS(at[0], at[1]));
  add_filled(&c, dtype, SLICES * WHOLE * LENGTH);
  call_add(&c, dtype, SLICES * part * LENGTH);
  for (int64_t i = 0; i < SLICES * WHOLE * LENGTH && dtype == DTYPE_I32; i++)
    call_set(&c, 0, i, (double)(i * 1000003));
  run(&c);
  for (int64_t i = 0; i < SLICES * part * LENGTH; i++) {
    int64_t row = i / LENGTH, from = row / part * WHOLE + token_at(at, part, row % part);
    differ += !same(&c, 1, i, &c, 0, from * LENGTH + i % LENGTH);
  }
  CHECK_INT(differ, 0);
  call_free(&c);
}

static void test_slice(void) {
  TEST("slice takes a rank's part, of any dtype") {
    for (DType dtype = 0; dtype < DTYPE_COUNT; dtype++)
      for (int zigzag = 0; zigzag < 2; zigzag++)
        for (int64_t m = 0; m < 4; m++) {
          check_slice(dtype, 2, m % 2, zigzag);
          check_slice(dtype, 4, m, zigzag);
        }
  }
  TEST("sum adds in order") {
    Call c = make("sum", DIMS(4), ATTRS(0));
    call_add(&c, DTYPE_F64, 4);
    call_add(&c, DTYPE_F64, 1);
    memcpy(c.operand[0], (const double[]){1, 0x1p60, -0x1p60, 3}, 32);
    run(&c);
    CHECK_NEAR(call_get(&c, 1, 0), 3, 0);
    call_free(&c);
  }
}

int main(void) {
  team = threads_new(2, NULL);
  for (variant = KERNEL_REFERENCE; variant <= KERNEL_FAST; variant++) {
    test_positions();
    test_rope();
    test_dropout();
    test_init();
    test_embedding();
    test_cross_entropy();
    test_slice();
  }
  threads_free(team);
  CHECK_DONE();
}
