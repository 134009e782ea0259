/* LINK: plan plan_builder
 * Communications and varying attrs that a plan may have; others are refused, with
 * the record. */
#include "runtime/plan/plan_io.h"
#include "runtime/plan/plan_place.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_sketch.h"

enum { PIECE = 32, MEMBERS = 4, SHARE_BYTES = 3 * PIECE * 4, WHOLE_BYTES = SHARE_BYTES * MEMBERS };

static Sketch sketch;

static void expect(const char *words) {
  Plan plan = build_view(&sketch.b);
  char why[PLAN_WHY_BYTES] = "";
  bool accepted = plan_check(&plan, why);
  if (words == NULL) CHECK_TEXT(why, "");
  CHECK(accepted == (words == NULL));
  if (words != NULL && strstr(why, words) == NULL) CHECK_TEXT(why, words);
  build_free(&sketch.b);
}

/* Three axes of 2, 4 and 1; communicator 0 is the one of four, 1 has two axes. */
static void begin(RecordKind kind) {
  sketch_begin(&sketch);
  sketch_axis(&sketch, "dp", 2), sketch_axis(&sketch, "tp", MEMBERS), sketch_axis(&sketch, "cp", 1);
  sketch_comm(&sketch, 2), sketch_comm(&sketch, 3);
  sketch_call(&sketch, sketch_segment(&sketch), -1);
  sketch_class(&sketch, 0, 2);
  if (kind == RECORD_KERNEL)
    sketch_kernel(&sketch, "affine", LANE_COMPUTE);
  else
    sketch_record(&sketch, kind, LANE_CP, 0);
}

static void operand(uint64_t bytes, Access access) {
  uint64_t at = sketch_newest(&sketch)->operands_count * (uint64_t)WHOLE_BYTES;
  sketch_operand(&sketch, at, bytes, DTYPE_F32, access);
}

/* One piece and then two, each of 32 elements. */
static void pairs(void) {
  sketch_dim(&sketch, 1), sketch_dim(&sketch, PIECE), sketch_dim(&sketch, 2),
      sketch_dim(&sketch, PIECE);
}

static void two(RecordKind kind, uint64_t x, uint64_t y) {
  begin(kind);
  operand(x, ACCESS_READ), operand(y, ACCESS_WRITE);
  pairs();
}

static void one(RecordKind kind, uint64_t bytes, Access access) {
  begin(kind);
  operand(bytes, access);
  pairs();
}

