/* walk.h -- walks through programs as a rank of one class does; shared by all properties. */
#ifndef LOCKSTEP_PROVE_WALK_H
#define LOCKSTEP_PROVE_WALK_H

#include "compiler/base/base.h"
#include "compiler/plan/prove/prove.h"
#include "kernels/contract/contract.h"
#include "runtime/plan/optimizers.h"

/* The buffer that each base of each call lies in, and the call at which each buffer's life begins;
 * made by prove_memory. Buffers are indices into plan->buffers. */
typedef struct Ledger {
  uint32_t *base_first; /* by position of the call: index of its first base in buffer_of */
  uint32_t *buffer_of;
  uint32_t *birth_first; /* by position, and one more: index of its first birth in born */
  uint32_t *born;
} Ledger;

/* The rows of a plan's tables about a value. */
typedef struct ValueRows {
  uint32_t name;                   /* the first value with the same name */
  uint32_t first[ValueKind_COUNT]; /* of such a first one, by kind: 1 + the first value; 0: none */
  const PlanParameter *parameter;  /* NULL: the value is no parameter */
  TruthStorage truth;
} ValueRows;

/* A plan as the ranks of one class see it. They differ only in which member's piece an operand is.
 */
typedef struct View {
  const Plan *plan;
  ProveReport *report;
  Arena *arena;                    /* of the whole proof */
  const KernelContract **contract; /* by kernel of the plan; NULL: kernels.def lacks it */
  ValueRows *rows;                 /* by value */
  const PlanClass *class;
  Ledger ledger[ProgramKind_COUNT];
} View;

/* How far a walk has got. */
typedef struct Walk {
  const View *view;
  const PlanProgram *program;
  const PlanCall *call;
  const PlanSegment *segment;
  uint32_t position;   /* of the call in the program */
  uint32_t iteration;  /* of the loop that the call is in */
  uint32_t iterations; /* at most this many iterations of a loop are walked */
  int32_t microbatch;  /* -1: none */
  uint32_t next_loop;
  const PlanLoop *loop; /* that the call is in, or NULL */
} Walk;

/* How often the body of a loop is walked. A third iteration would find the same state as the
 * second. */
enum { WALK_ONCE = 1, WALK_TWICE = 2, WALK_ALL = INT32_MAX };

/* The value of a key of the job; "none" where the job does not set it. */
const char *job_setting(const Plan *plan, const char *key);
/* True if codes of products have one scale for each block of numbers. */
bool codes_by_block(const Plan *plan);

Walk walk_begin(const View *view, const PlanProgram *program, uint32_t iterations);
bool walk_next(Walk *walk);

/* How many micro-batches the loop has advanced. plan_check: they fit. */
static inline uint32_t walk_grown(const Walk *walk) {
  return walk->loop == NULL ? 0 : walk->iteration * walk->loop->microbatch_stride;
}

/* A walk over the records of a segment alone, for what is the same in all its calls. */
Walk walk_segment(const View *view, const PlanSegment *segment);

static inline bool walk_runs(const Walk *walk, const PlanRecord *record) {
  return plan_runs(walk->call, record);
}

static inline uint64_t buffer_address(const PlanBuffer *buffer) {
  return plan_address(buffer->tier, buffer->offset);
}

/* Address (plan_address) of base `index` of the current call. The same on all ranks, as `memory`
 * has shown. */
static inline uint64_t walk_base(const Walk *walk, uint32_t index) {
  const PlanBinding *binding = &walk->view->plan->bindings[walk->call->bindings_first + index];
  return plan_address(binding->tier, binding->offset);
}

static inline uint32_t walk_buffer(const Walk *walk, uint32_t base) {
  const Ledger *ledger = &walk->view->ledger[walk->program->kind];
  return ledger->buffer_of[ledger->base_first[walk->position] + base];
}

/* The first byte of an operand in its base and the end of its last, over all members of its row. */
static inline uint64_t operand_end(const Plan *plan, const PlanOperand *operand) {
  uint64_t members = operand->by == PLAN_NONE ? 1 : plan_comm_size(plan, operand->by);
  return operand->offset + (members - 1) * (uint64_t)operand->member_stride + operand->size_bytes;
}

/* The first value of this kind with the same name as `value`, or PLAN_NONE. */
static inline uint32_t value_named(const View *view, uint32_t value, ValueKind kind) {
  return view->rows[view->rows[value].name].first[kind] - 1;
}

/* NULL: a communication or a load, or a kernel that kernels.def does not have. */
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

/* Loops over the bits of a mask. */
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

/* True if all dims have the same names and sizes. */
bool layouts_alike(const Plan *plan, uint32_t a, uint32_t b);

/* An attr of a record on this member of the communicator along which it varies. */
double attr_of_member(const Plan *plan, const PlanRecord *record, uint32_t attr, uint32_t member);

/* Text appended piece by piece, as far as there is room. Begins as zero except for `at` and `room`.
 */
typedef struct Line {
  char *at;
  size_t room, used;
} Line;

void line_add(Line *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* ", record 3 (linear_dw h.*.w)" of the segment that the walk is at. */
void line_add_record(Line *text, const Walk *walk, uint32_t index);

/* " (specs/models/gpt2.lua:9:15)", the line of the model that made the node; "" if there is none.
 */
const char *node_source(const View *view, const PlanNode *node);

/* Adds a finding about a call (`walk`) and one of its records (`record`); NULL and -1: about
 * neither. */
void prove_finding(const View *view, const Walk *walk, int64_t record, const char *property,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A hash of a sequence of numbers: that of the numbers before, and one more. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u + value;
  hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

/* Fills `contract` and `rows` of a view that has a plan, a report and an arena. */
void view_open(View *view);

/* ---- the claims of the proof; each function adds its findings */

/* The backward nodes of a plan's model are the derivatives of its forward nodes: checked once, on
 * the model before sharding. prove_evaluation: evaluation computes the trained model, without
 * dropout. */
void prove_derivatives(const View *view);
void prove_evaluation(const View *view);

/* Every record's operands are as large as its kernel says, and its numbers follow from its node or
 * its purpose. The rule `types` checks the contents of operands, the destinations of moves, and
 * dims that follow from these sizes. */
void prove_records(const View *view);
/* Every segment's name states a kind of segments.def, and its records have purposes of that kind.
 */
void prove_segments(const View *view);

void prove_communication(const View *view);

/* Fills view->ledger, which later properties read. */
void prove_memory(View *view);

/* Also counts calls, records and the bytes that they access. */
void prove_ordering(const View *views, uint32_t count);

/* A snapshot has all that a checkpoint of the class has, and what it copies stays until it is
 * copied. After prove_memory. */
void prove_snapshot(const View *view);

/* A checkpoint has each element of the state once. No class in the view. */
void prove_saves(const View *whole);

/* For all classes at once: results are shared between views. Comes last. */
void prove_types(const View *views, uint32_t count);

#endif
