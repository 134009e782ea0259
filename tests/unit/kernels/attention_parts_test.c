/* LINK: kernels -- attention cut into parts is attention: tokens over the members of a ring, whose
 * parts are merged (forward) or added (backward), and heads over ranks.
 *
 * With rms that of the whole's operand, |parts - whole| is at most 1e-5 (rms + |whole|) in f32,
 * 1e-12 (rms + |whole|) in f64, and 2^-5 rms + 2^-7 |whole| in bf16, whose gradients' parts are f32
 * as the sums over a ring are. Cut heads agree to the bit. */
#include "kernels/contract/contract.h"
#include "kernels/runs.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

enum { THREADS = 2 };

/* Operands of attention_backward; forward's are OUT_Q .. LSE and scratch. */
typedef enum Operand { D_OUT, Q, K, V, OUT, LSE, D_Q, D_K, D_V, OPERANDS } Operand;

typedef struct Shape {
  int64_t batch, seq, heads, kv_heads, head;
  double causal, dropout, window, softcap;
} Shape;

typedef struct Cut {
  int64_t members;
  bool zigzag; /* else member m has the m-th part */
} Cut;

/* The part of the tokens and heads that one call has. */
typedef struct Part {
  Runs q, k;
  int64_t heads, kv_heads, head_first;
} Part;

static Threads *team;
static KernelVariant variant;

static DType stat_dtype(DType value) {
  return value == DTYPE_F64 ? DTYPE_F64 : DTYPE_F32;
}

static Part whole_part(const Shape *s) {
  Runs all = {s->seq, 0, s->seq / 2};
  return (Part){all, all, s->heads, s->kv_heads, 0};
}

static Runs member_runs(const Shape *s, Cut cut, int64_t member) {
  int64_t part = s->seq / cut.members, chunk = part / 2;
  if (!cut.zigzag) return (Runs){part, member * part, member * part + chunk};
  return (Runs){part, member * chunk, (2 * cut.members - 1 - member) * chunk};
}

/* An operand is [outer, seq, width] or, lse, [outer, seq]. */
typedef struct Layout {
  int64_t outer, width;
} Layout;

static Layout layout_of(const Shape *s, Operand operand) {
  switch (operand) {
  case LSE: return (Layout){s->batch * s->heads, 1};
  case K:
  case V:
  case D_K:
  case D_V: return (Layout){s->batch, s->kv_heads * s->head};
  default: return (Layout){s->batch, s->heads * s->head};
  }
}

/* The call without its operands. */
static Call part_call(const Shape *s, const Part *part, const char *kernel) {
  int64_t q_width = part->heads * s->head, kv_width = part->kv_heads * s->head;
  Call c = {.kernel = kernel,
            .dim = {s->batch, part->q.seq, part->heads, part->kv_heads, s->head, q_width, kv_width,
                    kv_width, q_width, kv_width, kv_width},
            .attr = {s->causal, 0.3, s->dropout, (double)part->q.first, (double)part->q.second,
                     (double)part->k.first, (double)part->k.second, (double)part->head_first,
                     (double)s->heads, (double)s->seq, s->window, s->softcap},
            .key = 11,
            .sample_first = 3,
            .control = {.step = 5, .seed = 7}};
  return c;
}

/* Nothing a kernel should have written may look as if it had. */
static int32_t add_poisoned(Call *call, DType dtype, int64_t count) {
  int32_t i = call_add(call, dtype, count);
  memset(call->operand[i], 0xff, (size_t)call->bytes[i]);
  return i;
}

static void run_with_work(Call *call, KernelId kernel) {
  WorkspaceUse use = {KERNEL_TARGET_CPU, call->dim, call->dtype, THREADS, false};
  int64_t bytes = contract_workspace_bytes(contract_of(kernel), &use);
  add_poisoned(call, DTYPE_F64, (bytes + 7) / 8);
  call_run(call, variant, team);
}

static void run_forward(const Shape *s, const Part *part, Call *call, DType value) {
  int64_t rows = s->batch * part->q.seq * part->heads;
  add_poisoned(call, value, rows * s->head);
  add_poisoned(call, stat_dtype(value), rows);
  run_with_work(call, KERNEL_attention);
}

