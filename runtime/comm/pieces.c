/* pieces.c -- pairs of (times, elements), one piece after the other. */
#include "runtime/comm/pieces.h"

#include <assert.h>
#include <string.h>

enum { PART_ELEMENTS = 64 }; /* parts begin at multiples */

CommPart comm_part(int64_t count, int32_t parts, int32_t part) {
  int64_t size = (count + parts - 1) / parts;
  size = (size + PART_ELEMENTS - 1) / PART_ELEMENTS * PART_ELEMENTS;
  int64_t first = part * size < count ? part * size : count;
  int64_t end = first + size < count ? first + size : count;
  return (CommPart){first, end - first};
}

CommPart comm_part_pass(CommPart part, int64_t first, int64_t most) {
  int64_t left = part.count > first ? part.count - first : 0;
  return (CommPart){part.first + first, left < most ? left : most};
}

int64_t pieces_share(const CommPieces *pieces) {
  int64_t share = 0;
  for (int32_t i = 0; i < pieces->pair_count; i++)
    share += pieces->pair[(ptrdiff_t)2 * i] * pieces->pair[(ptrdiff_t)2 * i + 1];
  return share;
}

PieceWalk pieces_walk(const CommPieces *pieces, int64_t first, int64_t end) {
  PieceWalk walk = {.pieces = pieces, .first = first, .end = end};
  for (; walk.pair < pieces->pair_count; walk.pair++) {
    int64_t times = pieces->pair[(ptrdiff_t)2 * walk.pair];
    int64_t elements = pieces->pair[(ptrdiff_t)2 * walk.pair + 1];
    if (first < walk.start + times * elements) {
      walk.time = (first - walk.start) / elements;
      walk.start += walk.time * elements;
      break;
    }
    walk.start += times * elements;
  }
  return walk;
}

bool pieces_next(PieceWalk *walk, Piece *piece) {
  if (walk->pair == walk->pieces->pair_count || walk->start >= walk->end) return false;
  int64_t times = walk->pieces->pair[(ptrdiff_t)2 * walk->pair];
  int64_t elements = walk->pieces->pair[(ptrdiff_t)2 * walk->pair + 1];
  int64_t first = walk->start < walk->first ? walk->first : walk->start;
  int64_t end = walk->start + elements < walk->end ? walk->start + elements : walk->end;
  *piece = (Piece){first, end - first, walk->start, elements};
  walk->start += elements;
  if (++walk->time < times) return true;
  walk->time = 0;
  walk->pair++;
  return true;
}

void piece_span_copy(const PieceSpan *span, void *whole, int32_t member, void *row, bool to_row) {
  assert(whole && row);
  int64_t unit = dtype_bytes(span->pieces->dtype);
  PieceWalk walk = pieces_walk(span->pieces, span->part.first, span->part.first + span->part.count);
  for (Piece piece; pieces_next(&walk, &piece);) {
    char *in_whole = (char *)whole + piece_whole_at(&piece, span->members, member) * unit;
    char *in_row = (char *)row + (piece.share_at - span->part.first) * unit;
    memcpy(to_row ? in_row : in_whole, to_row ? in_whole : in_row, (size_t)(piece.count * unit));
  }
}

/* Tall is [outer, a*n, middle, b, inner], wide [outer, a, middle, b*n, inner]. */
TurnRun turn_run(const CommTurn *turn, int32_t members, int32_t from, int32_t to, int64_t run) {
  int64_t row = run / turn->middle, middle = run % turn->middle;
  int32_t tall_member = turn->back ? to : from, wide_member = turn->back ? from : to;
  int64_t many = row / turn->a * turn->a * members + tall_member * turn->a + row % turn->a;
  int64_t tall = (many * turn->middle + middle) * turn->b * turn->inner;
  int64_t wide = (run * members + wide_member) * turn->b * turn->inner;
  return turn->back ? (TurnRun){tall, wide} : (TurnRun){wide, tall};
}

void turn_span_copy(const TurnSpan *span, void *array, void *row, bool to_row) {
  int64_t run = span->turn->b * span->turn->inner, unit = dtype_bytes(span->turn->dtype);
  int64_t end = span->part.first + span->part.count;
  for (int64_t at = span->part.first, next; at < end; at = next) {
    next = (at / run + 1) * run < end ? (at / run + 1) * run : end;
    TurnRun where = turn_run(span->turn, span->members, span->from, span->to, at / run);
    char *in_whole = (char *)array + ((to_row ? where.x_at : where.y_at) + at % run) * unit;
    char *in_row = (char *)row + (at - span->part.first) * unit;
    memcpy(to_row ? in_row : in_whole, to_row ? in_whole : in_row, (size_t)((next - at) * unit));
  }
}
