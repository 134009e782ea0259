/* mpi_moves.c -- an all-reduce is a reduce-scatter of parts and an all-gather of them, as between
 * threads, and sends as many bytes.
 *
 * Contiguous bytes are sent from their place and received in their place; others go through slots.
 * A pass moves as much as a slot holds. */
#include "runtime/comm/mpi_moves.h"

#include <assert.h>
#include <string.h>

#include "runtime/comm/pieces.h"
#include "runtime/comm/reduce.h"

enum { SLOT_ALIGN_BYTES = 64 };

static int64_t slot_bytes(const MpiMover *mover, MpiGroup at) {
  return mover->all_slots_bytes / at.count / SLOT_ALIGN_BYTES * SLOT_ALIGN_BYTES;
}

static char *incoming(const MpiMover *mover, MpiGroup at, int32_t from) {
  return mover->incoming + from * slot_bytes(mover, at);
}

static char *outgoing(const MpiMover *mover, MpiGroup at, int32_t to) {
  return mover->outgoing + to * slot_bytes(mover, at);
}

/* The sources of a reduction in member order: `own` here, and the slots of the others. */
static void reduce_slots(const MpiMover *mover, MpiGroup at, const void *own, void *y,
                         CommElements elements, ReduceOp reduce) {
  for (int32_t i = 0; i < at.count; i++)
    mover->source[i] = i == at.member ? own : incoming(mover, at, i);
  reduce_parallel(mover->threads, y, mover->source, at.count, 0, elements, reduce);
}

/* ---- all-reduce */

/* One pass: parts of x are sent to the members that own them, and these members reduce them. */
static bool scatter_parts(MpiMover *mover, MpiGroup at, const char *x, char *y,
                          CommElements elements, ReduceOp reduce, int64_t first) {
  int64_t unit = dtype_bytes(elements.dtype), most = slot_bytes(mover, at) / unit;
  CommPart mine = comm_part_pass(comm_part(elements.count, at.count, at.member), first, most);
  for (int32_t i = 0; i < at.count; i++) {
    CommPart part = comm_part_pass(comm_part(elements.count, at.count, i), first, most);
    if (i == at.member) continue;
    wire_receive(&mover->wire, at.comm, i, incoming(mover, at, i), mine.count * unit);
    wire_send(&mover->wire, at.comm, i, x + part.first * unit, part.count * unit);
  }
  if (!wire_finish(&mover->wire)) return false;
  if (mine.count > 0)
    reduce_slots(mover, at, x + mine.first * unit, y + mine.first * unit,
                 (CommElements){mine.count, elements.dtype}, reduce);
  return true;
}

static bool gather_parts(MpiMover *mover, MpiGroup at, char *y, CommElements elements) {
  int64_t unit = dtype_bytes(elements.dtype);
  CommPart mine = comm_part(elements.count, at.count, at.member);
  for (int32_t i = 0; i < at.count; i++) {
    CommPart part = comm_part(elements.count, at.count, i);
    if (i == at.member) continue;
    wire_receive(&mover->wire, at.comm, i, y + part.first * unit, part.count * unit);
    wire_send(&mover->wire, at.comm, i, y + mine.first * unit, mine.count * unit);
  }
  return wire_finish(&mover->wire);
}

bool mpi_all_reduce(MpiMover *mover, MpiGroup at, const void *x, void *y, CommElements elements,
                    ReduceOp reduce) {
  int64_t unit = dtype_bytes(elements.dtype), most = slot_bytes(mover, at) / unit;
  int64_t largest = comm_part(elements.count, at.count, 0).count;
  if (at.count == 1) {
    if (x != y) memcpy(y, x, (size_t)(elements.count * unit));
    return true;
  }
  for (int64_t first = 0; first < largest; first += most)
    if (!scatter_parts(mover, at, x, y, elements, reduce, first)) return false;
  return gather_parts(mover, at, y, elements);
}

/* ---- pieces */

/* Where the span of `member` lies in a whole; NULL: it is not contiguous. */
static char *one_piece(const PieceSpan *span, void *whole, int32_t member) {
  PieceWalk walk = pieces_walk(span->pieces, span->part.first, span->part.first + span->part.count);
  Piece piece;
  if (!pieces_next(&walk, &piece) || piece.count != span->part.count) return NULL;
  return (char *)whole +
         piece_whole_at(&piece, span->members, member) * dtype_bytes(span->pieces->dtype);
}

/* The span of `member` as contiguous bytes: in its place, or copied to `slot`. */
static char *as_row(const PieceSpan *span, void *whole, int32_t member, char *slot) {
  char *row = one_piece(span, whole, member);
  if (row) return row;
  piece_span_copy(span, whole, member, slot, true);
  return slot;
}