static void run_backward(const Shape *s, const Part *part, Call *call, DType gradient) {
  int64_t tokens = s->batch * part->q.seq;
  add_poisoned(call, gradient, tokens * part->heads * s->head);
  add_poisoned(call, gradient, tokens * part->kv_heads * s->head);
  add_poisoned(call, gradient, tokens * part->kv_heads * s->head);
  run_with_work(call, KERNEL_attention_backward);
}

/* q, k, v and d_out at random, and what comes of them without any cut. */
static Call solve_whole(const Shape *s, DType value) {
  Part part = whole_part(s);
  Call backward = part_call(s, &part, "attention_backward");
  Call forward = part_call(s, &part, "attention");
  for (Operand i = D_OUT; i <= V; i++) {
    Layout l = layout_of(s, i);
    call_fill(&backward, call_add(&backward, value, l.outer * s->seq * l.width), 21);
    if (i != D_OUT) call_share(&forward, &backward, (int32_t)i);
  }
  run_forward(s, &part, &forward, value);
  for (int32_t i = 3; i <= 4; i++) {
    call_share(&backward, &forward, i);
    backward.shared[OUT + i - 3] = false; /* it frees them */
    forward.shared[i] = true;
  }
  run_backward(s, &part, &backward, value);
  call_free(&forward);
  return backward;
}

/* Adds the tokens of `runs` as an operand of `to`. */
static void gather(Call *to, const Shape *s, const Call *whole, Operand from, Runs runs) {
  Layout l = layout_of(s, from);
  int32_t i = call_add(to, (DType)whole->dtype[from], l.outer * runs.seq * l.width);
  for (int64_t row = 0; row < l.outer * runs.seq; row++) {
    int64_t at = row / runs.seq * s->seq + runs_position(runs, row % runs.seq);
    for (int64_t c = 0; c < l.width; c++)
      call_set(to, i, row * l.width + c, call_get(whole, (int32_t)from, at * l.width + c));
  }
}

/* Adds a part's operand to the sums over all parts. */
static void scatter(Call *sums, const Shape *s, const Call *part, int32_t from, Operand to,
                    Runs runs) {
  Layout l = layout_of(s, to);
  for (int64_t row = 0; row < l.outer * runs.seq; row++) {
    int64_t at = row / runs.seq * s->seq + runs_position(runs, row % runs.seq);
    for (int64_t c = 0; c < l.width; c++)
      call_set(sums, (int32_t)to, at * l.width + c,
               call_get(sums, (int32_t)to, at * l.width + c) +
                   call_get(part, from, row * l.width + c));
  }
}

static Call make_sums(const Shape *s) {
  Call sums = {.kernel = ""};
  for (Operand i = D_OUT; i < OPERANDS; i++) {
    Layout l = layout_of(s, i);
    call_add(&sums, DTYPE_F64, l.outer * s->seq * l.width);
  }
  return sums;
}

/* out and lse of one member's queries and the keys of all, its own first. */
static Call ring_forward(const Shape *s, Cut cut, const Call *whole, int64_t member) {
  DType value = (DType)whole->dtype[Q], stat = stat_dtype(value);
  Part part = whole_part(s);
  part.q = member_runs(s, cut, member);
  int64_t rows = s->batch * part.q.seq * s->heads;
  Call merge = {.kernel = "attention_merge", .dim = {s->batch, part.q.seq, s->heads, s->head}};
  add_poisoned(&merge, stat, rows * s->head);
  add_poisoned(&merge, stat, rows);
  for (int64_t turn = 0; turn < cut.members; turn++) {
    part.k = member_runs(s, cut, (member + turn) % cut.members);
    Call call = part_call(s, &part, "attention");
    gather(&call, s, whole, Q, part.q);
    gather(&call, s, whole, K, part.k);
    gather(&call, s, whole, V, part.k);
    run_forward(s, &part, &call, value);
    merge.operand_count = 2;
    call_share(&merge, &call, 3);
    call_share(&merge, &call, 4);
    merge.accumulate = turn > 0;
    call_run(&merge, variant, team);
    call_free(&call);
  }
  merge.operand_count = 2;
  return merge;
}

/* out and lse for backward: what was merged. In bf16 the whole's out, for where gradients cancel
 * the rounding of out moves them by more than parts do. */
