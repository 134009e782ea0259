/* typing.h -- the state while one call of one class is typed: the current record, its operands, and
 * the types of their bytes. Private to compiler/plan/prove/types. */
#ifndef LOCKSTEP_PROVE_TYPING_H
#define LOCKSTEP_PROVE_TYPING_H

#include "compiler/plan/prove/types/typing_state.h"

/* Types a program to its end (programs.c), or one record (records.c). */
void run_program(Typing *t, const PlanProgram *program, Held *held);
void type_record(Typing *t);

/* Makes the current record the collective that it forms with the kernels that gather and scatter
 * its pieces: pieces.c. False: the record gathers or scatters for an adjacent collective, which is
 * checked for both; or it is refused. */
bool join_pieces_of(Typing *t);

/* ---- rules, by the record's purpose; each reads operands and refuses, or writes results */

void type_node(Typing *t); /* nodes.c: a node of the model or a part of one */
void type_move(Typing *t); /* moves.c: conversions of layout, parameters, gradients */
void type_cast(Typing *t);
void type_quantise(Typing *t);   /* of a cast, or done again */
void type_all_reduce(Typing *t); /* sums over ranks, in place */
void type_control(Typing *t);    /* the loss, and requests */
void type_ring(Typing *t);       /* ring.c: a value arrives from another rank */
void type_transfer(Typing *t);   /* transfers.c: between stages */
void type_join(Typing *t);       /* gradients of a tied tensor */
void type_copy(Typing *t);       /* offload.c: between tiers */
bool mirror_is_made(Typing *t);  /* False: refused, the host reads old control */
void type_init(Typing *t);       /* states.c */
void type_clear(Typing *t);
void type_update(Typing *t);
void type_grad_norm(Typing *t); /* grad_norm.c */

/* ---- findings: findings.c. Only the first of a class is reported. All return false, for rules to
 * return. */