static void test_collectives(void) {
  TEST("collectives have their pieces exactly, in place or not") {
    two(RECORD_ALL_GATHER, SHARE_BYTES, WHOLE_BYTES), expect(NULL);
    two(RECORD_REDUCE_SCATTER, WHOLE_BYTES, SHARE_BYTES), expect(NULL);
    two(RECORD_ALL_REDUCE, WHOLE_BYTES, WHOLE_BYTES), expect(NULL);
    one(RECORD_ALL_GATHER, WHOLE_BYTES, ACCESS_UPDATE), expect(NULL);
    one(RECORD_REDUCE_SCATTER, WHOLE_BYTES, ACCESS_UPDATE), expect(NULL);
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE), expect(NULL);
    begin(RECORD_ALL_GATHER), operand(4 * 40 * MEMBERS, ACCESS_UPDATE);
    for (int i = 0; i < 40; i++)
      sketch_dim(&sketch, 1), sketch_dim(&sketch, 1);
    expect(NULL);
  }
  TEST("sizes that are not those of the pieces are refused") {
    two(RECORD_ALL_GATHER, SHARE_BYTES + 4, WHOLE_BYTES);
    expect("records[0]: operand 0 of all_gather has 388 bytes; its pieces are 96 elements of fp32");
    two(RECORD_ALL_GATHER, SHARE_BYTES, WHOLE_BYTES - 4), expect("operand 1 of all_gather");
    two(RECORD_REDUCE_SCATTER, SHARE_BYTES, WHOLE_BYTES), expect("operand 0 of reduce_scatter");
    two(RECORD_ALL_REDUCE, WHOLE_BYTES, SHARE_BYTES), expect("operand 1 of all_reduce");
    one(RECORD_REDUCE_SCATTER, SHARE_BYTES, ACCESS_UPDATE), expect("operand 0 of reduce_scatter");
    begin(RECORD_ALL_REDUCE), operand(13, ACCESS_UPDATE), expect("has 13 bytes");
  }
  TEST("pieces are pairs of positive numbers") {
    two(RECORD_ALL_GATHER, SHARE_BYTES, WHOLE_BYTES), sketch_dim(&sketch, 1);
    expect("5 dims of all_gather are no pairs");
    two(RECORD_ALL_GATHER, SHARE_BYTES, WHOLE_BYTES), sketch.b.ints[0] = 0;
    expect("0 pieces of 32 elements");
    two(RECORD_ALL_GATHER, SHARE_BYTES, WHOLE_BYTES), sketch.b.ints[3] = INT64_MAX;
    expect("2 pieces of 9223372036854775807 elements");
    begin(RECORD_REDUCE_SCATTER), operand(WHOLE_BYTES, ACCESS_UPDATE);
    expect("reduce_scatter without pieces");
  }
  TEST("operands are one to update or a source and a destination") {
    one(RECORD_ALL_GATHER, WHOLE_BYTES, ACCESS_WRITE),
        expect("should be one to update, or a source");
    two(RECORD_ALL_REDUCE, WHOLE_BYTES, WHOLE_BYTES), sketch.b.operands[1].dtype = DTYPE_I32;
    expect("of one dtype");
    two(RECORD_ALL_GATHER, SHARE_BYTES, WHOLE_BYTES), operand(4, ACCESS_READ),
        expect("operands of");
    one(RECORD_ALL_GATHER, WHOLE_BYTES, ACCESS_UPDATE), sketch_newest(&sketch)->comm = PLAN_NONE;
    expect("without a communicator");
    one(RECORD_ALL_GATHER, WHOLE_BYTES, ACCESS_UPDATE), sketch_newest(&sketch)->accumulate = 1;
    expect("neither accumulates nor varies");
  }
}

static void test_loads(void) {
  static const struct {
    ProgramKind program;
    int32_t microbatch;
    const char *words;
  } cases[] = {
      {PROGRAM_TRAIN_STEP, -1, NULL},
      {PROGRAM_TRAIN_STEP, 1, NULL},
      {PROGRAM_TRAIN_STEP, 2, "loads micro-batch 2 in train_step, which has 2"},
      {PROGRAM_EVAL_STEP, 0, NULL},
      {PROGRAM_EVAL_STEP, 1, "loads micro-batch 1 in eval_step, which has 1"},
      {PROGRAM_INIT, -1, "loads micro-batch 0 in init, which has 0"},
      {PROGRAM_SNAPSHOT, 0, "loads micro-batch 0 in snapshot, which has 0"},
  };
  TEST("only micro-batches that are staged are loaded") {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      begin(RECORD_LOAD);
      *build_count(&sketch.b, JOB_accumulation) = 2;
      sketch.b.programs[0].kind = cases[i].program;
      sketch.b.calls[0].microbatch = cases[i].microbatch;
      expect(cases[i].words);
    }
  }
}

static void test_lanes(void) {
  TEST("one lane has priority 0, whichever is first, and no two have one name") {
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE);
    sketch.b.lanes[LANE_COMPUTE].priority = 2, sketch.b.lanes[LANE_DP].priority = 0;
    Plan plan = build_view(&sketch.b);
    CHECK_INT(plan_main_lane(&plan), LANE_DP);
    expect(NULL);
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE);
    sketch.b.lanes[LANE_PP].priority = 0, expect("lanes: 2 have priority 0, one must");
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE);
    sketch.b.lanes[LANE_PP].name = sketch.b.lanes[LANE_DP].name;
    expect("lanes[3]: 'dp' is lanes[2]");
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE);
    sketch.b.lanes[LANE_PP].processor = 7, expect("lanes[3].processor: 7 is no Processor");
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE);
    sketch_newest(&sketch)->lane = LANES_OF_DEVICE, expect("records[0].lane: no lanes[4]");
  }
  TEST("more lanes than a mask of a rank's queues was made for are refused") {
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE);
    char name[8];
    for (int i = LANES_OF_DEVICE; i <= PLAN_LANES_MAX; i++) {
      (void)snprintf(name, sizeof name, "l%d", i);
      build_lanes(&sketch.b, (PlanLane){PROCESSOR_DEVICE, 1, build_string(&sketch.b, name)});
    }
    expect("lanes: 13, at most 12");
  }
}

