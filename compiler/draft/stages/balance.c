/* balance.c -- dynamic programming over (groups, units): the cheapest way to cut the first u units
 * into g groups extends a cheapest way to cut fewer units into g - 1. */
#include "compiler/draft/stages/balance.h"

#include <math.h>

typedef struct Cutter {
  int32_t units, groups;
  double *cost_before;    /* sum of costs of units [0, u) */
  int32_t *layers_before; /* layers among them */
  int32_t layers_least;   /* of a group: 1, or 0 when there are too few layers */
  double *best;           /* by group count, units */
  int32_t *last_from;     /* where the last of these groups begins in the best cut */
} Cutter;

static const double ROUNDING = 1e-12; /* sums that differ by less are the same */

static Cutter cutter_make(Arena *arena, const BalanceChain *chain, int32_t groups) {
  Cutter c = {.units = chain->unit_count, .groups = groups};
  int32_t cells = (groups + 1) * (c.units + 1);
  c.cost_before = ARENA_ARRAY(arena, double, c.units + 1);
  c.layers_before = ARENA_ARRAY(arena, int32_t, c.units + 1);
  c.best = ARENA_ARRAY(arena, double, cells);
  c.last_from = ARENA_ARRAY(arena, int32_t, cells);
  for (int32_t u = 0; u < c.units; u++) {
    c.cost_before[u + 1] = c.cost_before[u] + chain->costs[u];
    c.layers_before[u + 1] = c.layers_before[u] + chain->is_layer[u];
  }
  c.layers_least = c.layers_before[c.units] >= groups ? 1 : 0;
  return c;
}

static int32_t cell(const Cutter *c, int32_t groups, int32_t units) {
  return groups * (c->units + 1) + units;
}

/* Finds the best last group of a cut of the first `units` into `groups`: of equally good ones the
 * longest. Groups are tried from short to long, so that all later ones cost more. */
static void extend(Cutter *c, int32_t groups, int32_t units, double limit, bool squares) {
  int32_t here = cell(c, groups, units);
  double best = INFINITY;
  for (int32_t from = units - 1; from >= 0; from--) {
    double cost = c->cost_before[units] - c->cost_before[from];
    double before = c->best[cell(c, groups - 1, from)];
    if (cost > limit || (squares ? cost * cost : cost) > best * (1 + ROUNDING)) break;
    if (c->layers_before[units] - c->layers_before[from] < c->layers_least) continue;
    double total = squares ? before + cost * cost : before > cost ? before : cost;
    if (!isfinite(total) || total > best * (1 + ROUNDING)) continue;
    best = total;
    c->last_from[here] = from;
  }
  c->best[here] = best;
}

/* The lowest maximum cost of a group (or sum of squares) with no group above `limit`. */
static double solve(Cutter *c, double limit, bool squares) {
  for (int32_t u = 0; u <= c->units; u++)
    c->best[cell(c, 0, u)] = u == 0 ? 0 : INFINITY;
  for (int32_t g = 1; g <= c->groups; g++)
    for (int32_t u = 0; u <= c->units; u++)
      extend(c, g, u, limit, squares);
  return c->best[cell(c, c->groups, c->units)];
}

int32_t *balance_cut(Arena *arena, const BalanceChain *chain, int32_t groups) {
  if (groups < 1 || chain->unit_count < groups) return NULL;
  Cutter c = cutter_make(arena, chain, groups);
  double highest = solve(&c, INFINITY, false);
  solve(&c, highest * (1 + ROUNDING), true);
  int32_t *boundaries = ARENA_ARRAY(arena, int32_t, groups + 1);
  boundaries[groups] = c.units;
  for (int32_t g = groups; g > 0; g--)
    boundaries[g - 1] = c.last_from[cell(&c, g, boundaries[g])];
  return boundaries;
}

/* ---- groups of one stage */

typedef struct Evenness {
  double highest, stages, groups; /* of stages; sums of squares */
} Evenness;

static Evenness evenness_of(const Cutter *c, const int32_t *stage, const int32_t *at,
                            double *cost) {
  Evenness even = {0};
  for (int32_t g = 0; g < c->groups; g++)
    cost[g] = 0;
  for (int32_t g = 0; g < c->groups; g++) {
    double own = c->cost_before[at[g + 1]] - c->cost_before[at[g]];
    cost[stage[g]] += own;
    even.groups += own * own;
  }
  for (int32_t s = 0; s < c->groups; s++) {
    even.highest = fmax(even.highest, cost[s]);
    even.stages += cost[s] * cost[s];
  }
  return even;
}

