/* pieces.h -- pieces of a tensor, and the elements that two pieces have in common.
 *
 * Every layout comes to pieces: a box of the whole tensor, and a range of the box's elements in
 * row-major order. Sizes are real: padding belongs to no piece, but it may lie between elements in
 * memory.
 *
 *   whole [6, 4]        box [[2, 3], [0, 4]]        range [5, 4] of its 12 elements
 *     . . . .
 *     . . . .
 *     x x x x             0  1  2  3                  .  .  .  .
 *     x x x x             4  5  6  7                  .  5  6  7
 *     x x x x             8  9 10 11                  8  .  .  .
 *     . . . .
 *
 * Row-major order is the order of coordinates, in the whole and in every box of it: so the elements
 * that two pieces share are runs, and the runs ascend in both. */
#ifndef LOCKSTEP_STATE_PIECES_H
#define LOCKSTEP_STATE_PIECES_H

#include "runtime/plan/plan.h"

enum { STATE_DIMS_MAX = 8 };

typedef struct StatePiece {
  int32_t dims;
  int64_t shape[STATE_DIMS_MAX]; /* of the whole tensor */
  int64_t first[STATE_DIMS_MAX]; /* of the box */
  int64_t count[STATE_DIMS_MAX];
  int64_t room[STATE_DIMS_MAX]; /* of the box where the elements lie: count, and padding after it */
  int64_t range_first;          /* of the box's elements */
  int64_t range_count;
  int64_t origin; /* an element is at its row-major index in `room`, less origin */
} StatePiece;

/* The piece that a layout of the plan gives to the rank with these coordinates, as it lies in
 * memory. False: the layout is no box and range (a zig-zag cut, or more dims than
 * STATE_DIMS_MAX). */
bool state_piece(const Plan *plan, uint32_t layout, const int32_t *coordinate, StatePiece *piece);

/* The same elements without padding: the form of a file. The range may be made smaller, to `count`
 * elements after the first `skip`. */
StatePiece state_piece_dense(const StatePiece *piece, int64_t skip, int64_t count);

/* The elements of a piece that lie at [first, first + count) of its memory. */
StatePiece state_piece_window(const StatePiece *piece, int64_t first, int64_t count);

/* True if the piece is all of its tensor, or all of its box. */
bool state_piece_is_whole(const StatePiece *piece);
bool state_piece_is_box(const StatePiece *piece);

/* `count` elements that are at from, from + 1, ... where `from` lies, and at to, to + 1, ... where
 * `to` lies. False ends the walk. */
typedef bool StateRun(void *context, int64_t from, int64_t to, int64_t count);

/* Visits the elements that two pieces of one tensor share, in ascending runs. False: a visit was
 * false. */
bool state_common(const StatePiece *from, const StatePiece *to, StateRun *run, void *context);

#endif
