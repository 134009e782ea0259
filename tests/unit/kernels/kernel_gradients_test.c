/* LINK: kernels -- every backward kernel against differences of its forward kernel, all in f64.
 *
 * The scalar is sum(d_y y) with random d_y. Its slope in one element of one input is taken from
 * four points (error h^4), with h = 1e-3: |difference - gradient| <= 1e-7 (rms of the gradient +
 * |gradient|). */
#include "kernels/contract/gate.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_cases.h"

enum { ELEMENTS_MAX = 48 }; /* tried per input; all of a smaller one */

typedef struct Rule {
  KernelCase forward;
  int32_t output;       /* operand of `forward` that d_y belongs to */
  const char *backward; /* kernel */
  /* The backward kernel's operands, one word each:
   *   D   d_y                        P0  d_y times the forward's operand 0, element by element
   *   0   the forward's operand 0    O0  ones, as many as operand 0 has
   *   g0  gradient of operand 0      a0  the same, added to when accumulating
   *   c0  a copy of operand 0 that becomes its gradient
   *   L   a loss, not looked at      W   scratch */
  const char *operands;
  double factor; /* gradient = factor * what the kernel writes */
} Rule;

#define AXES_BIAS                                                                                  \
  { 3, 3, 2, 5, 0, 0, 1 }
#define AXES_MIDDLE                                                                                \
  { 4, 2, 3, 4, 5, 0, 5, 0, 1 }
#define AXES_COLUMN                                                                                \
  { 2, 6, 7, 1, 0 }
#define AXES_SAME                                                                                  \
  { 2, 4, 5, 5, 1 }
#define AXES_ONE                                                                                   \
  { 2, 4, 5, 0, 0 }
#define ARITHMETIC(axes)                                                                           \
  {{"add", axes, {0}, 0}, 2, "sum_to", "D a1", 1},                                                 \
      {{"subtract", axes, {0}, 0}, 2, "sum_to", "D a1", -1},                                       \
      {{"multiply", axes, {0}, 0}, 2, "multiply", "D 1 g0", 1},                                    \
      {{"multiply", axes, {0}, 0}, 2, "sum_to", "P0 a1", 1}, {                                     \
    {"sum_to", axes, {0}, 0}, 1, "multiply", "O0 D g0", 1                                          \
  }

#define LINEAR_RULES(rows, in, out, transposed)                                                    \
  {{"linear", {rows, in, out, transposed}, {0}, 0}, 2, "linear_dx", "D 1 g0 W", 1},                \
      {{"linear", {rows, in, out, transposed}, {0}, 0}, 2, "linear_dw", "0 D a1 W", 1},            \
      {{"linear_bias", {rows, in, out, transposed}, {0}, 0}, 3, "linear_dx", "D 1 g0 W", 1},       \
      {{"linear_bias", {rows, in, out, transposed}, {0}, 0}, 3, "linear_dw", "0 D a1 W", 1}, {     \
    {"linear_bias", {rows, in, out, transposed}, {0}, 0}, 3, "linear_db", "D a2", 1                \
  }

#define ATTENTION_RULE(batch, seq, heads, kv_heads, head, stride, causal, scale, dropout)          \
  {                                                                                                \
    {"attention",                                                                                  \
     {batch, seq, heads, kv_heads, head, stride, stride, stride, stride, stride, stride},          \
     {causal, scale, dropout, 0, 0.5 * ((seq) - (seq) % 2), 0, 0.5 * ((seq) - (seq) % 2), 0,       \
      heads, seq},                                                                                 \
     0},                                                                                           \
        3, "attention_backward", "D 0 1 2 3 4 g0 g1 g2 W", 1                                       \
  }

