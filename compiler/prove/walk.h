/* walk.h -- going through programs as a rank of one class does, shared by all properties. */
#ifndef LOCKSTEP_PROVE_WALK_H
#define LOCKSTEP_PROVE_WALK_H

#include "compiler/prove/prove.h"
#include "kernels/contract/contract.h"

/* Which buffer each base of each call lies in, and at which call the life of each begins; made by
 * prove_memory. All in one block. Buffers are indices into plan->buffers. */
typedef struct Ledger {
  uint32_t *base_first;  /* by position of the call: where its bases begin in buffer_of */
  uint32_t *buffer_of;   /* PLAN_NONE: nothing that runs touches the base */
  uint32_t *birth_first; /* by position, and one more: where its births begin in born */
  uint32_t *born;
} Ledger;

/* What a plan's tables say of a value. */
typedef struct ValueRows {
  uint32_t named[ValueKind_COUNT]; /* the first value of a kind that has its name, or PLAN_NONE */
  const PlanParameter *parameter;  /* NULL: it is none */
  bool has_master;
} ValueRows;

/* A class. Its ranks differ only in which member of a row an operand is. */
typedef struct View {
  const Plan *plan;
  ProveReport *report;
  const KernelContract **contract; /* by kernel of the plan; NULL: kernels.def lacks it */
  ValueRows *rows;                 /* by value */
  const PlanClass *class;
  Ledger ledger[ProgramKind_COUNT];
} View;

/* Where a walk is. */
typedef struct Walk {
  const View *view;
  const PlanProgram *program;
  const PlanCall *call;
  const PlanSegment *segment;
  uint32_t position;   /* of the call in the program */
  uint32_t iteration;  /* of its loop */
  uint32_t iterations; /* of a loop, at most, that are walked */
  int32_t microbatch;  /* -1: none */
  uint32_t next_loop;
  const PlanLoop *loop; /* that the call is in, or NULL */
} Walk;

/* How often the body of a loop is walked. What a third iteration would meet, the second has met. */
enum { WALK_ONCE = 1, WALK_TWICE = 2, WALK_ALL = INT32_MAX };

Walk walk_begin(const View *view, const PlanProgram *program, uint32_t iterations);
bool walk_next(Walk *walk);

/* Micro-batches that the loop has gone on by; plan_check: they fit. */
static inline uint32_t walk_grown(const Walk *walk) {
  return walk->loop == NULL ? 0 : walk->iteration * walk->loop->microbatch_stride;
}

/* The records of a segment, as of any call of it: for what is the same in all. */
Walk walk_segment(const View *view, const PlanSegment *segment);

static inline bool walk_runs(const Walk *walk, const PlanRecord *record) {
  return plan_when(record->when_all, record->when_none, walk->call->flags);
}

static inline uint64_t buffer_address(const PlanBuffer *buffer) {
  return plan_address(buffer->tier, buffer->offset);
}

/* Address (plan_address) of base `index` of the current call, the same on all ranks: memory. */
static inline uint64_t walk_base(const Walk *walk, uint32_t index) {
  const PlanBinding *binding = &walk->view->plan->bindings[walk->call->bindings_first + index];
  return plan_address(binding->tier, binding->offset);
}

static inline uint32_t walk_buffer(const Walk *walk, uint32_t base) {
  const Ledger *ledger = &walk->view->ledger[walk->program->kind];
  return ledger->buffer_of[ledger->base_first[walk->position] + base];
}

/* Where an operand begins in its base, and ends: on one rank or another, all members of its row. */
static inline uint64_t operand_end(const Plan *plan, const PlanOperand *operand) {
  uint64_t members = operand->by == PLAN_NONE ? 1 : plan_comm_size(plan, operand->by);
  return operand->offset + (members - 1) * (uint64_t)operand->member_stride + operand->size_bytes;
}

/* NULL: it is a communication or a load, or nothing is known of its kernel. */
static inline const KernelContract *contract_at(const View *view, const PlanRecord *record) {
  return record->kind == RECORD_KERNEL ? view->contract[record->kernel] : NULL;
}

static inline const PlanOperand *record_operand(const Plan *plan, const PlanRecord *record,
                                                uint32_t i) {
  return &plan->operands[record->operands_first + i];
}

static inline const PlanRecord *walk_record(const Walk *walk, uint32_t index) {
  return &walk->view->plan->records[walk->segment->records_first + index];
}

/* `bit` is each number of a mask. */
#define EACH_BIT(bit, mask)                                                                        \
  for (uint32_t bit##_left = (mask), bit = 0;                                                      \
       bit##_left != 0 && (bit = (uint32_t)__builtin_ctz(bit##_left), true);                       \
       bit##_left &= bit##_left - 1)

/* Mask of the axes that have more than one rank. */
static inline uint32_t mesh_axes(const Plan *plan) {
  uint32_t axes = 0;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    axes |= (uint32_t)(plan->axes[axis].size > 1) << axis;
  return axes;
}

/* Same names and sizes of all dims. */
bool layouts_alike(const Plan *plan, uint32_t a, uint32_t b);

/* An attr of a record as this member of the communicator by which it varies has it. */
double attr_of_member(const Plan *plan, const PlanRecord *record, uint32_t attr, uint32_t member);

/* Words one after another, as far as there is room; all zero but for `at` and `room` at first. */
typedef struct Line {
  char *at;
  size_t room, used;
} Line;

void line_add(Line *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* ", record 3 (linear_dw h.*.w)" of the segment that the walk is at. */
void line_add_record(Line *text, const Walk *walk, uint32_t index);

/* " (specs/models/gpt2.lua:9:15)", where the model asks for the node; "": nowhere. Returns `text`.
 */
enum { SOURCE_BYTES = 128 };
const char *node_source(const Plan *plan, const PlanNode *node, char text[SOURCE_BYTES]);

/* Adds a finding. `walk` says in which call, `record` which record of it; NULL and -1: none. */
void prove_finding(const View *view, const Walk *walk, int64_t record, const char *property,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* 64 bits that stand for a sequence of numbers: of those before, and one more. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u + value;
  hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

/* Memory of a property: zeroed, or a finding and NULL. Freed by the caller. */
void *prove_array(const View *view, size_t count, size_t item_bytes);

/* Fills contract and rows of a view that has a plan and a report. False: a finding says why not. To
 * be closed in any case, when no copy of the view is in use. */
bool view_open(View *view);
void view_close(View *view);

/* ---- the properties; each adds its findings */

/* The backward nodes of a plan's model are the derivatives of its forward nodes. Judged once, on
 * the model before anything was cut. And what is evaluated is what is trained, without dropout. */
void prove_derivatives(const View *view);
void prove_evaluation(const View *view);

/* Every record is as large as its kernel says, and what its node, or its purpose, makes it. What
 * stands in operands, and what is moved where, is the types': dims that follow from these sizes are
 * not looked at. */
void prove_records(const View *view);

void prove_communication(const View *view);

/* Fills view->ledger, which the ones after it read; false when that cannot be. */
bool prove_memory(View *view);
void ledger_close(View *view);

/* Of all classes: what is worked out for one view serves the others. Types are judged last. */
void prove_ordering(const View *views, uint32_t count);
void prove_types(const View *views, uint32_t count);

#endif
