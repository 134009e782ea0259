/* timeline_text.c -- the same rows in characters: a column shows what most of its time went to. */
#include <string.h>

#include "compiler/explain/timeline.h"
#include "compiler/explain/timeline_boxes.h"

enum { COLUMNS = 100, NAME_MOST = 20, COLUMNS_PER_BEAT_MOST = 2 };

/* Forward, backward and weights show the micro-batch, modulo ten. */
static char character_of(const Box *box) {
  static const char fixed[BOX_KIND_COUNT] = {'0', 'a', 'A', 'r', '~', 'u', 'l'};
  char first = fixed[box->kind];
  if (box->kind > BOX_WEIGHT || box->microbatch < 0) return first;
  return (char)(first + box->microbatch % 10);
}

/* What fills most of [start, end); '.' when that is nothing. *at: the row's first box that does not
 * end before. */
static char column(const TimelineRow *row, double start, double end, int32_t *at) {
  double idle = end - start, most = 0;
  char shown = '.';
  while (*at < row->boxes.count && (double)row->boxes.at[*at].end <= start)
    ++*at;
  for (int32_t i = *at; i < row->boxes.count && (double)row->boxes.at[i].start < end; i++) {
    const Box *box = &row->boxes.at[i];
    double from = (double)box->start > start ? (double)box->start : start;
    double to = (double)box->end < end ? (double)box->end : end;
    idle -= to - from;
    if (to - from <= most) continue;
    most = to - from;
    shown = character_of(box);
  }
  return (char)(most >= idle ? shown : '.');
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* As many columns as there are. When all lengths are multiples of some beat, as in schedules and in
 * small examples, a whole number of columns for each beat. */
static int32_t columns_of(const Timeline *t, int32_t room) {
  int64_t beat = t->span;
  for (int32_t r = 0; r < t->row_count; r++)
    for (int32_t i = 0; i < t->rows[r].boxes.count; i++)
      beat = common_divisor(common_divisor(beat, t->rows[r].boxes.at[i].start),
                            t->rows[r].boxes.at[i].end);
  int64_t beats = t->span / beat;
  if (beats > room) return room;
  int64_t each = room / beats;
  return (int32_t)(beats * (each < COLUMNS_PER_BEAT_MOST ? each : COLUMNS_PER_BEAT_MOST));
}

static void put_legend(const Timeline *t, FILE *out) {
  static const char *const words[BOX_KIND_COUNT] = {"0-9 forward", "a-j backward",    "A-J weights",
                                                    "r recompute", "~ communication", "u update",
                                                    "l load"};
  fputs("  ", out);
  for (int kind = 0; kind < BOX_KIND_COUNT; kind++)
    if (timeline_has(t, (BoxKind)kind)) fprintf(out, "%s  ", words[kind]);
  fputs(". idle\n", out);
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
    int32_t at = 0;
    fprintf(out, "  %-*.*s ", name, name, t->rows[i].name);
    for (int32_t c = 0; c < columns; c++) {
      double each = (double)t->span / columns;
      fputc(column(&t->rows[i], c * each, (c + 1) * each, &at), out);
    }
    fputc('\n', out);
  }
  put_legend(t, out);
  arena_free(arena);
}
