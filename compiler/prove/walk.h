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

/* What was looked at before under another name: repeats.c. */
typedef struct Repeats {
  bool *told_buffer;                  /* by buffer of the class: another had the same story */
  bool *told_call[ProgramKind_COUNT]; /* by position: all its transient buffers are such */
  bool *told_all[ProgramKind_COUNT];  /* by position: and the persistent ones */
  bool *again;        /* by position in the train step: of a part that is like an earlier one */
  bool *again_buffer; /* by buffer of the class: of such a part */
  uint64_t rank;      /* hash of what records may know of the rank */
} Repeats;

/* A class seen from one set of coordinates. */
typedef struct View {
  const Plan *plan;
  ProveReport *report;
  const PlanClass *class;
  uint32_t coordinate[PROVE_AXES_MAX];
  Ledger ledger[ProgramKind_COUNT];
  Repeats repeats;
} View;

/* Coordinates that stand for all ranks of a class, the first rank first. To be freed. */
typedef struct Members {
  uint32_t (*coordinates)[PROVE_AXES_MAX]; /* NULL: a finding says why */
  uint32_t count;
} Members;

Members members_of(const View *view);

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

/* The micro-batches that walking the whole program numbers. */
int64_t walk_left_out(const View *view, const PlanProgram *program);

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

/* A gather or scatter whose one operand is the whole: only the member's own pieces go in, or come
 * out. */
static inline bool record_in_place(const PlanRecord *record) {
  return (record->kind == RECORD_ALL_GATHER || record->kind == RECORD_REDUCE_SCATTER) &&
         record->operands_count == 1;
}

/* The own pieces of an operand that is whole, one after another, as arena offsets. */
typedef struct Pieces {
  const int64_t *pair; /* (times, elements) */
  uint32_t pairs_left;
  int64_t times_left;
  uint64_t at, unit, members, member; /* at: of the first member's piece */
} Pieces;

/* False, and a finding: more of them than can be looked at one by one. */
bool pieces_are_few(const Walk *walk, uint32_t record);
Pieces pieces_begin(const Walk *walk, const PlanRecord *record, uint64_t whole_first);
bool pieces_range(Pieces *pieces, uint64_t *first, uint64_t *end);

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
/* The same of their KernelRoles. */
uint8_t *prove_roles(const View *view);

/* ---- the properties; each adds its findings */

void prove_shapes(const Plan *plan, ProveReport *report);

/* Adds what meets what in exchanges between classes: events.h. */
typedef struct Links Links;
void prove_communication(const Plan *plan, ProveReport *report, Links *links);

/* Fills view->ledger, which the ones after it read; false when that cannot be. view_close frees it.
 */
bool prove_memory(View *view);

/* Stories that were told, of all views: hashes in a table. */
typedef struct Told {
  uint64_t *story; /* to be freed */
  size_t count, capacity;
} Told;

/* Adds the story. */
bool told_before(Told *told, uint64_t story);

/* Fills view->repeats, from the ledger, but for parts; false when that cannot be. */
bool find_repeats(View *view, Told *told);
/* Fills `again` and `again_buffer`. */
bool find_parts(View *view);
void view_close(View *view);
typedef struct Braids Braids; /* braid.h: what it works out for one view serves the others */
void prove_ordering(const View *view, Braids *braids);
void prove_dataflow(const View *view);
void prove_values(const View *view);
void prove_twins(const View *view);
void prove_adjoint(const View *view);

/* Classes are followed in order, or `back`. True when a class that came before would now receive
 * something else: what was found then may be wrong. */
bool prove_replicas(const View *view, Links *links, bool back);

/* The step of one class after another, between open and close: what only all together show is
 * found at the end. */
typedef struct Classes Classes;
Classes *step_classes_open(const Plan *plan, ProveReport *report, const Links *links);
void prove_step(const View *view, Classes *classes);
void step_classes_close(Classes *classes);

#endif
