/* The elements that two pieces of a tensor share, as runs: random boxes, ranges and padding beside
 * brute force.   LINK: state */
#include <stdlib.h>
#include <string.h>

#include "runtime/state/pieces.h"
#include "tests/unit/check.h"

enum { TRIES = 2000, DIMS = 3, SIZE_MOST = 5, ELEMENTS = SIZE_MOST * SIZE_MOST * SIZE_MOST };

static int64_t below(int64_t n) {
  return rand() % n;
}

/* A box of the tensor and a range of the box, stored with padding after each dim. */
static StatePiece random_piece(const int64_t *shape) {
  StatePiece piece = {.dims = DIMS};
  int64_t box = 1;
  for (int32_t i = 0; i < DIMS; i++) {
    piece.shape[i] = shape[i];
    piece.first[i] = below(shape[i]);
    piece.count[i] = 1 + below(shape[i] - piece.first[i]);
    piece.room[i] = piece.count[i] + below(2);
    box *= piece.count[i];
  }
  piece.range_first = below(box);
  piece.range_count = 1 + below(box - piece.range_first);
  return piece;
}

/* By element of the whole: its place in the piece's memory; -1: the piece lacks it. */
static void places_of(const StatePiece *piece, int64_t *place) {
  int64_t number = 0, at[DIMS];
  for (int64_t i = 0; i < ELEMENTS; i++)
    place[i] = -1;
  for (at[0] = 0; at[0] < piece->count[0]; at[0]++)
    for (at[1] = 0; at[1] < piece->count[1]; at[1]++)
      for (at[2] = 0; at[2] < piece->count[2]; at[2]++, number++) {
        int64_t whole = 0, memory = 0;
        for (int32_t i = 0; i < DIMS; i++) {
          whole = whole * piece->shape[i] + piece->first[i] + at[i];
          memory = memory * piece->room[i] + at[i];
        }
        if (number >= piece->range_first && number < piece->range_first + piece->range_count)
          place[whole] = memory - piece->origin;
      }
}

/* The place in `to` of each place in `from`. */
typedef struct Moves {
  int64_t to[2 * ELEMENTS * 2];
  int64_t last;
  bool ascends;
} Moves;

static bool note(void *context, int64_t from, int64_t to, int64_t count) {
  Moves *moves = context;
  moves->ascends = moves->ascends && from > moves->last;
  moves->last = from + count - 1;
  for (int64_t i = 0; i < count; i++)
    moves->to[from + i] = to + i;
  return true;
}

static bool same_as_brute_force(void) {
  static int64_t from_place[ELEMENTS], to_place[ELEMENTS];
  static Moves found, wanted;
  int64_t shape[DIMS];
  for (int32_t i = 0; i < DIMS; i++)
    shape[i] = 1 + below(SIZE_MOST);
  const StatePiece from = random_piece(shape), to = random_piece(shape);
  memset(found.to, -1, sizeof found.to), memset(wanted.to, -1, sizeof wanted.to);
  found.last = -1, found.ascends = true;
  places_of(&from, from_place), places_of(&to, to_place);
  for (int64_t i = 0; i < ELEMENTS; i++)
    if (from_place[i] >= 0 && to_place[i] >= 0) wanted.to[from_place[i]] = to_place[i];
  return state_common(&from, &to, note, &found) && found.ascends &&
         memcmp(found.to, wanted.to, sizeof found.to) == 0;
}

int main(void) {
  srand(1);
  TEST("runs are the shared elements, each once, ascending") {
    int32_t wrong = 0;
    for (int32_t i = 0; i < TRIES; i++)
      wrong += !same_as_brute_force();
    CHECK_INT(wrong, 0);
  }
  CHECK_DONE();
}
