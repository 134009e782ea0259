/* rates.c -- the learning rate over steps as a table: explain JOB schedule. */
#include "compiler/show/explain/explain.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/schedule.h"

enum { ROWS_MAX = 64, RISE_PARTS = 4, DECAY_PARTS = 10 };

typedef struct RateRows {
  int64_t steps[ROWS_MAX];
  int32_t count;
} RateRows;

/* In order, each once. */
static void add_step(RateRows *rows, int64_t step) {
  int32_t at = rows->count;
  while (at > 0 && rows->steps[at - 1] > step)
    at--;
  if ((at > 0 && rows->steps[at - 1] == step) || rows->count == ROWS_MAX) return;
  for (int32_t i = rows->count++; i > at; i--)
    rows->steps[i] = rows->steps[i - 1];
  rows->steps[at] = step;
}

/* `parts` + 1 steps from `first` to `last`. */
static void add_span(RateRows *rows, int64_t first, int64_t last, int32_t parts) {
  for (int32_t i = 0; i <= parts && last >= first; i++)
    add_step(rows, first + (int64_t)((double)(last - first) * i / parts));
}

/* Steps of the run where the curve bends, and some between them. */
static RateRows choose_steps(const Plan *plan) {
  RateRows rows = {0};
  int64_t peak = job_warmup_steps(plan) > 1 ? job_warmup_steps(plan) : 1, last = job_steps(plan);
  int64_t end = job_decay_steps(plan) < last ? job_decay_steps(plan) : last;
  int64_t begin = job_schedule(plan) == SCHEDULE_WSD
                      ? job_decay_steps(plan) - job_decay_length(plan) + 1
                      : peak;
  bool decays =
      job_schedule(plan) != SCHEDULE_CONSTANT && job_schedule(plan) != SCHEDULE_INVERSE_SQRT;
  add_span(&rows, 1, peak < last ? peak : last, RISE_PARTS);
  if (decays) {
    add_span(&rows, begin < last ? begin : last, end, DECAY_PARTS);
    if (end < last) add_step(&rows, end + 1);
  } else if (job_schedule(plan) == SCHEDULE_INVERSE_SQRT) {
    for (int64_t step = peak; step < last && rows.count < ROWS_MAX / 2; step *= 2)
      add_step(&rows, step);
  }
  add_step(&rows, last);
  return rows;
}

void explain_rates(const Compiled *compiled, FILE *out) {
  enum { BAR = 40 };
  static const char bar[BAR + 1] = "########################################";
  RateRows rows = choose_steps(&compiled->plan);
  fprintf(out, "\n%14s %12s %8s\n", "step", "lr", "of lr");
  for (int32_t i = 0; i < rows.count; i++) {
    double lr = schedule_lr(&compiled->plan, rows.steps[i]),
           share = job_lr(&compiled->plan) > 0 ? lr / job_lr(&compiled->plan) : 0;
    fprintf(out, "%14s %12.4e %7.2f%%%s%.*s\n",
            format_count(compiled->draft->compile->arena, rows.steps[i]), lr, 100 * share,
            share * BAR >= 0.5 ? "  " : "", (int)(share * BAR + 0.5), bar);
  }
}
