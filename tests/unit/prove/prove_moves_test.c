/* LINK: prove plan_builder plan contract
 * Typing rules of what moves values between ranks, and of where records write: slices, all-to-all,
 * the ring, pieces of whole blocks, gradients of a tied tensor. Each moves what it should, and no
 * other number, layout or place will do. */
#include "tests/unit/typing_bench.h"

static Bench bench;

enum { VALUE, TABLE, GRADIENT };

static void begin(RecordKind kind, const char *kernel, Purpose purpose, Divides divides) {
  bench_begin(&bench);
  uint32_t axis = bench_axis(&bench, "r");
  bench.b.axes[axis].divides = divides;
  (void)bench_value(&bench, VALUE_ACTIVATION, "v", "LW");
  (void)bench_value(&bench, VALUE_PARAM, "w", "OI");
  (void)bench_value(&bench, VALUE_PARAM_GRAD, "w", "OI");
  bench_record(&bench, kind, kernel, purpose);
  bench.b.records[0].comm = 0;
}

/* `read` operands, then `written` ones. */
static void with_operands(uint32_t read, uint32_t written) {
  for (uint32_t i = 0; i < read + written; i++) {
    uint32_t operand = bench_operand(&bench, PLAN_NONE, BUFFER_ACTIVATION);
    bench.b.operands[operand].access = i < read ? ACCESS_READ : ACCESS_WRITE;
    build_buffers(&bench.b, (PlanBuffer){.kind = BUFFER_ACTIVATION, .program = 0});
  }
  bench_open(&bench);
  for (uint32_t i = 0; i < read + written; i++)
    bench.t.call.reached[i].buffer = &bench.plan.buffers[i];
}

static void set_dims(const int64_t *dims, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    bench.b.ints[bench.b.records[0].dims_first + i] = dims[i];
}

static Type cut(Type type, uint8_t dim, CutStyle style) {
  type.place[0] = (Place){.kind = PLACE_CUT, .dim = dim, .style = (uint8_t)style};
  return type;
}

/* True if the record makes `to` of `from`. */
static bool turns(const Type *from, const Type *to) {
  bench_put(&bench, 0, from);
  bench_size(&bench, 1, to);
  return bench_run(&bench) && bench_has(&bench, 1, to);
}

/* ---- slices: [outer, whole, part, inner], two runs that begin at `first` + member * `stride` */

static void test_slices(void) {
  static const struct {
    int64_t dims[4];
    double first[2], stride[2];
    int dim; /* that is cut; -1: refused */
    CutStyle style;
  } cases[] = {
      {{1, 4, 2, 4}, {0, 1}, {2, 2}, 0, CUT_BLOCK},
      {{4, 4, 2, 1}, {0, 1}, {2, 2}, 1, CUT_BLOCK},
      {{1, 4, 2, 4}, {0, 3}, {1, -1}, 0, CUT_ZIGZAG},
      {{1, 4, 2, 4}, {0, 1}, {1, 1}, -1, CUT_BLOCK},   /* parts that overlap */
      {{1, 4, 2, 4}, {2, 3}, {-2, -2}, -1, CUT_BLOCK}, /* the other way round */
      {{1, 4, 1, 4}, {0, 0}, {1, 1}, -1, CUT_BLOCK},   /* not all of it */
      {{2, 4, 2, 2}, {0, 1}, {2, 2}, -1, CUT_BLOCK},   /* no dim is there */
  };
  TEST("a slice cuts a dim into equal parts, one a rank")
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin(RECORD_KERNEL, "slice", PURPOSE_CONVERSION, DIVIDES_TOKENS);
    for (uint32_t k = 0; k < 4; k++)
      bench_dim(&bench, cases[i].dims[k]);
    PlanRecord *record = &bench.b.records[0];
    record->varies_count = 2;
    for (uint32_t k = 0; k < 2; k++) {
      bench_attr(&bench, cases[i].first[k]);
      build_varies(&bench.b, (PlanVary){.stride = cases[i].stride[k], .attr = k, .by = 0});
    }
    with_operands(1, 1);
    Type whole = bench_type(VALUE), part = whole, summand = whole;
    if (cases[i].dim >= 0) part = cut(whole, (uint8_t)cases[i].dim, cases[i].style);
    CHECK(turns(&whole, &part) == (cases[i].dim >= 0));
    if (bench.t.class.refused) findings_expect(&bench.report, "dim into equal parts");
    summand.place[0] = (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
    CHECK(!turns(&summand, &part));
    bench_close(&bench);
  }
}

/* ---- all-to-all: a cut goes from one dim to the other */

