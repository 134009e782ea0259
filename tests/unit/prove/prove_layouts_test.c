/* LINK: prove plan_builder plan contract
 * Typing rules of what is no node: conversions of a value from layout to layout, sums over
 * micro-batches and uses, squares and updates. Each takes what it should, and refuses everything
 * else that could be there. */
#include "tests/unit/typing_bench.h"

static Bench bench;

static Place place_of(const char *dims, char letter) {
  if (letter == '.') return (Place){0};
  if (letter == '+') return (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
  return (Place){.kind = PLACE_CUT, .dim = (uint8_t)(strchr(dims, letter) - dims)};
}

/* All of an operand, whose size stays. */
static void put_over(uint32_t operand, const Type *type) {
  TypeSpan span = {0, bench.b.operands[operand].size_bytes, type_of(&bench.t.proof.types, type)};
  bench.t.call.reached[operand].spans.count = 0;
  spans_write(&bench.t.proof.types, &bench.t.call.reached[operand].spans, span);
}

/* ---- conversions of a value [L, W] between the ranks of tp */

enum { LETTERS = 4 };
static const char letters[LETTERS + 1] = ".+LW";

typedef struct Conversion {
  RecordKind kind;
  char from, to;
  int64_t times, elements; /* pieces; 0: none are given */
  const char *words;       /* of all that it does not take */
} Conversion;

static const Conversion conversions[] = {
    {RECORD_ALL_REDUCE, '+', '.', 0, 0, "it sums values that are not partial sums along tp"},
    {RECORD_ALL_GATHER, 'L', '.', 1, 8, ""},
    {RECORD_ALL_GATHER, 'W', '.', 4, 2, ""},
    {RECORD_REDUCE_SCATTER, '+', 'L', 1, 8, "it sums values that are not partial sums along tp"},
    {RECORD_REDUCE_SCATTER, '+', 'W', 4, 2, "it sums values that are not partial sums along tp"},
};

static uint32_t cut_layout(char letter) {
  uint32_t layout = bench_layout(&bench, "LW");
  PlanLayoutDim *dims = bench.b.layout_dims + bench.b.layouts[layout].dims_first;
  if (letter != 'L' && letter != 'W') return layout;
  dims[letter == 'W'].cuts_first = build_cuts(&bench.b, (PlanCut){0, CUT_BLOCK});
  dims[letter == 'W'].cuts_count = 1;
  return layout;
}

static void begin_conversion(const Conversion *c) {
  bench_begin(&bench);
  (void)bench_axis(&bench, "tp");
  uint32_t value = bench_value(&bench, VALUE_ACTIVATION, "v", "LW");
  bench_record(&bench, c->kind, NULL, PURPOSE_CONVERSION);
  PlanRecord *record = &bench.b.records[0];
  record->comm = 0;
  PlanMeaning meaning = {
      .reduce = REDUCE_SUM, .before = cut_layout(c->from), .after = cut_layout(c->to)};
  record->meaning = build_meanings(&bench.b, meaning);
  if (c->times > 0) bench_dim(&bench, c->times), bench_dim(&bench, c->elements);
  (void)bench_operand(&bench, value, BUFFER_ACTIVATION);
  if (c->kind != RECORD_ALL_REDUCE) (void)bench_operand(&bench, value, BUFFER_ACTIVATION);
  if (c->kind != RECORD_ALL_REDUCE) bench.b.operands[1].layout = meaning.after;
  bench_open(&bench);
}

static bool converts(const Conversion *c, char from) {
  Type type = bench_type(0), wanted = type;
  type.place[0] = place_of("LW", from), wanted.place[0] = place_of("LW", c->to);
  uint32_t last = c->kind != RECORD_ALL_REDUCE;
  if (last == 1) bench_size(&bench, 1, &wanted);
  bench_put(&bench, 0, &type);
  return bench_run(&bench) && bench_has(&bench, last, &wanted);
}

static void test_conversions(void) {
  for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
    const Conversion *c = &conversions[i];
    begin_conversion(c);
    TEST("a conversion takes one layout and no other")
    for (const char *from = letters; *from != '\0'; from++) {
      CHECK(converts(c, *from) == (*from == c->from));
      CHECK(bench.t.class.refused == (*from != c->from));
      bool is_sized = c->kind == RECORD_ALL_REDUCE || *from == '.'; /* as the pieces say */
      if (bench.t.class.refused && is_sized && *c->words != '\0')
        findings_expect(&bench.report, c->words);
    }
    TEST("nothing is no value") {
      bench.t.call.reached[0].spans.count = 0;
      CHECK(!bench_run(&bench));
    }
    if (c->kind != RECORD_ALL_GATHER) TEST("the largest of summands is not their sum") {
        bench.b.meanings[0].reduce = REDUCE_MAX;
        CHECK(!converts(c, c->from));
        findings_expect(&bench.report, "it is not a sum");
        bench.b.meanings[0].reduce = REDUCE_SUM;
      }
    if (c->times > 0) TEST("pieces of another dim") {
        bench.b.ints[0] = c->elements / 2, bench.b.ints[1] = c->times * 2;
        CHECK(!converts(c, c->from));
        findings_expect(&bench.report, "its pieces are not the parts of a dim of: value v");
        bench.b.ints[0] = c->times, bench.b.ints[1] = c->elements;
      }
    if (c->times > 0) TEST("a layout of other dims says nothing of the value") {
        bench.b.operands[1].layout = bench_layout(&bench, "WL");
        bench.plan = build_view(&bench.b);
        CHECK(!converts(c, c->from));
        findings_expect(&bench.report, "the plan does not say how operand 1 has v");
      }
    bench_close(&bench);
  }
}

