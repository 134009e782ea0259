/* LINK: prove plan plan_builder
 * Seeded mutants of good plans: how many does the proof kill? Some mutants are good plans again (an
 * edge that another edge implies, two calls whose order is free), so no kind is asked for all; the
 * table is for people, the least rates below are what must not get worse.
 *
 * `prove_mutants_test show` prints the survivors, `prove_mutants_test FILE` takes its mutants from
 * a plan that was compiled. */
#include <stdlib.h>

#include "compiler/prove/prove.h"
#include "runtime/plan/plan_io.h"
#include "tests/unit/check.h"
#include "tests/unit/plan_builder.h"

static PlanBuilder b;
static uint64_t state;

static uint32_t random_below(uint32_t limit) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return limit == 0 ? 0 : (uint32_t)(state >> 33) % limit;
}

#define ANY(table) (&b.table[random_below(b.table##_count)])

/* A call of the training step of a random class, and its position. */
static PlanCall *any_call(uint32_t *position) {
  const PlanProgram *program = ANY(programs);
  while (program->kind != PROGRAM_TRAIN_STEP)
    program = ANY(programs);
  *position = random_below(program->calls_count);
  return &b.calls[program->calls_first + *position];
}

/* Of a communication, when the plan has any. */
static PlanRecord *any_communication(void) {
  PlanRecord *record = ANY(records);
  for (int tries = 0; tries < 1000 && record->kind != RECORD_ALL_REDUCE; tries++)
    record = ANY(records);
  return record;
}

/* ---- mutations; false: nothing was changed */

/* A condition that no call meets: nothing moves, yet the record is gone. */
static void never(PlanRecord *record) {
  record->when_all |= CALL_GROUP_LAST;
  record->when_none |= CALL_GROUP_LAST;
}

static bool drop_record(void) {
  PlanRecord *record = ANY(records);
  never(record);
  return true;
}

static bool drop_call(void) {
  uint32_t position;
  PlanCall *call = any_call(&position);
  PlanSegment twin = b.segments[call->segment];
  if (twin.records_count == 0) return false;
  uint32_t bases = b.bases_count;
  for (uint32_t i = 0; i < twin.bases_count; i++)
    build_bases(&b, b.bases[twin.bases_first + i]);
  twin.bases_first = bases;
  twin.records_first = b.records_count;
  for (uint32_t i = 0; i < twin.records_count; i++) {
    PlanRecord idle = b.records[b.segments[call->segment].records_first + i];
    never(&idle);
    build_records(&b, idle);
  }
  call->segment = build_segments(&b, twin);
  return true;
}

static bool duplicate_call(void) {
  uint32_t from, to;
  PlanCall *source = any_call(&from), *target = any_call(&to);
  if (source == target) return false;
  uint32_t first = target->waits_first, count = target->waits_count;
  *target = *source;
  target->waits_first = first, target->waits_count = count; /* waits have one owner */
  return true;
}

static bool swap_calls(void) {
  uint32_t from, to;
  PlanCall *x = any_call(&from), *y = any_call(&to);
  if (x == y || x->segment == y->segment) return false;
  PlanCall z = *x;
  *x = *y, *y = z;
  uint32_t first = x->waits_first, count = x->waits_count;
  x->waits_first = y->waits_first, x->waits_count = y->waits_count;
  y->waits_first = first, y->waits_count = count;
  return true;
}

static bool swap_records(void) {
  const PlanSegment *segment = ANY(segments);
  if (segment->records_count < 2) return false;
  PlanRecord *x = &b.records[segment->records_first + random_below(segment->records_count)];
  PlanRecord *y = &b.records[segment->records_first + random_below(segment->records_count)];
  if (x == y) return false;
  PlanRecord z = *x;
  *x = *y, *y = z;
  return true;
}

static bool retarget_binding(void) {
  uint32_t position, other;
  PlanCall *call = any_call(&position), *from = any_call(&other);
  if (call->bindings_count == 0 || from->bindings_count == 0) return false;
  PlanBinding *to = &b.bindings[call->bindings_first + random_below(call->bindings_count)];
  PlanBinding source = b.bindings[from->bindings_first + random_below(from->bindings_count)];
  if (to->offset == source.offset) return false;
  *to = source;
  return true;
}