/* A copy of one operand to another. */
static void copy(uint64_t from_bytes, uint64_t to_bytes) {
  begin(RECORD_COPY);
  operand(from_bytes, ACCESS_READ), operand(to_bytes, ACCESS_WRITE);
  sketch_newest(&sketch)->comm = PLAN_NONE;
}

static void test_copies(void) {
  TEST("a copy has one operand in, one out, equal bytes, and no numbers") {
    copy(64, 64), expect(NULL);
    copy(64, 32), expect("a copy reads one operand and writes one of equal bytes");
    copy(64, 64), sketch_dim(&sketch, 1), expect("a copy has no numbers");
    copy(64, 64), sketch_newest(&sketch)->accumulate = 1, expect("a copy has no numbers");
    copy(64, 64), sketch_newest(&sketch)->comm = 0, expect("a copy has no numbers");
    one(RECORD_COPY, 64, ACCESS_UPDATE), expect("a copy has no numbers");
  }
  TEST("records touch memory that their lane's processor reaches") {
    copy(64, 64), sketch_host_memory(&sketch), expect(NULL);
    begin(RECORD_KERNEL), operand(64, ACCESS_READ), sketch_host_memory(&sketch);
    expect("operand 0 of kernel (records[0], lane compute) is in host memory");
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE), sketch_host_memory(&sketch);
    expect("operand 0 of all_reduce (records[0], lane cp) is in host memory");
    copy(64, 64), sketch.b.lanes[LANE_CP].processor = PROCESSOR_HOST;
    expect("operand 0 of copy (records[0], lane cp) is in device memory");
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE), sketch_host_memory(&sketch);
    sketch.b.lanes[LANE_CP].processor = PROCESSOR_HOST;
    expect("records[0]: all_reduce on lane cp, which is the host's");
  }
  TEST("kernels of host lanes that read control have one mirror of it, in host memory") {
    begin(RECORD_KERNEL), operand(64, ACCESS_READ), sketch_host_memory(&sketch);
    sketch.b.lanes[LANE_COMPUTE].processor = PROCESSOR_HOST;
    sketch_newest(&sketch)->controls_count = 1;
    sketch_newest(&sketch)->controls_first = build_controls(&sketch.b, (PlanControl){0});
    expect("kernels on the host read control, and have no mirror of it");
  }
}

static void all_to_all(int64_t middle, double direction, uint64_t bytes) {
  begin(RECORD_ALL_TO_ALL);
  operand(bytes, ACCESS_READ), operand(bytes, ACCESS_WRITE);
  const int64_t dims[5] = {2, 3, middle, 5, 1};
  for (int i = 0; i < 5; i++)
    sketch_dim(&sketch, dims[i]);
  sketch_attr(&sketch, direction);
}

static void exchange(uint32_t comm, int distances, Access access) {
  begin(RECORD_EXCHANGE);
  sketch_newest(&sketch)->comm = comm;
  operand(64, ACCESS_READ), operand(64, access);
  for (int i = 0; i < distances; i++)
    sketch_dim(&sketch, i - 1);
}

/* Expects `want` flat calls of a record whose dims and operands are valid. */
static void flat_calls(uint64_t want) {
  char why[PLAN_WHY_BYTES] = "";
  Plan plan = build_view(&sketch.b);
  CHECK_INT(plan.records[0].flat_calls, want);
  CHECK(plan_check(&plan, why));
  sketch.b.records[0].flat_calls++;
  CHECK(!plan_check(&plan, why));
  CHECK(strstr(why, "flat calls, its pieces are") != NULL);
  build_free(&sketch.b);
}

