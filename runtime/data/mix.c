/* mix.c -- a tree of two-way splits, the same for every position.
 *
 * Each split divides the positions of its node by their order: of the first n the left side has
 * n x (its share), rounded to the nearest. So a source and its place there are found by one walk
 * from the root, without the positions before. A split adds at most 1/2 to the distance of its
 * sides from their shares, and hands on the node's own distance times the side's fraction:
 *
 *   sources by weight    5  3  2  1  1            a source of a third or more is split off alone,
 *                       [5]|[3  2  1  1]          else the largest until they are a third: a side
 *                           [3]|[2  1  1]         of several sources has 2/3 at most
 *                               [2]|[1  1]
 *
 * Distance of a side of several sources: d <= 2/3 d + 1/2, so 3/2; of a source: 3/2 + 1/2 = 2. */
#include "runtime/data/mix.h"

#include <math.h>
#include <stdlib.h>

/* The largest share is 2^40: shares are exact to 2^-41 of it, and sums are below 2^50. */
#define SHARE_MOST 1099511627776.0

__extension__ typedef __int128 Wide;

bool mix_make(Mix *mix, const double *weight, int32_t count) {
  *mix = (Mix){.count = count};
  mix->source = malloc((size_t)count * sizeof *mix->source);
  mix->share = malloc((size_t)count * sizeof *mix->share);
  if (!mix->source || !mix->share) return false;
  for (int32_t i = 0; i < count; i++) { /* insertion: equal weights in the order of sources */
    int32_t at = i;
    for (; at > 0 && weight[mix->source[at - 1]] < weight[i]; at--)
      mix->source[at] = mix->source[at - 1];
    mix->source[at] = i;
  }
  for (int32_t i = 0; i < count; i++)
    mix->share[i] = llround(weight[mix->source[i]] / weight[mix->source[0]] * SHARE_MOST);
  return true;
}

void mix_free(Mix *mix) {
  free(mix->source), free(mix->share);
  *mix = (Mix){0};
}

/* n x part / whole, to the nearest. */
static int64_t part_of(int64_t n, int64_t part, int64_t whole) {
  return (int64_t)((2 * (Wide)n * part + whole) / (2 * (Wide)whole));
}

int32_t mix_at(const Mix *mix, int64_t position, int64_t *nth) {
  int32_t first = 0, end = mix->count;
  int64_t whole = 0;
  for (int32_t i = 0; i < mix->count; i++)
    whole += mix->share[i];
  while (end - first > 1) {
    int32_t split = first;
    int64_t part = 0;
    while (3 * part < whole && split < end - 1)
      part += mix->share[split++];
    const int64_t before = part_of(position, part, whole);
    const bool is_left = part_of(position + 1, part, whole) > before;
    position = is_left ? before : position - before;
    whole = is_left ? part : whole - part;
    if (is_left)
      end = split;
    else
      first = split;
  }
  *nth = position;
  return mix->source[first];
}