static uint32_t layout_cut(uint32_t dim) {
  uint32_t layout = bench_layout(&bench, "LW");
  PlanLayoutDim *dims = bench.b.layout_dims + bench.b.layouts[layout].dims_first;
  dims[dim].cuts_first = build_cuts(&bench.b, (PlanCut){0, CUT_BLOCK});
  dims[dim].cuts_count = 1;
  return layout;
}

static void test_all_to_all(void) {
  static const int64_t dims[5] = {1, 2, 1, 2, 1};
  for (uint32_t loses = 0; loses < 2; loses++) {
    begin(RECORD_ALL_TO_ALL, NULL, PURPOSE_CONVERSION, DIVIDES_TOKENS);
    PlanMeaning meaning = {.after = layout_cut(loses)};
    bench.b.records[0].meaning = build_meanings(&bench.b, meaning);
    for (int i = 0; i < 5; i++)
      bench_dim(&bench, dims[i]);
    bench_attr(&bench, loses == 0);
    with_operands(1, 1);
    Type whole = bench_type(VALUE), from = cut(whole, (uint8_t)!loses, CUT_BLOCK);
    Type to = cut(whole, (uint8_t)loses, CUT_BLOCK), zigzag = cut(whole, !loses, CUT_ZIGZAG);
    TEST("an all-to-all moves a cut from one dim to another") {
      CHECK(turns(&from, &to));
      CHECK(!turns(&to, &from) && !turns(&whole, &to) && !turns(&zigzag, &to));
    }
    TEST("its numbers are those of the two dims") {
      for (uint32_t i = 0; i < 5; i++) {
        bench.b.ints[bench.b.records[0].dims_first + i]++;
        CHECK(!turns(&from, &to));
        set_dims(dims, 5);
      }
      bench.b.reals[bench.b.records[0].attrs_first] = loses;
      CHECK(!turns(&from, &to));
      findings_expect(&bench.report, "its numbers move other dims of: value v");
    }
    TEST("without a direction it goes forth, whatever number follows its own") {
      bench.b.records[0].attrs_count = 0;
      CHECK(turns(&from, &to) == (loses == 1));
    }
    bench_close(&bench);
  }
}

/* ---- the ring */

static void test_ring(void) {
  static const int64_t wrong[][2] = {{-1, 1}, {2, -2}, {1, 1}, {0, 0}};
  begin(RECORD_EXCHANGE, NULL, PURPOSE_CONVERSION, DIVIDES_TOKENS);
  bench_dim(&bench, 1), bench_dim(&bench, -1);
  with_operands(1, 1);
  Type whole = bench_type(VALUE), own = cut(whole, 0, CUT_BLOCK), other = own, part = own;
  TEST("what comes is of the rank before") {
    other.ring.turn = 1;
    CHECK(turns(&own, &other));
    CHECK(turns(&other, &own)); /* of two ranks */
  }
  TEST("a sum over some ranks' blocks goes on as it is") {
    part.ring = (Ring){.turn = 0, .first = 0, .count = 1};
    Type further = part;
    further.ring = (Ring){.turn = 1, .first = 1, .count = 1};
    CHECK(turns(&part, &further));
  }
  TEST("only parts go round, to the next rank") {
    CHECK(!turns(&whole, &other));
    findings_expect(&bench.report, "a value that no ring passes on");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      set_dims(wrong[i], 2);
      CHECK(!turns(&own, &other));
      findings_expect(&bench.report, "it does not send to the next rank");
    }
  }
  bench_close(&bench);
}

/* ---- pieces of whole blocks */

static Type state_of(PlaceKind kind) {
  Type type = {.kind = TYPE_STATE, .dtype = DTYPE_F32, .ref = TABLE, .microbatch = TYPE_ANY};
  type.state = BUFFER_PARAM;
  type.place[0] = (Place){.kind = (uint8_t)kind};
  if (kind == PLACE_FLAT) type.piece = BENCH_SIZE * BENCH_SIZE / BENCH_PARTS;
  return type;
}

static void resize(uint32_t operand, const Type *type) {
  int64_t elements = type->piece != 0 ? type->piece : BENCH_SIZE * BENCH_SIZE;
  bench.b.operands[operand].size_bytes = (uint64_t)elements * sizeof(float);
  bench.b.operands[operand].dtype = DTYPE_F32;
  bench.t.call.reached[operand].spans.count = 0;
}

static bool moves(const Type *from, const Type *to) {
  resize(0, from), resize(1, to);
  TypeSpan span = {0, bench.b.operands[0].size_bytes, type_of(&bench.t.proof.types, from)};
  spans_write(&bench.t.proof.types, &bench.t.call.reached[0].spans, span);
  return bench_run(&bench) && bench_has(&bench, 1, to);
}