/* ---- sums of a weight's gradient, which two nodes make */

enum { X, D_Y, GRADIENT, OTHER, PARAM };

static void begin_sum(void) {
  bench_begin(&bench);
  (void)bench_axis(&bench, "tp");
  bench_value(&bench, VALUE_ACTIVATION, "x", "LI");
  bench_value(&bench, VALUE_ACTIVATION, "d_y", "LO");
  bench_value(&bench, VALUE_PARAM_GRAD, "w", "OI");
  bench_value(&bench, VALUE_PARAM_GRAD, "another", "OI");
  bench_value(&bench, VALUE_PARAM, "w", "OI");
}

static void begin_use(void) {
  begin_sum();
  bench_record(&bench, RECORD_KERNEL, "linear_dw", PURPOSE_NODE);
  for (int i = 0; i < 4; i++)
    bench_dim(&bench, 0);
  for (uint32_t value = X; value <= GRADIENT; value++)
    (void)bench_operand(&bench, value, BUFFER_GRAD);
  for (int i = 0; i < 2; i++)
    bench_node(&bench, "linear_dw", (uint32_t[]){X, D_Y}, 2, (uint32_t[]){GRADIENT}, 1);
  bench.b.records[0].node = 0;
  bench.b.records[0].accumulate = 1;
  bench_open(&bench);
}

static Type sum_of(uint64_t nodes, int32_t first, int32_t end) {
  Type sum = {.kind = TYPE_SUM, .dtype = DTYPE_F32, .ref = GRADIENT, .microbatch = TYPE_ANY};
  sum.use_count = 1;
  sum.use[0] = (TypeUse){nodes, first, end, 0, 0};
  return sum;
}

/* The first node adds this micro-batch to what is there. */
static bool adds_to(const Type *found) {
  Type x = bench_type(X), d_y = bench_type(D_Y);
  const Type room = sum_of(1, 0, 1);
  bench_put(&bench, 0, &x), bench_put(&bench, 1, &d_y), bench_size(&bench, 2, &room);
  put_over(2, found);
  return bench_run(&bench);
}

static void refuses_sum(Type found) {
  CHECK(!adds_to(&found));
  findings_expect(&bench.report, "operand 2 d_w: expected sum w...found");
}

/* A gradient [O, I] of which ranks of tp and of dp have summands, reduced over one of the two. */
static bool is_reduced(uint32_t comm, char tp) {
  Type sum = sum_of(1, USE_FROM_START, 1);
  sum.place[0] = place_of("OI", tp), sum.place[1] = place_of("OI", '+');
  bench.b.records[0].comm = comm;
  bench_put(&bench, 0, &sum);
  return bench_run(&bench);
}