static bool retarget_operand(void) {
  const PlanSegment *segment = ANY(segments);
  if (segment->records_count == 0 || segment->bases_count < 2) return false;
  const PlanRecord *record =
      &b.records[segment->records_first + random_below(segment->records_count)];
  if (record->operands_count == 0) return false;
  PlanOperand *operand = &b.operands[record->operands_first + random_below(record->operands_count)];
  uint32_t base = random_below(segment->bases_count);
  if (base == operand->base) return false;
  operand->base = base;
  return true;
}

static bool resize_operand(void) {
  PlanOperand *operand = ANY(operands);
  if (random_below(2) == 0)
    operand->size_bytes /= 2;
  else
    operand->offset += operand->size_bytes / 2 / 8 * 8, operand->size_bytes /= 2;
  return true;
}

static bool move_buffer(void) {
  PlanBuffer *buffer = ANY(buffers), *other = ANY(buffers);
  if (buffer->offset == other->offset) return false;
  buffer->offset = other->offset;
  return true;
}

static bool shrink_buffer(void) {
  PlanBuffer *buffer = ANY(buffers);
  if (buffer->size_bytes < 16) return false;
  buffer->size_bytes -= 8;
  return true;
}

static bool change_lifetime(void) {
  PlanBuffer *buffer = ANY(buffers);
  if (buffer->program == PLAN_NONE || buffer->first_call == buffer->last_call) return false;
  if (random_below(2) == 0)
    buffer->first_call++;
  else
    buffer->last_call--;
  return true;
}

static bool change_access(void) {
  PlanOperand *operand = ANY(operands);
  operand->access = (operand->access + 1 + random_below(2)) % 3;
  return true;
}

static bool change_flags(void) {
  uint32_t position;
  any_call(&position)->flags ^= 1u << random_below(2);
  return true;
}

static bool change_when(void) {
  PlanRecord *record = ANY(records);
  *(random_below(2) == 0 ? &record->when_all : &record->when_none) ^= 1u << random_below(2);
  return true;
}

static bool change_layer(void) {
  uint32_t position;
  PlanCall *call = any_call(&position);
  if (call->layer < 0) return false;
  call->layer = call->layer == 0 ? 1 : call->layer - 1;
  return true;
}

static bool change_microbatch(void) {
  uint32_t position;
  PlanCall *call = any_call(&position);
  if (call->microbatch < 0) return false;
  call->microbatch = call->microbatch == 0 ? 1 : call->microbatch - 1;
  return true;
}

static bool change_loop(void) {
  if (b.loops_count == 0) return false;
  PlanLoop *loop = ANY(loops);
  switch (random_below(4)) {
  case 0: loop->times++; return true;
  case 1: loop->times--; return true;
  case 2: loop->first_call++; return true;
  default: loop->microbatch_stride++; return true;
  }
}

static bool change_communication(void) {
  PlanRecord *record = any_communication();
  if (record->kind != RECORD_ALL_REDUCE) return false;
  switch (random_below(5)) {
  case 0: b.meanings[record->meaning].reduce = REDUCE_MAX; return true;
  case 1: record->meaning = PLAN_NONE; return true;
  case 2: b.comms[record->comm].axes_mask ^= 1; return true;
  case 3: record->kind = RECORD_EXCHANGE; return true;
  default: record->when_all ^= CALL_LAST_MICROBATCH; return true;
  }
}

static bool drop_edge(void) {
  PlanRecord *record = any_communication();
  if (record->after0 < 0) return false;
  *(random_below(2) == 0 ? &record->after0 : &record->after1) = -1;
  return true;
}

static bool drop_wait(void) {
  if (b.waits_count == 0) return false;
  uint32_t position;
  PlanCall *call = any_call(&position);
  for (int tries = 0; tries < 100 && call->waits_count == 0; tries++)
    call = any_call(&position);
  if (call->waits_count == 0) return false;
  call->waits_count = 0;
  return true;
}

