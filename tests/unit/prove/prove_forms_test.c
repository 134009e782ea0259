/* LINK: prove plan_builder plan contract
 * Typing rules of kernels, row by row of rules.def: every layout of every operand along an axis is
 * tried, and those that the kernel can take, with the results that come of them, are the ones that
 * are written here. Then every operand holds something else, once each. A row that has no line here
 * fails. */
#include "tests/unit/typing_bench.h"

enum { SLOTS_MAX = 12, TAKES_BYTES = 16 };

/* `values`: of the operands in the kernel's order, the dims of the value, a letter each. ">" is a
 * result, "^" is read and becomes one, "-" is scratch. Values are the node's in this order; the
 * result of "^" is its last. "%": statistics of the first value, which ranks tell each other.
 *
 * `takes`: what ranks along an axis may have. A letter for each operand that is read: "." all of
 * it, "+" a summand, else a part of that dim; after ">" the results. "~" before: the record's
 * `first` varies along the axis. */
typedef struct Case {
  KernelId kernel;
  const char *values, *takes;
  enum { PLAIN, TRANSPOSED_WEIGHT, SHIFTS } variant;
} Case;

static const Case cases[] = {
    {KERNEL_embedding, "VW L >LW", "..>. W.>W V.>+ .L>L", PLAIN},
    {KERNEL_embedding_backward, "LW L >VW", "..>. LL>+ W.>W +.>+ ~..>V ~LL>+ ~W.>W ~+.>+", PLAIN},
    {KERNEL_positions, ">s", ">. ~>s", PLAIN},
    {KERNEL_linear, "LI OI >LO -", "..>. L.>L II>+ .O>O", PLAIN},
    {KERNEL_linear, "LI IO >LO -", "..>. L.>L II>+ .O>O", TRANSPOSED_WEIGHT},
    {KERNEL_linear_bias, "LI OI O >LO -", "...>. L..>L .OO>O", PLAIN},
    {KERNEL_linear_bias, "LI IO O >LO -", "...>. L..>L .OO>O", TRANSPOSED_WEIGHT},
    {KERNEL_linear_dx, "LO OI >LI -", "..>. L.>L OO>+ .I>I +.>+", PLAIN},
    {KERNEL_linear_dx, "LO IO >LI -", "..>. L.>L OO>+ .I>I +.>+", TRANSPOSED_WEIGHT},
    {KERNEL_linear_dw, "LI LO >OI -", "..>. LL>+ I.>I .O>O .+>+", PLAIN},
    {KERNEL_linear_dw, "LI LO >IO -", "..>. LL>+ I.>I .O>O .+>+", TRANSPOSED_WEIGHT},
    {KERNEL_linear_db, "LO >O -", ".>. L>+ O>O +>+", PLAIN},
    {KERNEL_layernorm, "LW W W >LW >L", "...>.. L..>LL", PLAIN},
    {KERNEL_layernorm_backward, "LW LW W L >LW >W >W -", "....>... LL.L>L++ +...>+++", PLAIN},
    {KERNEL_rmsnorm, "LW W >LW >L", "..>.. L.>LL", PLAIN},
    {KERNEL_rmsnorm_backward, "LW LW W L >LW >W -", "....>.. LL.L>L+ +...>++", PLAIN},
    {KERNEL_rope, "bshd >bshd", ".>. b>b s>s h>h +>+", PLAIN},
    {KERNEL_rope_at, "bshd bs >bshd", "..>. bb>b ss>s h.>h +.>+", PLAIN},
    {KERNEL_cache_append, "bshd bs >bchd", "..>. bb>b h.>h", PLAIN},
    {KERNEL_attention_cached, "bshd bckd bckd bs >bshd -", "....>. bbbb>b hkk.>h", PLAIN},
    {KERNEL_attention_cached, "bshd bcKd bcKd bs >bshd -", "....>. bbbb>b h...>h", PLAIN},
    {KERNEL_attention, "bshd btkd btkd >bshd >bsh -", "...>.. bbb>bb hkk>hh", PLAIN},
    {KERNEL_attention, "bshd btKd btKd >bshd >bsh -", "...>.. bbb>bb h..>hh", PLAIN},
    {KERNEL_attention_backward, "bshd bshd btkd btkd bshd bsh >bshd >btkd >btkd -",
     "......>... bbbbbb>bbb hhkkhh>hkk +.....>+++", PLAIN},
    {KERNEL_attention_backward, "bshd bshd btKd btKd bshd bsh >bshd >btKd >btKd -",
     "......>... bbbbbb>bbb hh..hh>h++ +.....>+++", PLAIN},
    {KERNEL_attention_apart, "bshd btkd btkd >bshd >bsh bs -", "....>.. bbbb>bb hkk.>hh", PLAIN},
    {KERNEL_attention_apart, "bshd btKd btKd >bshd >bsh bs -", "....>.. bbbb>bb h...>hh", PLAIN},
    {KERNEL_attention_apart_backward, "bshd bshd btkd btkd bshd bsh >bshd >btkd >btkd bs -",
     ".......>... bbbbbbb>bbb hhkkhh.>hkk +......>+++", PLAIN},
    {KERNEL_attention_apart_backward, "bshd bshd btKd btKd bshd bsh >bshd >btKd >btKd bs -",
     ".......>... bbbbbbb>bbb hh..hh.>h++ +......>+++", PLAIN},
    {KERNEL_gelu, "E >E", ".>. E>E", PLAIN},
    {KERNEL_gelu_backward, "E E >E", "..>. EE>E +.>+", PLAIN},
    {KERNEL_gelu_erf, "E >E", ".>. E>E", PLAIN},
    {KERNEL_gelu_erf_backward, "E E >E", "..>. EE>E +.>+", PLAIN},
    {KERNEL_silu, "E >E", ".>. E>E", PLAIN},
    {KERNEL_silu_backward, "E E >E", "..>. EE>E +.>+", PLAIN},
    {KERNEL_relu, "E >E", ".>. E>E", PLAIN},
    {KERNEL_relu_backward, "E E >E", "..>. EE>E +.>+", PLAIN},
    {KERNEL_tanh, "E >E", ".>. E>E", PLAIN},
    {KERNEL_tanh_backward, "E E >E", "..>. EE>E +.>+", PLAIN},
    {KERNEL_gate, "E E >E", "..>. EE>E", PLAIN},
    {KERNEL_gate_backward, "E E E >E >E >E", "...>... EEE>EEE", PLAIN},
    {KERNEL_add, "LW LW >LW", "..>. LL>L WW>W ++>+", PLAIN},
    {KERNEL_add, "LW W >LW", "..>. L.>L WW>W ++>+", PLAIN},
    {KERNEL_subtract, "LW LW >LW", "..>. LL>L WW>W ++>+", PLAIN},
    {KERNEL_subtract, "LW L >LW", "..>. LL>L W.>W ++>+", PLAIN},
    {KERNEL_multiply, "LW LW >LW", "..>. LL>L WW>W +.>+ .+>+", PLAIN},
    {KERNEL_multiply, "LW W >LW", "..>. L.>L WW>W +.>+ .+>+", PLAIN},
    {KERNEL_sum_to, "LW >W", ".>. L>+ W>W +>+", PLAIN},
    {KERNEL_affine, "E >E", ".>. E>E +>+", PLAIN},
    {KERNEL_affine, "E >E", ".>. E>E", SHIFTS},
    {KERNEL_dropout, "E >E", ".>. E>E +>+", PLAIN},
    {KERNEL_cross_entropy, "LV L > -", "..>. LL>+", PLAIN},
    {KERNEL_cross_entropy_train, "^LV L > -", "..>.. LL>L+", PLAIN},
    {KERNEL_cross_entropy_stats, "LV L %>LV", "..>. LL>L V.>V", PLAIN},
    {KERNEL_cross_entropy_parts, "LV L %LV > -", "...>. LLL>+ V..>.", PLAIN},
    {KERNEL_cross_entropy_parts_train, "^LV L %LV > -", "...>.. LLL>L+ V..>V.", PLAIN},
    {KERNEL_last_token, "bsE bs >bE", "..>. bb>b E.>E", PLAIN},
    {KERNEL_draw, "bV bs bs >", "...>. bbb>+", PLAIN},
    {KERNEL_pick, "E >", ".>.", PLAIN},
    {KERNEL_mse, "E E > -", "..>. EE>+", PLAIN},
    {KERNEL_mse_train, "E E > >E -", "..>.. EE>+E", PLAIN},
    {KERNEL_copy, "E >E", ".>. E>E +>+", PLAIN},
    {KERNEL_cast, "E >E", ".>. E>E +>+", PLAIN},
};
enum { CASES = sizeof cases / sizeof *cases };

