/* near_moves.c -- as between threads, except that members cannot read each other's memory, only
 * each other's windows. A pass moves as much as the windows hold; before a member overwrites its
 * window it has met all its readers at a barrier. */
#include "runtime/comm/near_moves.h"

#include <string.h>

#include "runtime/comm/pieces.h"
#include "runtime/comm/reduce.h"

enum { SLOT_ALIGN_BYTES = 64 };

static bool meet(const NearMover *mover, NearGroup at) {
  return barrier_wait_unless(at.barrier, mover->is_aborted);
}

/* The address at which `from` puts its data for `to`. */
static int64_t slot_bytes(const NearMover *mover, NearGroup at) {
  return mover->window_bytes / at.count / SLOT_ALIGN_BYTES * SLOT_ALIGN_BYTES;
}

static char *slot(const NearMover *mover, NearGroup at, int32_t from, int32_t to) {
  return at.window[from] + to * slot_bytes(mover, at);
}

static void copy(void *to, const void *from, int64_t size_bytes) {
  if (size_bytes > 0) memcpy(to, from, (size_t)size_bytes);
}

/* The sources of a reduction: `own` here, and `offset_bytes` into the slots that the others have
 * for this member. */
static void reduce_slots(const NearMover *mover, NearGroup at, const void *own, void *y,
                         int64_t offset_bytes, CommElements elements, ReduceOp reduce) {
  for (int32_t i = 0; i < at.count; i++)
    mover->source[i] = i == at.member ? own : slot(mover, at, i, at.member) + offset_bytes;
  reduce_parallel(mover->threads, y, mover->source, at.count, 0, elements, reduce);
}

/* ---- all-reduce */

/* Parts of x go to the members that own them, which reduce them and publish the sums. */
static bool reduce_pass(NearMover *mover, NearGroup at, const char *x, char *y,
                        CommElements elements, ReduceOp reduce, int64_t first) {
  int64_t unit = dtype_bytes(elements.dtype), most = slot_bytes(mover, at) / unit;
  CommPart mine = comm_part_pass(comm_part(elements.count, at.count, at.member), first, most);
  for (int32_t i = 0; i < at.count; i++) {
    CommPart part = comm_part_pass(comm_part(elements.count, at.count, i), first, most);
    if (i == at.member) continue;
    copy(slot(mover, at, at.member, i), x + part.first * unit, part.count * unit);
    mover->sent_bytes += (part.count + mine.count) * unit;
  }
  if (!meet(mover, at)) return false;
  if (mine.count > 0)
    reduce_slots(mover, at, x + mine.first * unit, y + mine.first * unit, 0,
                 (CommElements){mine.count, elements.dtype}, reduce);
  copy(slot(mover, at, at.member, at.member), y + mine.first * unit, mine.count * unit);
  if (!meet(mover, at)) return false;
  for (int32_t i = 0; i < at.count; i++) {
    CommPart part = comm_part_pass(comm_part(elements.count, at.count, i), first, most);
    if (i != at.member) copy(y + part.first * unit, slot(mover, at, i, i), part.count * unit);
  }
  return true;
}

/* Sums are written into a slot whose readers had finished before the pass's first barrier, so only
 * the last pass needs another barrier. */
bool near_all_reduce(NearMover *mover, NearGroup at, const void *x, void *y, CommElements elements,
                     ReduceOp reduce) {
  int64_t most = slot_bytes(mover, at) / dtype_bytes(elements.dtype);
  int64_t largest = comm_part(elements.count, at.count, 0).count;
  for (int64_t first = 0; first < largest; first += most)
    if (!reduce_pass(mover, at, x, y, elements, reduce, first)) return false;
  return meet(mover, at);
}

/* ---- pieces */

