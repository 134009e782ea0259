/* cells.h -- the units in which contents are tracked: a buffer of a program, or persistent bytes
 * that are reached together, such as one layer of a stacked tensor. Private to
 * compiler/plan/prove/types.
 *
 * The calls of one layer then find the same as those of another, and are checked once. */
#ifndef LOCKSTEP_PROVE_CELLS_H
#define LOCKSTEP_PROVE_CELLS_H

#include "compiler/plan/prove/intervals.h"
#include "compiler/plan/prove/walk.h"

/* A layer of a tensor. */
typedef struct Standing {
  uint64_t first;  /* address */
  uint32_t tensor; /* of the plan */
  int32_t layer;   /* -1: not of a stack */
} Standing;

/* First the persistent cells, by address; then one for each buffer of the class. */
typedef struct Cells {
  Intervals lasting; /* addresses; numbers: those of the cells */
  uint32_t count, lasting_count;
  Standing *standing; /* every layer of every tensor, by address */
  uint32_t standing_count;
} Cells;

/* Persistent bytes belong to one cell when a base of some call, or a layer of a tensor, covers them
 * all. */
Cells cells_open(const View *view);

/* The persistent cell that an address is in; NULL: nothing is reached there. */
const Interval *lasting_cell(const Cells *cells, uint64_t address);

/* The cell of a buffer that is not persistent. */
static inline uint32_t cell_of_buffer(const View *view, const Cells *cells, uint32_t buffer) {
  return cells->lasting_count + buffer - view->class->buffers_first;
}

/* The cell of a base, from its first address on. */
Interval cell_of_base(const Walk *walk, const Cells *cells, uint32_t base);

#endif
