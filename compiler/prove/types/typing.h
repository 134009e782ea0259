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
  uint32_t cell;
  Spans spans; /* from the start of the cell; types relative to the call */
} Reached;

/* What a stage sends of a tied tensor's gradient. */
typedef struct Join {
  const PlanClass *class;
  uint32_t ref;
  uint64_t uses; /* which of the nodes that add to it: bits in their order */
} Join;

typedef struct Typing {
  const View *view;
  const Plan *plan;
  const KernelContract **contract; /* by kernel of the plan */
  Meaning meaning;
  Types types;
  Contents contents;
  Cells cells; /* of the class */
  void *forms; /* that were read: forms.c */

  Walk walk;            /* program, call, position */
  int64_t microbatches; /* of the program */
  uint32_t made;        /* MADE_* so far */
  Reached reached[TYPING_BASES_MAX];
  uint32_t reached_count;
  uint32_t base_reached[TYPING_BASES_MAX]; /* by base of the segment */
  uint64_t base_offset[TYPING_BASES_MAX];  /* from the start of its cell */

  int64_t added;      /* to the micro-batches of the call, by iterations of its loop */
  uint32_t next_post; /* of the call */

  /* What only all classes together show. */
  Join join[TYPING_JOINS_MAX];
  uint32_t join_count;
  bool has_loss;       /* of this stage */
  uint64_t squares;    /* in the norm, of this stage */
  uint64_t norm_story; /* how the last stage has added up squares of others; 0: none was seen */

  uint32_t record; /* within the segment */
  const PlanRecord *at;
  uint32_t *tensor; /* by BufferKind and value: of the class; PLAN_NONE: it has none */
  bool refused;     /* a finding says why: nothing more is said of this class */
} Typing;

/* An operand: which bytes of which cell. Where ranks have one piece each of a row, all of the
 * row. */
typedef struct Where {
  Reached *reached;
  uint64_t first, end;
  const PlanOperand *operand;
  uint32_t own_axes; /* mask: members of these have pieces of the row; 0: it is no row */
} Where;

Where where(Typing *t, uint32_t operand);

/* Rows of an operand that others' rows may stand between; all numbers are of elements. */
typedef struct View2D {
  int64_t rows, inner, stride;
} View2D;

/* How the kernel walks over its operand. False: it takes it as it lies. */
bool view_of(const Typing *t, uint32_t operand, View2D *view);

/* The type of exactly the operand's bytes; of a piece of a row, PLACE_FLAT along its axes. */
Type read_type(Typing *t, uint32_t operand);
void write_type(Typing *t, uint32_t operand, const Type *type);

/* Mask of the axes of a communicator that have more than one rank. */
uint32_t axes_of_comm(const Typing *t, uint32_t comm);

/* What a member of its communicator adds to the attr. */
double vary_of(const Typing *t, const PlanVary *vary, int64_t member);

/* An attr as a member of the communicator by which it varies has it. */
double attr_of(const Typing *t, uint32_t attr, int64_t member);

/* The member's number along one axis of the communicator. */
int64_t coordinate_of(const Typing *t, uint32_t comm, int64_t member, uint32_t axis);

/* The tensor that a row of pieces holds: its elements, and zeros behind them. TYPE_NOTHING: it is
 * no such row. */
Type read_row(Typing *t, const Spans *spans, uint64_t first, uint64_t end);

/* Writes the elements of a whole tensor and the zeros behind them. */
void write_row(Typing *t, Spans *spans, uint64_t first, uint64_t end, const Type *type);

/* The first reason stands. */
void refuse(Typing *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "operand 2 (weight) holds FOUND, wanted WANTED" */
void refuse_operand(Typing *t, uint32_t operand, const Type *found, const Type *wanted);

static inline const int64_t *record_dims(const Typing *t) {
  return t->plan->ints + t->at->dims_first;
}

static inline const double *record_attrs(const Typing *t) {
  return t->plan->reals + t->at->attrs_first;
}

/* NULL: a communication or a load. */
static inline const KernelContract *record_contract(const Typing *t) {
  return t->at->kind == RECORD_KERNEL ? t->contract[t->at->kernel] : NULL;
}

/* What the record writes, it may write there: nothing else of it stands there, and the runtime
 * does not either. Refuses it otherwise. */
bool check_targets(Typing *t); /* targets.c */

/* ---- rules, by what the record is for; each reads operands, refuses, or writes results */

void type_node(Typing *t);       /* nodes.c: a node of the model, or a part of one */
void type_conversion(Typing *t); /* conversions.c: the same value in another layout */
void type_ring(Typing *t);       /* ring.c: a value of another rank comes */
void type_init(Typing *t);       /* states.c */
void type_clear(Typing *t);
void type_norm(Typing *t);
void type_update(Typing *t);

/* Adds what a node makes of this micro-batch to a sum, or begins one: record's `accumulate`. */
void add_to_sum(Typing *t, uint32_t operand, Type *sum, uint32_t node);

/* Adds the other's micro-batches and uses. False: they are no sums of one tensor, or overlap, or
 * leave out some in between. */
bool join_sums(Type *sum, const Type *other);

/* Whether every use of the value is in the sum, over all micro-batches. */
bool sum_is_complete(const Typing *t, const Type *sum);

void type_gather(Typing *t); /* blocks.c: parameters of whole blocks */
void type_reduce(Typing *t); /* blocks.c: gradients of whole blocks */
/* What becomes of one span. False: refused. */
typedef bool Turn(Typing *t, Type *type);
/* Element by element from one operand to the other; what is nothing stays so: blocks.c. */
void turn_spans(Typing *t, uint32_t from, uint32_t to, Turn *turn);
bool add_up(Typing *t, Type *type); /* blocks.c: clears the summands along the record's axes */
void type_all_reduce(Typing *t);    /* blocks.c: sums over ranks, in place */
void type_control(Typing *t);       /* blocks.c: the loss, and requests */

void type_transfer(Typing *t); /* transfers.c: between stages */
void type_join(Typing *t);     /* transfers.c: gradients of a tied tensor */
void check_joins(Typing *t);

/* The sum of the squares of all gradients: states.c. */
uint64_t all_squares(const Typing *t);

/* Whether losses and requests have been added up over all ranks, if there are several. */
bool has_totals(const Typing *t);

/* Whether the model is divided among stages. */
bool has_stages(const Typing *t);

/* Sets places as a layout of the plan says. */
void layout_places(const Plan *plan, uint32_t layout, Place *places);

/* Sets places and piece of a STATE as the class's table of tensors says; its layout there. False:
 * it has no such tensor. */
bool tensor_places(const Typing *t, Type *state, uint32_t *layout);

#endif