/* One operand: the values that are read there and made there. */
typedef struct Slot {
  bool is_read, is_made, is_statistics;
  uint32_t input, output;
  char dims[8];
} Slot;

static Bench bench;
static Slot slot[SLOTS_MAX];
static uint32_t slots, inputs[SLOTS_MAX], inputs_count, outputs[SLOTS_MAX], outputs_count;
static char name[80];

/* ---- the bench of a case */

/* The op of the first row with this kernel; an activation has none and is its own op. */
static const char *op_of(const KernelContract *contract) {
#define ROW(op, kernel, operands, rules, ...)                                                      \
  if (contract->id == KERNEL_##kernel) return #op;
#define PART(op, kernel, ...)
#include "compiler/plan/prove/rules.def"
  return contract->row->name;
}

static void read_values(const Case *c) {
  char text[80], *word = text;
  (void)snprintf(text, sizeof text, "%s", c->values);
  slots = inputs_count = outputs_count = 0;
  for (char *next; word != NULL; word = next) {
    next = strchr(word, ' ');
    if (next != NULL) *next++ = '\0';
    Slot *at = &slot[slots++];
    bool is_statistics = *word == '%';
    word += is_statistics;
    *at = (Slot){.is_statistics = is_statistics,
                 .is_read = *word != '>' && *word != '-',
                 .is_made = *word == '>' || *word == '^'};
    (void)snprintf(at->dims, sizeof at->dims, "%s", word + strspn(word, ">^-"));
  }
}

/* Kernels that have one result in an operand that they read name it last. */
static void make_values(void) {
  for (uint32_t i = 0; i < slots; i++) {
    char text[4] = {'v', (char)('a' + i), '\0'};
    if (slot[i].is_statistics) continue;
    if (slot[i].is_read)
      inputs[inputs_count++] = slot[i].input =
          bench_value(&bench, VALUE_ACTIVATION, text, slot[i].dims);
    text[0] = 'r';
    if (slot[i].is_made && !slot[i].is_read)
      outputs[outputs_count++] = slot[i].output =
          bench_value(&bench, VALUE_ACTIVATION, text, slot[i].dims);
  }
  for (uint32_t i = 0; i < slots; i++)
    if (slot[i].is_made && slot[i].is_read && !slot[i].is_statistics)
      outputs[outputs_count++] = slot[i].output =
          bench_value(&bench, VALUE_ACTIVATION, "rlast", slot[i].dims);
}

static bool is_transposed(const Case *c) {
  return c->variant == TRANSPOSED_WEIGHT;
}

/* Numbers by which rules look at a record: those of views, whether it turns or shifts. */
static void make_numbers(const Case *c) {
  const KernelContract *contract = contract_of(c->kernel);
  for (int32_t i = 0; i < contract->dim_count; i++)
    bench_dim(&bench, strcmp(contract->dims[i].name, "transposed") == 0 ? is_transposed(c) : 1);
  for (int32_t i = 0; i < contract->attr_count; i++)
    bench_attr(&bench, c->variant == SHIFTS && i == 1);
}

static void begin(const Case *c) {
  const KernelContract *contract = contract_of(c->kernel);
  bench_begin(&bench);
  (void)bench_axis(&bench, "tp");
  read_values(c);
  make_values();
  bench_record(&bench, RECORD_KERNEL, contract->row->name, PURPOSE_NODE);
  make_numbers(c);
  for (uint32_t i = 0; i < slots; i++)
    (void)bench_operand(&bench, slot[i].is_read ? slot[i].input : PLAN_NONE, BUFFER_ACTIVATION);
  bench.b.records[0].node =
      bench_node(&bench, op_of(contract), inputs, inputs_count, outputs, outputs_count);
  build_varies(&bench.b, (PlanVary){.stride = 1, .by = 0});
  (void)bench_value(&bench, VALUE_ACTIVATION, "another", "");
  bench_open(&bench);
}

/* ---- layouts */

static Place place_of(const Slot *at, char letter) {
  if (letter == '.') return (Place){0};
  if (letter == '+') return (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
  return (Place){.kind = PLACE_CUT, .dim = (uint8_t)(strchr(at->dims, letter) - at->dims)};
}

static int64_t elements(const Slot *at, uint32_t value, char letter) {
  Place places[TYPE_AXES_MAX] = {place_of(at, letter)};
  return meaning_elements(&bench.t.proof.meaning, value, places);
}

/* A view for kernels that walk over rows: as many rows as the operand has elements. */
static void set_view(uint32_t operand, int64_t count) {
  const KernelContract *contract = bench.view.contract[0];
  const KernelShape *shape = &contract->operands[operand].shape;
  if (shape->kind == SHAPE_VIEW) bench.b.ints[shape->inner[0]] = count;
}

/* The types of the operands: a letter for each that is read. Results have room for `made`; for all
 * of the value when that is NULL. */
static void lay_out(const char *read, const char *made) {
  for (uint32_t i = 0; i < slots; i++) {
    if (!slot[i].is_read && !slot[i].is_made) continue;
    Type type = bench_type(slot[i].is_read ? slot[i].input : slot[i].output);
    if (slot[i].is_statistics) type.part = PART_STATISTICS;
    char letter = '.';
    if (slot[i].is_made && made != NULL) letter = *made++;
    if (slot[i].is_read) letter = *read++;
    type.place[0] = place_of(&slot[i], letter);
    bench_put(&bench, i, &type);
    if (!slot[i].is_read) bench.t.call.reached[i].spans.count = 0;
    set_view(i, elements(&slot[i], type.ref, letter));
  }
}

static bool results_are(const char *made) {
  bool same = true;
  for (uint32_t i = 0; i < slots; i++) {
    if (!slot[i].is_made) continue;
    Type wanted = bench_type(slot[i].output);
    if (slot[i].is_statistics) wanted.part = PART_STATISTICS;
    if (inputs_count == 0) wanted.microbatch = TYPE_ANY; /* nothing of a sample is in it */
    wanted.place[0] = place_of(&slot[i], *made++);
    same = same && bench_has(&bench, i, &wanted);
  }
  return same;
}

/* The results that `takes` says come of these operands; NULL: none may. */
static const char *results_of(const char *takes, bool varies, const char *read,
                              char made[TAKES_BYTES]) {
  size_t length = strlen(read);
  for (const char *at = takes; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " ")) {
    if ((*at == '~') != varies) continue;
    const char *from = at + varies;
    if (strncmp(from, read, length) != 0 || from[length] != '>') continue;
    (void)snprintf(made, TAKES_BYTES, "%.*s", (int)strcspn(from + length + 1, " "),
                   from + length + 1);
    return made;
  }
  return NULL;
}

/* True if a refusal is about layouts, and not of something that the test has wrong. */
static bool is_about_layouts(void) {
  static const char *const words[] = {
      "is a partial sum along", "is cut differently from another along tp",
      "is whole and another is cut along tp", "needs an operand whole that is cut along tp",
      "lacks a dim that is cut along tp"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strstr(bench.report.finding[0], words[i]) != NULL) return true;
  return false;
}

static void try_layout(const Case *c, bool varies, const char *read) {
  char made[TAKES_BYTES];
  const char *results = results_of(c->takes, varies, read, made);
  bench.b.records[0].varies_count = varies;
  lay_out(read, results);
  bool accepted = bench_run(&bench);
  bool right = results != NULL ? accepted && results_are(results) : !accepted && is_about_layouts();
  if (!right) printf("%s, %s%s: %s\n", name, varies ? "~" : "", read, bench.report.finding[0]);
  CHECK(right);
}

/* Every layout of every operand with every other. */
static void try_layouts(const Case *c, bool varies, char *read, uint32_t operand, uint32_t count) {
  while (operand < slots && !slot[operand].is_read)
    operand++;
  if (operand == slots) {
    try_layout(c, varies, read);
    return;
  }
  char letters[16];
  (void)snprintf(letters, sizeof letters, ".+%s", slot[operand].dims);
  for (const char *at = letters; *at != '\0'; at++) {
    if (*at == 'K') continue; /* of one element, nothing is cut */
    read[count] = *at;
    try_layouts(c, varies, read, operand + 1, count + 1);
  }
  read[count] = '\0';
}

/* ---- what an operand holds instead */

static void refuses_operand(uint32_t operand, Type type, const char *holds) {
  char words[120];
  const char *operand_name = bench.view.contract[0]->operands[operand].name;
  (void)snprintf(words, sizeof words, "operand %u %s: expected value v%c...found %s", operand,
                 operand_name, slot[operand].is_statistics ? 'a' : 'a' + (int)operand, holds);
  bench_put_at(&bench, operand, &type, 0);
  if (bench_run(&bench)) printf("%s: %s\n", name, words);
  bench_refuses(&bench, words);
}

static void try_operand(uint32_t operand) {
  Type right = bench_type(slot[operand].input), type;
  if (slot[operand].is_statistics) right.part = PART_STATISTICS;
  lay_out("............", NULL);
  type = right, type.layer = 1;
  refuses_operand(operand, type, "value v...layer +1");
  type = right, type.microbatch = -1;
  refuses_operand(operand, type, "value v...micro-batch -1");
  type = right, type.dtype = DTYPE_BF16;
  refuses_operand(operand, type, "");
  type = right, type.part = right.part == PART_STATISTICS ? PART_ALL : PART_STATISTICS;
  refuses_operand(operand, type, slot[operand].is_statistics ? "" : "value v...statistics");
  type = right, type.ref = bench.b.values_count - 1;
  refuses_operand(operand, type, "");
  type = right, type.kind = TYPE_SUM;
  refuses_operand(operand, type, "sum v");
  type = right, type.kind = TYPE_STATE, type.state = BUFFER_PARAM;
  refuses_operand(operand, type, "parameters (old) v");
  refuses_operand(operand, (Type){0}, "nothing known");
  bench_put_at(&bench, operand, &right, dtype_bytes(DTYPE_F32));
  bench_refuses(&bench, "expected value v...found nothing known");
  bench_put_at(&bench, operand, &right, 0);
  CHECK(bench_run(&bench));
}

/* One that is read, too, is told by what is there. */
static void try_result(uint32_t operand) {
  if (slot[operand].is_read || slot[operand].is_statistics) return;
  lay_out("............", NULL);
  bench.b.operands[operand].size_bytes *= 2;
  set_view(operand, 2 * elements(&slot[operand], slot[operand].output, '.'));
  bench_refuses(&bench, " elements, r...on one rank");
  lay_out("............", NULL);
  bench.b.values[slot[operand].output].dtype = DTYPE_BF16;
  bench_refuses(&bench, " is made in fp32");
  bench.b.values[slot[operand].output].dtype = DTYPE_F32;
}

/* A node that has one more value than the kernel. */
static void try_node(void) {
  PlanNode *node = &bench.b.nodes[0];
  lay_out("............", NULL);
  build_uses(&bench.b, (PlanUse){outputs[0]});
  bench.plan.uses = bench.b.uses;
  node->outputs_count++;
  bench_refuses(&bench, "the kernel has ");
  node->outputs_count--;
  CHECK(bench_run(&bench));
}

static void try_case(const Case *c) {
  char read[SLOTS_MAX + 1] = "";
  const KernelContract *contract = contract_of(c->kernel);
  (void)snprintf(name, sizeof name, "%s %s%s", contract->row->name, c->values,
                 is_transposed(c) ? " transposed" : "");
  check_test_name = name;
  begin(c);
  try_layouts(c, false, read, 0, 0);
  if (strchr(c->takes, '~') != NULL) try_layouts(c, true, read, 0, 0);
  bench.b.records[0].varies_count = 0;
  for (uint32_t i = 0; i < slots; i++) {
    if (slot[i].is_read) try_operand(i);
    if (slot[i].is_made) try_result(i);
  }
  if (strstr(c->values, "%>") == NULL) try_node(); /* that is a part of its node */
  bench_close(&bench);
}

static bool has_case(KernelId kernel, bool transposed) {
  for (size_t i = 0; i < CASES; i++)
    if (cases[i].kernel == kernel && is_transposed(&cases[i]) == transposed) return true;
  return false;
}

/* Products of codes: tests/mutants/attacks/refused/precision, and the degrees of parity_fp8. */
static bool has_codes(const char *operands) {
  return strchr(operands, '#') != NULL;
}

int main(void) {
  for (size_t i = 0; i < CASES; i++)
    try_case(&cases[i]);
  TEST("every row has a case") {
#define ROW(op, kernel, operands, rules, ...)                                                      \
  CHECK(has_codes(operands) || (has_case(KERNEL_##kernel, false) && #kernel));                     \
  CHECK(has_codes(operands) || strchr(operands, '/') == NULL || has_case(KERNEL_##kernel, true));
#define PART(op, kernel, ...)
#include "compiler/plan/prove/rules.def"
  }
  CHECK_DONE();
}
