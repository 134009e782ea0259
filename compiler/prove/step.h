/* step.h -- what the parts of the step property share. Private to compiler/prove.
 *
 * A cell is one layer of one persistent tensor. Cells are found by address, so a call bound to the
 * wrong layer's gradient shows as one gradient too many and one too few, whatever the call says of
 * itself.
 *
 * The first rank of a class is looked at. Where an operand is a rank's own piece of a whole, the
 * first member's piece stands where the whole begins; pieces as long as the step between them then
 * hold every element of the whole once, whatever the number of members. */
#ifndef LOCKSTEP_PROVE_STEP_H
#define LOCKSTEP_PROVE_STEP_H

#include "compiler/prove/events.h"
#include "compiler/prove/sorted.h"
#include "compiler/prove/walk.h"

/* A gradient, wherever it stands: in its tensor, in a block of one layer, on the wire. */
typedef struct Gradient {
  uint64_t first, end;
  uint32_t home; /* cell that it is a copy of; PLAN_NONE: of none */
  bool cleared;  /* zero so far */
  bool received; /* from another class */
  bool in_row;   /* divided where it stands: other ranks' pieces around it hold anything */
  int32_t microbatch_first, microbatch_last; /* that contributed; -1: none yet */
  uint32_t parts;      /* contributions of the last micro-batch: all give as many */
  uint32_t parts_each; /* of those before; 0: there were none */
  uint32_t reduced;    /* axes over which it was added up */
  uint32_t split;      /* axes among whose ranks it is divided into pieces; 0: whole */
  uint32_t record;     /* received by: index into plan->records, and operand */
  uint32_t operand;
} Gradient;

typedef struct Cell {
  uint64_t first, end;
  uint32_t tensor; /* index into plan->tensors */
  int32_t layer;   /* -1: not of a stack */
  Gradient gradient;
  uint32_t joined;           /* times another class's part was added */
  uint32_t squared, updated; /* times, in this step */
  uint32_t split;  /* axes among whose ranks pieces of it were updated and not gathered yet */
  uint32_t pieces; /* axes among whose ranks the tensor itself is divided, as init or updates say */
  uint32_t cut;    /* axes along which init says that ranks have different parts of it */
  bool initial;    /* init writes exactly its bytes */
} Cell;

/* A sum of squares, or zero. */
typedef struct Slot {
  uint64_t at;
  uint32_t squares;  /* gradients in it */
  bool used;         /* by a sum that goes on */
  uint32_t all, any; /* axes along which all, or some, of the squares differ between ranks */
} Slot;

typedef enum ClaimKind {
  CLAIM_SEND, /* a gradient of this class goes to another */
  CLAIM_JOIN, /* what came from another class was added to a gradient */
  CLAIM_HOLD  /* other stages hold the tensor too */
} ClaimKind;

/* What a class alone says of a gradient, to be put beside what others say. */
typedef struct Claim {
  ClaimKind kind;
  uint32_t class, tensor;
  int32_t layer;
  uint32_t record, operand; /* of an exchange: index into plan->records */
  uint32_t reduced, split;
  uint32_t squared;
} Claim;

/* What is known of all classes, one after another. */
struct Classes {
  const Plan *plan;
  ProveReport *report;
  const Links *links;
  Claim *claims;
  uint32_t claim_count, claim_capacity;
  uint32_t stage_axes;           /* along which classes are stages of a pipeline */
  uint64_t ranks_with_losses[2]; /* of an evaluation, of a step */
  bool failed;
};

/* Records of a segment that have to do with more than samples. */
typedef struct Concerned {
  uint64_t mask; /* bases that hold samples: of the call for which the list was made */
  uint32_t *record;
  uint32_t count;
  bool known, all;
} Concerned;