static void test_flat_calls(void) {
  TEST("what a library of flat collectives would be called is counted, and held against the dims") {
    two(RECORD_ALL_GATHER, SHARE_BYTES, WHOLE_BYTES), flat_calls(3);
    one(RECORD_REDUCE_SCATTER, WHOLE_BYTES, ACCESS_UPDATE), flat_calls(3);
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE), flat_calls(1);
    all_to_all(7, 0, (uint64_t)4 * 2 * 3 * 7 * 5 * MEMBERS), flat_calls(2 * 3 * 7);
    exchange(0, 2, ACCESS_WRITE), flat_calls(2);
  }
}

static void test_others(void) {
  uint64_t bytes = (uint64_t)2 * 3 * 5 * MEMBERS * 4;
  TEST("an all-to-all has five dims and a direction") {
    all_to_all(1, 0, bytes), expect(NULL);
    all_to_all(7, 1, 7 * bytes), expect(NULL);
    all_to_all(1, 2, bytes), expect("the direction of all_to_all is 0 or 1");
    all_to_all(0, 0, bytes), expect("dim 2 of all_to_all is 0");
    all_to_all(2, 0, bytes), expect("operand 0 of all_to_all has 480 bytes");
    all_to_all(1, 0, bytes), sketch_dim(&sketch, 1), expect("has 6 dims, not 5");
    one(RECORD_ALL_TO_ALL, WHOLE_BYTES, ACCESS_UPDATE), expect("should be a source and");
  }
  TEST("an exchange goes along one axis, with a distance for each operand") {
    exchange(0, 2, ACCESS_WRITE), expect(NULL);
    exchange(1, 2, ACCESS_WRITE), expect("exchange over axes 0x3; it goes along one axis");
    exchange(0, 3, ACCESS_WRITE), expect("exchange of 2 operands over 3 distances");
    exchange(0, 2, ACCESS_UPDATE), expect("operand 1 of exchange should be read or written");
    exchange(0, 2, ACCESS_READ), sketch.b.operands[0].size_bytes = 63;
    expect("operand 0 of exchange");
    begin(RECORD_EXCHANGE);
    for (int i = 0; i < 13; i++)
      operand(4, ACCESS_READ), sketch_dim(&sketch, 1);
    expect("exchange of 13 operands");
    begin(RECORD_EXCHANGE), expect("exchange of 0 operands");
  }
}

static void varying(uint32_t attr, uint32_t values) {
  begin(RECORD_KERNEL);
  sketch_attr(&sketch, 1), sketch_attr(&sketch, 2);
  uint32_t first = sketch.b.reals_count;
  for (uint32_t i = 0; i < values; i++)
    build_reals(&sketch.b, i);
  build_varies(&sketch.b, (PlanVary){10, attr, 0, first, values});
  sketch_newest(&sketch)->varies_count++;
}

static void test_varies(void) {
  TEST("an attr may vary by a stride, and by one value a member") {
    varying(1, 0), expect(NULL);
    varying(0, MEMBERS), expect(NULL);
  }
  TEST("what varies is an attr, once, with a value for every member") {
    varying(2, 0), expect("varies[0]: attr 2 of 2");
    varying(0, 3), expect("varies[0]: 3 values for 4 members");
    varying(0, 0), sketch.b.varies[0].by = 2, expect("varies[0].by: no comms[2]");
    varying(0, 0), sketch_newest(&sketch)->varies_count = 2, expect("records[0].varies: ");
    varying(0, 0), build_varies(&sketch.b, sketch.b.varies[0]);
    sketch_newest(&sketch)->varies_count = 2, expect("or for the second time");
    varying(0, 0), sketch_newest(&sketch)->attrs_count = 0, expect("1 of its 0 attrs vary");
  }
  TEST("state differs along axes that there are") {
    begin(RECORD_KERNEL), *build_count(&sketch.b, JOB_state_axes) = 5, expect(NULL);
    begin(RECORD_KERNEL), *build_count(&sketch.b, JOB_state_axes) = 8,
                                                  expect("plan.state_axes: 0x8");
  }
}