static void test_order_of_sums(void) {
  enum { TP, DP };
  begin_sum();
  (void)bench_axis(&bench, "dp");
  bench.b.axes[TP].divides = DIVIDES_FEATURES, bench.b.axes[DP].divides = DIVIDES_SAMPLES;
  bench_record(&bench, RECORD_ALL_REDUCE, NULL, PURPOSE_REDUCE);
  bench.b.records[0].meaning = build_meanings(&bench.b, (PlanMeaning){.reduce = REDUCE_SUM});
  (void)bench_operand(&bench, GRADIENT, BUFFER_GRAD);
  bench_open(&bench);
  TEST("a gradient is summed over the ranks of its layer first, so that it always rounds alike") {
    CHECK(is_reduced(TP, '+'));
    CHECK(is_reduced(DP, '.'));
    CHECK(!is_reduced(DP, '+'));
    findings_expect(&bench.report, "it comes before the sum along tp");
  }
  bench_close(&bench);
}

static void test_sums(void) {
  begin_use();
  Type before = sum_of(1, USE_FROM_START, 0), after = sum_of(1, USE_FROM_START, 1), type;
  TEST("micro-batches follow each other") {
    CHECK(adds_to(&before) && bench_has(&bench, 2, &after));
    refuses_sum(after);
    refuses_sum(sum_of(1, USE_FROM_START, -1));
  }
  TEST("uses of a micro-batch are added in the order of their nodes") {
    type = sum_of(3, USE_FROM_START, 0);
    CHECK(adds_to(&type));
    CHECK_INT(type_at(&bench.t.proof.types, bench.t.call.reached[2].spans.at[0].type).use_count, 2);
    type.use[0] = (TypeUse){1, USE_FROM_START, 0, 0, 0};
    type.use[1] = (TypeUse){2, USE_FROM_START, 1, 0, 0}, type.use_count = 2;
    refuses_sum(type);
  }
  TEST("another tensor, layer, part or dtype cannot be added to") {
    type = before, type.ref = OTHER;
    refuses_sum(type);
    type = before, type.layer = 1;
    refuses_sum(type);
    type = before, type.place[0] = place_of("OI", '+');
    refuses_sum(type);
    type = before, type.kind = TYPE_VALUE, type.use_count = 0;
    refuses_sum(type);
    refuses_sum((Type){0});
  }
  TEST("the first micro-batch begins the sum, or adds to zeros") {
    Type zero = {.kind = TYPE_ZERO, .dtype = DTYPE_F32, .layer = TYPE_ANY, .microbatch = TYPE_ANY};
    bench.b.calls[0].flags = CALL_FIRST_MICROBATCH;
    CHECK(adds_to(&zero) && bench_has(&bench, 2, &after));
    refuses_sum(before);
    bench.b.records[0].accumulate = 0;
    CHECK(adds_to(&before) && bench_has(&bench, 2, &after));
  }
  bench_close(&bench);
}

/* ---- sums over runs of a micro-batch's tokens */

/* True if the sum is over run `part` of `parts` of x and d_y, which are whole. */
static bool adds_run(const Type *found, uint32_t part, uint32_t parts) {
  PlanRecord *record = &bench.b.records[0];
  record->part = record->parts = 0;
  const Type type[] = {bench_type(X), bench_type(D_Y), sum_of(1, 0, 1)};
  for (uint32_t i = 0; i < 3; i++)
    bench_put(&bench, i, &type[i]);
  put_over(2, found);
  record->part = part, record->parts = parts;
  for (uint32_t i = 0; i < 2; i++) {
    bench.b.operands[i].size_bytes /= parts;
    bench.b.operands[i].offset = part * bench.b.operands[i].size_bytes;
  }
  bool added = bench_run(&bench);
  bench.b.operands[0].offset = bench.b.operands[1].offset = 0;
  return added;
}

static Type runs_of(int32_t end, uint32_t runs, uint32_t of) {
  Type sum = sum_of(1, USE_FROM_START, end);
  sum.use[0].runs = runs, sum.use[0].of = of;
  return sum;
}

