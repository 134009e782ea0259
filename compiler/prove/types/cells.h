/* cells.h -- what is held apart: a buffer of a program, or bytes that last and are reached
 * together, as one layer of a tensor of many. Private to compiler/prove/types.
 *
 * Calls of a layer then find what those of another found, and are looked at once for all. */
#ifndef LOCKSTEP_PROVE_CELLS_H
#define LOCKSTEP_PROVE_CELLS_H

#include "compiler/prove/intervals.h"
#include "compiler/prove/walk.h"

/* A layer of a tensor. */
typedef struct Standing {
  uint64_t first;  /* address */
  uint32_t tensor; /* of the plan */
  int32_t layer;   /* -1: not of a stack */
} Standing;

/* First those that last, by address; then one for each buffer of the class. */
typedef struct Cells {
  Intervals lasting; /* addresses; their numbers are the cells' */
  uint32_t count, lasting_count;
  Standing *standing; /* every layer of every tensor, by address */
  uint32_t standing_count;
} Cells;

/* Bytes that last are one cell when a base of some call, or a layer of a tensor, has them all.
 * False: a finding says why not. */
bool cells_open(const View *view, Cells *cells);
void cells_close(Cells *cells);

/* The lasting cell that an address is in; NULL: none is reached there. */
const Interval *lasting_cell(const Cells *cells, uint64_t address);

/* Of a buffer that does not last. */
static inline uint32_t cell_of_buffer(const View *view, const Cells *cells, uint32_t buffer) {
  return cells->lasting_count + buffer - view->class->buffers_first;
}

/* The cell of a buffer that an address is in, and where it begins. PLAN_NONE: none is reached
 * there. */
uint32_t cell_at(const View *view, const Cells *cells, uint32_t buffer, uint64_t address,
                 uint64_t *start);

#endif