/* A plan of a number of steps. */
static void steps(int64_t count) {
  begin(RECORD_KERNEL);
  *build_count(&sketch.b, JOB_steps) = count;
}

static void test_job(void) {
  TEST("a run has at least one step") {
    steps(1), expect(NULL);
    steps(0), expect("train.steps is 0, at least 1");
    steps(-3), expect("train.steps is -3, at least 1");
  }
}

static void all_reduce(void) {
  begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE);
}

static void test_places(void) {
  TEST("places follow each other over all ranks, and their cores are the job's threads") {
    all_reduce(), sketch.b.places[0].rank_count = 7;
    expect("places: of 7 ranks, the mesh has 8");
    all_reduce(), sketch.b.places[0].rank_first = 1;
    expect("places[0]: ranks 1 + 8, but rank 0 is next");
    all_reduce(), sketch.b.places[0].node_ranks = 0, expect("places[0]: 0 ranks a node");
    all_reduce(), sketch.b.places[0].core_count = 2;
    expect("places[0]: 2 cores a rank for its 1 threads");
  }
  TEST("every class has a link to every communicator, and only links price communications") {
    all_reduce(), sketch.b.links_count--, expect("links: 1, not one for each of 1 classes and 2");
    all_reduce(), sketch.b.links[1].comm = 0;
    expect("links[1]: of classes[0] and comms[0], which have another index");
    all_reduce(), sketch.b.links[1].bytes_per_s = -1, expect("links[1]: -1 bytes/s");
    all_reduce(), sketch.b.links[1].pair_bytes_per_s = -1;
    expect("links[1]: -1 bytes/s of a pair");
    all_reduce(), sketch.b.links[0].latency_ns = -1, expect("links[0]: 0 bytes/s, -1 ns");
    all_reduce(), sketch_newest(&sketch)->predicted_ns = 5;
    expect("records[0]: all_reduce predicts 5 ns; links price it");
  }
}

/* One node, whose first seats have devices 7, 6 ... */
static void described(uint32_t seats) {
  all_reduce();
  for (uint32_t i = 0; i < seats; i++)
    build_seats(&sketch.b, (PlanSeat){.device = 7 - i, .numa = PLAN_NONE});
  sketch.b.places[0].seats_count = seats;
}

/* Ranks 0 to 5 on nodes of 4 from node 0 on, ranks 6 and 7 on node 5. */
static void test_nodes(void) {
  TEST("ranks are on the nodes that their run of places says") {
    all_reduce();
    sketch.b.places_count = 0;
    build_places(&sketch.b, (PlanPlace){.rank_count = 6, .node_ranks = 4, .core_count = 1});
    build_places(&sketch.b, (PlanPlace){6, 2, 5, 4, 0, 0, 1, 0, 0, 0});
    Plan plan = build_view(&sketch.b);
    const uint32_t nodes[] = {0, 0, 0, 0, 1, 1, 5, 5};
    for (uint32_t rank = 0; rank < 8; rank++)
      CHECK_INT(plan_place(&plan, rank).node, nodes[rank]);
    expect(NULL);
  }
  TEST("ranks are coordinates by the strides of the axes, in any order") {
    all_reduce();
    sketch.b.axes[0].rank_stride = 1; /* dp inside, tp outside */
    sketch.b.axes[1].rank_stride = 2;
    Plan plan = build_view(&sketch.b);
    for (uint32_t rank = 0; rank < 8; rank++) {
      CHECK_INT(plan_coordinate(&plan, rank, 0), rank % 2);
      CHECK_INT(plan_coordinate(&plan, rank, 1), rank / 2);
    }
    expect(NULL);
  }
}