static void test_gather(void) {
  begin(RECORD_ALL_GATHER, NULL, PURPOSE_GATHER, DIVIDES_SAMPLES);
  bench_dim(&bench, 1), bench_dim(&bench, BENCH_SIZE * BENCH_SIZE / BENCH_PARTS);
  with_operands(1, 1);
  Type piece = state_of(PLACE_FLAT), whole = state_of(PLACE_WHOLE), type;
  TEST("pieces of a tensor become the tensor") {
    CHECK(moves(&piece, &whole));
    type = piece, type.is_new = 1;
    CHECK(!moves(&type, &whole)); /* new pieces are no old tensor */
    type = piece, type.layer = 1;
    CHECK(!moves(&type, &whole));
    findings_expect(&bench.report, "it moves the tensors of another layer");
    CHECK(!moves(&whole, &whole));
  }
  TEST("pieces of another size") {
    set_dims((const int64_t[]){1, 4}, 2);
    CHECK(!moves(&piece, &whole));
    set_dims((const int64_t[]){2, 4}, 2);
    CHECK(!moves(&piece, &whole));
    findings_expect(&bench.report, "a tensor's pieces lie apart");
  }
  bench_close(&bench);
}

static Type sum_of(PlaceKind kind) {
  Type type = state_of(kind);
  type.kind = TYPE_SUM, type.ref = GRADIENT, type.state = 0, type.use_count = 1;
  type.use[0] = (TypeUse){1, USE_FROM_START, BENCH_SIZE, 0, 0};
  if (kind == PLACE_OWED) type.place[0].style = REDUCE_SUM;
  return type;
}

static void test_reduce(void) {
  begin(RECORD_REDUCE_SCATTER, NULL, PURPOSE_REDUCE, DIVIDES_SAMPLES);
  bench_dim(&bench, 1), bench_dim(&bench, BENCH_SIZE * BENCH_SIZE / BENCH_PARTS);
  PlanMeaning meaning = {.reduce = REDUCE_SUM};
  bench.b.records[0].meaning = build_meanings(&bench.b, meaning);
  with_operands(1, 1);
  Type summand = sum_of(PLACE_OWED), piece = sum_of(PLACE_FLAT), whole = sum_of(PLACE_WHOLE);
  TEST("summands become pieces of the sum, once") {
    CHECK(moves(&summand, &piece));
    CHECK(!moves(&whole, &piece));
    findings_expect(&bench.report, "sum w fp32");
    bench.b.meanings[0].reduce = REDUCE_MAX;
    CHECK(!moves(&summand, &piece));
    findings_expect(&bench.report, "it is not a sum");
  }
  bench_close(&bench);
}

/* Rank (a, b) would have the a-th piece of the b-th, and not piece (a, b) of the row. */
static void test_reduce_twice(void) {
  begin(RECORD_REDUCE_SCATTER, NULL, PURPOSE_REDUCE, DIVIDES_SAMPLES);
  (void)bench_axis(&bench, "s");
  bench_dim(&bench, 1), bench_dim(&bench, BENCH_SIZE * BENCH_SIZE / BENCH_PARTS / BENCH_PARTS);
  PlanMeaning meaning = {.reduce = REDUCE_SUM};
  bench.b.records[0].meaning = build_meanings(&bench.b, meaning);
  with_operands(1, 1);
  Type from = sum_of(PLACE_OWED), to = sum_of(PLACE_FLAT);
  from.piece = to.piece, to.piece /= BENCH_PARTS;
  from.place[1] = to.place[1] = to.place[0];
  TEST("pieces are not cut into pieces") {
    CHECK(!moves(&from, &to));
    findings_expect(&bench.report, "it cuts pieces into pieces");
  }
  bench_close(&bench);
}

/* ---- gradients are rounded to be sent */

static void test_rounding(void) {
  begin(RECORD_KERNEL, "cast", PURPOSE_REDUCE, DIVIDES_SAMPLES);
  bench_dim(&bench, BENCH_SIZE * BENCH_SIZE);
  with_operands(1, 1);
  Type owed = sum_of(PLACE_OWED), sent = owed, whole = sum_of(PLACE_WHOLE), added = whole;
  owed.piece = whole.piece = added.piece = sent.piece = 0;
  sent.dtype = added.dtype = DTYPE_BF16;
  sent.mask = added.mask = 1;
  TEST("a gradient is rounded before ranks add it up, and widened after it") {
    CHECK(turns(&owed, &sent));
    CHECK(turns(&added, &whole));
  }
  TEST("and at no other time") {
    CHECK(!turns(&whole, &added));
    findings_expect(&bench.report, "no rank is sent");
    CHECK(!turns(&sent, &owed));
    findings_expect(&bench.report, "have not added up");
    owed.is_joined = sent.is_joined = 1;
    CHECK(!turns(&owed, &sent));
    findings_expect(&bench.report, "two stages share");
  }
  bench_close(&bench);
}

