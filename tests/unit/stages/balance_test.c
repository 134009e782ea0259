/* Cutting a chain of units into pipeline stages.   LINK: stages base */
#include <stdlib.h>

#include "compiler/draft/stages/balance.h"
#include "tests/unit/check.h"

enum { UNITS_MAX = 40 };

typedef struct Chain {
  double costs[UNITS_MAX];
  bool is_layer[UNITS_MAX];
  BalanceChain chain;
} Chain;

/* begin, equal layers of cost 1, end */
static void chain_make(Chain *c, int32_t layers, double begin, double end) {
  c->chain = (BalanceChain){c->costs, c->is_layer, layers + 2};
  for (int32_t u = 0; u < layers + 2; u++) {
    c->is_layer[u] = u > 0 && u <= layers;
    c->costs[u] = u == 0 ? begin : u > layers ? end : 1;
  }
}

static void check_boundaries(const int32_t *got, const int32_t *want, int32_t groups) {
  CHECK(got != NULL);
  for (int32_t g = 0; got != NULL && g <= groups; g++)
    CHECK_INT(got[g], want[g]);
}
#define CHECK_CUT(got, groups, ...) check_boundaries(got, (const int32_t[]){__VA_ARGS__}, groups)

static double highest(const BalanceChain *chain, const int32_t *at, int32_t groups) {
  double most = 0;
  for (int32_t g = 0; g < groups; g++) {
    double cost = 0;
    for (int32_t u = at[g]; u < at[g + 1]; u++)
      cost += chain->costs[u];
    most = fmax(most, cost);
  }
  return most;
}

/* The least highest cost of all cuts with a layer in each group, by trying them all. */
static double brute(const BalanceChain *chain, int32_t first, int32_t groups) {
  double best = INFINITY, cost = 0;
  bool has_layer = false;
  for (int32_t u = first; u < chain->unit_count; u++) {
    cost += chain->costs[u];
    has_layer |= chain->is_layer[u];
    bool last = u == chain->unit_count - 1;
    if (!has_layer || (groups == 1) != last) continue;
    best = fmin(best, fmax(cost, last ? 0 : brute(chain, u + 1, groups - 1)));
  }
  return best;
}

static void check_random(Arena *arena) {
  Chain c;
  int32_t layers = 4 + rand() % 8, groups = 1 + rand() % 4;
  chain_make(&c, layers, rand() % 40 / 10.0, rand() % 60 / 10.0);
  for (int32_t u = 1; u <= layers; u++)
    c.costs[u] = (1 + rand() % 30) / 10.0;
  const int32_t *at = balance_cut(arena, &c.chain, groups);
  CHECK_NEAR(highest(&c.chain, at, groups), brute(&c.chain, 0, groups), 1e-9);
  for (int32_t g = 0; g < groups; g++) {
    bool has_layer = false;
    for (int32_t u = at[g]; u < at[g + 1]; u++)
      has_layer |= c.is_layer[u];
    CHECK(has_layer);
  }
}

/* The most expensive stage of a cut into a folded chain of chunks, two a stage. */
static double highest_stage(const BalanceChain *chain, const int32_t *at, int32_t stages) {
  double most = 0;
  for (int32_t s = 0; s < stages; s++) {
    double cost = 0;
    for (int32_t u = 0; u < chain->unit_count; u++)
      if ((u >= at[s] && u < at[s + 1]) || (u >= at[2 * stages - 1 - s] && u < at[2 * stages - s]))
        cost += chain->costs[u];
    most = fmax(most, cost);
  }
  return most;
}

/* An expensive head: chunks alike leave the first stage with more, and it is told to hand layers
 * on. No stage need have a layer more than the mean. */