static Call backward_inputs(const Shape *s, const Call *whole, const Call *merged, Runs runs) {
  Call inputs = {.kernel = ""};
  if (whole->dtype[OUT] == DTYPE_BF16)
    gather(&inputs, s, whole, OUT, runs);
  else
    call_share(&inputs, merged, 0);
  call_share(&inputs, merged, 1);
  return inputs;
}

static void ring_backward(const Shape *s, Cut cut, const Call *whole, int64_t member,
                          const Call *inputs, Call *sums) {
  Part part = whole_part(s);
  part.q = member_runs(s, cut, member);
  for (int64_t turn = 0; turn < cut.members; turn++) {
    part.k = member_runs(s, cut, (member + turn) % cut.members);
    Call call = part_call(s, &part, "attention_backward");
    gather(&call, s, whole, D_OUT, part.q);
    gather(&call, s, whole, Q, part.q);
    gather(&call, s, whole, K, part.k);
    gather(&call, s, whole, V, part.k);
    call_share(&call, inputs, 0);
    call_share(&call, inputs, 1);
    run_backward(s, &part, &call, stat_dtype((DType)whole->dtype[Q]));
    scatter(sums, s, &call, D_Q, D_Q, part.q);
    scatter(sums, s, &call, D_K, D_K, part.k);
    scatter(sums, s, &call, D_V, D_V, part.k);
    call_free(&call);
  }
}

static double bound_of(DType value, double rms, double want) {
  switch (value) {
  case DTYPE_F64: return 1e-12 * (rms + fabs(want));
  case DTYPE_F32: return 1e-5 * (rms + fabs(want));
  default: return 0x1p-5 * rms + 0x1p-7 * fabs(want);
  }
}

static void expect_near(const Shape *s, Cut cut, const Call *sums, const Call *whole, Operand i) {
  int64_t count = call_count(whole, (int32_t)i);
  double squares = 0;
  for (int64_t e = 0; e < count; e++)
    squares += pow(call_get(whole, (int32_t)i, e), 2);
  double rms = sqrt(squares / (double)count);
  for (int64_t e = 0; e < count; e++) {
    double want = call_get(whole, (int32_t)i, e), got = call_get(sums, (int32_t)i, e);
    double bound = bound_of((DType)whole->dtype[Q], rms, want);
    if (fabs(got - want) <= bound) continue;
    printf("\"%s\", %s, %s: seq %lld, heads %lld, %lld of head %lld, causal %g, dropout %g, "
           "members %lld%s: operand %d element %lld is %.9g, whole %.9g +- %g\n",
           check_test_name, variant == KERNEL_FAST ? "fast" : "plain",
           dtype_name((DType)whole->dtype[Q]), (long long)s->seq, (long long)s->heads,
           (long long)s->kv_heads, (long long)s->head, s->causal, s->dropout,
           (long long)cut.members, cut.zigzag ? " zig-zag" : "", (int)i, (long long)e, got, want,
           bound);
    check_failures++;
    return;
  }
}

static void check_ring(const Shape *s, Cut cut, const Call *whole) {
  Call sums = make_sums(s);
  for (int64_t member = 0; member < cut.members; member++) {
    Call merged = ring_forward(s, cut, whole, member);
    scatter(&sums, s, &merged, 0, OUT, member_runs(s, cut, member));
    scatter(&sums, s, &merged, 1, LSE, member_runs(s, cut, member));
    Call inputs = backward_inputs(s, whole, &merged, member_runs(s, cut, member));
    ring_backward(s, cut, whole, member, &inputs, &sums);
    call_free(&inputs);
    call_free(&merged);
  }
  for (Operand i = OUT; i <= D_V; i++)
    expect_near(s, cut, &sums, whole, i);
  call_free(&sums);
}

