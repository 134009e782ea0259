/* walk.h -- going through programs as a rank of one class does, shared by all properties. */
#ifndef LOCKSTEP_PROVE_WALK_H
#define LOCKSTEP_PROVE_WALK_H

#include "compiler/prove/prove.h"
#include "kernels/contract/contract.h"

/* The buffers of a program by the call at which their life begins. */
typedef struct BufferOrder {
  uint32_t *buffer; /* indices into plan->buffers */
  uint32_t *first;  /* by call position, and one more: where its buffers begin; in the same block */
} BufferOrder;

/* Which buffer each base of each call lies in; made by prove_memory. */
typedef struct Ledger {
  uint32_t *base_first; /* by position of the call: where its bases begin in buffer_of */
  uint32_t *buffer_of; /* index into plan->buffers; PLAN_NONE: nothing that runs touches the base */
  BufferOrder births;
} Ledger;

/* A class. Its ranks differ only in which member of a row an operand is. */
typedef struct View {
  const Plan *plan;
  ProveReport *report;
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

const PlanProgram *view_program(const View *view, ProgramKind kind); /* NULL: the class has none */

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

static inline const PlanRecord *walk_record(const Walk *walk, uint32_t index) {
  return &walk->view->plan->records[walk->segment->records_first + index];
}

static inline bool record_is_communication(const PlanRecord *record) {
  return record->kind != RECORD_KERNEL && record->kind != RECORD_LOAD;
}

/* The class `distance` further along the only axis of the communicator; PLAN_NONE: ranks of the
 * class do not all come to the same one. communication.c */
uint32_t class_at_distance(const Plan *plan, uint32_t class, uint32_t comm, int64_t distance);

/* Adds a finding. `walk` says in which call, `record` which record of it; NULL and -1: none. */
void prove_finding(const View *view, const Walk *walk, int64_t record, const char *property,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Memory of a property: zeroed, or a finding and NULL. Freed by the caller. */
void *prove_array(const View *view, size_t count, size_t item_bytes);

/* The contracts of the plan's kernels; NULL for one that kernels.def does not have. An array to be
 * freed, or NULL and a finding. */
const KernelContract **prove_contracts(const View *view);

/* ---- the properties; each adds its findings */

/* The plan as it would be if collectives moved pieces, with tables of its own where it differs.
 * Findings name what packs for none of them. False: out of memory, a finding. Close it anyway. */
bool unpacked_open(const View *view, Plan *unpacked);
void unpacked_close(const Plan *unpacked);

/* Beside Access, in such a plan: operands behind a collective's own, which it packs into. */
enum { ACCESS_SCRATCH = Access_COUNT };

/* The backward nodes of a plan's model are the derivatives of its forward nodes. Judged once, on
 * the model before anything was cut. And what is evaluated is what is trained, without dropout. */
void prove_derivatives(const Plan *plan, ProveReport *report);
void prove_evaluation(const Plan *plan, ProveReport *report);

/* Every record is as large as its kernel says, and what its node, or its purpose, makes it. What
 * stands in operands, and what is moved where, is the types': dims that follow from these sizes are
 * not looked at. */
void prove_records(const Plan *plan, ProveReport *report);

void prove_communication(const Plan *plan, ProveReport *report);

/* Fills view->ledger, which the ones after it read; false when that cannot be. view_close frees it.
 */
bool prove_memory(View *view);

void view_close(View *view);

/* Of all classes: what is worked out for one view serves the others. */
void prove_ordering(const View *views, uint32_t count);

#endif
