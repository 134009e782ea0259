/* LINK: prove plan plan_builder
 * Every property has plans that break it: each test changes the good example in one place, and says
 * which other properties that breaks. */
#include <stdlib.h>

#include "compiler/plan/prove/prove.h"
#include "tests/unit/check.h"
#include "tests/unit/findings.h"
#include "tests/unit/plan_builder.h"

static PlanBuilder b;
static ProveReport report;

static void begin(uint32_t layers, uint32_t accumulation, uint32_t replicas, uint32_t classes,
                  bool loop) {
  build_free(&b);
  build_example(&b, (ExampleOptions){layers, accumulation, replicas, classes, loop});
}

/* Three layers, two micro-batches, four replicas of one class. */
static void usual(void) {
  begin(3, 2, 4, 1, false);
}

/* The example states no model: what it computes cannot be judged, and that is all there is to say.
 */
static void expect_good(void) {
  Plan plan = build_view(&b);
  CHECK(!prove(&plan, &report));
  CHECK_INT(report.finding_count, 1);
  CHECK_TEXT(report.finding[0], "types: replicas: the plan does not say what it should compute");
}

/* `words` are separated by "..." */
/* One finding has all of `words`, and every other is of its property or of those that `also` names:
 * what follows from the same mistake. */
static void expect_with(const char *also, const char *words) {
  Plan plan = build_view(&b);
  CHECK(!prove(&plan, &report));
  findings_expect(&report, words);
  findings_expect_only(&report, words, also);
}

static void expect_finding(const char *words) {
  expect_with("", words);
}

static uint32_t segment_named(const char *name) {
  for (uint32_t i = 0; i < b.segments_count; i++)
    if (strcmp(b.strings + b.segments[i].name, name) == 0) return i;
  abort();
}

/* Record `index` of the segment. */
static PlanRecord *record_of(const char *segment, uint32_t index) {
  return &b.records[b.segments[segment_named(segment)].records_first + index];
}

static PlanOperand *operand_of(const char *segment, uint32_t record, uint32_t index) {
  return &b.operands[record_of(segment, record)->operands_first + index];
}

static PlanProgram *program_of(uint32_t class, ProgramKind kind) {
  for (uint32_t i = 0; i < b.classes[class].programs_count; i++)
    if (b.programs[b.classes[class].programs_first + i].kind == (uint32_t)kind)
      return &b.programs[b.classes[class].programs_first + i];
  abort();
}

/* The n-th call of a segment in the class's training step. */
static PlanCall *call_of(uint32_t class, const char *segment, uint32_t n) {
  const PlanProgram *program = program_of(class, PROGRAM_TRAIN_STEP);
  uint32_t index = segment_named(segment);
  for (uint32_t i = 0; i < program->calls_count; i++)
    if (b.calls[program->calls_first + i].segment == index && n-- == 0)
      return &b.calls[program->calls_first + i];
  abort();
}

static PlanBinding *binding_of(PlanCall *call, uint32_t base) {
  return &b.bindings[call->bindings_first + base];
}

static PlanBuffer *buffer_named(const char *name, uint32_t n) {
  for (uint32_t i = 0; i < b.buffers_count; i++)
    if (strcmp(b.strings + b.buffers[i].name, name) == 0 && n-- == 0) return &b.buffers[i];
  abort();
}

static void swap_calls(PlanCall *x, PlanCall *y) {
  PlanCall z = *x;
  *x = *y, *y = z;
}

static void test_good(void) {
  TEST("good plans are proven: any number of layers, micro-batches, replicas, classes, and loops") {
    for (uint32_t layers = 1; layers <= 4; layers += 3)
      for (uint32_t accumulation = 1; accumulation <= 5; accumulation++)
        for (uint32_t replicas = 1; replicas <= 6; replicas += 5)
          for (uint32_t classes = 1; classes <= replicas; classes += 2) {
            begin(layers, accumulation, replicas, classes, accumulation >= 4);
            expect_good();
            CHECK_INT(report.ranks, replicas);
            CHECK_INT(report.classes, classes);
          }
  }
  TEST("what was walked is counted") {
    usual();
    expect_good();
    CHECK_INT(report.communicators, 1);
    CHECK_INT(report.communications, 4 + 2); /* three layers, the table; control twice */
    CHECK(report.calls > 30 && report.records > report.calls && report.accesses > report.records);
  }
  TEST("a plan that is no plan is refused before anything is proven") {
    usual();
    b.calls[3].segment = 1000;
    expect_finding("structure: calls[3].segment");
    CHECK_INT(report.finding_count, 1);
  }
}

