/* timeline_text.c -- the same rows as characters: a column shows the work that took most of its
 * time; for lanes beside computation also whether anything ran at all. */
#include <string.h>

#include "compiler/show/explain/timeline.h"
#include "compiler/show/explain/timeline_boxes.h"
#include "runtime/plan/plan_text.h"

enum { COLUMNS = 80, NAME_MOST = 20, COLUMNS_PER_BEAT_MOST = 2 };

/* Forward, backward and weights show the micro-batch, modulo ten. */
static char character_of(const Box *box) {
  static const char fixed[BOX_KIND_COUNT] = {'0', 'a', 'A', 'r', '~', 'u', 'l'};
  char first = fixed[box->kind];
  if (box->kind > BOX_WEIGHT || box->microbatch < 0) return first;
  return (char)(first + box->microbatch % 10);
}

/* The character whose consecutive boxes fill most of [start, end). If idle time fills most: '.', or
 * '-' on a lane `beside` computation that did something. *at: the lane's first box that does not
 * end before. */
static char column(const TimelineLane *lane, double start, double end, bool beside, int32_t *at) {
  double idle = end - start, most = 0, length = 0;
  char shown = '.', last = '\0';
  while (*at < lane->boxes.count && (double)lane->boxes.at[*at].end <= start)
    ++*at;
  for (int32_t i = *at; i < lane->boxes.count && (double)lane->boxes.at[i].start < end; i++) {
    const Box *box = &lane->boxes.at[i];
    double from = (double)box->start > start ? (double)box->start : start;
    double to = (double)box->end < end ? (double)box->end : end;
    idle -= to - from;
    bool goes_on = i > *at && (box - 1)->end == box->start && character_of(box) == last;
    length = (goes_on ? length : 0) + to - from;
    last = character_of(box);
    if (length <= most) continue;
    most = length;
    shown = last;
  }
  if (most >= idle) return shown;
  return (char)(beside && most > 0 ? '-' : '.');
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static int64_t beat_of(const TimelineLane *lane, int64_t beat) {
  for (int32_t i = 0; i < lane->boxes.count; i++)
    beat = common_divisor(common_divisor(beat, lane->boxes.at[i].start), lane->boxes.at[i].end);
  return beat;
}

/* Uses as many columns as there are. If all lengths are multiples of some beat, as in schedules and
 * small examples, each beat gets a whole number of columns. */
static int32_t columns_of(const Timeline *t, int32_t room) {
  int64_t beat = t->span;
  for (int32_t r = 0; r < t->row_count; r++)
    for (int32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
      beat = beat_of(&t->rows[r].lanes[lane], beat);
  int64_t beats = t->span / beat;
  if (beats > room) return room;
  int64_t each = room / beats;
  return (int32_t)(beats * (each < COLUMNS_PER_BEAT_MOST ? each : COLUMNS_PER_BEAT_MOST));
}

static void put_lane(const Timeline *t, const TimelineLane *lane, bool beside, int32_t columns,
                     FILE *out) {
  double each = (double)t->span / columns;
  int32_t at = 0;
  for (int32_t c = 0; c < columns; c++)
    fputc(column(lane, c * each, (c + 1) * each, beside, &at), out);
  fputc('\n', out);
}

static void put_legend(const Timeline *t, FILE *out) {
  static const char *const words[BOX_KIND_COUNT] = {"0-9 forward", "a-j backward",    "A-J weights",
                                                    "r recompute", "~ communication", "u update",
                                                    "l load"};
  Arena *arena = arena_new();
  const char *text = "";
  for (int kind = 0; kind < BOX_KIND_COUNT; kind++)
    if (timeline_has(t, (BoxKind)kind)) text = arena_printf(arena, "%s%s  ", text, words[kind]);
  fputs("  ", out);
  print_wrapped(out, arena_printf(arena, "%s. idle", text), 2, 2, COLUMNS);
  arena_free(arena);
  if (t->beside_count > 0)
    fputs("  under each: its lanes beside computation, - less than half of a column\n", out);
}

void timeline_text(const Plan *plan, FILE *out) {
  Arena *arena = arena_new();
  const Timeline *t = timeline_make(arena, plan);
  if (t == NULL) {
    fputs("this plan has no train step\n", out);
    arena_free(arena);
    return;
  }
  size_t longest = 0;
  for (int32_t i = 0; i < t->row_count; i++)
    if (strlen(t->rows[i].name) > longest) longest = strlen(t->rows[i].name);
  int32_t name = longest < NAME_MOST ? (int32_t)longest : NAME_MOST;
  int32_t columns = columns_of(t, COLUMNS - name - 3);
  fprintf(out, "%s\n", timeline_title(arena, t));
  for (int32_t i = 0; i < t->row_count; i++) {
    fprintf(out, "  %-*.*s ", name, name, t->rows[i].name);
    put_lane(t, &t->rows[i].lanes[t->main], false, columns, out);
    for (int32_t k = 0; k < t->beside_count; k++) {
      fprintf(out, "  %*.*s ", name, name, plan_lane_name(plan, t->beside[k]));
      put_lane(t, &t->rows[i].lanes[t->beside[k]], true, columns, out);
    }
  }
  put_legend(t, out);
  arena_free(arena);
}