static void test_ring(void) {
  static const struct {
    Shape shape;
    Cut cut;
    bool large; /* only fast */
  } cases[] = {
      {{2, 24, 2, 2, 8, 0, 0, 0, 0}, {2, true}, false},
      {{1, 132, 3, 1, 20, 0, 0, 0, 0}, {2, true}, false},
      {{1, 152, 4, 2, 33, 0, 0, 0, 0}, {4, true}, false},
      {{2, 99, 3, 3, 16, 0, 0, 0, 0}, {3, false}, false},
      {{1, 8, 1, 1, 5, 0, 0, 0, 0}, {4, true}, false},
      {{1, 4, 2, 1, 5, 0, 0, 0, 0}, {4, false}, false},
      {{1, 560, 3, 1, 40, 0, 0, 0, 0}, {2, true}, true},
      {{1, 1200, 1, 1, 16, 0, 0, 0, 0}, {4, true}, true},
      {{1, 660, 3, 3, 64, 0, 0, 0, 0}, {2, false}, true},
      {{1, 332, 2, 1, 128, 0, 0, 0, 0}, {2, true}, true},
  };
  static const DType values[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F64};
  enum { WINDOWED = 4, KINDS }; /* the others: causal or not, with dropout or without */
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int kind = 0; kind < 3 * KINDS; kind++) {
      const DType value = values[kind / KINDS];
      if (cases[i].large && (variant == KERNEL_REFERENCE || value == DTYPE_F64)) continue;
      Shape s = cases[i].shape;
      s.causal = kind % KINDS % 2;
      int drops = kind % KINDS / 2 % 2;
      s.dropout = drops * 0.2;
      const int64_t window = s.seq / 3 + 1;
      if (kind % KINDS == WINDOWED) s.causal = 1, s.window = (double)window, s.softcap = 1;
      Call whole = solve_whole(&s, value);
      TEST("members' parts make the whole") check_ring(&s, cases[i].cut, &whole);
      call_free(&whole);
    }
}

/* Adds `count` of every `width` elements as an operand of `to`. */
static void gather_columns(Call *to, const Call *whole, Operand from, int64_t width, int64_t first,
                           int64_t count) {
  int64_t rows = call_count(whole, (int32_t)from) / width;
  int64_t element = dtype_bytes((DType)whole->dtype[from]);
  int32_t i = call_add(to, (DType)whole->dtype[from], rows * count);
  for (int64_t row = 0; row < rows; row++)
    memcpy((char *)to->operand[i] + row * count * element,
           (const char *)whole->operand[from] + (row * width + first) * element,
           (size_t)(count * element));
}

static void gather_heads(Call *to, const Shape *s, const Part *part, const Call *whole,
                         Operand from) {
  bool kv = from == K || from == V || from == D_K || from == D_V;
  int64_t group = s->heads / s->kv_heads, unit = from == LSE ? s->seq : s->head;
  int64_t all = kv ? s->kv_heads : s->heads, count = kv ? part->kv_heads : part->heads;
  int64_t first = kv ? part->head_first / group : part->head_first;
  gather_columns(to, whole, from, all * unit, first * unit, count * unit);
}

static void check_heads(const Shape *s, const Part *part, const Call *whole) {
  DType value = (DType)whole->dtype[Q];
  Call forward = part_call(s, part, "attention");
  Call backward = part_call(s, part, "attention_backward");
  Call want = {.kernel = ""};
  for (Operand i = D_OUT; i <= D_V; i++)
    gather_heads(&want, s, part, whole, i);
  for (Operand i = Q; i <= V; i++)
    call_share(&forward, &want, (int32_t)i);
  run_forward(s, part, &forward, value);
  for (Operand i = D_OUT; i <= LSE; i++)
    call_share(&backward, &want, (int32_t)i);
  run_backward(s, part, &backward, value);
  CHECK(memcmp(forward.operand[3], want.operand[OUT], (size_t)want.bytes[OUT]) == 0);
  CHECK(memcmp(forward.operand[4], want.operand[LSE], (size_t)want.bytes[LSE]) == 0);
  for (Operand i = D_Q; i <= D_V; i++)
    CHECK(memcmp(backward.operand[i], want.operand[i], (size_t)want.bytes[i]) == 0);
  call_free(&forward);
  call_free(&backward);
  call_free(&want);
}

static void test_heads(void) {
  for (DType value = DTYPE_F32; value <= DTYPE_BF16; value++)
    for (int causal = 0; causal < 2; causal++) {
      Shape s = {2, 53, 6, 3, 20, causal, 0.2, 0, 0};
      Call whole = solve_whole(&s, value);
      TEST("heads cut apart draw the same mask and give the same bytes") {
        for (int64_t kv_head = 0; kv_head < 3; kv_head++) {
          Part part = whole_part(&s);
          part.heads = 2;
          part.kv_heads = 1;
          part.head_first = 2 * kv_head;
          check_heads(&s, &part, &whole);
        }
      }
      call_free(&whole);
    }
}

