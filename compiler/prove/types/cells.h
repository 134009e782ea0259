/* cells.h -- what is held apart: a buffer, or one layer of a buffer that holds many. Private to
 * compiler/prove/types.
 *
 * Calls of a layer then find what those of another found, and are looked at once for all. */
#ifndef LOCKSTEP_PROVE_CELLS_H
#define LOCKSTEP_PROVE_CELLS_H

#include "compiler/prove/walk.h"

typedef struct Cell {
  uint64_t first, end; /* addresses */
  uint32_t buffer;     /* of the plan */
} Cell;

typedef struct Cells {
  Cell *at; /* by buffer, then by address */
  uint32_t count;
  uint32_t *first; /* by buffer of the class, and one more: where its cells begin */
} Cells;

/* Cuts buffers that last where layers of tensors begin, unless a base of some call reaches across.
 * False: out of memory, and a finding says so. */
bool cells_open(const View *view, Cells *cells);
void cells_close(Cells *cells);

/* The cell of a buffer of the plan that an address is in. */
uint32_t cell_at(const View *view, const Cells *cells, uint32_t buffer, uint64_t address);

#endif