static bool change_peak(void) {
  PlanProgram *program = ANY(programs);
  *(random_below(2) == 0 ? &program->peak_bytes : &program->live_bytes) -= 256;
  return true;
}

static bool change_tensor(void) {
  PlanTensor *tensor = ANY(tensors);
  switch (random_below(3)) {
  case 0: tensor->offset += 256; return true;
  case 1: tensor->elements--; return true;
  default: tensor->kind = (tensor->kind + 1) % 5; return true;
  }
}

static const struct Mutation {
  const char *name;
  bool (*apply)(void);
  int least_percent;
} mutations[] = {
    {"drop a record", drop_record, 94},
    {"drop a call", drop_call, 95},
    {"duplicate a call", duplicate_call, 95},
    {"swap two calls", swap_calls, 90},
    {"swap two records", swap_records, 30},
    {"retarget a binding", retarget_binding, 90},
    {"retarget an operand", retarget_operand, 75},
    {"resize an operand", resize_operand, 85},
    {"move a buffer onto another", move_buffer, 90},
    {"shrink a buffer", shrink_buffer, 80},
    {"shorten a lifetime", change_lifetime, 90},
    {"change an access", change_access, 98},
    {"change a call's flags", change_flags, 95},
    {"change a record's condition", change_when, 50},
    {"change a call's layer", change_layer, 95},
    {"change a call's micro-batch", change_microbatch, 95},
    {"change a loop", change_loop, 95},
    {"change a communication", change_communication, 98},
    {"drop an edge", drop_edge, 45},
    {"drop a wait", drop_wait, 50},
    {"change a peak", change_peak, 95},
    {"change a tensor", change_tensor, 90},
};

static const ExampleOptions examples[] = {
    {.layers = 3, .accumulation = 2, .replicas = 4, .classes = 1},
    {.layers = 2, .accumulation = 3, .replicas = 4, .classes = 2},
    {.layers = 2, .accumulation = 6, .replicas = 2, .classes = 1, .loop = true},
    {.layers = 3, .accumulation = 1, .replicas = 1, .classes = 1},
};

enum { MUTANTS_EACH = 150 };

static Plan compiled; /* without tables: the examples are mutated */

static void build_good(uint32_t seed) {
  if (compiled.jobs_count == 0) {
    build_example(&b, examples[seed % (sizeof examples / sizeof *examples)]);
    return;
  }
#define PLAN_T(Type, table)                                                                        \
  for (uint32_t i = 0; i < compiled.table##_count; i++)                                            \
    build_##table(&b, compiled.table[i]);
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
}

static void run(const struct Mutation *mutation, bool show, int *made, int *killed) {
  static ProveReport report;
  for (uint32_t seed = 0; seed < MUTANTS_EACH; seed++) {
    build_good(seed);
    Plan good = build_view(&b);
    uint64_t before = plan_compute_id(&good);
    state = seed * 977 + 1;
    bool changed = mutation->apply();
    Plan mutant = build_view(&b);
    if (changed && plan_compute_id(&mutant) != before) {
      bool proven = prove(&mutant, &report);
      ++*made;
      *killed += !proven;
      if (proven && show) printf("  seed %u survives: %s\n", seed, mutation->name);
    }
    build_free(&b);
  }
}

int main(int argc, char **argv) {
  bool show = argc > 1 && strcmp(argv[1], "show") == 0;
  int all_made = 0, all_killed = 0;
  char why[PLAN_WHY_BYTES];
  bool measured = argc > 1 && !show; /* the least rates are those of the examples */
  if (measured && !plan_open(&compiled, argv[1], why)) {
    printf("%s\n", why);
    return 1;
  }
  TEST("mutants die") {
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) {
      int made = 0, killed = 0;
      run(&mutations[i], show, &made, &killed);
      printf("%-30s %4d of %4d killed\n", mutations[i].name, killed, made);
      CHECK(measured || (made > 0 && killed * 100 >= made * mutations[i].least_percent));
      all_made += made, all_killed += killed;
    }
  }
  printf("%-30s %4d of %4d killed: %.1f %%\n", "all", all_killed, all_made,
         100.0 * all_killed / all_made);
  plan_close(&compiled);
  CHECK_DONE();
}