typedef struct Step {
  const View *view;
  Classes *classes;
  Walk walk_now;
  const Walk *walk; /* walk_now */
  uint32_t record_index;
  const PlanRecord *record;
  bool training;
  Cell *cells; /* by offset, disjoint */
  uint32_t cell_count;
  Sorted marks;         /* of Gradient: those that stand in no cell; by offset, disjoint */
  Sorted slots;         /* of Slot, by offset */
  bool *has_cells;      /* by buffer of the class */
  uint8_t *role;        /* KernelRole by kernel */
  Concerned *concerned; /* by segment */
  int64_t microbatches; /* that the walk numbers */
  int64_t loads, losses, norms, control_reduces, squared;
  bool updating, failed;
  uint32_t data_axes, all_axes; /* masks, axes of size 1 left out; data: that divide tokens */
  uint32_t stage_axes;          /* as in Classes */
} Step;

#define FINDING(s, ...) prove_finding((s)->view, (s)->walk, (s)->record_index, "step", __VA_ARGS__)

typedef struct Reach {
  uint64_t first, end;
  uint64_t unit;
  uint32_t buffer; /* of the plan; PLAN_NONE: none */
  Cell *cell;      /* the cells reached */
  uint32_t cell_count;
  uint32_t split;   /* axes among whose ranks the operand goes through pieces; 0: it stands still */
  uint64_t row_end; /* of the last member's piece */
  Access access;
} Reach;

/* Neither tensors, nor blocks of parameters or gradients, nor these on the wire: most buffers. */
static inline bool holds_samples(const Step *s, uint32_t buffer) {
  const PlanBuffer *b = &s->view->plan->buffers[buffer];
  return b->program != PLAN_NONE &&
         (b->kind == BUFFER_ACTIVATION || b->kind == BUFFER_GRAD_ACTIVATION ||
          b->kind == BUFFER_DATA || b->kind == BUFFER_WORKSPACE);
}

/* ---- cells.c */

bool cells_open(Step *s); /* false: a finding says why */
void cells_close(Step *s);
const char *cell_name(const Step *s, const Cell *cell);
uint32_t cell_kind(const Step *s, const Cell *cell);
/* The first cell that ends after `offset`; one behind the last when there is none. */
Cell *find_cell(const Step *s, uint64_t offset);
/* The cell of the same name and layer; NULL: the class has none. */
Cell *find_sibling(const Step *s, const Cell *cell, BufferKind kind);
/* What operand `index` of the current record reaches. A cell is reached whole, or piece by piece,
 * or it is a finding. */
Reach reach(const Step *s, uint32_t index);
uint32_t comm_axes(const Step *s, uint32_t comm); /* with more than one rank */

/* ---- concerned.c */

/* Of the current call; NULL: all of them. */
const Concerned *concerned_records(Step *s);

/* ---- gradients.c: each takes the current record; false: it has nothing to do with gradients */

bool gradient_complete(const Step *s, const Cell *cell);
bool gradients_in(const Step *s, uint64_t first, uint64_t end); /* that stand in no tensor */
/* Is what the operand takes of the gradient all that is there, and nothing else? */
void gradient_check_taken(const Step *s, const Gradient *g, const Reach *from);
void gradient_contribute(Step *s, const Reach *to, bool assign);
void gradient_clear(Step *s, const Reach *to);
bool gradient_cast(Step *s);
bool gradient_add(Step *s);
bool gradient_reduce(Step *s);
bool gradient_scatter(Step *s);
void gradient_exchange(Step *s);
void gradient_forget(Step *s, uint64_t first, uint64_t end); /* something else stands there now */

/* ---- norm.c */

void norm_square(Step *s);
void norm_sum(Step *s);
bool norm_zero(Step *s, const Reach *to); /* false: no sums stand there */
bool norm_reduce(Step *s);
void norm_read(Step *s);

/* ---- tied.c: what holds between classes */

void tied_claim(Step *s, const Cell *cell, Claim claim);
void tied_finish(Step *s); /* of a class */
void tied_prove(const Classes *all);

#endif