static bool gather_pass(NearMover *mover, NearGroup at, const char *x, char *y,
                        const PieceSpan *span) {
  int64_t unit = dtype_bytes(span->pieces->dtype), size_bytes = span->part.count * unit;
  char *own = at.window[at.member];
  if (x) {
    copy(own, x + span->part.first * unit, size_bytes);
    piece_span_copy(span, y, at.member, own, false);
  } else {
    piece_span_copy(span, y, at.member, own, true);
  }
  mover->sent_bytes += (at.count - 1) * size_bytes;
  if (!meet(mover, at)) return false;
  for (int32_t i = 0; i < at.count; i++)
    if (i != at.member) piece_span_copy(span, y, i, at.window[i], false);
  return meet(mover, at);
}

bool near_all_gather(NearMover *mover, NearGroup at, const void *x, void *y,
                     const CommPieces *pieces) {
  CommPart share = {0, pieces_share(pieces)};
  int64_t most = mover->window_bytes / dtype_bytes(pieces->dtype);
  for (int64_t first = 0; first < share.count; first += most) {
    PieceSpan span = {pieces, at.count, comm_part_pass(share, first, most)};
    if (!gather_pass(mover, at, x, y, &span)) return false;
  }
  return true;
}

/* In place, the sums are written to this member's pieces in x. */
static void reduce_span(const NearMover *mover, NearGroup at, char *x, char *y,
                        const PieceSpan *span, ReduceOp reduce) {
  int64_t unit = dtype_bytes(span->pieces->dtype), first = span->part.first;
  PieceWalk walk = pieces_walk(span->pieces, first, first + span->part.count);
  for (Piece piece; pieces_next(&walk, &piece);) {
    char *own = x + piece_whole_at(&piece, at.count, at.member) * unit;
    reduce_slots(mover, at, own, y ? y + piece.share_at * unit : own,
                 (piece.share_at - first) * unit, (CommElements){piece.count, span->pieces->dtype},
                 reduce);
  }
}

static bool scatter_pass(NearMover *mover, NearGroup at, char *x, char *y, const PieceSpan *span,
                         ReduceOp reduce) {
  int64_t size_bytes = span->part.count * dtype_bytes(span->pieces->dtype);
  for (int32_t i = 0; i < at.count; i++)
    if (i != at.member) piece_span_copy(span, x, i, slot(mover, at, at.member, i), true);
  mover->sent_bytes += (at.count - 1) * size_bytes;
  if (!meet(mover, at)) return false;
  reduce_span(mover, at, x, y, span, reduce);
  return meet(mover, at);
}

bool near_reduce_scatter(NearMover *mover, NearGroup at, void *x, void *y, const CommPieces *pieces,
                         ReduceOp reduce) {
  CommPart share = {0, pieces_share(pieces)};
  int64_t most = slot_bytes(mover, at) / dtype_bytes(pieces->dtype);
  for (int64_t first = 0; first < share.count; first += most) {
    PieceSpan span = {pieces, at.count, comm_part_pass(share, first, most)};
    if (!scatter_pass(mover, at, x, y, &span, reduce)) return false;
  }
  return true;
}

/* ---- all-to-all */

static bool turn_pass(NearMover *mover, NearGroup at, char *x, char *y, const CommTurn *turn,
                      CommPart part) {
  for (int32_t i = 0; i < at.count; i++) {
    TurnSpan out = {turn, at.count, at.member, i, part};
    turn_span_copy(&out, x, slot(mover, at, at.member, i), true);
  }
  mover->sent_bytes += (at.count - 1) * part.count * dtype_bytes(turn->dtype);
  if (!meet(mover, at)) return false;
  for (int32_t i = 0; i < at.count; i++) {
    TurnSpan in = {turn, at.count, i, at.member, part};
    turn_span_copy(&in, y, slot(mover, at, i, at.member), false);
  }
  return meet(mover, at);
}

bool near_all_to_all(NearMover *mover, NearGroup at, const void *x, void *y, const CommTurn *turn) {
  CommPart all = {0, turn_runs(turn) * turn->b * turn->inner};
  int64_t most = slot_bytes(mover, at) / dtype_bytes(turn->dtype);
  for (int64_t first = 0; first < all.count; first += most)
    if (!turn_pass(mover, at, (char *)(uintptr_t)x, y, turn, comm_part_pass(all, first, most)))
      return false;
  return true;
}