/* One coordinate is another, and all others stay. */
static void check_along(const Plan *plan) {
  for (uint32_t rank = 0; rank < 8; rank++)
    for (uint32_t axis = 0; axis < 2; axis++)
      for (uint32_t at = 0; at < plan->axes[axis].size; at++) {
        uint32_t to = plan_rank_along(plan, rank, axis, at);
        CHECK_INT(plan_coordinate(plan, to, axis), at);
        CHECK_INT(plan_coordinate(plan, to, 1 - axis), plan_coordinate(plan, rank, 1 - axis));
      }
}

static void test_slanted_axes(void) {
  TEST("the last part of a slanted axis is turned by the first part of another") {
    all_reduce();
    sketch.b.axes[0].slant_axes = 2; /* tp dp-tp */
    Plan plan = build_view(&sketch.b);
    for (uint32_t rank = 0; rank < 8; rank++) {
      CHECK_INT(plan_coordinate(&plan, rank, 0), (rank / 4 + rank % 4) % 2);
      CHECK_INT(plan_coordinate(&plan, rank, 1), rank % 4);
    }
    check_along(&plan);
    expect(NULL);
    all_reduce(), sketch.b.axes[0].rank_stride = 2; /* tp*2 dp tp-dp */
    sketch.b.axes[1].near = 2, sketch.b.axes[1].far_stride = 4, sketch.b.axes[1].slant_axes = 1;
    plan = build_view(&sketch.b);
    for (uint32_t rank = 0; rank < 8; rank++)
      CHECK_INT(plan_coordinate(&plan, rank, 1), rank % 2 + (rank / 4 + rank / 2) % 2 * 2);
    check_along(&plan);
    expect(NULL);
  }
  TEST("an axis is slanted by others that are straight") {
    all_reduce(), sketch.b.axes[0].slant_axes = 1;
    expect("axes[0]: slanted by axes[0], which is no other axis");
    all_reduce(), sketch.b.axes[0].slant_axes = 1u << 31;
    expect("axes[0]: slanted by axes[31], which is no other axis");
    all_reduce(), sketch.b.axes[0].slant_axes = 2, sketch.b.axes[1].slant_axes = 1;
    expect("axes[0]: slanted by axes[1], which is slanted itself");
  }
}

static void test_axes_in_parts(void) {
  TEST("an axis in two parts has another axis between them") {
    all_reduce();
    sketch.b.axes[0].rank_stride = 2; /* tp*2 dp tp */
    sketch.b.axes[1].near = 2, sketch.b.axes[1].far_stride = 4;
    Plan plan = build_view(&sketch.b);
    for (uint32_t rank = 0; rank < 8; rank++) {
      CHECK_INT(plan_coordinate(&plan, rank, 0), rank / 2 % 2);
      CHECK_INT(plan_coordinate(&plan, rank, 1), rank % 2 + rank / 4 * 2);
    }
    check_along(&plan);
    expect(NULL);
  }
  TEST("parts that do not divide their axis are refused") {
    all_reduce(), sketch.b.axes[1].near = 3;
    expect("axes[1]: 3 of 4 are near");
    all_reduce(), sketch.b.axes[1].near = 4;
    expect("axes[1]: 4 of 4 are near");
    all_reduce(), sketch.b.axes[1].far_stride = 4;
    expect("axes[1]: a far stride of 4, and nothing is near");
    all_reduce(), sketch.b.axes[1].near = 2, sketch.b.axes[1].far_stride = 8;
    expect("axes[0]: a rank stride of 4, but 2 ranks are inside");
  }
}

static void test_seats(void) {
  TEST("axes whose slots overlap or leave gaps are refused") {
    all_reduce(), sketch.b.axes[0].rank_stride = 1;
    expect("axes[0]: the rank stride 1 is that of axes[1]");
    all_reduce(), sketch.b.axes[0].rank_stride = 5;
    expect("axes[0]: a rank stride of 5, but 4 ranks are inside");
  }
  TEST("a described node has a seat for each slot, and a device on each seat") {
    described(8);
    Plan plan = build_view(&sketch.b);
    RankPlace place = plan_place(&plan, 2);
    CHECK_INT(place_device(&place), 5);
    expect(NULL);
    described(7), expect("places[0]: 7 seats for 8 ranks a node");
    described(8), sketch.b.seats[3].device = 0;
    expect("places[0]: device 0 is on two seats");
  }
}