static void test_shapes(void) {
  TEST("every kernel has a contract") {
    static const char *const kernels[] = {
#define KERNEL(name, ...) #name,
#include "kernels/kernels.def"
#undef KERNEL
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
      usual();
      b.kernels[0].name = build_string(&b, kernels[i]);
      Plan plan = build_view(&b);
      prove(&plan, &report);
      CHECK(strstr(report.finding[0], "no contract") == NULL);
    }
    usual();
    b.kernels[0].name = build_string(&b, "unheard_of");
    expect_finding("shapes: segment (init layer), record 0 (unheard_of h.*.w): no contract");
  }
  TEST("an operand smaller or larger than the kernel takes it to be is found") {
    usual();
    operand_of("layer forward", 0, 1)->size_bytes /= 2;
    expect_finding("shapes: segment (layer forward), record 0 (linear h.*.w): operand 1 has 512");
    usual();
    b.ints[record_of("begin", 1)->dims_first] += 1;
    expect_finding("shapes: ...embedding wte): operand 1 has 32 bytes, but its dims say 36");
    usual();
    b.ints[record_of("begin", 1)->dims_first] = INT64_MAX;
    expect_finding("shapes: ...embedding wte): operand 1 has 32 bytes, but its dims say -1");
    b.ints[record_of("begin", 1)->dims_first] = -8;
    expect_finding("shapes: ...embedding wte): operand 1 has 32 bytes, but its dims say -1");
  }
  TEST("scratch of another size than the compiler's is found: sums would round otherwise") {
    usual();
    operand_of("loss", 0, 4)->size_bytes /= 2;
    expect_finding(
        "shapes: segment (loss), record 0 (mse_train loss): operand 4 has 4 bytes of scratch");
    usual();
    record_of("loss", 0)->operands_count--;
    expect_finding("shapes: segment (loss), record 0 (mse_train loss): 4 operands");
  }
  TEST("an operand used as the kernel does not, of another dtype, or too many, is found") {
    usual();
    operand_of("layer forward", 0, 2)->access = ACCESS_READ;
    expect_finding("shapes: ...operand 2 has another access or dtype");
    usual();
    operand_of("begin", 1, 1)->dtype = DTYPE_F32;
    expect_finding("shapes: ...operand 1 has another access or dtype");
    usual();
    record_of("clip", 0)->operands_count++;
    b.operands[record_of("clip", 0)->operands_first + 1].base = 0;
    b.operands[record_of("clip", 0)->operands_first + 1].size_bytes = 0;
    b.operands[record_of("clip", 0)->operands_first + 1].offset = 0;
    expect_finding("shapes: ...grad_norm clip): 2 operands");
    usual();
    record_of("loss", 0)->accumulate = 0;
    expect_finding("shapes: ...mse_train loss): operand 2 has another access or dtype");
  }
}

static void test_communication(void) {
  TEST("a missing communication is found, and that the others wait for ever") {
    begin(3, 2, 4, 2, false);
    call_of(1, "layer backward", 4)->flags = 0;
    expect_with("timeline",
                "communication: classes[0]...all_reduce of h.* gradients...but classes[1]");
  }
  TEST("another order of the same communications is found") {
    begin(3, 1, 4, 2, false);
    swap_calls(call_of(1, "layer backward", 1), call_of(1, "layer backward", 2));
    expect_with("memory", "communication: classes[0]...but classes[1]");
  }
  TEST("another size, dtype or meaning of one of two members is found") {
    for (int what = 0; what < 3; what++) {
      begin(3, 1, 4, 2, false);
      PlanSegment copy = b.segments[segment_named("reduce control")];
      PlanRecord record = *record_of("reduce control", 0);
      PlanOperand operand = *operand_of("reduce control", 0, 0);
      if (what == 0) operand.size_bytes = 8;
      if (what == 1) operand.dtype = DTYPE_F32;
      if (what == 2) record.meaning = 0;
      record.operands_first = build_operands(&b, operand);
      copy.records_first = build_records(&b, record);
      uint32_t bases = b.bases_count;
      build_bases(&b, b.bases[copy.bases_first]);
      copy.bases_first = bases;
      PlanCall *call = call_of(1, "reduce control", 0);
      call->segment = build_segments(&b, copy);
      expect_finding("communication: classes[0]...all_reduce...but classes[1]...all_reduce");
    }
  }
  TEST("a program that one class lacks is found") {
    begin(1, 1, 4, 2, false);
    record_of("begin", 0)->when_all = record_of("begin", 0)->when_none = CALL_GROUP_LAST;
    PlanProgram *program = program_of(1, PROGRAM_EVAL_STEP);
    for (uint32_t i = 0; i < program->calls_count; i++) {
      const PlanCall *call = &b.calls[program->calls_first + i];
      for (uint32_t w = 0; w < call->waits_count; w++)
        b.waits[call->waits_first + w].program = PROGRAM_SNAPSHOT;
    }
    program->kind = PROGRAM_SNAPSHOT;
    expect_with("timeline snapshot", "communication: classes[1] has no eval_step");
  }
  TEST("an exchange of which a rank only sends is found") {
    usual();
    PlanRecord *record = record_of("reduce control", 0);
    record->kind = RECORD_EXCHANGE;
    operand_of("reduce control", 0, 0)->access = ACCESS_READ;
    record->dims_first = build_ints(&b, 1);
    record_of("reduce control", 0)->dims_count = 1;
    expect_finding("timeline: train_step does not end: ...exchange of ...waits forever");
  }
  TEST("a communication says what it means") {
    usual();
    record_of("reduce control", 0)->meaning = PLAN_NONE;
    expect_finding("communication: ...does not say what it means");
  }
}

