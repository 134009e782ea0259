/* map_svg.c -- every rank as a square in the box of its node, coloured by stage, or by replica if
 * there is only one stage. */
#include <math.h>

#include "compiler/show/explain/where.h"
#include "compiler/show/explain/words.h"

enum { SQUARE = 14, GAP = 4, HEAD = 16, MARGIN = 20, LEGEND_MOST = 64, LEGEND_CELL = 84, WIDE = 3 };

typedef struct Sheet {
  const Compiled *compiled;
  FILE *out;
  uint32_t nodes, across; /* nodes in one row of boxes */
  uint32_t seats, wide;   /* squares of a node: all, in one row */
  int32_t top;            /* below the legend */
} Sheet;

/* Hues a golden angle apart, so that neighbours differ. */
static void put_colour(uint32_t number, FILE *out) {
  fprintf(out, "hsl(%u,65%%,%u%%)", (unsigned)(number * 137 % 360), 58 + number % 3 * 8);
}

static uint32_t most_seats(const Plan *plan) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < plan->places_count; i++)
    if (plan->places[i].node_ranks > most) most = plan->places[i].node_ranks;
  return most;
}

static int32_t box_width(const Sheet *s) {
  return (int32_t)s->wide * (SQUARE + GAP) + GAP;
}
static int32_t box_height(const Sheet *s) {
  return (int32_t)((s->seats + s->wide - 1) / s->wide) * (SQUARE + GAP) + GAP + HEAD;
}

static int32_t legend_rows(const Sheet *s, uint32_t entries) {
  int32_t a_row = ((int32_t)s->across * (box_width(s) + GAP)) / LEGEND_CELL;
  return ((int32_t)entries + (a_row > 0 ? a_row : 1) - 1) / (a_row > 0 ? a_row : 1);
}

static void draw_legend(const Sheet *s, uint32_t entries) {
  int32_t rows = legend_rows(s, entries);
  uint32_t a_row = rows > 0 ? (entries + (uint32_t)rows - 1) / (uint32_t)rows : 1;
  const char *word = where_shown(s->compiled) == ORDER_PP ? "stage" : "replica";
  for (uint32_t i = 0; i < entries; i++) {
    int32_t x = MARGIN + (int32_t)(i % a_row) * LEGEND_CELL;
    int32_t y = MARGIN + HEAD + (int32_t)(i / a_row) * (SQUARE + GAP);
    fprintf(s->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"", x, y, SQUARE,
            SQUARE);
    put_colour(i, s->out);
    fprintf(s->out, "\"/><text x=\"%d\" y=\"%d\">%s %u</text>\n", x + SQUARE + GAP, y + SQUARE - 3,
            word, i);
  }
}

static void draw_node(const Sheet *s, uint32_t node, int32_t x, int32_t y) {
  fprintf(s->out,
          "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>"
          "<text x=\"%d\" y=\"%d\">n%u</text>\n",
          x, y, box_width(s), box_height(s), x + GAP, y + HEAD - 4, node);
}

static void draw_rank(const Sheet *s, uint32_t rank) {
  const Plan *plan = &s->compiled->plan;
  RankPlace place = plan_place(plan, rank);
  RankWhere where = where_is(plan, rank);
  int32_t x = MARGIN + (int32_t)(place.node % s->across) * (box_width(s) + GAP);
  int32_t y = s->top + (int32_t)(place.node / s->across) * (box_height(s) + GAP);
  if (place.position == 0) draw_node(s, place.node, x, y);
  x += GAP + (int32_t)(place.position % s->wide) * (SQUARE + GAP);
  y += HEAD + (int32_t)(place.position / s->wide) * (SQUARE + GAP);
  fprintf(s->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"", x, y, SQUARE,
          SQUARE);
  put_colour(where.at[where_shown(s->compiled)], s->out);
  fprintf(s->out, "\"><title>rank %u, GPU %u:", rank, place_device(&place));
  for (int32_t w = 0; w < ORDER_WORDS; w++)
    fprintf(s->out, " %s %u", where_names[w], where.at[w]);
  fputs("</title></rect>\n", s->out);
}

/* The number of nodes after which the colours repeat; 1: all nodes are alike. */
static uint32_t period_of(const Compiled *compiled) {
  const Plan *plan = &compiled->plan;
  uint32_t count = (uint32_t)rank_count(compiled), shown = (uint32_t)where_shown(compiled);
  bool has_changed = false;
  for (uint32_t rank = 0; rank < count; rank++) {
    RankPlace place = plan_place(plan, rank);
    uint32_t at = where_is(plan, rank).at[shown];
    if (place.position == 0 && has_changed && at == 0) return place.node;
    has_changed |= at != 0;
  }
  return 1;
}

/* Nodes in a row: a multiple of that period if the picture does not become much wider or narrower.
 */
static uint32_t nodes_across(const Sheet *s) {
  double ratio = (double)box_height(s) / box_width(s);
  uint32_t across = (uint32_t)ceil(sqrt(WIDE / 2.0 * ratio * s->nodes));
  uint32_t period = period_of(s->compiled);
  if (period >= 2 * across) return across;
  uint32_t times = (across + period / 2) / period;
  return (times > 0 ? times : 1) * period;
}

bool explain_map_svg(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  uint32_t count = (uint32_t)rank_count(compiled);
  Sheet s = {.compiled = compiled, .out = out, .seats = most_seats(plan)};
  s.nodes = plan_place(plan, count - 1).node + 1;
  s.wide = s.seats <= 4 ? s.seats : (uint32_t)ceil(sqrt(2.0 * s.seats));
  s.across = nodes_across(&s);
  uint32_t entries = (uint32_t)where_size(compiled, where_shown(compiled));
  if (entries > LEGEND_MOST) entries = 0;
  s.top = MARGIN + 2 * HEAD + legend_rows(&s, entries) * (SQUARE + GAP);
  int32_t width = 2 * MARGIN + (int32_t)s.across * (box_width(&s) + GAP);
  int32_t rows = (int32_t)((s.nodes + s.across - 1) / s.across);
  int32_t height = s.top + rows * (box_height(&s) + GAP) + MARGIN;
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "font-family=\"sans-serif\" font-size=\"11\">\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
          width < 400 ? 400 : width, height);
  const Derived *d = &compiled->derived;
  fprintf(out,
          "<text x=\"%d\" y=\"%d\">%u rank%s = tp %lld x cp %lld x pp %lld x dp %lld, order "
          "%s</text>\n",
          MARGIN, MARGIN, count, plural(count), (long long)d->tp, (long long)d->cp,
          (long long)d->pp, (long long)d->dp,
          order_text(compiled->draft->compile->arena, &compiled->choice.taken->order));
  draw_legend(&s, entries);
  for (uint32_t rank = 0; rank < count; rank++)
    draw_rank(&s, rank);
  fputs("</svg>\n", out);
  return !ferror(out);
}
