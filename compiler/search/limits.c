/* limits.c -- what a search has not decided, as lines of text. */
#include "compiler/search/tune.h"

TextList tune_limits(Arena *arena, const Tuned *t) {
  TextList lines = {0};
  if (t->doubtful > 0)
    VEC_PUSH(arena, &lines,
             arena_printf(arena, "not compiled: %s setting%s that may be faster than row 1 by %s",
                          format_count(arena, t->doubtful), plural(t->doubtful),
                          t->doubtful == 1 ? "its bound" : "their bounds"));
  if (t->proven > 0)
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