/* One member's queries and another's keys, forward and backward by themselves. */
typedef struct Pair {
  Part part;
  Call forward, backward;
} Pair;

static Pair make_pair(const Shape *s, Cut cut, const Call *whole, int64_t q, int64_t k) {
  Pair p = {.part = whole_part(s)};
  p.part.q = member_runs(s, cut, q);
  p.part.k = member_runs(s, cut, k);
  p.forward = part_call(s, &p.part, "attention");
  p.backward = part_call(s, &p.part, "attention_backward");
  gather(&p.backward, s, whole, D_OUT, p.part.q);
  gather(&p.backward, s, whole, Q, p.part.q);
  gather(&p.backward, s, whole, K, p.part.k);
  gather(&p.backward, s, whole, V, p.part.k);
  return p;
}

static void run_pair(const Shape *s, Pair *p) {
  DType value = (DType)p->backward.dtype[Q];
  for (Operand i = Q; i <= V; i++)
    call_share(&p->forward, &p->backward, (int32_t)i);
  run_forward(s, &p->part, &p->forward, value);
  call_share(&p->backward, &p->forward, 3);
  call_share(&p->backward, &p->forward, 4);
  run_backward(s, &p->part, &p->backward, value);
}

static void free_pair(Pair *p) {
  call_free(&p->forward);
  call_free(&p->backward);
}

/* Elements of tokens [first, end) that are not exactly `want`. */
static int64_t count_others(const Shape *s, const Call *call, Operand i, Runs runs, int64_t first,
                            int64_t end, double want) {
  Layout l = layout_of(s, i);
  int64_t others = 0;
  for (int64_t e = 0; e < l.outer * runs.seq * l.width; e++) {
    int64_t token = e / l.width % runs.seq;
    others += token >= first && token < end && call_get(call, (int32_t)i, e) != want;
  }
  return others;
}

static void check_unseen_rows(const Shape *s, const Pair *p, int64_t rows) {
  CHECK_INT(count_others(s, &p->backward, OUT, p->part.q, 0, rows, 0), 0);
  CHECK_INT(count_others(s, &p->backward, LSE, p->part.q, 0, rows, -INFINITY), 0);
  CHECK_INT(count_others(s, &p->backward, D_Q, p->part.q, 0, rows, 0), 0);
  for (Operand i = OUT; i <= D_V; i++)
    for (int64_t e = 0; e < call_count(&p->backward, (int32_t)i); e++)
      if (isnan(call_get(&p->backward, (int32_t)i, e))) CHECK(!"a gradient is no number");
}

static void test_unseen(void) {
  for (DType value = DTYPE_F32; value <= DTYPE_BF16; value++) {
    Shape s = {2, 316, 2, 1, 24, 1, 0.2, 0, 0};
    Call whole = solve_whole(&s, value);
    TEST("a query that sees no key gives 0 and -inf, and its gradient is 0") {
      Pair p = make_pair(&s, (Cut){2, true}, &whole, 0, 1);
      run_pair(&s, &p);
      check_unseen_rows(&s, &p, 79);
      CHECK(count_others(&s, &p.backward, D_Q, p.part.q, 79, 158, 0) > 0);
      free_pair(&p);
    }
    TEST("nor is there a gradient when no query sees any key") {
      Pair p = make_pair(&s, (Cut){2, false}, &whole, 0, 1);
      run_pair(&s, &p);
      check_unseen_rows(&s, &p, 158);
      CHECK_INT(count_others(&s, &p.backward, D_K, p.part.k, 0, 158, 0), 0);
      CHECK_INT(count_others(&s, &p.backward, D_V, p.part.k, 0, 158, 0), 0);
      free_pair(&p);
    }
    call_free(&whole);
  }
}

