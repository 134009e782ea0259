/* rates.c -- learning rates of a job beside those of the tool whose file it was made of. */
#include <math.h>
#include <string.h>

#include "compiler/job/import/import.h"

static double curve(const char *schedule, double p) {
  if (p < 0) p = 0;
  if (p > 1) p = 1;
  if (strcmp(schedule, "cosine") == 0) return (1 + cos(acos(-1.0) * p)) / 2;
  return strcmp(schedule, "linear") == 0 ? 1 - p : 1;
}

/* docs/training.md has the formula. */
double rate_ours(const char *schedule, double step, double warmup, double over, double start,
                 double floor) {
  double first = fmax(warmup, 1);
  if (step < first) return start + (1 - start) * step / first;
  if (strcmp(schedule, "constant") == 0) return 1;
  return floor + (1 - floor) * curve(schedule, (step - first) / (over + 1 - first));
}

/* Steps count from 1; these tools count from 0. */
double rate_theirs(const char *formula, const char *schedule, double step, double warmup,
                   double over, double start, double floor) {
  const bool is_log = strcmp(formula, "log") == 0;
  const bool is_deepspeed = is_log || strcmp(formula, "deepspeed") == 0;
  double it = step - 1;
  if (is_deepspeed) {
    warmup = fmax(2, warmup);
    if (--it < 0) /* the first update is before the schedule's first step */
      return strcmp(schedule, "cosine") == 0 ? 0 : start;
  }
  if (it < warmup) {
    double share = is_log                            ? log(it + 1) / log(warmup)
                   : strcmp(formula, "nanogpt") == 0 ? (it + 1) / (warmup + 1)
                   : strcmp(formula, "llmc") == 0 || strcmp(formula, "titan") == 0
                       ? (it + 1) / warmup
                       : it / warmup;
    return start + (1 - start) * share;
  }
  /* DeepSpeed's cosine runs one step ahead of its linear schedule. */
  if (is_deepspeed && strcmp(schedule, "cosine") == 0) it++;
  return floor + (1 - floor) * curve(schedule, (it - warmup) / fmax(over - warmup, 1));
}

void import_rates(Import *im, const char *tool, const char *formula) {
  im->formula = formula;
  im->formula_tool = tool;
}

static double number_or(const Import *im, const char *path, double otherwise) {
  double number;
  return setting_number(im, path, &number) ? number : otherwise;
}

void rates_lines(Arena *arena, const char *title, const char *formula, const RateCurve *c,
                 Texts *out) {
  const double over = c->over > c->warmup ? c->over : c->warmup * 10;
  if (over < 10) return;
  const double at[] = {1, fmax(2, floor(c->warmup / 10)), fmax(3, c->warmup),
                       floor((c->warmup + over) / 2), over};
  const char *lines[3] = {"  step", arena_printf(arena, "  %s", title), "  here"};
  for (int i = 0; i < 3; i++)
    lines[i] = arena_printf(arena, "%-14s", lines[i]);
  for (int i = 0; i < 5; i++) {
    double theirs =
        c->lr * rate_theirs(formula, c->schedule, at[i], c->warmup, over, c->start, c->floor);
    double ours = c->lr * rate_ours(c->schedule, at[i], c->warmup, over, c->start, c->floor);
    lines[0] = arena_printf(arena, "%s%12.0f", lines[0], at[i]);
    lines[1] = arena_printf(arena, "%s%12.4g", lines[1], theirs);
    lines[2] = arena_printf(arena, "%s%12.4g", lines[2], ours);
  }
  VEC_PUSH(arena, &out->list, "learning rates:");
  for (int i = 0; i < 3; i++)
    VEC_PUSH(arena, &out->list, lines[i]);
}

void rates_write(Import *im) {
  if (!im->formula) return;
  const JobSetting *kind = setting_find(im, "schedule");
  const double steps = number_or(im, "train.steps", 0);
  const RateCurve curve = {
      .schedule =
          kind ? arena_copy_n(im->c->arena, kind->value + 1, strlen(kind->value) - 2) : "constant",
      .lr = number_or(im, "optimizer.lr", 1),
      .warmup = number_or(im, "schedule.warmup", 0),
      .over = number_or(im, "schedule.over", steps),
      .start = number_or(im, "schedule.warmup_floor", 0),
      .floor = number_or(im, "schedule.floor", 0),
  };
  rates_lines(im->c->arena, im->formula_tool, im->formula, &curve, &im->rates);
}