#define UNARY_RULE(name)                                                                           \
  { {#name, {45}, {0}, 0}, 1, #name "_backward", "D 0 g0", 1 }

#define GATE_RULE(form)                                                                            \
  { {"gate", {45}, {form}, 0}, 2, "gate_backward", "D 0 1 g0 g1 2", 1 }

static const Rule rules[] = {
    {{"embedding", {9, 4, 5}, {0}, 0}, 2, "embedding_backward", "D 1 a0", 1},
    {{"embedding", {9, 4, 5}, {2}, 0}, 2, "embedding_backward", "D 1 a0", 1},
    LINEAR_RULES(4, 5, 3, 0),
    LINEAR_RULES(4, 5, 3, 1),
    {{"layernorm", {4, 6}, {1e-5}, 0}, 3, "layernorm_backward", "D 0 1 4 g0 a1 a2 W", 1},
    {{"layernorm", {1, 17}, {1e-2, 1}, 0}, 3, "layernorm_backward", "D 0 1 4 g0 a1 a2 W", 1},
    {{"rmsnorm", {4, 6}, {1e-5}, 0}, 2, "rmsnorm_backward", "D 0 1 3 g0 a1 W", 1},
    {{"rmsnorm", {1, 17}, {1e-2, 1}, 0}, 2, "rmsnorm_backward", "D 0 1 3 g0 a1 W", 1},
    {{"rope", {2, 3, 2, 4, 8, 8}, {10000, 1, 2, 3}, 0}, 1, "rope", "D g0", 1},
    {{"rope", {1, 5, 1, 6, 9, 9}, {100, -1, 1, 7}, 0}, 1, "rope", "D g0", 1},
    {{"rope", {1, 5, 1, 6, 9, 9}, {100, 1, 1, 7, 8, 1, 4, 32}, 0}, 1, "rope", "D g0", 1},
    ATTENTION_RULE(2, 4, 2, 2, 3, 6, 0, 0.4, 0),
    ATTENTION_RULE(2, 4, 2, 2, 3, 6, 1, 0.4, 0),
    ATTENTION_RULE(1, 5, 4, 2, 3, 20, 1, 0.4, 0),
    ATTENTION_RULE(1, 5, 6, 2, 2, 20, 0, 0.4, 0),
    ATTENTION_RULE(2, 5, 2, 1, 3, 12, 1, 0.4, 0.3),
    ATTENTION_RULE(1, 6, 2, 2, 3, 18, 0, 0.4, 0.5),
    ATTENTION_RULE(1, 2, 1, 1, 260, 260, 1, 0.06, 0),
    {{"attention", {1, 6, 2, 1, 3, 6, 3, 3, 6, 3, 3}, {1, 0.4, 0.3, 3, 18, 6, 15, 2, 6, 24}, 0},
     3,
     "attention_backward",
     "D 0 1 2 3 4 g0 g1 g2 W",
     1},
    {{"attention", {2, 6, 2, 1, 3, 6, 3, 3, 6, 3, 3}, {1, 0.4, 0, 0, 3, 0, 3, 0, 2, 6, 3, 0.8}, 0},
     3,
     "attention_backward",
     "D 0 1 2 3 4 g0 g1 g2 W",
     1},
    {{"attention",
      {1, 6, 2, 1, 3, 6, 3, 3, 6, 3, 3},
      {1, 2, 0.3, 3, 18, 6, 15, 2, 6, 24, 11, 1},
      0},
     3,
     "attention_backward",
     "D 0 1 2 3 4 g0 g1 g2 W",
     1},
    {{"attention_apart", {2, 9, 2, 1, 3, 6, 3, 3, 6, 3, 3}, {1, 0.4, 0, 0, 4, 0, 4, 0, 2, 9}, 0},
     3,
     "attention_apart_backward",
     "D 0 1 2 3 4 g0 g1 g2 5 W",
     1},
    UNARY_RULE(gelu),
    UNARY_RULE(gelu_erf),
    UNARY_RULE(silu),
    UNARY_RULE(relu),
    UNARY_RULE(tanh),
    GATE_RULE(0),
    GATE_RULE(1),
    GATE_RULE(2),
    GATE_RULE(3),
    GATE_RULE(4),
    ARITHMETIC(AXES_BIAS),
    ARITHMETIC(AXES_MIDDLE),
    ARITHMETIC(AXES_COLUMN),
    ARITHMETIC(AXES_SAME),
    ARITHMETIC(AXES_ONE),
    {{"affine", {11}, {-1.5, 4}, 0}, 1, "affine", "D g0", 1},
    {{"dropout", {2, 4, 1, 5, 1, 1, 4, 16, 9}, {0.3, 0, 2, 12, 4}, 0}, 1, "dropout", "D g0", 1},
    {{"cross_entropy", {6, 5, 5}, {0}, 0}, 2, "cross_entropy_train", "c0 1 L W", 8},
    {{"cross_entropy", {6, 7, 5}, {0}, 0}, 2, "cross_entropy_train", "c0 1 L W", 8},
    {{"cross_entropy", {6, 7, 5}, {0.2, 0.03}, 0}, 2, "cross_entropy_train", "c0 1 L W", 8},
    {{"mse", {40}, {0.25}, 0}, 2, "mse_train", "0 1 L g0 W", 4},
};

typedef struct Backward {
  Call call;
  int32_t gradient_of[KERNEL_OPERANDS_MAX]; /* operand of the forward, or -1 */
  bool added[KERNEL_OPERANDS_MAX];
} Backward;

/* The loss kernels' y is {sum of losses, sum of weights}; the second has no slope. */
static void make_d_y(const CaseCall *forward, int32_t output, Call *d_y) {
  *d_y = (Call){.kernel = ""};
  call_add(d_y, DTYPE_F64, call_count(&forward->call, output));
  call_fill(d_y, 0, forward->seed + 77);
  bool loss = strcmp(forward->call.kernel, "cross_entropy") == 0 ||
              strcmp(forward->call.kernel, "mse") == 0;
  if (loss) {
    call_set(d_y, 0, 0, 1);
    call_set(d_y, 0, 1, 0);
  }
}

static double scalar(CaseCall *forward, int32_t output, const Call *d_y) {
  double sum = 0;
  call_run(&forward->call, KERNEL_REFERENCE, NULL);
  for (int64_t i = 0; i < call_count(d_y, 0); i++)
    sum += call_get(d_y, 0, i) * call_get(&forward->call, output, i);
  return sum;
}

static double slope(CaseCall *forward, int32_t output, const Call *d_y, int32_t input, int64_t i) {
  const double h = 1e-3;
  double x = call_get(&forward->call, input, i), at[4];
  for (int point = 0; point < 4; point++) {
    static const double steps[4] = {-2, -1, 1, 2};
    call_set(&forward->call, input, i, x + steps[point] * h);
    at[point] = scalar(forward, output, d_y);
  }
  call_set(&forward->call, input, i, x);
  return (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * h);
}

/* An operand of its own with `count` values: those of `from`, times those of `by`, or ones. */
static void add_product(Call *call, const Call *from, int32_t from_operand, const Call *by,
                        int32_t by_operand, int64_t count) {
  int32_t operand = call_add(call, DTYPE_F64, count);
  for (int64_t i = 0; i < count; i++)
    call_set(call, operand, i,
             (from ? call_get(from, from_operand, i) : 1) * (by ? call_get(by, by_operand, i) : 1));
}

static void add_operand(Backward *b, const char *word, const Call *forward, const Call *d_y) {
  int32_t operand = b->call.operand_count;
  int32_t of = atoi(word + (*word >= '0' && *word <= '9' ? 0 : 1));
  b->gradient_of[operand] = -1;
  switch (*word) {
  case 'D': call_share(&b->call, d_y, 0); break;
  case 'P': add_product(&b->call, d_y, 0, forward, of, call_count(d_y, 0)); break;
  case 'O': add_product(&b->call, NULL, 0, NULL, 0, call_count(forward, of)); break;
  case 'L': call_add(&b->call, DTYPE_F64, 2); break;
  case 'W': call_add(&b->call, DTYPE_F64, 4096); break;
  case 'c':
    add_product(&b->call, forward, of, NULL, 0, call_count(forward, of));
    b->gradient_of[operand] = of;
    break;
  case 'a':
  case 'g':
    call_add(&b->call, DTYPE_F64, call_count(forward, of));
    b->gradient_of[operand] = of;
    b->added[operand] = *word == 'a';
    break;
  default: call_share(&b->call, forward, of); break;
  }
}

static Backward make_backward(const Rule *rule, const Call *forward, const Call *d_y) {
  Backward b = {.call = *forward};
  b.call.kernel = rule->backward;
  b.call.operand_count = 0;
  memset(b.call.shared, 0, sizeof b.call.shared);
  char words[64];
  snprintf(words, sizeof words, "%s", rule->operands);
  for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
    add_operand(&b, word, forward, d_y);
  if (strcmp(rule->backward, "linear_db") == 0) b.call.dim[1] = b.call.dim[2];
  if (strstr(rule->backward, "norm_backward") != NULL) b.call.attr[0] = b.call.attr[1];
  if (strcmp(rule->backward, "cross_entropy_train") == 0)
    b.call.attr[0] = 0.125, b.call.attr[1] = forward->attr[0], b.call.attr[2] = forward->attr[1];
  if (strcmp(rule->backward, "rope") == 0) b.call.attr[1] = -b.call.attr[1];
  if (strcmp(rule->backward, "affine") == 0) b.call.attr[1] = 0;
  return b;
}

static bool near_kink(const Call *forward, int32_t input, int64_t i) {
  const bool has_kink = strcmp(forward->kernel, "relu") == 0 ||
                        (strcmp(forward->kernel, "gate") == 0 && forward->attr[0] == GATE_RELU);
  return has_kink && fabs(call_get(forward, input, i)) < 2.5e-3;
}

static void check_input(const Rule *rule, CaseCall *forward, const Call *d_y, const Backward *b,
                        int32_t operand) {
  int32_t input = b->gradient_of[operand];
  int64_t count = call_count(&b->call, operand), tried = count;
  double rms = 0;
  for (int64_t i = 0; i < count; i++)
    rms += pow(rule->factor * call_get(&b->call, operand, i), 2) / (double)count;
  rms = sqrt(rms);
  if (tried > ELEMENTS_MAX) tried = ELEMENTS_MAX;
  for (int64_t k = 0; k < tried; k++) {
    int64_t i =
        tried == count ? k : (int64_t)(philox_mix(forward->seed, (uint64_t)k) % (uint64_t)count);
    if (near_kink(&forward->call, input, i)) continue;
    double gradient = rule->factor * call_get(&b->call, operand, i);
    double difference = slope(forward, rule->output, d_y, input, i);
    if (fabs(gradient - difference) <= 1e-7 * (rms + fabs(gradient))) continue;
    printf("%s: input %d element %lld: gradient %.12g, difference %.12g, rms %g, seed %llu\n",
           rule->backward, input, (long long)i, gradient, difference, rms,
           (unsigned long long)forward->seed);
    check_failures++;
    return;
  }
}

/* Run again over its own result: assigned gradients stay, added ones double. */
static void check_accumulate(Backward *b) {
  Call before = {.kernel = ""};
  for (int32_t i = 0; i < b->call.operand_count; i++) {
    call_add(&before, (DType)b->call.dtype[i], call_count(&b->call, i));
    memcpy(before.operand[i], b->call.operand[i], (size_t)b->call.bytes[i]);
  }
  for (int add = 0; add < 2; add++) {
    b->call.accumulate = add;
    call_run(&b->call, KERNEL_REFERENCE, NULL);
    for (int32_t i = 0; i < b->call.operand_count; i++)
      for (int64_t e = 0; b->gradient_of[i] >= 0 && e < call_count(&b->call, i); e++)
        CHECK_NEAR(call_get(&b->call, i, e), call_get(&before, i, e) * (add && b->added[i] ? 2 : 1),
                   add ? 1e-13 * fabs(call_get(&before, i, e)) : 0);
  }
  call_free(&before);
}

static void check_rule(const Rule *rule, uint64_t seed) {
  CaseCall forward;
  Call d_y;
  CHECK(case_make(&rule->forward, MODE_F64, seed, &forward));
  make_d_y(&forward, rule->output, &d_y);
  scalar(&forward, rule->output, &d_y);
  Backward b = make_backward(rule, &forward.call, &d_y);
  call_run(&b.call, KERNEL_REFERENCE, NULL);
  for (int32_t i = 0; i < b.call.operand_count; i++)
    if (b.gradient_of[i] >= 0) check_input(rule, &forward, &d_y, &b, i);
  if (!strchr(rule->operands, 'c')) { /* those no longer have their input */
    scalar(&forward, rule->output, &d_y);
    check_accumulate(&b);
  }
  call_free(&b.call);
  call_free(&forward.call);
  call_free(&d_y);
}

int main(void) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    for (uint64_t seed = 1; seed <= 2; seed++)
      TEST(rules[i].backward) check_rule(&rules[i], seed * 100 + i);
  CHECK_DONE();
}
