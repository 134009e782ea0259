/* look.c -- looks at some ids of a file: are they below the vocabulary, and do they carry the marks
 * of another width or byte order? */
#include <string.h>

#include "runtime/tokens/tokens.h"

enum {
  FIRST_IDS = 1 << 16, /* all of them are looked at */
  WINDOW_IDS = 1 << 12,
  WINDOWS = 15,    /* of the rest, the last one at the file's end */
  JUDGED_IDS = 64, /* fewer ids have no marks */
  PLACES = 4
};

/* The ids of a file as numbers of `bytes` bytes each. */
typedef struct IdsReading {
  const uint8_t *at;
  int64_t count;
  int32_t bytes;
  bool is_big_endian;
} IdsReading;

static uint64_t id_of(const IdsReading *r, int64_t i) {
  const uint8_t *at = r->at + i * r->bytes;
  uint64_t id = 0;
  for (int32_t b = 0; b < r->bytes; b++)
    id = id << 8 | at[r->is_big_endian ? b : r->bytes - 1 - b];
  return id;
}

typedef struct Sums {
  uint64_t least, most;
  int64_t looked[PLACES], set[PLACES]; /* by position modulo 4: ids, and those that are not 0 */
  int64_t low_set;                     /* ids whose low byte is not 0 */
} Sums;

/* Adds `count` ids from `first` on; returns the position of the first one that is not below vocab,
 * or -1. */
static int64_t add_ids(const IdsReading *r, uint64_t vocab, int64_t first, int64_t count,
                       Sums *sums) {
  for (int64_t i = first; i < first + count; i++) {
    uint64_t id = id_of(r, i);
    if (id >= vocab) return i;
    if (id < sums->least) sums->least = id;
    if (id > sums->most) sums->most = id;
    sums->looked[i % PLACES]++;
    sums->set[i % PLACES] += id != 0;
    sums->low_set += (id & 0xff) != 0;
  }
  return -1;
}

/* Wider ids whose high parts are read as ids are 0 at some of every four positions, and mostly not
 * 0 at the others. */
static int32_t empty_places(const Sums *sums) {
  int32_t empty = 0;
  for (int32_t p = 0; p < PLACES; p++) {
    if (sums->set[p] == 0)
      empty++;
    else if (2 * sums->set[p] < sums->looked[p])
      return 0;
  }
  return empty < PLACES ? empty : 0;
}

static TokensLook look_at(const IdsReading *r, uint64_t vocab) {
  TokensLook look = {.bad = -1};
  Sums sums = {.least = UINT64_MAX};
  int64_t first = r->count < FIRST_IDS ? r->count : FIRST_IDS, rest = r->count - first;
  look.bad = add_ids(r, vocab, 0, first, &sums);
  for (int64_t w = 1; w <= WINDOWS && rest > 0 && look.bad < 0; w++) {
    int64_t window = rest < WINDOW_IDS ? rest : WINDOW_IDS;
    int64_t before = w < WINDOWS ? (rest - window) / WINDOWS * w : rest - window;
    look.bad = add_ids(r, vocab, first + before, window, &sums);
  }
  for (int32_t p = 0; p < PLACES; p++)
    look.looked += sums.looked[p];
  if (look.bad >= 0 || look.looked < JUDGED_IDS) return look;
  look.most = (uint32_t)sums.most;
  look.empty_places = empty_places(&sums);
  look.is_one_id = sums.least == sums.most;
  look.is_swapped = sums.low_set == 0 && sums.most > 0;
  return look;
}

TokensLook tokens_look(const TokenFile *file, uint32_t vocab) {
  const IdsReading reading = {file->ids, file->count, file->id_bytes, false};
  return look_at(&reading, vocab);
}

bool tokens_other_reading(const TokenFile *file, uint32_t vocab, TokensReading *other) {
  static const TokensReading readings[] = {{2, false}, {4, false}, {2, true},
                                           {4, true},  {8, false}, {8, true}};
  int64_t bytes = file->count * file->id_bytes;
  for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
    const TokensReading *r = &readings[i];
    bool is_said = r->id_bytes == file->id_bytes && !r->is_big_endian;
    if (is_said || bytes % r->id_bytes != 0 || !tokens_has_room(r->id_bytes, vocab)) continue;
    const IdsReading reading = {file->ids, bytes / r->id_bytes, r->id_bytes, r->is_big_endian};
    TokensLook look = look_at(&reading, vocab);
    bool fits = look.bad < 0 && look.looked >= JUDGED_IDS && look.empty_places == 0 &&
                !look.is_one_id && !look.is_swapped;
    if (!fits) continue;
    *other = *r;
    return true;
  }
  return false;
}