/* A finding about what these addresses hold; `about` gives the place in the model file. */
bool refuse_at(Typing *t, const Type *about, const TypeSpan *bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
#define REFUSE(t, ...) refuse_at((t), NULL, NULL, __VA_ARGS__)
/* About what the first operand holds: "WHY: TYPE", and who wrote it. */
bool refuse_found(Typing *t, const Type *type, const char *why);
/* "OTHER; cannot be WHY: TYPE". */
bool refuse_joined(Typing *t, const Type *type, const Type *other, const char *why);
/* "operand 2 weight: expected WANTED, found FOUND", and who wrote it. */
bool refuse_operand(Typing *t, uint32_t operand, const Type *found, const Type *wanted);
/* "WHY along AXIS: TYPE", or without a type. */
bool refuse_along(Typing *t, uint32_t axis, const char *why, const Type *type);

/* The text of a type. */
const char *told(Typing *t, const Type *type);

/* ---- the current record: typing.c */

static inline const PlanOperand *operand_at(const Typing *t, uint32_t operand) {
  return t->call.at == &t->call.joined.record ? &t->call.joined.operand[operand]
                                              : record_operand(t->plan, t->call.at, operand);
}

static inline const int64_t *record_dims(const Typing *t) {
  return t->call.at == &t->call.joined.record ? t->call.joined.dims
                                              : t->plan->ints + t->call.at->dims_first;
}

static inline const double *record_attrs(const Typing *t) {
  return t->call.at == &t->call.joined.record ? &t->call.joined.back
                                              : t->plan->reals + t->call.at->attrs_first;
}

/* NULL: a communication or a load. */
static inline const KernelContract *record_contract(const Typing *t) {
  return contract_at(t->view, t->call.at);
}

/* Masks of axes with more than one rank: those of a communicator; those that divide this value. */
uint32_t axes_of_comm(const Typing *t, uint32_t comm);
uint32_t axes_dividing(const Typing *t, Divides what);

static inline bool has_stages(const Typing *t) {
  return axes_dividing(t, DIVIDES_DEPTH) != 0;
}

/* True if calls of the current one's kind compute that region: its program's, and with a layer only
 * in a stack, for random numbers depend on it. False: refused. */
bool is_call_of(Typing *t, uint32_t region);

/* The axes along which samples are divided. No layout states them. */
void cut_samples(const Typing *t, Type *type);

/* Sets places from a layout of the plan. */
void layout_places(const Plan *plan, uint32_t layout, Place *places);

/* Sets places from the layout that the plan states for the operand. False: refused, because the
 * operand has no layout, or that of another value. */
bool said_places(Typing *t, uint32_t operand, uint32_t value, Place *places);

/* The layout found must be the one that the plan states, because a record's numbers were checked
 * against that. A value stated as partial sums must not be summed earlier, which would round
 * differently. */
bool is_as_said(Typing *t, uint32_t operand, const Type *type);

/* True if the operand has as many elements as a rank's part of the value. False: refused. */
bool right_size(Typing *t, uint32_t operand, uint32_t value, const Type *type);

/* ---- what its operands hold: typing.c */

/* The bytes of a cell that an operand covers. Where each rank has one piece of a row: the whole
 * row. */
typedef struct Where {
  Reached *reached;
  uint64_t first, end;
  const PlanOperand *operand;
  uint32_t own_axes; /* mask of axes whose members have pieces of the row; 0: it is not a row of
                        pieces */
} Where;

Where where(Typing *t, uint32_t operand);
/* The same, for rules without pieces of a row: refuses them. */
Where all_of(Typing *t, uint32_t operand);

/* How the kernel strides over its operand. False: it is dense. */
bool view_of(const Typing *t, uint32_t operand, KernelView *view);

/* The type of exactly the operand's bytes; for a piece of a row, PLACE_FLAT along its axes. */
Type read_type(Typing *t, uint32_t operand);
void write_type(Typing *t, uint32_t operand, const Type *type);

/* The type of exactly these bytes, or of a part of zeros. */
static inline Type found_in(const Typing *t, const Spans *spans, uint64_t first, uint64_t end) {
  return type_at(&t->proof.types, spans_read(&t->proof.types, spans, first, end));
}

/* Records that these bytes hold this type from now on, in place of their former one. */
void put(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type);

/* The span at an offset, or the next one, cut to the operand if it is zeros. False: none lies in
 * the operand.
 */
bool next_span(const Typing *t, const Where *at, uint64_t offset, TypeSpan *span);

/* The tensor that a row of pieces holds: its elements, followed by zeros. TYPE_NOTHING: it is not
 * such a row. */
Type read_row(Typing *t, const Spans *spans, uint64_t first, uint64_t end);
void write_row(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type);

static inline Type zeros(DType dtype) {
  return (Type){
      .kind = TYPE_ZERO, .dtype = (uint8_t)dtype, .layer = TYPE_ANY, .microbatch = TYPE_ANY};
}

/* The samples of a step and the control block belong to the runtime. */
static inline bool is_of_runtime(const PlanBuffer *buffer) {
  return buffer->program == PLAN_NONE &&
         (buffer->kind == BUFFER_DATA || buffer->kind == BUFFER_CONTROL ||
          buffer->kind == BUFFER_MIRROR);
}

/* ---- sums: sums.c */

/* Adds what a node makes of this micro-batch to a sum, or begins one, as the record's `accumulate`
 * says. */
void add_to_sum(Typing *t, uint32_t operand, Type *sum, uint32_t node);

/* Adds the other's micro-batches and uses, or blocks. False: they are not parts of the same sum, or
 * overlap, or leave a gap. */
bool join_parts(const Typing *t, Type *sum, const Type *other);

/* True if the sum has some of the value's uses over all micro-batches; whether it has every use. */
bool is_whole_step(const Typing *t, const Type *sum);
bool sum_is_complete(const Typing *t, const Type *sum);

/* ---- what updates and the norm need: states.c */

/* The operand must hold the gradient of the record's parameter, complete: every use in every
 * micro-batch. False: refused, as is a record without a parameter. */
bool read_gradient(Typing *t, uint32_t operand, Type *found);

/* The address of a loss and its weight in the control block. */
uint64_t loss_address(const Typing *t, int32_t number);

/* Refuses a record that reads control slots before they are made, or after a change: moves.c. */
void check_slots(Typing *t);

/* True if losses and requests have been summed over all ranks, if there are several. */
bool has_totals(const Typing *t);

/* The operand must hold the sum of the squares of all gradients: grad_norm.c. */
uint64_t all_squares(const Typing *t);

/* Stages must have each use of a tied tensor exactly once: transfers.c. Refused otherwise. */
void check_joins(Typing *t);

#endif
