/* limits.c -- what a search has not decided, as lines of text. */
#include <math.h>

#include "compiler/search/tune.h"

/* How far forecasts were off, for the rows whose plans have been compiled. */
static const char *errors_text(Arena *arena, const Tuned *t) {
  static const double ROUNDED = 0.05;
  const double least = 100 * t->off_least, most = 100 * t->off_most;
  if (t->proven == 0)
    return "no plan was compiled, because even the first has too many layers of micro-batches: "
           "all times are forecasts";
  const char *plans = arena_printf(arena, "%d compiled plan%s", t->proven, plural(t->proven));
  if (least > -ROUNDED && most < ROUNDED)
    return arena_printf(arena, "forecasts of %s were right to 0.1 %%", plans);
  if (most - least < 2 * ROUNDED)
    return arena_printf(arena, "forecasts of %s were %.1f %% too %s", plans, fabs(least + most) / 2,
                        most > 0 ? "long" : "short");
  return arena_printf(arena, "forecasts of %s were between %.1f %% too %s and %.1f %% too %s",
                      plans, fabs(least), least < 0 ? "short" : "long", fabs(most),
                      most < 0 ? "short" : "long");
}

TextList tune_limits(Arena *arena, const Tuned *t) {
  TextList lines = {0};
  if (t->doubtful > 0)
    VEC_PUSH(arena, &lines,
             arena_printf(arena, "not compiled: %s setting%s that may be faster than row 1 by %s",
                          format_count(arena, t->doubtful), plural(t->doubtful),
                          t->doubtful == 1 ? "its bound" : "their bounds"));
  VEC_PUSH(arena, &lines, errors_text(arena, t));
  if (t->cut[CUT_LIMIT] > 0)
    VEC_PUSH(arena, &lines,
             arena_printf(arena, "ended after %s estimates, before %s other settings",
                          format_count(arena, t->estimates),
                          format_count(arena, t->cut[CUT_LIMIT])));
  VEC_PUSH(arena, &lines, "not varied: offload, precision, loss_chunks, zero_unit, stages");
  return lines;
}
