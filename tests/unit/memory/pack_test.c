/* LINK: memory -- the packer, by random lifetimes: nothing that is alive at the same time overlaps,
 * and how far above the lower bound and above the optimum its arenas are. */
#include "compiler/draft/memory/pack.h"
#include "kernels/math/philox.h"
#include "tests/unit/check.h"

enum { ALIGN = 64, MOST = 300, FEW = 7, CASES = 200 };

static uint64_t seed, drawn;

static int64_t draw(int64_t below) {
  return (int64_t)(philox_mix(seed, drawn++) % (uint64_t)below);
}

/* ---- what lifetimes look like */

/* Any lifetime, any size. */
static PackItem anywhere(int32_t i, int32_t count) {
  int32_t a = (int32_t)draw(2 * count), b = (int32_t)draw(2 * count);
  (void)i;
  return (PackItem){.size_bytes = 1 + draw(4096), .first = a < b ? a : b, .last = a < b ? b : a};
}

/* Short: scratch of a segment, of few sizes. */
static PackItem scratch(int32_t i, int32_t count) {
  (void)count;
  return (PackItem){.size_bytes = 256 << draw(4), .first = i, .last = i + (int32_t)draw(6)};
}

/* Forward makes, backward reads in the opposite order; some is scratch between. */
static PackItem frames(int32_t i, int32_t count) {
  if (draw(3) == 0) return scratch(i, count);
  return (PackItem){.size_bytes = 1024 * (1 + draw(3)), .first = i, .last = 2 * count - i};
}

typedef PackItem Draw(int32_t i, int32_t count);
static const struct {
  const char *name;
  Draw *draw;
  double most; /* average gap above the lower bound */
} kinds[] = {{"anywhere", anywhere, 0.025}, {"scratch", scratch, 0.01}, {"frames", frames, 0.005}};

/* ---- what a packing must be */

static int64_t rounded(const PackItem *item) {
  return (item->size_bytes + ALIGN - 1) / ALIGN * ALIGN;
}
static bool live_together(const PackItem *a, const PackItem *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* Most bytes at one position, counted position by position. */
static int64_t most_live(const PackItem *items, int32_t count) {
  int64_t most = 0;
  for (int32_t at = 0; at <= 2 * MOST; at++) {
    int64_t live = 0;
    for (int32_t i = 0; i < count; i++)
      if (items[i].first <= at && at <= items[i].last) live += rounded(&items[i]);
    if (live > most) most = live;
  }
  return most;
}

/* Packs, and returns the end. */
static int64_t packed(PackItem *items, int32_t count) {
  Arena *arena = arena_new();
  int64_t end = pack_items(arena, items, count, ALIGN), highest = 0;
  int64_t bound = pack_lower_bound(arena, items, count, ALIGN);
  for (int32_t i = 0; i < count; i++) {
    const PackItem *a = &items[i];
    CHECK(a->offset >= 0 && a->offset % ALIGN == 0);
    if (a->offset + rounded(a) > highest) highest = a->offset + rounded(a);
    for (int32_t k = 0; k < i; k++) {
      const PackItem *b = &items[k];
      bool apart = a->offset + rounded(a) <= b->offset || b->offset + rounded(b) <= a->offset;
      CHECK(apart || !live_together(a, b));
    }
  }
  CHECK_INT(end, highest);
  CHECK_INT(bound, most_live(items, count));
  CHECK(end >= bound);
  arena_free(arena);
  return end;
}

static void check_kind(size_t kind) {
  static PackItem items[MOST];
  double sum = 0, worst = 0;
  for (int c = 0; c < CASES; c++) {
    int32_t count = 1 + (int32_t)draw(c % 10 == 0 ? MOST : 60);
    for (int32_t i = 0; i < count; i++)
      items[i] = kinds[kind].draw(i, count);
    double gap = (double)packed(items, count) / (double)most_live(items, count) - 1;
    sum += gap;
    if (gap > worst) worst = gap;
  }
  printf("%-8s above the bound: %.2f %% on average, %.2f %% at most\n", kinds[kind].name,
         100 * sum / CASES, 100 * worst);
  CHECK(sum / CASES <= kinds[kind].most);
}

/* ---- the optimum of few items: one of all orders, each item at the lowest free offset */

static int64_t lowest_free(const PackItem *items, const int32_t *order, int32_t placed) {
  const PackItem *item = &items[order[placed]];
  int64_t at = 0;
  for (int32_t k = 0; k < placed;) {
    const PackItem *other = &items[order[k]];
    bool meets = live_together(item, other) && other->offset < at + rounded(item) &&
                 at < other->offset + rounded(other);
    at = meets ? other->offset + rounded(other) : at;
    k = meets ? 0 : k + 1;
  }
  return at;
}

static void try_orders(PackItem *items, int32_t *order, int32_t placed, int64_t end,
                       int64_t *best) {
  if (end >= *best) return;
  if (placed == FEW) {
    *best = end;
    return;
  }
  for (int32_t k = placed; k < FEW; k++) {
    int32_t chosen = order[k];
    order[k] = order[placed], order[placed] = chosen;
    int64_t at = items[chosen].offset = lowest_free(items, order, placed);
    int64_t top = at + rounded(&items[chosen]);
    try_orders(items, order, placed + 1, top > end ? top : end, best);
    order[placed] = order[k], order[k] = chosen;
  }
}

static void check_optimum(void) {
  double sum = 0, worst = 0;
  for (int c = 0; c < CASES; c++) {
    PackItem items[FEW], copy[FEW];
    int32_t order[FEW];
    for (int32_t i = 0; i < FEW; i++) {
      items[i] = copy[i] = anywhere(i, FEW);
      order[i] = i;
    }
    int64_t best = INT64_MAX;
    try_orders(copy, order, 0, 0, &best);
    double gap = (double)packed(items, FEW) / (double)best - 1;
    CHECK(gap >= 0);
    sum += gap;
    if (gap > worst) worst = gap;
  }
  printf("%d items  above the optimum: %.2f %% on average, %.2f %% at most\n", FEW,
         100 * sum / CASES, 100 * worst);
  CHECK(sum / CASES <= 0.02);
}

int main(void) {
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
    seed = kind + 1, drawn = 0;
    TEST(kinds[kind].name) check_kind(kind);
  }
  TEST("few items beside all orders of them") check_optimum();
  TEST("nothing takes nothing, and one item its rounded size") {
    PackItem one = {.size_bytes = 1, .first = 3, .last = 3};
    CHECK_INT(packed(NULL, 0), 0);
    CHECK_INT(packed(&one, 1), ALIGN);
  }
  CHECK_DONE();
}