static void test_runs(void) {
  begin_use();
  TEST("runs of a micro-batch follow each other, and the last one completes it") {
    for (uint32_t run = 0; run < 4; run++) {
      Type before = runs_of(0, run, run > 0 ? 4 : 0);
      Type after = run < 3 ? runs_of(0, run + 1, 4) : runs_of(1, 0, 0);
      CHECK(adds_run(&before, run, 4) && bench_has(&bench, 2, &after));
      CHECK(!adds_run(&after, run, 4));
    }
  }
  TEST("runs of another length do not go on where a shorter one has ended") {
    Type quarter = runs_of(0, 1, 4), three = runs_of(0, 3, 4);
    CHECK(!adds_run(&quarter, 1, 2));
    findings_expect(&bench.report,
                    "expected sum w...and 1 of 2 runs...found sum w...and 1 of 4 runs");
    CHECK(!adds_run(&quarter, 0, 2));
    CHECK(!adds_run(&three, 1, 2));
    CHECK(!adds_run(&quarter, 2, 4));
  }
  bench_close(&bench);
  TEST("a run's sum is nothing but a part of a gradient") {
    begin_sum();
    uint32_t sum = bench_value(&bench, VALUE_ACTIVATION, "sum", "O");
    bench_record(&bench, RECORD_KERNEL, "linear_db", PURPOSE_NODE);
    bench_dim(&bench, 0), bench_dim(&bench, 0);
    (void)bench_operand(&bench, D_Y, BUFFER_ACTIVATION);
    (void)bench_operand(&bench, sum, BUFFER_ACTIVATION);
    bench_node(&bench, "linear_db", (uint32_t[]){D_Y}, 1, (uint32_t[]){sum}, 1);
    bench.b.records[0].node = 0;
    bench_open(&bench);
    Type d_y = bench_type(D_Y), out = bench_type(sum);
    bench_put(&bench, 0, &d_y), bench_size(&bench, 1, &out);
    CHECK(bench_run(&bench) && bench_has(&bench, 1, &out));
    bench.b.records[0].parts = 2, bench.b.operands[0].size_bytes /= 2;
    bench_refuses(&bench, "no rule says what its kernel makes of one run of tokens");
    bench_close(&bench);
  }
}

/* ---- squares and updates */

static void begin_sink(const char *kernel, Purpose purpose, int operands) {
  begin_sum();
  bench_record(&bench, RECORD_KERNEL, kernel, purpose);
  bench.b.records[0].value = PARAM;
  for (int i = 0; i < operands; i++)
    (void)bench_operand(&bench, PLAN_NONE, BUFFER_GRAD);
  bench_node(&bench, "linear_dw", (uint32_t[]){X, D_Y}, 2, (uint32_t[]){GRADIENT}, 1);
  bench.b.classes[0].tensors_count = 1;
  build_tensors(&bench.b, (PlanTensor){.kind = BUFFER_MOMENT1,
                                       .value = PARAM,
                                       .layout = bench.b.values[PARAM].layout,
                                       .layer_count = 1});
  bench_open(&bench);
}

/* Every wrong thing that may be where the whole gradient should. */
static void try_gradients(Type whole) {
  Type type = whole;
  type.use[0].end--;
  bench_put(&bench, 0, &type);
  bench_refuses(&bench, "operand 0...expected sum w...found sum w");
  type = whole, type.use[0].first = 0;
  bench_put(&bench, 0, &type);
  bench_refuses(&bench, "operand 0...expected sum w...found sum w");
  type = whole, type.ref = OTHER;
  bench_put(&bench, 0, &type);
  bench_refuses(&bench, "operand 0...expected sum w...found sum another");
  type = whole, type.layer = 1;
  bench_put(&bench, 0, &type);
  bench_refuses(&bench, "operand 0...expected sum w...layer +1");
  type = whole, type.place[0] = place_of("OI", '+');
  bench_put(&bench, 0, &type);
  CHECK(!bench_run(&bench));
  bench_put(&bench, 0, &whole);
}

static void test_squares(void) {
  Type whole = sum_of(1, USE_FROM_START, BENCH_SIZE);
  TEST("squares are of a whole gradient") {
    begin_sink("square_sum", PURPOSE_NORM, 2);
    try_gradients(whole);
    bench.b.operands[1].size_bytes = 8;
    CHECK(bench_run(&bench));
    CHECK_INT((int)type_kind(&bench.t.proof.types, bench.t.call.reached[1].spans.at[0].type),
              TYPE_SQUARES);
    whole.place[0] = place_of("OI", '+');
    bench_put(&bench, 0, &whole);
    bench_refuses(&bench, "squares of partial sums");
  }
  TEST("squares are of the elements that the rank updates") {
    static const PlaceKind kinds[] = {PLACE_ROW, PLACE_FLAT, PLACE_CUT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
      whole.place[0] = (Place){.kind = (uint8_t)kinds[i]};
      bench_put(&bench, 0, &whole);
      bench_refuses(&bench, "operand 0...expected sum w");
    }
    bench_close(&bench);
  }
}

