#include "compiler/search/finalists.h"

#include <math.h>

#include "compiler/search/fit.h"
#include "compiler/search/workers.h"

/* Layers of micro-batches that the plans of all finalists run may be this many: a second or two of
 * one processor. */
enum { FINALISTS_MOST = 8, ROUNDS_MOST = 8, WORK_MOST = 20000 };

typedef struct Finalist {
  TuneRow *row;
  int64_t estimated_ns;
  bool is_too_large;
} Finalist;

typedef struct Finals {
  const Subject *subject;
  Finalist at[FINALISTS_MOST];
  int32_t count;
} Finals;

/* Without a pipeline the calls of micro-batches are made once. */
static int64_t work_of(const TuneRow *row, int64_t layers) {
  return row->candidate.setting.pp == 1 ? layers : layers * row->candidate.microbatches;
}

static void take_plan(Bench *bench, TuneRow *row) {
  Compiled *known = &bench->known;
  compile_emit(bench->compile, &bench->job, known);
  compile_prove(bench->compile, &bench->job, known);
  if (compile_failed(bench->compile)) return; /* the caller compiles the first row again */
  row->is_proven = true;
  row->lacks_host = !fit_hosts(known, known->draft);
  estimate_times(&known->plan, &row->estimate);
  row->estimate.live_bytes = known->draft->live_bytes;
  row->estimate.arena_bytes = known->draft->arena_bytes;
  row->estimate.mfu = estimate_mfu(known->draft, row->estimate.step_ns);
}

static void prove_one(void *state, int32_t thread, int32_t i) {
  Finals *finals = state;
  Finalist *at = &finals->at[i];
  Bench bench;
  (void)thread;
  if (bench_open(&bench, finals->subject)) {
    setting_apply(&at->row->candidate.setting, &bench.job);
    if (compile_derive(bench.compile, &bench.job, &bench.known) &&
        fit_draft(bench.compile, &bench.job, &bench.known)) {
      at->is_too_large = bench.known.draft->arena_bytes > bench.known.budget_bytes;
      if (!at->is_too_large) take_plan(&bench, at->row);
    }
  }
  bench_close(&bench);
}

/* Rows that are equally fast keep their order. */
static void sort_rows(TuneRow *rows, int32_t count) {
  for (int32_t i = 1; i < count; i++) {
    const TuneRow row = rows[i];
    int32_t at = i;
    for (; at > 0 && row.estimate.step_ns < rows[at - 1].estimate.step_ns; at--)
      rows[at] = rows[at - 1];
    rows[at] = row;
  }
}

/* True if the row's plan may be faster than the first row's, or, as long as the first row has no
 * plan, if it is among the first. */
static bool may_be_first(const TuneRow *rows, int32_t i) {
  if (rows[i].is_proven) return false;
  return !rows[0].is_proven || rows[i].candidate.least_ns < rows[0].estimate.step_ns;
}

static void choose(Finals *finals, TuneRow *rows, int32_t count, int64_t *work, const Tuned *out) {
  finals->count = 0;
  for (int32_t i = 0; i < count && finals->count < FINALISTS_MOST; i++) {
    if (rows[i].is_proven && !rows[0].is_proven) return;
    if (!may_be_first(rows, i)) continue;
    *work += work_of(&rows[i], out->layers);
    if (*work > WORK_MOST) return;
    finals->at[finals->count++] = (Finalist){&rows[i], rows[i].estimate.step_ns, false};
  }
}

/* Notes how far the estimate was off; false: the row's plan does not fit. */
static bool take_finalist(const Finalist *at, Tuned *out) {
  if (at->is_too_large) return false;
  if (!at->row->is_proven) return true;
  const double off = (double)at->estimated_ns / (double)at->row->estimate.step_ns - 1;
  out->off_least = out->proven == 0 ? off : fmin(out->off_least, off);
  out->off_most = out->proven == 0 ? off : fmax(out->off_most, off);
  out->proven++;
  return true;
}

/* Compiles rows that may be the first; leaves out the ones that do not fit. */
static int32_t prove_some(const Subject *subject, int32_t threads, TuneRow *rows, int32_t count,
                          int64_t *work, Tuned *out) {
  Finals finals = {.subject = subject};
  int32_t kept = 0, taken = 0;
  choose(&finals, rows, count, work, out);
  workers_run(threads, finals.count, prove_one, &finals);
  for (int32_t i = 0; i < count; i++) {
    const bool is_finalist = taken < finals.count && finals.at[taken].row == &rows[i];
    if (is_finalist && !take_finalist(&finals.at[taken++], out)) continue;
    rows[kept++] = rows[i];
  }
  sort_rows(rows, kept);
  return kept;
}

/* Plans can take longer than their estimates did: rows that are faster by estimates than all plans
 * are compiled, too, and then rows whose bound is below the fastest plan. */
int32_t finalists_prove(const Subject *subject, int32_t threads, TuneRow *rows, int32_t count,
                        Tuned *out) {
  int64_t work = 0;
  sort_rows(rows, count);
  for (int32_t round = 0; round < ROUNDS_MOST && count > 0; round++) {
    const int32_t before = count, proven = out->proven;
    count = prove_some(subject, threads, rows, count, &work, out);
    if (count == before && out->proven == proven) break;
  }
  out->doubtful = 0;
  for (int32_t i = 0; i < count; i++)
    out->doubtful += rows[0].is_proven && may_be_first(rows, i);
  return count;
}