/* ---- a tied tensor */

static void test_join(void) {
  static const uint32_t inputs[2] = {VALUE, VALUE}, outputs[1] = {GRADIENT};
  begin(RECORD_EXCHANGE, NULL, PURPOSE_REDUCE, DIVIDES_DEPTH);
  for (int i = 0; i < 2; i++)
    (void)bench_node(&bench, "linear_dw", inputs, 2, outputs, 1);
  bench.b.regions[0].is_stack = 0;
  build_bounds(&bench.b, (PlanBound){0, bench.b.axes[0].size});
  for (int i = 0; i < 2; i++)
    bench_dim(&bench, 1);
  with_operands(1, 1);
  Type mine = sum_of(PLACE_WHOLE), theirs = mine, type;
  mine.layer = theirs.layer = TYPE_ANY;
  theirs.use[0].nodes = 2;
  theirs.is_joined = 1;
  TEST("a stage sends its uses and gets the others") {
    CHECK(moves(&mine, &theirs));
    CHECK_INT(bench.t.proof.join_count, 1);
    CHECK(moves(&mine, &theirs)); /* a step is looked at more than once */
    CHECK_INT(bench.t.proof.join_count, 1);
  }
  TEST("of the whole step") {
    type = mine, type.use[0].end--;
    CHECK(!moves(&type, &theirs));
    type = mine, type.use[0].first = 0;
    CHECK(!moves(&type, &theirs));
    findings_expect(&bench.report, "it sends no gradient of a whole step to the other stage");
  }
  TEST("both stages have each use once between them, and send to each other") {
    bench.t.class.refused = false;
    TiedPart other = bench.t.proof.join[0];
    other.uses = 2;
    bench.t.proof.join[bench.t.proof.join_count++] = other;
    check_joins(&bench.t);
    CHECK(!bench.t.class.refused);
    bench.t.proof.join[1].uses = 1;
    check_joins(&bench.t);
    CHECK(bench.t.class.refused);
    bench.t.class.refused = false;
    bench.t.proof.join[1] = other, bench.t.proof.join[1].peer++;
    check_joins(&bench.t);
    CHECK(bench.t.class.refused);
    bench.t.class.refused = false;
    bench.t.proof.join[1] = other, bench.t.proof.join[1].like++; /* as summed over other ranks */
    check_joins(&bench.t);
    CHECK(bench.t.class.refused);
  }
  bench_close(&bench);
}

/* ---- between stages: each end holds what the call's posts say */

enum { DEEPEST = 2 }; /* the last layer of the bench's stack */

static void begin_transfer(void) {
  begin(RECORD_EXCHANGE, NULL, PURPOSE_TRANSFER, DIVIDES_DEPTH);
  uint32_t gradient = bench_value(&bench, VALUE_ACTIVATION, "d_v", "LW");
  bench.b.regions[0].output = VALUE, bench.b.regions[0].d_output = gradient;
  PlanMeaning meaning = {.before = bench.b.values[VALUE].layout};
  bench.b.records[0].meaning = build_meanings(&bench.b, meaning);
  bench.b.calls[0].posts_count = 2;
  build_posts(&bench.b, (PlanPost){.kind = BUFFER_ACTIVATION, .depth = 1});
  build_posts(&bench.b, (PlanPost){.kind = BUFFER_GRAD_ACTIVATION, .depth = DEEPEST});
  with_operands(1, 1);
}

