/* map.c -- which rank has which coordinates, on which node: runs of nodes, in which coordinates are
 * constant or advance by a constant step from node to node; then every GPU as one character, as
 * long as a screen has room. */
#include <string.h>

#include "compiler/show/explain/where.h"
#include "compiler/show/explain/words.h"
#include "runtime/plan/plan_job.h"

enum { ROWS_MOST = 24, GPUS_ON_A_SCREEN = 512, NODE_GPUS_MOST = 16 };

/* ---- the hardware of a run of nodes */

/* "nodes 0-1"; "node 0" when there is one. */
static void print_span(const char *what, uint32_t first, uint32_t last, FILE *out) {
  if (first == last)
    fprintf(out, "%s %u", what, first);
  else
    fprintf(out, "%ss %u-%u", what, first, last);
}

/* "nodes 0-1: 8 ranks each, on devices 0-7 and cores 0-15" */
static void print_places(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  for (uint32_t i = 0; i < plan->places_count; i++) {
    const PlanPlace *place = &plan->places[i];
    uint32_t last = plan_place(plan, place->rank_first + place->rank_count - 1).node;
    uint32_t ranks = place->rank_count < place->node_ranks ? place->rank_count : place->node_ranks;
    print_span("node", place->node_first, last, out);
    fprintf(out, ": %u rank%s%s", ranks, plural(ranks), last > place->node_first ? " each" : "");
    if (place->seats_count > 0) {
      fprintf(out, " on %s\n", plan_string(plan, place->kind));
      continue;
    }
    fputs(", on ", out);
    if (job_target(plan) != TARGET_CPU) {
      print_span("device", place->device_first, place->device_first + ranks - 1, out);
      fputs(" and ", out);
    }
    int64_t shared = where_shared_cores(compiled, place);
    if (shared > 0)
      fprintf(out, "%lld shared core%s", (long long)shared, plural(shared));
    else
      print_span("core", place->core_first, place->core_first + ranks * place->core_count - 1, out);
    fputc('\n', out);
  }
}

/* ---- runs of nodes */

typedef struct Span2 {
  uint32_t least, most;
} Span2;

/* The range of each coordinate over the ranks of a node. */
typedef struct NodeRow {
  uint32_t node, rank_first, rank_last;
  const PlanPlace *run;
  Span2 at[ORDER_WORDS];
} NodeRow;

static NodeRow row_of(const Compiled *compiled, uint32_t rank) {
  const Plan *plan = &compiled->plan;
  RankPlace place = plan_place(plan, rank);
  uint32_t count = (uint32_t)rank_count(compiled);
  NodeRow row = {.node = place.node, .rank_first = rank, .run = place.run};
  for (; rank < count && plan_place(plan, rank).node == row.node; rank++) {
    RankWhere where = where_is(plan, rank);
    for (int32_t w = 0; w < ORDER_WORDS; w++) {
      Span2 *span = &row.at[w];
      bool is_first = rank == row.rank_first;
      if (is_first || where.at[w] < span->least) span->least = where.at[w];
      if (is_first || where.at[w] > span->most) span->most = where.at[w];
    }
    row.rank_last = rank;
  }
  return row;
}

/* The steps of coordinates from one node to the next; false: the nodes are not in one run. */
static bool is_next(const NodeRow *first, const NodeRow *last, const NodeRow *next) {
  if (next->run != last->run ||
      next->rank_last - next->rank_first != last->rank_last - last->rank_first)
    return false;
  uint32_t steps = last->node - first->node;
  for (int32_t w = 0; w < ORDER_WORDS; w++) {
    const Span2 *a = &first->at[w], *b = &last->at[w], *c = &next->at[w];
    if (c->most - c->least != b->most - b->least || c->least < b->least) return false;
    if (steps > 0 && (c->least - b->least) * steps != b->least - a->least) return false;
  }
  return true;
}

static const char *span_text(Arena *arena, Span2 span) {
  if (span.least == span.most) return arena_printf(arena, "%u", span.least);
  return arena_printf(arena, "%u-%u", span.least, span.most);
}

/* True if the word's column is the last. */
static bool is_last_column(const Compiled *compiled, int32_t word) {
  while (++word < ORDER_WORDS)
    if (where_size(compiled, word) > 1) return false;
  return true;
}

static void print_run(const Compiled *compiled, const NodeRow *first, const NodeRow *last,
                      FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  fprintf(out, "%-11s %-13s", span_text(arena, (Span2){first->node, last->node}),
          span_text(arena, (Span2){first->rank_first, last->rank_last}));
  for (int32_t w = 0; w < ORDER_WORDS; w++) {
    if (where_size(compiled, w) == 1) continue;
    const char *text = span_text(arena, first->at[w]);
    if (last->at[w].least != first->at[w].least)
      text = arena_printf(arena, "%s..%s", text, span_text(arena, last->at[w]));
    int32_t left = is_last_column(compiled, w) ? 0 : 12;
    fprintf(out, " %-*s", left, text);
  }
  fputc('\n', out);
}