static bool gather_pass(MpiMover *mover, MpiGroup at, const char *x, char *y,
                        const PieceSpan *span) {
  int64_t unit = dtype_bytes(span->pieces->dtype), size_bytes = span->part.count * unit;
  const char *own =
      x ? x + span->part.first * unit : as_row(span, y, at.member, outgoing(mover, at, at.member));
  for (int32_t i = 0; i < at.count; i++) {
    if (i == at.member) continue;
    char *direct = one_piece(span, y, i);
    wire_receive(&mover->wire, at.comm, i, direct ? direct : incoming(mover, at, i), size_bytes);
    wire_send(&mover->wire, at.comm, i, own, size_bytes);
  }
  if (x) piece_span_copy(span, y, at.member, (char *)(uintptr_t)own, false);
  if (!wire_finish(&mover->wire)) return false;
  for (int32_t i = 0; i < at.count; i++)
    if (i != at.member && !one_piece(span, y, i))
      piece_span_copy(span, y, i, incoming(mover, at, i), false);
  return true;
}

bool mpi_all_gather(MpiMover *mover, MpiGroup at, const void *x, void *y,
                    const CommPieces *pieces) {
  CommPart share = {0, pieces_share(pieces)};
  int64_t most = slot_bytes(mover, at) / dtype_bytes(pieces->dtype);
  for (int64_t first = 0; first < share.count; first += most) {
    PieceSpan span = {pieces, at.count, comm_part_pass(share, first, most)};
    if (!gather_pass(mover, at, x, y, &span)) return false;
  }
  return true;
}

/* In place, the sums are written to this member's pieces in x. */
static bool scatter_pass(MpiMover *mover, MpiGroup at, char *x, char *y, const PieceSpan *span,
                         ReduceOp reduce) {
  int64_t unit = dtype_bytes(span->pieces->dtype), size_bytes = span->part.count * unit;
  for (int32_t i = 0; i < at.count; i++) {
    if (i == at.member) continue;
    wire_receive(&mover->wire, at.comm, i, incoming(mover, at, i), size_bytes);
    wire_send(&mover->wire, at.comm, i, as_row(span, x, i, outgoing(mover, at, i)), size_bytes);
  }
  char *slot = incoming(mover, at, at.member), *own = as_row(span, x, at.member, slot);
  if (!wire_finish(&mover->wire)) return false;
  char *to = y ? y + span->part.first * unit : own;
  reduce_slots(mover, at, own, to, (CommElements){span->part.count, span->pieces->dtype}, reduce);
  if (to == slot) piece_span_copy(span, x, at.member, slot, false);
  return true;
}

bool mpi_reduce_scatter(MpiMover *mover, MpiGroup at, void *x, void *y, const CommPieces *pieces,
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

static bool turn_pass(MpiMover *mover, MpiGroup at, char *x, char *y, const CommTurn *turn,
                      CommPart part) {
  int64_t size_bytes = part.count * dtype_bytes(turn->dtype);
  for (int32_t i = 0; i < at.count; i++) {
    TurnSpan out = {turn, at.count, at.member, i, part};
    turn_span_copy(&out, x, outgoing(mover, at, i), true);
    if (i == at.member) continue;
    wire_receive(&mover->wire, at.comm, i, incoming(mover, at, i), size_bytes);
    wire_send(&mover->wire, at.comm, i, outgoing(mover, at, i), size_bytes);
  }
  if (!wire_finish(&mover->wire)) return false;
  for (int32_t i = 0; i < at.count; i++) {
    TurnSpan in = {turn, at.count, i, at.member, part};
    turn_span_copy(&in, y, i == at.member ? outgoing(mover, at, i) : incoming(mover, at, i), false);
  }
  return true;
}

bool mpi_all_to_all(MpiMover *mover, MpiGroup at, const void *x, void *y, const CommTurn *turn) {
  CommPart all = {0, turn_runs(turn) * turn->b * turn->inner};
  int64_t most = slot_bytes(mover, at) / dtype_bytes(turn->dtype);
  for (int64_t first = 0; first < all.count; first += most)
    if (!turn_pass(mover, at, (char *)(uintptr_t)x, y, turn, comm_part_pass(all, first, most)))
      return false;
  return true;
}

/* ---- point to point */

static int32_t peer(MpiGroup at, int64_t distance) {
  int64_t member = (at.member + distance % at.count) % at.count;
  return (int32_t)(member < 0 ? member + at.count : member);
}

/* Receives are posted first, so that arriving data has a place. */
bool mpi_exchange(MpiMover *mover, MpiGroup at, const CommPost *post, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (!post[i].is_sent)
      wire_receive(&mover->wire, at.comm, peer(at, post[i].distance), post[i].at,
                   post[i].size_bytes);
  for (int32_t i = 0; i < count; i++)
    if (post[i].is_sent)
      wire_send(&mover->wire, at.comm, peer(at, post[i].distance), post[i].at, post[i].size_bytes);
  return wire_finish(&mover->wire);
}
