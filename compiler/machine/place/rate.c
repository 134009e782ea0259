/* rate.c -- rings over the links of one node.
 *
 * Rings go once into and once out of every part of a group, so they carry together at most what the
 * weakest cut between two parts does, and NCCL's search comes near it: 6 links x 20 GB/s = 120 GB/s
 * for the 8 GPUs of a DGX-1V. The cut is found as Stoer and Wagner do (J. ACM 44, 1997). Paths over
 * PCIe or a switch are one for all pairs of an end, so they do not add up: there a ring is as fast
 * as the slowest path of the best tree that joins the group. */
#include "compiler/machine/place/rate.h"

#include <string.h>

enum { CUT_MOST = 128 };

/* Direct links of a group, merged seat by seat. */
typedef struct RateCut {
  double weight[CUT_MOST][CUT_MOST];
  int32_t alive[CUT_MOST], count;
} RateCut;

/* One phase: orders what is alive by how firmly it hangs on what is ordered, merges the last two.
 * Returns the weight of the cut around the last. */
static double cut_phase(RateCut *cut) {
  double held[CUT_MOST] = {0};
  bool is_taken[CUT_MOST] = {false};
  int32_t last = 0, before = 0;
  for (int32_t step = 0; step < cut->count; step++) {
    int32_t best = -1;
    for (int32_t i = 0; i < cut->count; i++)
      if (!is_taken[i] && (best < 0 || held[i] > held[best])) best = i;
    is_taken[best] = true;
    before = last;
    last = best;
    for (int32_t i = 0; i < cut->count; i++)
      if (!is_taken[i]) held[i] += cut->weight[cut->alive[best]][cut->alive[i]];
  }
  int32_t kept = cut->alive[before], gone = cut->alive[last];
  for (int32_t i = 0; i < cut->count; i++) {
    int32_t other = cut->alive[i];
    cut->weight[kept][other] += cut->weight[gone][other];
    cut->weight[other][kept] = cut->weight[kept][other];
  }
  double weight = held[last];
  cut->alive[last] = cut->alive[--cut->count];
  return weight;
}

static const SeatPair *pair_of(const NodeKind *kind, int32_t a, int32_t b) {
  return &kind->pairs[a * kind->seat_count + b];
}

static double direct_rings(const NodeKind *kind, const int32_t *seats, int32_t count) {
  RateCut cut; /* 128 KiB, of which few are used: not cleared */
  double least = 0;
  cut.count = count;
  for (int32_t i = 0; i < count; i++) {
    cut.alive[i] = i;
    for (int32_t j = 0; j < count; j++) {
      const SeatPair *pair = pair_of(kind, seats[i], seats[j]);
      cut.weight[i][j] = i != j && pair->is_direct ? pair->bytes_per_s : 0;
    }
  }
  for (bool is_first = true; cut.count > 1; is_first = false) {
    double weight = cut_phase(&cut);
    if (is_first || weight < least) least = weight;
  }
  return least;
}

/* The slowest edge of the tree that Prim's algorithm grows along the fastest ones. */
static const SeatPair *tree_bottleneck(const NodeKind *kind, const int32_t *seats, int32_t count) {
  const SeatPair *joined[CUT_MOST] = {NULL}, *slowest = NULL;
  for (int32_t i = 1; i < count; i++)
    joined[i] = pair_of(kind, seats[0], seats[i]);
  for (int32_t step = 1; step < count; step++) {
    int32_t best = 0;
    for (int32_t i = 1; i < count; i++)
      if (joined[i] && (!best || joined[i]->bytes_per_s > joined[best]->bytes_per_s)) best = i;
    if (!slowest || joined[best]->bytes_per_s < slowest->bytes_per_s) slowest = joined[best];
    joined[best] = NULL;
    for (int32_t i = 1; i < count; i++) {
      const SeatPair *pair = pair_of(kind, seats[best], seats[i]);
      if (joined[i] && pair->bytes_per_s > joined[i]->bytes_per_s) joined[i] = pair;
    }
  }
  return slowest;
}

/* ---- the rates of a set of seats in any order */

enum { MEMO_SETS = 4096, MEMO_SEATS = 64 };

struct RateMemo {
  uint64_t set[MEMO_SETS]; /* a bit for each seat; 0: free */
  NodeRate rate[MEMO_SETS];
  int32_t count;
};

RateMemo *rate_memo(Arena *arena) {
  return ARENA_NEW(arena, RateMemo);
}

static NodeRate rate_of_set(const NodeKind *kind, const int32_t *seats, int32_t count) {
  const SeatPair *slowest = tree_bottleneck(kind, seats, count);
  double direct = direct_rings(kind, seats, count);
  bool is_direct = direct >= slowest->bytes_per_s;
  return (NodeRate){.ring_bytes_per_s = is_direct ? direct : slowest->bytes_per_s,
                    .is_slow = slowest->link_class > LINK_XGMI,
                    .is_between_sockets = !is_direct && slowest->link_class == LINK_SYS};
}

static NodeRate remembered_rate(const NodeKind *kind, RateMemo *memo, const int32_t *seats,
                                int32_t count) {
  uint64_t set = 0;
  if (!memo || kind->seat_count > MEMO_SEATS) return rate_of_set(kind, seats, count);
  for (int32_t i = 0; i < count; i++)
    set |= (uint64_t)1 << seats[i];
  uint64_t at = set * 0x9E3779B97F4A7C15u >> 52; /* 4096 places */
  while (memo->set[at] != 0 && memo->set[at] != set)
    at = (at + 1) % MEMO_SETS;
  if (memo->set[at] == set) return memo->rate[at];
  NodeRate rate = rate_of_set(kind, seats, count);
  if (memo->count < MEMO_SETS / 2) {
    memo->set[at] = set;
    memo->rate[at] = rate;
    memo->count++;
  }
  return rate;
}

NodeRate rate_of_seats(const NodeKind *kind, RateMemo *memo, const int32_t *seats, int32_t count) {
  if (!kind->pairs || count > CUT_MOST)
    return (NodeRate){.ring_bytes_per_s = kind->intra_bytes_per_s,
                      .pair_bytes_per_s = kind->intra_bytes_per_s};
  NodeRate rate = remembered_rate(kind, memo, seats, count);
  for (int32_t i = 0; i < count; i++) {
    double next = pair_of(kind, seats[i], seats[(i + 1) % count])->bytes_per_s;
    if (i == 0 || next < rate.pair_bytes_per_s) rate.pair_bytes_per_s = next;
  }
  return rate;
}
