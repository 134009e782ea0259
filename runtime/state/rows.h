/* rows.h -- the state of a run: its tensors by name and kind, and which rank saves which elements.
 *
 * A class of ranks (a pipeline stage) has tensors to save. Those whose elements are equally wide
 * and differ along the same axes are one row of bytes. Along the other axes of the class R ranks
 * have the same row, and divide it into runs at multiples of 256 bytes; run i of w is written by
 * replica i x R / w. A rank's part is its runs, row after row, wider elements first.
 *
 *   row of R = 4 replicas   | w1        | b1 | w2              | b2 |
 *   w = 2 runs              [ run 0: replica 0  | run 1: replica 2  ]
 *
 * All of it is arithmetic on a plan's tables `axes`, `classes`, `bounds`, `tensors`, `layouts`,
 * `layout_dims` and `cuts`: those of a plan, or those that a checkpoint's manifest repeats. Ranks
 * are named by their mesh_number. */
#ifndef LOCKSTEP_STATE_ROWS_H
#define LOCKSTEP_STATE_ROWS_H

#include "runtime/process/status.h"
#include "runtime/state/pieces.h"

enum { STATE_RUN_BYTES = 256 };
#define STATE_PART_KEY   "checkpoint.part"  /* the least that a replica writes */
#define STATE_PART_LEAST ((int64_t)4 << 20) /* where the job does not say */

/* A kind of state. */
typedef struct StateKind {
  BufferKind buffer;
  const char *name; /* in keys of parts: "master" */
} StateKind;

/* NULL: tensors of this buffer kind are not saved. */
const StateKind *state_kind_of(uint32_t buffer);
const StateKind *state_kind_named(const char *name);

/* The dtype that a tensor has in a part: its own, except that the lower half of a split master is
 * saved together with the weight, as the F32 that they make up. */
DType state_saved_dtype(const PlanTensor *tensor);
/* Its name in files: "F32", "BF16". */
const char *state_dtype_name(DType dtype);

/* One layer of a tensor to save. A weight under a master is not saved: it is the master rounded. A
 * tied tensor belongs to the first class that has it. */
typedef struct StateItem {
  char *name;      /* the layer in place of "*" */
  uint32_t tensor; /* of the plan */
  uint32_t class;
  int32_t layer; /* -1: not of a stack */
  uint32_t row;
} StateItem;

typedef struct StateRow {
  uint32_t class;
  uint32_t width;        /* bytes of an element */
  uint32_t axes;         /* along which ranks of the class have other elements */
  uint32_t replica_axes; /* the others along which the class has ranks */
  int32_t groups;        /* members of `axes` */
  int32_t replicas;
  uint32_t item_first, item_count;
  int64_t **before; /* by group: the bytes before each item, and of all; made when asked for */
} StateRow;

typedef struct State {
  const Plan *plan;
  int64_t part_bytes;
  int32_t numbers; /* of ranks */
  uint32_t row_count, item_count;
  StateRow *row;    /* class by class */
  StateItem *item;  /* row by row */
  uint32_t *sorted; /* items by name and kind */
} State;

/* False: `status` says why. The plan must stay. */
bool state_open(State *state, const Plan *plan, Status *status);
void state_close(State *state);

/* The item of that name and kind; item_count if the state has no such item. */
uint32_t state_find(const State *state, const char *name, uint32_t buffer);
const PlanTensor *state_tensor(const State *state, const StateItem *item);

/* The name with the layer in place of "*"; the caller frees it. NULL: no memory. */
char *state_layer_name(const Plan *plan, const PlanTensor *tensor, int32_t layer);

/* The coordinates of the rank with this mesh_number. */
void state_coordinates(const Plan *plan, int32_t number, int32_t coordinate[PLAN_AXES_MAX]);

/* A piece as a part has it. */
typedef struct StateStored {
  const StateItem *item;
  StatePiece piece;    /* without padding */
  int32_t number;      /* of the part */
  uint64_t data_first; /* its first byte in the part's data */
  uint64_t size_bytes;
} StateStored;

/* False ends the walk. */
typedef bool StateVisit(void *context, const StateStored *stored);

/* The pieces that rank `number` writes, in the order of its part. False: a visit was false, or no
 * memory. */
bool state_part_each(const State *state, int32_t number, StateVisit *visit, void *context);
/* The bytes of these pieces; -1: no memory. */
int64_t state_part_data(const State *state, int32_t number);

/* The stored pieces that share elements with `want`, a piece of item `index`. */
bool state_sources(const State *state, uint32_t index, const StatePiece *want, StateVisit *visit,
                   void *context);

#endif
