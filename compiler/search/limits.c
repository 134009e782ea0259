/* limits.c -- what a search has not decided, as lines of text. */
#include "compiler/search/refine.h"
#include "compiler/search/tune.h"

TextList tune_limits(Arena *arena, const Tuned *t) {
  TextList lines = {0};
  if (t->cut[CUT_FORECAST] > 0)
    VEC_PUSH(arena, &lines,
             arena_printf(arena,
                          "assumed: no forecast is more than %.0f %% too long, for %s setting%s",
                          100 * FORECAST_MARGIN, format_count(arena, t->cut[CUT_FORECAST]),
                          plural(t->cut[CUT_FORECAST])));
  if (t->cut[CUT_FORECAST] > 0 && t->proven > 0)
    VEC_PUSH(arena, &lines,
             arena_printf(arena, "forecasts of %d compiled plan%s were %+.1f to %+.1f %% off",
                          t->proven, plural(t->proven), 100 * t->off_least, 100 * t->off_most));
  if (t->cut[CUT_LIMIT] > 0)
    VEC_PUSH(arena, &lines,
             arena_printf(arena, "ended after %s estimates, before %s other settings",
                          format_count(arena, t->estimates),
                          format_count(arena, t->cut[CUT_LIMIT])));
  VEC_PUSH(arena, &lines, "not varied: offload, precision, loss_chunks, zero_unit, stages");
  return lines;
}