static void test_transfers(void) {
  static const PlanLoop loop = {.microbatch_stride = 1};
  begin_transfer();
  Type sent = bench_type(VALUE), come = bench_type(GRADIENT + 1), other;
  sent.layer = 1, come.layer = DEEPEST;
  TEST("a stage sends what the post says, and what comes is what the other post says") {
    CHECK(turns(&sent, &come));
    bench.b.posts[1].microbatch = 3;
    come.microbatch = 3;
    CHECK(turns(&sent, &come));
    sent.microbatch = 1, come.microbatch = 4;
    CHECK(!turns(&sent, &come));
    bench.t.call.walk.loop = &loop, bench.t.call.walk.iteration = 1; /* an iteration later */
    CHECK(turns(&sent, &come));
    bench.t.call.walk.loop = NULL, bench.t.call.walk.iteration = 0, sent.microbatch = 0,
    come.microbatch = 3;
  }
  TEST("nothing else may be sent") {
    other = sent, other.microbatch = 1;
    CHECK(!turns(&other, &come));
    findings_expect(&bench.report, "operand 0: expected value v fp32, layer +1, found "
                                   "value v fp32, layer +1, micro-batch +1");
    other = sent, other.layer = DEEPEST;
    CHECK(!turns(&other, &come));
    other = sent, other.ref = GRADIENT + 1;
    CHECK(!turns(&other, &come));
    other = sent, other.place[0].kind = PLACE_OWED;
    CHECK(!turns(&other, &come));
  }
  TEST("a post is of what is carried from layer to layer") {
    bench.b.posts[0].depth = DEEPEST + 1;
    CHECK(!turns(&sent, &come));
    findings_expect(&bench.report, "to follow layer 3, where nothing is carried");
  }
  bench_close(&bench);
}

/* ---- a loss of several ranks: each tells the others of its classes, the last dim */

enum { STATISTICS = BENCH_SIZE * BENCH_SIZE / BENCH_PARTS }; /* of one rank */

static void test_statistics(void) {
  begin(RECORD_ALL_GATHER, NULL, PURPOSE_CONVERSION, DIVIDES_FEATURES);
  bench_dim(&bench, 1), bench_dim(&bench, STATISTICS);
  with_operands(1, 1);
  Type whole = bench_type(VALUE);
  whole.part = PART_STATISTICS;
  Type part = cut(whole, 1, CUT_BLOCK), other;
  TEST("ranks' statistics lie one after the other") CHECK(turns(&part, &whole));
  TEST("not in several pieces of each, nor of other rows or runs") {
    set_dims((const int64_t[]){2, STATISTICS / 2}, 2);
    CHECK(!turns(&part, &whole));
    findings_expect(&bench.report, "its pieces are not the parts of a dim of: value v statistics");
    set_dims((const int64_t[]){1, STATISTICS}, 2);
    other = cut(whole, 0, CUT_BLOCK);
    CHECK(!turns(&other, &whole));
    other = cut(whole, 1, CUT_ZIGZAG);
    CHECK(!turns(&other, &whole));
    CHECK(!turns(&whole, &whole));
  }
  TEST("they are told, and not added up or turned") {
    bench.b.records[0].kind = RECORD_REDUCE_SCATTER;
    other = whole, other.place[0] = (Place){.kind = PLACE_OWED, .style = REDUCE_SUM};
    CHECK(!turns(&other, &part));
    findings_expect(&bench.report, "no rule says how to convert: value v statistics");
  }
  bench_close(&bench);
}

/* ---- where records write */

static void test_targets(void) {
  static const struct {
    const char *kernel;
    uint64_t offset; /* of the result, from its operand's place */
    bool is_good;
  } cases[] = {{"gelu", 0, true}, {"gelu", 64, true}, {"gelu", 4, false}, {"sum_to", 0, false}};
  Type type;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    begin(RECORD_KERNEL, cases[i].kernel, PURPOSE_NODE, DIVIDES_TOKENS);
    static const uint32_t input[1] = {VALUE};
    uint32_t result = bench_value(&bench, VALUE_ACTIVATION, "y", "LW");
    bench.b.records[0].node =
        bench_node(&bench, cases[i].kernel, input, 1, (const uint32_t[]){result}, 1);
    bench_dim(&bench, BENCH_SIZE * BENCH_SIZE);
    with_operands(1, 1);
    type = bench_type(VALUE);
    bench_put(&bench, 0, &type), bench_size(&bench, 1, &type);
    bench.b.operands[1].base = 0;
    bench.b.operands[1].offset = cases[i].offset;
    TEST("a result is apart, or where its kernel says that it may")
    CHECK(bench_run(&bench) == cases[i].is_good);
    if (bench.t.class.refused) findings_expect(&bench.report, "writes operand 1 over operand 0");
    TEST("the runtime writes samples") {
      bench.b.buffers[0] = (PlanBuffer){.kind = BUFFER_DATA, .program = PLAN_NONE};
      bench_refuses(&bench, "writes operand 1 where the runtime does");
    }
    bench_close(&bench);
  }
}

int main(void) {
  test_slices();
  test_all_to_all();
  test_ring();
  test_gather();
  test_reduce();
  test_reduce_twice();
  test_rounding();
  test_join();
  test_transfers();
  test_statistics();
  test_targets();
  CHECK_DONE();
}