static bool is_less(double a, double b) {
  return a < b * (1 - 1e-9);
}

static bool is_more_even(Evenness a, Evenness b) {
  if (is_less(a.highest, b.highest) || is_less(b.highest, a.highest)) return a.highest < b.highest;
  if (is_less(a.stages, b.stages) || is_less(b.stages, a.stages)) return a.stages < b.stages;
  return is_less(a.groups, b.groups);
}

static bool has_layers(const Cutter *c, const int32_t *at, int32_t group) {
  int32_t layers = c->layers_before[at[group + 1]] - c->layers_before[at[group]];
  return at[group + 1] > at[group] && layers >= c->layers_least;
}

void balance_stages(Arena *arena, const BalanceChain *chain, const int32_t *stage, int32_t groups,
                    int32_t *boundaries) {
  Cutter c = cutter_make(arena, chain, groups);
  double *cost = ARENA_ARRAY(arena, double, groups);
  Evenness best = evenness_of(&c, stage, boundaries, cost);
  for (bool is_moved = true; is_moved;) {
    is_moved = false;
    for (int32_t g = 1; g < groups; g++)
      for (int32_t step = -1; step <= 1; step += 2) {
        boundaries[g] += step;
        bool fits = has_layers(&c, boundaries, g - 1) && has_layers(&c, boundaries, g);
        Evenness even = fits ? evenness_of(&c, stage, boundaries, cost) : best;
        bool helps = is_more_even(even, best);
        if (helps)
          best = even;
        else
          boundaries[g] -= step;
        is_moved |= helps;
      }
  }
}

/* ---- a cut given by the job */

static bool list_fits(Arena *arena, const BalanceChain *chain, const int32_t *layers,
                      int32_t layers_count, int32_t groups, const char **why) {
  int64_t sum = 0;
  int32_t all = 0;
  for (int32_t u = 0; u < chain->unit_count; u++)
    all += chain->is_layer[u];
  for (int32_t g = 0; g < layers_count; g++) {
    /* The units before or after the layers may have a group to themselves. */
    bool has_other = (g == 0 && !chain->is_layer[0]) ||
                     (g == layers_count - 1 && !chain->is_layer[chain->unit_count - 1]);
    if (layers[g] < (has_other ? 0 : 1)) {
      *why = arena_printf(arena, "number %d of the list is %d: a group has at least one layer",
                          g + 1, layers[g]);
      return false;
    }
    sum += layers[g];
  }
  if (layers_count != groups)
    *why = arena_printf(arena, "the list has %d number%s; %d group%s of layers need %d",
                        layers_count, plural(layers_count), groups, plural(groups), groups);
  else if (sum != all)
    *why = arena_printf(arena, "the list has %s layers than the model, which has %d",
                        sum > all ? "more" : "fewer", all);
  return layers_count == groups && sum == all;
}

int32_t *balance_listed(Arena *arena, const BalanceChain *chain, const int32_t *layers,
                        int32_t layers_count, int32_t groups, const char **why) {
  if (!list_fits(arena, chain, layers, layers_count, groups, why)) return NULL;
  int32_t *boundaries = ARENA_ARRAY(arena, int32_t, groups + 1);
  int32_t unit = 0, after = 0; /* after: index after the last layer so far */
  for (int32_t g = 0; g < groups; g++) {
    boundaries[g] = g == 0 ? 0 : unit;
    for (int32_t left = layers[g]; left > 0; unit++)
      if (chain->is_layer[unit]) left--, after = unit + 1;
    while (unit < chain->unit_count && !chain->is_layer[unit])
      unit++;
    /* the last group is the last unit alone */
    if (g == groups - 2 && layers[groups - 1] == 0) unit = after;
  }
  boundaries[groups] = chain->unit_count;
  return boundaries;
}

double balance_excess(const BalanceChain *chain, const int32_t *boundaries, int32_t groups) {
  double highest = 0, all = 0;
  for (int32_t g = 0; g < groups; g++) {
    double cost = 0;
    for (int32_t u = boundaries[g]; u < boundaries[g + 1]; u++)
      cost += chain->costs[u];
    highest = fmax(highest, cost);
    all += cost;
  }
  return all > 0 ? highest * groups / all - 1 : 0;
}