/* Keys of an earlier member: its later run lies after every query. */
static void test_skipped(DType value) {
  Shape s = {1, 640, 2, 1, 32, 1, 0.2, 0, 0};
  Call whole = solve_whole(&s, value);
  TEST("keys that no query sees are skipped, and get no gradient") {
    Pair clean = make_pair(&s, (Cut){2, true}, &whole, 1, 0);
    Pair dirty = make_pair(&s, (Cut){2, true}, &whole, 1, 0);
    for (int64_t e = 160 * 32; e < 320 * 32; e++) {
      call_set(&dirty.backward, K, e, (double)NAN);
      call_set(&dirty.backward, V, e, (double)NAN);
    }
    run_pair(&s, &clean);
    run_pair(&s, &dirty);
    for (Operand i = OUT; i <= D_V; i++)
      CHECK(memcmp(clean.backward.operand[i], dirty.backward.operand[i],
                   (size_t)clean.backward.bytes[i]) == 0);
    CHECK_INT(count_others(&s, &dirty.backward, D_K, dirty.part.k, 160, 320, 0), 0);
    CHECK_INT(count_others(&s, &dirty.backward, D_V, dirty.part.k, 160, 320, 0), 0);
    free_pair(&clean);
    free_pair(&dirty);
  }
  call_free(&whole);
}

typedef struct Side {
  double out, lse;
} Side;

/* Both sides are one row of a head of 19. */
static Side merge_sides(Side old, Side added, bool accumulate, DType out, DType out1) {
  Call c = {.kernel = "attention_merge", .dim = {1, 1, 1, 19}, .accumulate = accumulate};
  DType stat = stat_dtype(out);
  call_add(&c, out, 19);
  call_add(&c, stat, 1);
  call_add(&c, out1, 19);
  call_add(&c, stat, 1);
  for (int64_t i = 0; i < 19; i++) {
    call_set(&c, 0, i, old.out);
    call_set(&c, 2, i, added.out);
  }
  call_set(&c, 1, 0, old.lse);
  call_set(&c, 3, 0, added.lse);
  call_run(&c, variant, team);
  Side merged = {call_get(&c, 0, 18), call_get(&c, 1, 0)};
  for (int64_t i = 0; i < 18; i++)
    CHECK_NEAR(call_get(&c, 0, i), merged.out, 0);
  call_free(&c);
  return merged;
}

static void expect_side(Side got, double out, double lse, double tolerance) {
  CHECK_NEAR(got.out, out, tolerance);
  if (isinf(lse))
    CHECK(got.lse == lse);
  else
    CHECK_NEAR(got.lse, lse, tolerance * (1 + fabs(lse)));
}

static void test_merge(DType out, DType out1, double tolerance) {
  const Side none = {0, -INFINITY}, some = {2.5, -3.25};
  TEST("without accumulating, what was there does not count") {
    Side junk = {(double)NAN, (double)NAN};
    expect_side(merge_sides(junk, some, false, out, out1), 2.5, -3.25, 0);
    expect_side(merge_sides(junk, none, false, out, out1), 0, -INFINITY, 0);
  }
  TEST("a side without keys changes nothing") {
    expect_side(merge_sides(none, some, true, out, out1), 2.5, -3.25, 0);
    expect_side(merge_sides(some, none, true, out, out1), 2.5, -3.25, 0);
    expect_side(merge_sides(none, none, true, out, out1), 0, -INFINITY, 0);
  }
  TEST("sides weigh as their sums of exponentials, which may be beyond any float") {
    double lse = 1000 + log1p(exp(-1.5));
    double mean = (4 + 2 * exp(-1.5)) / (1 + exp(-1.5));
    expect_side(merge_sides((Side){4, 1000}, (Side){2, 998.5}, true, out, out1), mean, lse,
                tolerance);
    expect_side(merge_sides((Side){2, 998.5}, (Side){4, 1000}, true, out, out1), mean, lse,
                tolerance);
    expect_side(merge_sides((Side){1, -2000}, (Side){3, -2000}, true, out, out1), 2, -2000 + log(2),
                tolerance);
    expect_side(merge_sides((Side){1, -500}, (Side){3, 500}, true, out, out1), 3, 500, tolerance);
  }
}

int main(void) {
  team = threads_new(THREADS, NULL);
  for (variant = KERNEL_REFERENCE; variant <= KERNEL_FAST; variant++) {
    test_merge(DTYPE_F64, DTYPE_F64, 1e-14);
    test_merge(DTYPE_F32, DTYPE_F32, 1e-6);
    test_merge(DTYPE_F32, DTYPE_BF16, 1e-6);
    test_merge(DTYPE_BF16, DTYPE_BF16, 0x1p-7);
    test_heads();
    test_unseen();
    test_skipped(DTYPE_F32);
    test_skipped(DTYPE_BF16);
    test_ring();
  }
  threads_free(team);
  CHECK_DONE();
}