/* The example's slots, one of them made wrong. */
static void test_slots(void) {
  static const struct {
    ControlSlot slot;
    PlanSlot change; /* its fields that are not 0 */
    const char *words;
  } cases[] = {
      {CONTROL_lr, {.offset = 1}, "slots[8] lr: at 121 of 168 bytes, after 104"},
      {CONTROL_targets, {.offset = 8}, "slots[13] targets: at 168 of 168 bytes"},
      {CONTROL_clip_scale, {.offset = 8}, "slots[3] step_counts: at 64 of 168 bytes, after 72"},
      {CONTROL_grad_norm, {.kind = SLOT_OUT}, "slots[2] clip_scale: out after in_out"},
      {CONTROL_stop, {.kind = SLOT_OUT}, "slots[7] checkpoint: in_out after in"},
      {CONTROL_lr, {.type = SLOT_I64}, "slots[8] lr: in i64 by host, equal; it is in f64 by host"},
      {CONTROL_lr, {.writer = SLOT_BY_KERNEL}, "slots[8] lr: in f64 by kernel"},
      {CONTROL_lr, {.reduce = SLOT_SUM}, "slots[8] lr: in f64 by host, sum"},
  };
  TEST("slots are apart, in order of kind, and are what the runtime takes them for") {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      begin(RECORD_KERNEL);
      PlanSlot *slot = &sketch.b.slots[build_slot(&sketch.b, cases[i].slot)];
      slot->offset += cases[i].change.offset, slot->kind += cases[i].change.kind;
      slot->type += cases[i].change.type, slot->writer += cases[i].change.writer;
      slot->reduce += cases[i].change.reduce;
      expect(cases[i].words);
    }
    begin(RECORD_KERNEL), sketch.b.slots[build_slot(&sketch.b, CONTROL_lr)].name =
                              sketch.b.slots[build_slot(&sketch.b, CONTROL_step)].name;
    expect("slots[9] step: a second one");
    begin(RECORD_KERNEL),
        sketch.b.slots[build_slot(&sketch.b, CONTROL_seed)].name = build_string(&sketch.b, "sead");
    expect("slots[10]: nothing sets or reads a control value 'sead'");
    begin(RECORD_KERNEL), sketch.b.slots_count = build_slot(&sketch.b, CONTROL_loss);
    expect("slots: loss and count are not adjacent");
  }
  TEST("a plan may lack slots that none of its records has") {
    begin(RECORD_KERNEL), sketch.b.slots_count = build_slot(&sketch.b, CONTROL_lr), expect(NULL);
  }
  TEST("no kernel writes what the host sets, and nothing but a kernel has slots") {
    begin(RECORD_KERNEL);
    PlanRecord *record = sketch_newest(&sketch);
    record->controls_first =
        build_controls(&sketch.b, (PlanControl){build_slot(&sketch.b, CONTROL_lr), ACCESS_UPDATE});
    record->controls_count = 1, expect("controls[0]: a kernel writes lr, which is the host's");
    begin(RECORD_ALL_REDUCE), operand(12, ACCESS_UPDATE), record = sketch_newest(&sketch);
    record->controls_first =
        build_controls(&sketch.b, (PlanControl){build_slot(&sketch.b, CONTROL_lr), ACCESS_READ});
    record->controls_count = 1, expect("records[0]: only kernels have control slots");
    begin(RECORD_KERNEL), record = sketch_newest(&sketch);
    record->controls_first = build_controls(&sketch.b, (PlanControl){99, ACCESS_READ});
    record->controls_count = 1, expect("controls[0].slot: no slots[99]");
  }
}

int main(void) {
  test_slots();
  test_places();
  test_nodes();
  test_axes_in_parts();
  test_slanted_axes();
  test_seats();
  test_job();
  test_collectives();
  test_loads();
  test_lanes();
  test_copies();
  test_flat_calls();
  test_others();
  test_varies();
  CHECK_DONE();
}