static void check_folded(Arena *arena) {
  enum { STAGES = 4, LAYERS = 24 };
  Chain c;
  int32_t stage[2 * STAGES];
  chain_make(&c, LAYERS, 0.2, 5);
  for (int32_t k = 0; k < 2 * STAGES; k++)
    stage[k] = k < STAGES ? k : 2 * STAGES - 1 - k;
  int32_t *at = balance_cut(arena, &c.chain, 2 * STAGES);
  double before = highest_stage(&c.chain, at, STAGES), mean = (LAYERS + 5.2) / STAGES;
  balance_stages(arena, &c.chain, stage, 2 * STAGES, at);
  double after = highest_stage(&c.chain, at, STAGES);
  CHECK(before > mean + 1 && after <= mean + 1);
  CHECK(at[0] == 0 && at[2 * STAGES] == LAYERS + 2);
  for (int32_t g = 0; g < 2 * STAGES; g++)
    CHECK(at[g] < at[g + 1]);
}

static void check_lists(Arena *arena) {
  Chain c;
  const char *why = NULL;
  chain_make(&c, 12, 0.1, 3);
#define LISTED(groups, count, ...)                                                                 \
  balance_listed(arena, &c.chain, (const int32_t[]){__VA_ARGS__}, count, groups, &why)
  CHECK_CUT(LISTED(4, 4, 3, 4, 4, 1), 4, 0, 4, 8, 12, 14);
  CHECK_CUT(LISTED(4, 4, 0, 6, 6, 0), 4, 0, 1, 7, 13, 14); /* embedding and head on their own */
  CHECK_CUT(LISTED(1, 1, 12), 1, 0, 14);
  CHECK(LISTED(4, 3, 4, 4, 4) == NULL);
  CHECK_TEXT(why, "the list has 3 numbers; 4 groups of layers need 4");
  CHECK(LISTED(4, 4, 4, 4, 4, 1) == NULL);
  CHECK_TEXT(why, "the list has more layers than the model, which has 12");
  CHECK(LISTED(4, 4, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX) == NULL);
  CHECK_TEXT(why, "the list has more layers than the model, which has 12");
  CHECK(LISTED(4, 4, 3, 3, 3, 2) == NULL);
  CHECK_TEXT(why, "the list has fewer layers than the model, which has 12");
  CHECK(LISTED(4, 4, 4, 0, 4, 4) == NULL);
  CHECK_TEXT(why, "number 2 of the list is 0: a group has at least one layer");
  CHECK(LISTED(4, 4, -1, 5, 4, 4) == NULL);
#undef LISTED
}

int main(void) {
  Arena *arena = arena_new();
  Chain c;
  TEST("equal layers that divide are divided evenly") {
    chain_make(&c, 12, 0, 0);
    CHECK_CUT(balance_cut(arena, &c.chain, 4), 4, 0, 4, 7, 10, 14);
    CHECK_NEAR(balance_excess(&c.chain, (const int32_t[]){0, 4, 7, 10, 14}, 4), 0, 1e-12);
  }
  TEST("what remains goes to late groups") {
    chain_make(&c, 10, 0, 0);
    CHECK_CUT(balance_cut(arena, &c.chain, 4), 4, 0, 3, 5, 8, 12);
  }
  TEST("a heavy head takes the place of layers") {
    chain_make(&c, 12, 0.1, 3); /* 3.1 4 4 4 */
    CHECK_CUT(balance_cut(arena, &c.chain, 4), 4, 0, 4, 8, 12, 14);
    CHECK_NEAR(balance_excess(&c.chain, (const int32_t[]){0, 4, 8, 12, 14}, 4), 4 / (15.1 / 4) - 1,
               1e-12);
  }
  TEST("every group has a layer even where the head is all there is") {
    chain_make(&c, 4, 1, 100);
    CHECK_CUT(balance_cut(arena, &c.chain, 4), 4, 0, 2, 3, 4, 6);
  }
  TEST("fewer layers than groups: units; fewer units than groups: nothing") {
    chain_make(&c, 2, 1, 1);
    CHECK_CUT(balance_cut(arena, &c.chain, 4), 4, 0, 1, 2, 3, 4);
    CHECK(balance_cut(arena, &c.chain, 5) == NULL);
  }
  TEST("no cut is better than the one found") {
    srand(2);
    for (int i = 0; i < 200; i++)
      check_random(arena);
  }
  TEST("a stage that has both ends of the model has fewer of its layers") {
    check_folded(arena);
  }
  TEST("lists of layers become boundaries, or say what is wrong with them")
  check_lists(arena);
  arena_free(arena);
  CHECK_DONE();
}