static Type state(uint32_t kind) {
  return (Type){.kind = TYPE_STATE,
                .dtype = DTYPE_F32,
                .ref = PARAM,
                .state = (uint8_t)kind,
                .microbatch = TYPE_ANY};
}

static void put_states(void) {
  const Type param = state(BUFFER_PARAM), moment = state(BUFFER_MOMENT1);
  bench_put(&bench, 1, &param), bench_put(&bench, 2, &moment);
}

static void refuses_state(uint32_t operand, Type type) {
  put_states();
  put_over(operand, &type);
  bench_refuses(&bench, operand == 1 ? "operand 1 param: expected parameters (old) w"
                                     : "operand 2 m: expected moment m (old) w");
}

static bool updates(void) {
  Type param = state(BUFFER_PARAM), moment = state(BUFFER_MOMENT1);
  param.is_new = moment.is_new = 1;
  put_states();
  return bench_run(&bench) && bench_has(&bench, 1, &param) && bench_has(&bench, 2, &moment);
}

static void test_updates(void) {
  Type whole = sum_of(1, USE_FROM_START, BENCH_SIZE), type;
  begin_sink("sgd", PURPOSE_UPDATE, 3);
  TEST("an update waits for the norm of all ranks") {
    bench_put(&bench, 0, &whole);
    bench.t.class.made = MADE_TOTALS;
    bench_refuses(&bench, "the norm is not known yet");
    bench.t.class.made = MADE_NORM;
    CHECK(updates());
  }
  TEST("it reads its own gradient, all of it") {
    try_gradients(whole);
    CHECK(updates());
  }
  TEST("it updates its own parameter and state, once, where the gradient is") {
    for (uint32_t operand = 1; operand < 3; operand++) {
      const Type right = state(operand == 1 ? BUFFER_PARAM : BUFFER_MOMENT1);
      type = right, type.is_new = 1;
      refuses_state(operand, type);
      type = right, type.state = BUFFER_MOMENT2;
      refuses_state(operand, type);
      type = right, type.layer = 1;
      refuses_state(operand, type);
      type = right, type.place[0] = place_of("OI", '+');
      refuses_state(operand, type);
      refuses_state(operand, whole);
      refuses_state(operand, (Type){0});
    }
    CHECK(updates());
  }
  bench_close(&bench);
}

/* ---- numbers of types */

/* The number of the type at another layer and micro-batch. */
static TypeNumber number_at(Type type, int32_t layer, int32_t microbatch) {
  if (type.layer != TYPE_ANY) type.layer = layer;
  if (type.microbatch != TYPE_ANY) type.microbatch = microbatch;
  for (uint32_t i = 0; i < type.use_count; i++) {
    if (type.use[i].first != USE_FROM_START) type.use[i].first += microbatch;
    type.use[i].end += microbatch;
  }
  return type_of(&bench.t.proof.types, &type);
}

static void test_numbers(void) {
  Types *const types = &bench.t.proof.types;
  const Type examples[] = {
      {.kind = TYPE_VALUE, .layer = 0, .microbatch = 0},
      {.kind = TYPE_STATE, .layer = 0, .microbatch = TYPE_ANY, .place = {{.kind = PLACE_FLAT}}},
      {.kind = TYPE_SUM,
       .layer = 0,
       .microbatch = TYPE_ANY,
       .use_count = 2,
       .use = {{1, USE_FROM_START, 3, 0, 0}, {2, 1, 2, 0, 0}}},
      {.kind = TYPE_SQUARES, .layer = TYPE_ANY, .microbatch = TYPE_ANY}};
  begin_use();
  TEST("the table has a type once for all layers and micro-batches, and none is lost")
  for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
    const TypeNumber first = number_at(examples[i], 0, 0);
    const uint32_t count = types->types.count;
    const bool moves = examples[i].layer != TYPE_ANY;
    const TypeNumber later = number_at(examples[i], 5, 7);
    TypeNumber shifted = first;
    type_shift(types, &shifted, 5, 7);
    const Type back = type_at(types, first);
    CHECK_INT(types->types.count, count);
    CHECK_INT(later.number, first.number);
    CHECK(same_type(first, later) == !moves);
    CHECK(same_type(shifted, later));
    CHECK(memcmp(&back, &examples[i], sizeof back) == 0);
  }
  bench_close(&bench);
}

int main(void) {
  test_numbers();
  test_conversions();
  test_order_of_sums();
  test_sums();
  test_runs();
  test_squares();
  test_updates();
  CHECK_DONE();
}
