/* typing_bench.h -- one record on its own before the rules of compiler/plan/prove/types: a plan of
 * a model of a few values, one segment with one record, each operand in a buffer of its own. A test
 * says what is in the buffers, runs the record and looks at what is there then. */
#ifndef LOCKSTEP_TESTS_TYPING_BENCH_H
#define LOCKSTEP_TESTS_TYPING_BENCH_H

#include <stdlib.h>

#include "compiler/plan/prove/types/typing.h"
#include "tests/unit/findings.h"
#include "tests/unit/plan_builder.h"

enum { BENCH_SIZE = 4, BENCH_PARTS = 2, BENCH_CELLS = TYPING_BASES_MAX };

typedef struct Bench {
  PlanBuilder b;
  Plan plan;
  ProveReport report;
  View view;
  Typing t;
  uint32_t value_operand[BENCH_CELLS]; /* by operand: the value that is there */
} Bench;

/* An axis of two ranks; index. */
static inline uint32_t bench_axis(Bench *bench, const char *name) {
  uint32_t axis = build_axes(&bench->b, build_axis_named(&bench->b, name, BENCH_PARTS));
  build_comms(&bench->b, (PlanComm){1u << axis, build_string(&bench->b, name)});
  return axis;
}

/* Every dim has one letter and BENCH_SIZE elements; a capital K has one. */
static inline uint32_t bench_layout(Bench *bench, const char *dims) {
  PlanLayout layout = {.owed = REDUCE_SUM,
                       .dims_first = bench->b.layout_dims_count,
                       .dims_count = (uint32_t)strlen(dims)};
  for (; *dims != '\0'; dims++) {
    int64_t size = *dims == 'K' ? 1 : BENCH_SIZE;
    build_layout_dims(&bench->b,
                      (PlanLayoutDim){.size = size,
                                      .real_size = size,
                                      .name = build_string(&bench->b, (char[]){*dims, 0})});
  }
  return build_layouts(&bench->b, layout);
}

static inline uint32_t bench_value(Bench *bench, ValueKind kind, const char *name,
                                   const char *dims) {
  uint32_t layout = bench_layout(bench, dims);
  return build_values(&bench->b, (PlanValue){.kind = kind,
                                             .dtype = DTYPE_F32,
                                             .layout = layout,
                                             .view_of = PLAN_NONE,
                                             .region = 0,
                                             .name = build_string(&bench->b, name)});
}

/* A node of the one stack. */
static inline uint32_t bench_node(Bench *bench, const char *op, const uint32_t *inputs,
                                  uint32_t inputs_count, const uint32_t *outputs,
                                  uint32_t outputs_count) {
  PlanNode node = {.op = build_string(&bench->b, op),
                   .inputs_first = bench->b.uses_count,
                   .inputs_count = inputs_count,
                   .outputs_first = bench->b.uses_count + inputs_count,
                   .outputs_count = outputs_count};
  for (uint32_t i = 0; i < inputs_count; i++)
    build_uses(&bench->b, (PlanUse){inputs[i]});
  for (uint32_t i = 0; i < outputs_count; i++)
    build_uses(&bench->b, (PlanUse){outputs[i]});
  bench->b.regions[0].forward_count++;
  return build_nodes(&bench->b, node);
}

/* Empty, with a stack of two layers that has no nodes yet. */
static inline void bench_begin(Bench *bench) {
  build_free(&bench->b);
  *bench = (Bench){0};
  PlanBuilder *b = &bench->b;
  build_string(b, "");
  build_job(b, (BuildJob){.accumulation = BENCH_SIZE});
  build_lanes(b, (PlanLane){PROCESSOR_DEVICE, 0, build_string(b, "compute")});
  build_regions(b, (PlanRegion){.repeat = 2,
                                .is_stack = 1,
                                .program = PROGRAM_TRAIN_STEP,
                                .input = PLAN_NONE,
                                .output = PLAN_NONE,
                                .d_input = PLAN_NONE,
                                .d_output = PLAN_NONE,
                                .name = build_string(b, "h")});
  build_classes(b, (PlanClass){.rank_count = 1, .programs_count = 1, .name = build_string(b, "c")});
  build_programs(b, (PlanProgram){.kind = PROGRAM_TRAIN_STEP, .calls_count = 1});
  build_calls(b, (PlanCall){0});
  build_segments(b, (PlanSegment){.name = build_string(b, "h.forward"), .records_count = 1});
}

static inline void bench_record(Bench *bench, RecordKind kind, const char *kernel,
                                Purpose purpose) {
  PlanBuilder *b = &bench->b;
  PlanRecord record = {.kind = kind,
                       .purpose = purpose,
                       .node = PLAN_NONE,
                       .value = PLAN_NONE,
                       .kernel = PLAN_NONE,
                       .comm = PLAN_NONE,
                       .meaning = PLAN_NONE,
                       .dims_first = b->ints_count,
                       .attrs_first = b->reals_count,
                       .path = build_string(b, "h.*")};
  if (kernel != NULL) record.kernel = build_kernels(b, (PlanKernel){build_string(b, kernel)});
  build_records(b, record);
}