static void print_heads(const Compiled *compiled, FILE *out) {
  fprintf(out, "%-11s %-13s", "nodes", "ranks");
  for (int32_t w = 0; w < ORDER_WORDS; w++)
    if (where_size(compiled, w) > 1)
      fprintf(out, " %-*s", is_last_column(compiled, w) ? 0 : 12, where_names[w]);
  fputc('\n', out);
}

static void print_runs(const Compiled *compiled, FILE *out) {
  uint32_t count = (uint32_t)rank_count(compiled);
  int32_t rows = 0, left = 0;
  print_heads(compiled, out);
  for (uint32_t rank = 0; rank < count;) {
    NodeRow first = row_of(compiled, rank), last = first;
    while (last.rank_last + 1 < count) {
      NodeRow next = row_of(compiled, last.rank_last + 1);
      if (!is_next(&first, &last, &next)) break;
      last = next;
    }
    if (rows++ < ROWS_MOST)
      print_run(compiled, &first, &last, out);
    else
      left++;
    rank = last.rank_last + 1;
  }
  if (left > 0) fprintf(out, "... %d more; --map --json has all\n", left);
}

/* ---- one node, GPU by GPU */

static void print_node(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  NodeRow row = row_of(compiled, 0);
  uint32_t ranks = row.rank_last + 1;
  if (ranks == 1 || ranks > NODE_GPUS_MOST) return;
  fprintf(out, "\n%-8s", job_target(plan) == TARGET_CPU ? "node 0" : "node 0, GPU");
  if (job_target(plan) == TARGET_CPU) fputs("   ", out);
  for (uint32_t rank = 0; rank < ranks; rank++) {
    RankPlace place = plan_place(plan, rank);
    fprintf(out, "%4u", place_device(&place));
  }
  for (int32_t w = 0; w < ORDER_WORDS; w++) {
    if (where_size(compiled, w) == 1) continue;
    fprintf(out, "\n%11s", where_names[w]);
    for (uint32_t rank = 0; rank < ranks; rank++)
      fprintf(out, "%4u", where_is(plan, rank).at[w]);
  }
  fputc('\n', out);
}

/* ---- every GPU */

static char letter_of(uint32_t number) {
  static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  if (number >= sizeof letters - 1) return '+';
  return letters[number];
}

/* Prints nodes in lines, as many in a line as fit. */
static void print_grid(const Compiled *compiled, FILE *out) {
  enum { HEAD = 6 };
  const Plan *plan = &compiled->plan;
  int32_t shown = where_shown(compiled), column = 0;
  uint32_t count = (uint32_t)rank_count(compiled);
  fprintf(out, "\n");
  if (count > GPUS_ON_A_SCREEN) {
    fprintf(out, "%s GPUs are more than a screen shows; --map --svg FILE draws them\n",
            count_text(compiled, count));
    return;
  }
  fprintf(out, "every rank by its %s, 0-9 a-z, from node to node\n",
          shown == ORDER_PP ? "stage" : "replica");
  for (uint32_t rank = 0; rank < count;) {
    NodeRow row = row_of(compiled, rank);
    int32_t width = (int32_t)(row.rank_last - row.rank_first) + 2;
    if (column > 0 && column + width > SCREEN_COLUMNS) column = 0, fputc('\n', out);
    if (column == 0)
      column = fprintf(out, "%-*s", HEAD,
                       arena_printf(compiled->draft->compile->arena, "n%u", row.node));
    fputc(' ', out);
    column++;
    for (; rank <= row.rank_last; rank++) {
      if (column == SCREEN_COLUMNS) column = fprintf(out, "\n%*s", HEAD + 1, "") - 1;
      fputc(letter_of(where_is(plan, rank).at[shown]), out);
      column++;
    }
  }
  fputc('\n', out);
}

void explain_map(const Compiled *compiled, FILE *out) {
  const Derived *d = &compiled->derived;
  fprintf(out, "%s rank%s = tp %lld x cp %lld x pp %lld x dp %lld\n",
          count_text(compiled, rank_count(compiled)), plural(rank_count(compiled)),
          (long long)d->tp, (long long)d->cp, (long long)d->pp, (long long)d->dp);
  fprintf(out, "axes fill nodes in this order: %s\n",
          order_text(compiled->draft->compile->arena, &compiled->choice.taken->order));
  const char *price = order_price_text(compiled);
  if (price) print_wrapped(out, price, 0, 4, SCREEN_COLUMNS);
  print_places(compiled, out);
  fputs("below, a-b is on every node, and a..b goes a step further on each\n", out);
  if (compiled->choice.taken->slant != 0)
    fputs("on a slant a node has some of a-b with others: see the node and the grid\n", out);
  fputc('\n', out);
  print_runs(compiled, out);
  print_node(compiled, out);
  if (rank_count(compiled) > 1) print_grid(compiled, out);
}
