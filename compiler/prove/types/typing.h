/* typing.h -- one call of one class: the record at hand, its operands, and what stands in them.
 * Private to compiler/prove/types. */
#ifndef LOCKSTEP_PROVE_TYPING_H
#define LOCKSTEP_PROVE_TYPING_H

#include "compiler/prove/types/cells.h"
#include "compiler/prove/types/meaning.h"
#include "compiler/prove/types/type.h"

enum { TYPING_BASES_MAX = 64, TYPING_JOINS_MAX = 64 };

/* Control values that records make, in the order of a step: bits of `made`. */
enum { MADE_NORM = 1u << 0, MADE_TOTALS = 1u << 1 };

/* A cell that the call reaches. */
typedef struct Reached {
  const PlanBuffer *buffer;
  uint32_t cell;
  uint64_t start; /* address of the cell */
  Spans spans;    /* from the start of the cell; types relative to the call */
} Reached;

/* What a stage sends of a tied tensor's gradient, and to which class. */
typedef struct Join {
  uint32_t class, peer;
  uint32_t ref, pad;
  uint64_t uses; /* which of the nodes that add to it: bits in their order */
} Join;

/* A collective of pieces, made of one of one run a member and what packs around it. */
typedef struct Joined {
  PlanRecord record; /* but for operands and numbers: */
  PlanOperand operand[4];
  const int64_t *dims;
  int64_t turn[5]; /* dims of an all-to-all */
  double back;     /* and its direction */
} Joined;

/* Beside Access: what it packs into. */
enum { ACCESS_SCRATCH = Access_COUNT };

typedef struct Typing {
  const View *view;
  const Plan *plan;
  Meaning meaning;
  Types types;
  void *forms;      /* that were read: forms.c */
  Pool found, left; /* of calls that were looked at, whatever their class: programs.c */
  Cells cells;      /* of the class */
  Held *held;       /* by cell */

  Walk walk;            /* program, call, position */
  int64_t microbatches; /* of the program */
  uint32_t made;        /* MADE_* so far */
  Reached reached[TYPING_BASES_MAX];
  uint32_t reached_count;
  uint32_t base_reached[TYPING_BASES_MAX]; /* by base of the segment */
  uint64_t base_offset[TYPING_BASES_MAX];  /* from the start of its cell */
  bool tells_class; /* the call says something of its class: it is not one with other classes' */
  uint32_t record;  /* within the segment */
  const PlanRecord *at; /* NULL: none is at hand; &joined.record: several together */
  Joined joined;
  bool refused;                  /* a finding says why: nothing more is said of this class */
  char text[2][TYPE_TEXT_BYTES]; /* told */
  uint32_t next_text;

  /* What only all classes together show. */
  Join join[TYPING_JOINS_MAX];
  uint32_t join_count;
  bool has_loss;       /* of this stage */
  uint64_t squares;    /* in the norm, of this stage */
  uint64_t norm_story; /* how the last stage has added up squares of others; 0: none was seen */
} Typing;

/* A program to its end: programs.c. One record: records.c. */
void run_program(Typing *t, const PlanProgram *program, Held *held);
void type_record(Typing *t);

/* Goes over to what the record at hand is together with those that pack around it: packed.c. False:
 * it packs for one beside it, which is looked at for both; or it is refused. */
bool join_packed(Typing *t);

/* ---- rules, by what the record is for; each reads operands, refuses, or writes results */

void type_node(Typing *t);       /* nodes.c: a node of the model, or a part of one */
void type_move(Typing *t);       /* moves.c: values in another layout, parameters, gradients */
void type_all_reduce(Typing *t); /* sums over ranks, in place */
void type_control(Typing *t);    /* the loss, and requests */
void type_ring(Typing *t);       /* ring.c: a value of another rank comes */
void type_transfer(Typing *t);   /* transfers.c: between stages */
void type_join(Typing *t);       /* gradients of a tied tensor */
void type_init(Typing *t);       /* states.c */
void type_clear(Typing *t);
void type_update(Typing *t);
void type_norm(Typing *t); /* norm.c */

/* ---- findings: findings.c. The first reason stands; nothing more is said of the class. All are
 * false, for rules to return. */