static inline void bench_dim(Bench *bench, int64_t dim) {
  build_ints(&bench->b, dim);
  bench->b.records[0].dims_count++;
}

static inline void bench_attr(Bench *bench, double attr) {
  build_reals(&bench->b, attr);
  bench->b.records[0].attrs_count++;
}

/* An operand in a buffer of its own. `value`: what of the model is there. */
static inline uint32_t bench_operand(Bench *bench, uint32_t value, BufferKind kind) {
  PlanBuilder *b = &bench->b;
  PlanOperand operand = {
      .by = PLAN_NONE, .base = b->bases_count, .value = value, .layout = PLAN_NONE};
  build_bases(b, (PlanBase){.kind = kind});
  build_operands(b, operand);
  b->segments[0].bases_count++;
  bench->value_operand[b->records[0].operands_count] = value;
  return b->records[0].operands_count++;
}

/* The tables are complete: their types can be asked for. */
static inline void bench_open(Bench *bench) {
  Typing *t = &bench->t;
  bench->plan = build_view(&bench->b);
  bench->view = (View){.plan = &bench->plan,
                       .report = &bench->report,
                       .arena = arena_new(),
                       .class = &bench->plan.classes[0]};
  view_open(&bench->view);
  *t = (Typing){.view = &bench->view,
                .plan = &bench->plan,
                .proof.meaning = meaning_open(&bench->view),
                .proof.types = types_open(bench->view.arena),
                .class.microbatches = BENCH_SIZE};
  t->call.walk = (Walk){.view = &bench->view,
                        .program = &bench->plan.programs[0],
                        .call = &bench->plan.calls[0],
                        .segment = &bench->plan.segments[0]};
  t->call.at = &bench->plan.records[0];
  for (uint32_t i = 0; i < bench->plan.segments[0].bases_count; i++) {
    t->call.base_reached[i] = t->call.reached_count;
    t->call.reached[t->call.reached_count++].cell = i;
  }
}

static inline void bench_close(Bench *bench) {
  arena_free(bench->view.arena);
  build_free(&bench->b);
}

/* The type of a value of this layer and micro-batch, whole everywhere. */
static inline Type bench_type(uint32_t value) {
  return (Type){.kind = TYPE_VALUE, .dtype = DTYPE_F32, .ref = value};
}

/* The bytes of what a rank has of it. */
static inline uint64_t bench_bytes(const Bench *bench, const Type *type) {
  int64_t elements = type->kind >= TYPE_VALUE && type->kind <= TYPE_SUM
                         ? meaning_elements(&bench->t.proof.meaning, type->ref, type->place)
                         : BENCH_SIZE;
  return (uint64_t)(elements * dtype_bytes((DType)type->dtype));
}

/* Sizes an operand for this type, and empties its buffer. */
static inline void bench_size(Bench *bench, uint32_t operand, const Type *type) {
  bench->b.operands[operand].size_bytes = bench_bytes(bench, type);
  bench->b.operands[operand].dtype = type->dtype;
  bench->t.call.reached[operand].spans.count = 0;
}

/* This and nothing else is in the operand's buffer, from `offset` on. */
static inline void bench_put_at(Bench *bench, uint32_t operand, const Type *type, uint64_t offset) {
  TypeSpan span = {offset, offset + bench_bytes(bench, type), type_of(&bench->t.proof.types, type)};
  bench->t.call.reached[operand].spans.count = 0;
  spans_write(&bench->t.proof.types, &bench->t.call.reached[operand].spans, span);
}

/* Sizes an operand for this type, which is there. */
static inline void bench_put(Bench *bench, uint32_t operand, const Type *type) {
  bench_size(bench, operand, type);
  bench_put_at(bench, operand, type, 0);
}

/* Runs the record. False: it is refused, and bench->report says why. */
static inline bool bench_run(Bench *bench) {
  bench->report.finding_count = 0;
  bench->t.class.refused = false;
  type_record(&bench->t);
  return !bench->t.class.refused;
}

/* True if exactly this is in the operand. */
static inline bool bench_has(Bench *bench, uint32_t operand, const Type *wanted) {
  const Spans *spans = &bench->t.call.reached[operand].spans;
  const Type found = found_in(&bench->t, spans, 0, bench->b.operands[operand].size_bytes);
  return memcmp(&found, wanted, sizeof *wanted) == 0;
}

static inline void bench_refuses(Bench *bench, const char *words) {
  CHECK(!bench_run(bench));
  findings_expect(&bench->report, words);
}

#endif
