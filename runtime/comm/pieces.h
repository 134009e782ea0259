/* pieces.h -- which elements of a collective a member has or gets, as defined in comm.h. */
#ifndef LOCKSTEP_PIECES_H
#define LOCKSTEP_PIECES_H

#include "runtime/comm/comm.h"

/* Elements [first, first + count) of something. */
typedef struct CommPart {
  int64_t first;
  int64_t count;
} CommPart;

/* Part `part` of so many: about equal, and no cache line is written by two members. */
CommPart comm_part(int64_t count, int32_t parts, int32_t part);

/* The elements of a part that a pass moves if it begins at element `first` of the part and moves at
 * most `most`. */
CommPart comm_part_pass(CommPart part, int64_t first, int64_t most);

/* Elements of one member's share. */
int64_t pieces_share(const CommPieces *pieces);

typedef struct PieceWalk {
  const CommPieces *pieces;
  int32_t pair;
  int64_t time;       /* of the pair */
  int64_t start;      /* of the piece, in the share */
  int64_t first, end; /* of what is walked, in the share */
} PieceWalk;

/* One piece, or its part in the walked range. */
typedef struct Piece {
  int64_t share_at; /* in elements */
  int64_t count;
  int64_t start;    /* of the whole piece, in the share */
  int64_t elements; /* of the whole piece */
} Piece;

/* The elements [first, end) of the share, in order. */
PieceWalk pieces_walk(const CommPieces *pieces, int64_t first, int64_t end);
bool pieces_next(PieceWalk *walk, Piece *piece);

/* Where the piece of `member` lies in the whole of `members`. */
static inline int64_t piece_whole_at(const Piece *piece, int32_t members, int32_t member) {
  return members * piece->start + member * piece->elements + piece->share_at - piece->start;
}

/* The elements of a share that a pass moves. */
typedef struct PieceSpan {
  const CommPieces *pieces;
  int32_t members;
  CommPart part;
} PieceSpan;

/* Copies between the pieces of `member` in a whole and contiguous bytes. */
void piece_span_copy(const PieceSpan *span, void *whole, int32_t member, void *row, bool to_row);

/* An all-to-all moves as many runs of b * inner elements from every member to every other. */
static inline int64_t turn_runs(const CommTurn *turn) {
  return turn->outer * turn->a * turn->middle;
}

/* Where a run begins in the x of the one and in the y of the other. */
typedef struct TurnRun {
  int64_t x_at;
  int64_t y_at;
} TurnRun;

TurnRun turn_run(const CommTurn *turn, int32_t members, int32_t from, int32_t to, int64_t run);

/* The elements of one member for another that a pass moves. */
typedef struct TurnSpan {
  const CommTurn *turn;
  int32_t members, from, to;
  CommPart part;
} TurnSpan;

/* Copies between their place, in the x of the one or the y of the other, and contiguous bytes. */
void turn_span_copy(const TurnSpan *span, void *array, void *row, bool to_row);

#endif
