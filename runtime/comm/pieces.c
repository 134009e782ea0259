/* pieces.c -- pairs of (times, elements), one piece after the other. */
#include "runtime/comm/pieces.h"

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
