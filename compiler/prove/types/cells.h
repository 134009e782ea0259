/* cells.h -- what is held apart: a buffer of a program, or bytes that last and are reached
 * together, as one layer of a tensor of many. Private to compiler/prove/types.
 *
 * Calls of a layer then find what those of another found, and are looked at once for all. */
#ifndef LOCKSTEP_PROVE_CELLS_H
#define LOCKSTEP_PROVE_CELLS_H

#include "compiler/prove/walk.h"

typedef struct Cell {
  uint64_t first, end; /* addresses */
} Cell;

/* A layer of a tensor. */
typedef struct Standing {
  uint64_t first;  /* address */
  uint32_t tensor; /* of the plan */
  int32_t layer;   /* -1: not of a stack */
} Standing;

/* First those that last, by address; then those of programs, a buffer each. */
typedef struct Cells {
  Cell *at;
  uint32_t count, lasting_count;
  uint32_t *of_buffer; /* by buffer of the class: the cell of one that does not last */
  Standing *standing;  /* every layer of every tensor, by address */
  uint32_t standing_count;
} Cells;

/* Bytes that last are one cell when a base of some call, or a layer of a tensor, has them all.
 * False: a finding says why not. */
bool cells_open(const View *view, Cells *cells);
void cells_close(Cells *cells);

/* The lasting cell that an address is in; PLAN_NONE: none is reached there. */
uint32_t lasting_cell(const Cells *cells, uint64_t address);

/* The cell of a buffer of the plan that an address is in. */
uint32_t cell_at(const View *view, const Cells *cells, uint32_t buffer, uint64_t address);

#endif