/* Two axes, two classes by the second axis, one communicator per axis: rows and columns of a
 * square. */
static void test_timeline(void) {
  TEST("classes that come to two communicators of the same ranks wait for ever") {
    begin(1, 1, 2, 2, false);
    uint32_t second = build_comms(&b, (PlanComm){1, build_string(&b, "dp again")});
    build_one_node(&b, 0, 0); /* a link to that one, too */
    /* Class 1 gets its own copy of the reduction, over the other communicator of the same ranks. */
    PlanSegment copy = b.segments[segment_named("reduce control")];
    PlanRecord record = *record_of("reduce control", 0);
    record.comm = second;
    copy.records_first = build_records(&b, record);
    uint32_t bases = b.bases_count;
    build_bases(&b, b.bases[copy.bases_first]);
    copy.bases_first = bases;
    call_of(1, "reduce control", 0)->segment = build_segments(&b, copy);
    Plan plan = build_view(&b);
    CHECK(!prove(&plan, &report));
    bool found = false;
    for (uint32_t i = 0; i < report.finding_count && i < PROVE_FINDINGS_MAX; i++)
      found = found || strstr(report.finding[i], "timeline: train_step does not end") != NULL;
    CHECK(found);
  }
}

static void test_memory(void) {
  TEST("buffers that live at once and share bytes are found") {
    usual();
    buffer_named("x", 1)->offset = buffer_named("x", 0)->offset;
    expect_finding("memory: ...share bytes");
  }
  TEST("a lifetime that is too long is found") {
    usual();
    buffer_named("d_x", 0)->last_call += 2;
    expect_finding("memory: ...d_x...share bytes");
  }
  TEST("a lifetime that is too short is found") {
    usual();
    buffer_named("data", 0)->last_call -= 1;
    expect_finding("memory: ...table backward...base data is no part of one buffer that is live");
  }
  TEST("a transient buffer over a persistent one is found: the next step would read it") {
    usual();
    buffer_named("work", 0)->offset = buffer_named("m", 0)->offset;
    expect_finding("memory: ...work...and...share bytes");
  }
  TEST("a binding beside its buffer is found") {
    usual();
    binding_of(call_of(0, "layer forward", 1), 2)->offset += 64;
    expect_finding("memory: ...layer forward, layer 1...base y");
  }
  TEST("peaks are counted again") {
    usual();
    b.peaks[program_of(0, PROGRAM_TRAIN_STEP)->peaks_first].peak_bytes += 256;
    expect_finding("memory: replicas train_step: peak is");
    usual();
    b.peaks[program_of(0, PROGRAM_EVAL_STEP)->peaks_first].live_bytes -= 256;
    expect_finding("memory: replicas eval_step: most bytes live at once are");
  }
}

static void test_ordering(void) {
  TEST("an all-reduce that does not wait for the gradient is found") {
    usual();
    record_of("layer backward", 2)->after_count = 1;
    expect_finding(
        "ordering: ...all_reduce...lane compute writes in call...and nothing orders the two");
  }
  TEST("a norm that does not wait for the all-reduce is found") {
    usual();
    call_of(0, "norm layer", 0)->waits_count = 0; /* the last one that dp reduces */
    expect_finding("ordering: ...square_sum h.*.w): reads bytes...that lane dp writes");
  }
  TEST("an update need not wait for the sum of control values, which it does not read") {
    usual();
    call_of(0, "clip", 0)->waits_count = 0;
    expect_good();
  }
  TEST("of so many layers that none is looked at one by one") {
    begin(400, 2, 4, 1, false);
    expect_good();
    call_of(0, "norm layer", 0)->waits_count = 0;
    expect_finding("ordering: ...square_sum h.*.w): reads bytes...that lane dp writes");
    begin(400, 2, 4, 1, false);
    record_of("layer backward", 2)->after_count = 1;
    expect_finding("ordering: ...all_reduce...lane compute writes");
  }
  TEST("an edge from a record that does not run orders nothing") {
    usual();
    b.edges[record_of("layer backward", 2)->after_first + 1].record = 0;
    expect_finding("ordering: ...all_reduce...that lane compute writes");
  }
}

/* Buffers that the runtime writes by itself. */
static void test_holders(void) {
  TEST("a ring that reaches beyond its buffer is found") {
    usual();
    buffer_named("staging", 0)->size_bytes -= 8;
    expect_finding("memory: ...no persistent buffer holds the staging ring");
  }
  TEST("buffers that the runtime writes are marked as its own") {
    usual();
    buffer_named("staging", 0)->kind = BUFFER_WORKSPACE;
    expect_finding("memory: ...no persistent buffer holds the staging ring");
  }
}

int main(void) {
  test_good();
  test_shapes();
  test_communication();
  test_timeline();
  test_memory();
  test_ordering();
  test_holders();
  build_free(&b);
  CHECK_DONE();
}