bool refuse(Typing *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of what stands at these addresses; `about` is told by its place in the model file. */
bool refuse_at(Typing *t, const Type *about, const Span *bytes, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Of what stands in the first operand: "WHY: TYPE", and who wrote it. */
bool refuse_found(Typing *t, const Type *type, const char *why);
/* "OTHER; cannot be WHY: TYPE". */
bool refuse_joined(Typing *t, const Type *type, const Type *other, const char *why);
/* "operand 2 (weight) holds FOUND; wanted: WANTED", and who wrote it. */
bool refuse_operand(Typing *t, uint32_t operand, const Type *found, const Type *wanted);
/* "WHY along AXIS: TYPE", or without a type. */
bool refuse_along(Typing *t, uint32_t axis, const char *why, const Type *type);

/* The text of a type; of the last two only. */
const char *told(Typing *t, const Type *type);

/* ---- the record at hand: typing.c */

static inline const PlanOperand *operand_at(const Typing *t, uint32_t operand) {
  return t->at == &t->joined.record ? &t->joined.operand[operand]
                                    : record_operand(t->plan, t->at, operand);
}

static inline const int64_t *record_dims(const Typing *t) {
  return t->at == &t->joined.record ? t->joined.dims : t->plan->ints + t->at->dims_first;
}

static inline const double *record_attrs(const Typing *t) {
  return t->at == &t->joined.record ? &t->joined.back : t->plan->reals + t->at->attrs_first;
}

/* NULL: a communication or a load. */
static inline const KernelContract *record_contract(const Typing *t) {
  return contract_at(t->view, t->at);
}

/* Masks of axes with more than one rank: of a communicator; that divide this. */
uint32_t axes_of_comm(const Typing *t, uint32_t comm);
uint32_t axes_dividing(const Typing *t, Divides what);

static inline bool has_stages(const Typing *t) {
  return axes_dividing(t, DIVIDES_DEPTH) != 0;
}

/* Samples are divided among the ranks of some axes, whatever the layout says. */
void cut_samples(const Typing *t, Type *type);

/* Sets places as a layout of the plan says. */
void layout_places(const Plan *plan, uint32_t layout, Place *places);

/* Places as the layout of the operand says. False: refused; it says none, or not of this value. */
bool said_places(Typing *t, uint32_t operand, uint32_t value, Place *places);

/* A record's numbers are held against the layouts that the plan states: they must be those. What is
 * said to be a summand is not added up earlier, which would round otherwise. */
bool is_as_said(Typing *t, uint32_t operand, const Type *type);

/* Whether the operand has as many elements as a rank has of the value. False: refused. */
bool right_size(Typing *t, uint32_t operand, uint32_t value, const Type *type);

/* ---- what stands in its operands: typing.c */

/* Which bytes of which cell. Where ranks have one piece each of a row, all of the row. */
typedef struct Where {
  Reached *reached;
  uint64_t first, end;
  const PlanOperand *operand;
  uint32_t own_axes; /* mask: members of these have pieces of the row; 0: it is no row */
} Where;

Where where(Typing *t, uint32_t operand);
/* The same, for rules that know of no pieces of a row: refuses them. */
Where all_of(Typing *t, uint32_t operand);

/* How the kernel walks over its operand. False: it takes it as it lies. */
bool view_of(const Typing *t, uint32_t operand, KernelView *view);

/* The type of exactly the operand's bytes; of a piece of a row, PLACE_FLAT along its axes. */
Type read_type(Typing *t, uint32_t operand);
void write_type(Typing *t, uint32_t operand, const Type *type);

/* These bytes hold this, and no longer what they held. */
void put(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type);

/* The span at an offset, or the next one; of zeros, what is in the operand. False: none is in it.
 */
bool next_span(const Typing *t, const Where *at, uint64_t offset, Span *span);

/* The tensor that a row of pieces holds: its elements, and zeros behind them. TYPE_NOTHING: it is
 * no such row. */
Type read_row(Typing *t, const Spans *spans, uint64_t first, uint64_t end);
void write_row(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type);

static inline Type zeros(DType dtype) {
  return (Type){
      .kind = TYPE_ZERO, .dtype = (uint8_t)dtype, .layer = TYPE_ANY, .microbatch = TYPE_ANY};
}

/* Steps' samples and the control block are the runtime's. */
static inline bool is_of_runtime(const PlanBuffer *buffer) {
  return buffer->program == PLAN_NONE &&
         (buffer->kind == BUFFER_DATA || buffer->kind == BUFFER_CONTROL);
}

/* ---- what is added up: sums.c */

/* Adds what a node makes of this micro-batch to a sum, or begins one: record's `accumulate`. */
void add_to_sum(Typing *t, uint32_t operand, Type *sum, uint32_t node);

/* Adds the other's micro-batches and uses, or blocks. False: they are no parts of one sum, or
 * overlap, or leave out some in between. */
bool join_parts(const Typing *t, Type *sum, const Type *other);

/* Whether some uses of the value are in the sum over all micro-batches; whether every use is. */
bool is_whole_step(const Typing *t, const Type *sum);
bool sum_is_complete(const Typing *t, const Type *sum);

/* ---- what sinks ask for: states.c */

/* The gradient of the record's parameter, with every micro-batch of every use in it. False:
 * refused, as is a record that is about no parameter. */
bool read_gradient(Typing *t, uint32_t operand, Type *found);

/* Whether losses and requests have been added up over all ranks, if there are several. */
bool has_totals(const Typing *t);

/* The sum of the squares of all gradients: norm.c. */
uint64_t all_squares(const Typing *t);

/* Stages have each use of a tied tensor once: transfers.c. Refuses it otherwise. */
void check_joins(Typing *t);

#endif
