/* loss_choice.c -- finds the loss that --loss names, or the one that the verb can use. */
#include "compiler/graph/model/loss_choice.h"

#include <string.h>

/* "lm, aux": the names of all losses, or of those that fit; with their ops: "a (mse), b (mse)". */
static const char *names_of(Arena *arena, const LossOption *losses, int32_t count, bool all,
                            bool with_op) {
  const char *text = "";
  for (int32_t i = 0; i < count; i++) {
    if (!all && !losses[i].fits) continue;
    text = arena_printf(arena, "%s%s%s", text, *text ? ", " : "", losses[i].name);
    if (with_op) text = arena_printf(arena, "%s (%s)", text, losses[i].op);
  }
  return text;
}

static int32_t find_named(const LossOption *losses, int32_t count, const char *name) {
  for (int32_t i = 0; i < count; i++)
    if (strcmp(losses[i].name, name) == 0) return i;
  return -1;
}

static int32_t choose_named(Arena *arena, const LossOption *losses, int32_t count,
                            const LossAsk *ask, const char **why) {
  const int32_t found = find_named(losses, count, ask->name);
  if (found < 0)
    *why = arena_printf(arena, "--loss: the model has no loss '%s'; it has: %s", ask->name,
                        names_of(arena, losses, count, true, false));
  else if (!losses[found].fits)
    *why = arena_printf(arena, "%s is for losses that are %s, and '%s' is %s", ask->verb, ask->fit,
                        losses[found].name, losses[found].op);
  return *why == NULL ? found : -1;
}

int32_t loss_choose(Arena *arena, const LossOption *losses, int32_t count, const LossAsk *ask,
                    const char **why) {
  int32_t fitting = 0, found = -1;
  *why = NULL;
  if (ask->name != NULL) return choose_named(arena, losses, count, ask, why);
  if (ask->usual >= 0) return ask->usual;
  for (int32_t i = 0; i < count; i++) {
    fitting += losses[i].fits;
    if (losses[i].fits) found = i;
  }
  if (fitting == 0)
    *why = arena_printf(arena, "%s is for losses that are %s, and the model's %s: %s", ask->verb,
                        ask->fit, count == 1 ? "is another" : "are others",
                        names_of(arena, losses, count, true, true));
  else if (fitting > 1)
    *why = arena_printf(arena, "%s is of one loss: choose it with --loss NAME: %s", ask->verb,
                        names_of(arena, losses, count, false, false));
  return *why == NULL ? found : -1;
}
