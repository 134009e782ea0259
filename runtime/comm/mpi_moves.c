/* mpi_moves.c -- an all-reduce is a reduce-scatter of parts and an all-gather of them, as between
 * threads, and sends as many bytes.
 *
 * What lies in one piece is sent from where it is and comes to where it belongs; what does not goes
 * through slots. A pass moves as much as a slot holds. */
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

/* Of a part, what the pass that begins at its element `first` moves. */
static CommPart pass_of(CommPart part, int64_t first, int64_t most) {
  int64_t left = part.count > first ? part.count - first : 0;
  return (CommPart){part.first + first, left < most ? left : most};
}

/* What stands at `own` here and in the slots of the others, in member order. */
static void reduce_slots(const MpiMover *mover, MpiGroup at, const void *own, void *y,
                         CommElements elements, ReduceOp reduce) {
  for (int32_t i = 0; i < at.count; i++)
    mover->source[i] = i == at.member ? own : incoming(mover, at, i);
  reduce_parallel(mover->threads, y, mover->source, at.count, 0, elements, reduce);
}

/* ---- all-reduce */

/* One pass: parts of x go to the members whose parts they are, who reduce them. */
static bool scatter_parts(MpiMover *mover, MpiGroup at, const char *x, char *y,
                          CommElements elements, ReduceOp reduce, int64_t first) {
  int64_t unit = dtype_bytes(elements.dtype), most = slot_bytes(mover, at) / unit;
  CommPart mine = pass_of(comm_part(elements.count, at.count, at.member), first, most);
  for (int32_t i = 0; i < at.count; i++) {
    CommPart part = pass_of(comm_part(elements.count, at.count, i), first, most);
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

/* Elements of a share, with where the pieces of them stand in the whole. */
typedef struct Span {
  const CommPieces *pieces;
  int32_t members;
  CommPart part;
} Span;

/* Where the span stands in a whole, as the pieces of `member`; NULL: not in one piece. */
static char *one_piece(const Span *span, void *whole, int32_t member) {
  PieceWalk walk = pieces_walk(span->pieces, span->part.first, span->part.first + span->part.count);
  Piece piece;
  if (!pieces_next(&walk, &piece) || piece.count != span->part.count) return NULL;
  return (char *)whole +
         piece_whole_at(&piece, span->members, member) * dtype_bytes(span->pieces->dtype);
}

/* Between the pieces of `member` in a whole, and one row. */
static void copy_span(const Span *span, char *whole, int32_t member, char *row, bool to_row) {
  assert(whole && row);
  int64_t unit = dtype_bytes(span->pieces->dtype);
  PieceWalk walk = pieces_walk(span->pieces, span->part.first, span->part.first + span->part.count);
  for (Piece piece; pieces_next(&walk, &piece);) {
    char *stands = whole + piece_whole_at(&piece, span->members, member) * unit;
    char *in_row = row + (piece.share_at - span->part.first) * unit;
    memcpy(to_row ? in_row : stands, to_row ? stands : in_row, (size_t)(piece.count * unit));
  }
}

/* The span of `member` in one row: where it stands, or copied to `slot`. */
static char *as_row(const Span *span, void *whole, int32_t member, char *slot) {
  char *row = one_piece(span, whole, member);
  if (row) return row;
  copy_span(span, whole, member, slot, true);
  return slot;
}

static bool gather_pass(MpiMover *mover, MpiGroup at, const char *x, char *y, const Span *span) {
  int64_t unit = dtype_bytes(span->pieces->dtype), size_bytes = span->part.count * unit;
  const char *own =
      x ? x + span->part.first * unit : as_row(span, y, at.member, outgoing(mover, at, at.member));
  for (int32_t i = 0; i < at.count; i++) {
    if (i == at.member) continue;
    char *direct = one_piece(span, y, i);
    wire_receive(&mover->wire, at.comm, i, direct ? direct : incoming(mover, at, i), size_bytes);
    wire_send(&mover->wire, at.comm, i, own, size_bytes);
  }
  if (x) copy_span(span, y, at.member, (char *)(uintptr_t)own, false);
  if (!wire_finish(&mover->wire)) return false;
  for (int32_t i = 0; i < at.count; i++)
    if (i != at.member && !one_piece(span, y, i))
      copy_span(span, y, i, incoming(mover, at, i), false);
  return true;
}

bool mpi_all_gather(MpiMover *mover, MpiGroup at, const void *x, void *y,
                    const CommPieces *pieces) {
  CommPart share = {0, pieces_share(pieces)};
  int64_t most = slot_bytes(mover, at) / dtype_bytes(pieces->dtype);
  for (int64_t first = 0; first < share.count; first += most) {
    Span span = {pieces, at.count, pass_of(share, first, most)};
    if (!gather_pass(mover, at, x, y, &span)) return false;
  }
  return true;
}

/* In place, the sums come to where this member's pieces stand in x. */
static bool scatter_pass(MpiMover *mover, MpiGroup at, char *x, char *y, const Span *span,
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
  if (to == slot) copy_span(span, x, at.member, slot, false);
  return true;
}

bool mpi_reduce_scatter(MpiMover *mover, MpiGroup at, void *x, void *y, const CommPieces *pieces,
                        ReduceOp reduce) {
  CommPart share = {0, pieces_share(pieces)};
  int64_t most = slot_bytes(mover, at) / dtype_bytes(pieces->dtype);
  for (int64_t first = 0; first < share.count; first += most) {
    Span span = {pieces, at.count, pass_of(share, first, most)};
    if (!scatter_pass(mover, at, x, y, &span, reduce)) return false;
  }
  return true;
}

/* ---- all-to-all */

/* One member's elements for another, in one row: those of `part`. */
typedef struct Turned {
  const CommTurn *turn;
  int32_t members, from, to;
  CommPart part;
} Turned;

static void copy_turned(const Turned *turned, char *array, char *row, bool to_row) {
  int64_t run = turned->turn->b * turned->turn->inner, unit = dtype_bytes(turned->turn->dtype);
  int64_t end = turned->part.first + turned->part.count;
  for (int64_t at = turned->part.first, next; at < end; at = next) {
    next = (at / run + 1) * run < end ? (at / run + 1) * run : end;
    TurnRun where = turn_run(turned->turn, turned->members, turned->from, turned->to, at / run);
    char *stands = array + ((to_row ? where.x_at : where.y_at) + at % run) * unit;
    char *in_row = row + (at - turned->part.first) * unit;
    memcpy(to_row ? in_row : stands, to_row ? stands : in_row, (size_t)((next - at) * unit));
  }
}

static bool turn_pass(MpiMover *mover, MpiGroup at, char *x, char *y, const CommTurn *turn,
                      CommPart part) {
  int64_t size_bytes = part.count * dtype_bytes(turn->dtype);
  for (int32_t i = 0; i < at.count; i++) {
    Turned out = {turn, at.count, at.member, i, part};
    copy_turned(&out, x, outgoing(mover, at, i), true);
    if (i == at.member) continue;
    wire_receive(&mover->wire, at.comm, i, incoming(mover, at, i), size_bytes);
    wire_send(&mover->wire, at.comm, i, outgoing(mover, at, i), size_bytes);
  }
  if (!wire_finish(&mover->wire)) return false;
  for (int32_t i = 0; i < at.count; i++) {
    Turned in = {turn, at.count, i, at.member, part};
    copy_turned(&in, y, i == at.member ? outgoing(mover, at, i) : incoming(mover, at, i), false);
  }
  return true;
}

bool mpi_all_to_all(MpiMover *mover, MpiGroup at, const void *x, void *y, const CommTurn *turn) {
  CommPart all = {0, turn_runs(turn) * turn->b * turn->inner};
  int64_t most = slot_bytes(mover, at) / dtype_bytes(turn->dtype);
  for (int64_t first = 0; first < all.count; first += most)
    if (!turn_pass(mover, at, (char *)(uintptr_t)x, y, turn, pass_of(all, first, most)))
      return false;
  return true;
}

/* ---- point to point */

static int32_t peer(MpiGroup at, int64_t distance) {
  int64_t member = (at.member + distance % at.count) % at.count;
  return (int32_t)(member < 0 ? member + at.count : member);
}

/* Receives first: what arrives finds its place. */
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
