/* walk.h -- going through programs as a rank of one class does, shared by all properties. */
#ifndef LOCKSTEP_PROVE_WALK_H
#define LOCKSTEP_PROVE_WALK_H

#include "compiler/prove/prove.h"
#include "kernels/contract/contract.h"

/* Coordinates of a view: offsets may depend on them. */
enum { PROVE_AXES_MAX = 32 };

/* Which buffer of the ledger each base of each call lies in; made by prove_memory. */
typedef struct Ledger {
  uint32_t *base_first; /* by position of the call: where its bases begin in buffer_of */
  uint32_t *buffer_of; /* index into plan->buffers; PLAN_NONE: nothing that runs touches the base */
} Ledger;

/* A class seen from one set of coordinates. */
typedef struct View {
  const Plan *plan;
  ProveReport *report;
  const PlanClass *class;
  uint32_t coordinate[PROVE_AXES_MAX];
  uint64_t rank; /* hash of its numbers in all communicators */
  Ledger ledger[ProgramKind_COUNT];
} View;

/* Coordinates that stand for all ranks of a class, the first rank first. To be freed. */
typedef struct Members {
  uint32_t (*coordinates)[PROVE_AXES_MAX]; /* NULL: a finding says why */
  uint32_t count;
} Members;

Members members_of(const View *view);

/* Sees the class as the rank with these coordinates does. */
void view_from(View *view, const uint32_t *coordinate);

/* Where a walk is. A loop is walked twice: what a third iteration would do, the second has done.
 * Micro-batches are numbered as if the iterations left out did not exist, so that they stay
 * consecutive. */
typedef struct Walk {
  const View *view;
  const PlanProgram *program;
  const PlanCall *call;
  const PlanSegment *segment;
  uint32_t position;  /* of the call in the program */
  uint32_t iteration; /* 0 or 1 */
  int32_t microbatch; /* consecutive number; -1: none */
  int64_t left_out;   /* micro-batches of iterations not walked, so far */
  uint32_t next_loop;
  const PlanLoop *loop; /* that the call is in, or NULL */
} Walk;

Walk walk_begin(const View *view, const PlanProgram *program);
bool walk_next(Walk *walk);

const PlanProgram *view_program(const View *view, ProgramKind kind); /* NULL: the class has none */

static inline bool walk_runs(const Walk *walk, const PlanRecord *record) {
  return plan_when(record->when_all, record->when_none, walk->call->flags);
}

static inline int64_t view_member(const View *view, uint32_t comm) {
  return (int64_t)plan_member(view->plan, comm, (const int32_t *)view->coordinate);
}

static inline uint64_t buffer_address(const PlanBuffer *buffer) {
  return plan_address(buffer->tier, buffer->offset);
}

/* Address (plan_address) of base `index` of the current call. */
static inline uint64_t walk_base(const Walk *walk, uint32_t index) {
  const PlanBinding *binding = &walk->view->plan->bindings[walk->call->bindings_first + index];
  uint64_t address = plan_address(binding->tier, binding->offset);
  if (binding->by == PLAN_NONE) return address;
  return address + (uint64_t)(view_member(walk->view, binding->by) * binding->member_stride);
}

static inline uint32_t walk_buffer(const Walk *walk, uint32_t base) {
  const Ledger *ledger = &walk->view->ledger[walk->program->kind];
  return ledger->buffer_of[ledger->base_first[walk->position] + base];
}

/* Offset of an operand from its base. */
static inline uint64_t view_operand(const View *view, const PlanOperand *operand) {
  if (operand->by == PLAN_NONE) return operand->offset;
  return operand->offset + (uint64_t)(view_member(view, operand->by) * operand->member_stride);
}

static inline const PlanRecord *walk_record(const Walk *walk, uint32_t index) {
  return &walk->view->plan->records[walk->segment->records_first + index];
}

static inline bool record_is_communication(const PlanRecord *record) {
  return record->kind != RECORD_KERNEL && record->kind != RECORD_LOAD;
}

/* Adds a finding. `walk` says in which call, `record` which record of it; NULL and -1: none. */
void prove_finding(const View *view, const Walk *walk, int64_t record, const char *property,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Memory of a property: zeroed, or a finding and NULL. Freed by the caller. */
void *prove_array(const View *view, size_t count, size_t item_bytes);

/* The buffers of a program by the call at which their life begins, or ends. */
typedef struct BufferOrder {
  uint32_t *buffer; /* indices into plan->buffers; NULL: a finding says why. To be freed */
  uint32_t *first;  /* by call position, and one more: where its buffers begin; in the same block */
} BufferOrder;

BufferOrder order_buffers(const View *view, const PlanProgram *program, bool by_first_call);

/* The contracts of the plan's kernels; NULL for one that kernels.def does not have. An array to be
 * freed, or NULL and a finding. */
const KernelContract **prove_contracts(const View *view);

/* ---- the properties; each adds its findings */

void prove_shapes(const Plan *plan, ProveReport *report);

void prove_communication(const Plan *plan, ProveReport *report);

/* Fills view->ledger, which the ones after it read; false when that cannot be. view_close frees it.
 */
bool prove_memory(View *view);

void view_close(View *view);

typedef struct Braids Braids; /* braid.h: what it works out for one view serves the others */
void prove_ordering(const View *view, Braids *braids);

#endif
