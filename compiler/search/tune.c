#include "compiler/search/tune.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/search/finalists.h"
#include "compiler/search/refine.h"
#include "compiler/search/workers.h"

/* Settings that are estimated before it is looked again at which of the others may be better: as
 * many on any number of threads. */
enum { ROUND = 8, ROWS_LEAST = 2 };

typedef struct Tuning {
  const Subject *subject;
  const TuneProgress *progress;
  int32_t threads, estimates_most;
  PartsKeys keys;
  Arena **arenas;      /* by thread */
  Bench *benches;      /* by thread */
  Candidates *bounded; /* by key */
  Candidate *all;      /* in the order of their bounds */
  int32_t count;
  Flows *flows;        /* by thread */
  struct KeyTask *key; /* of those that have candidates, in the order of their least bounds */
  int32_t key_count, key_first;
  int64_t limit_ns;        /* a setting whose bound is not below this cannot be the best */
  struct Estimated *round; /* of ROUND */
  int32_t round_first;
} Tuning;

typedef enum Fate { FATE_REFUSED, FATE_TOO_LARGE, FATE_FITS } Fate;

typedef struct Estimated {
  const Candidate *candidate;
  Estimate estimate;
  int64_t steps;
  Fate fate;
} Estimated;

static void tell(const Tuning *t, const char *what, int64_t done, int64_t all) {
  if (t->progress != NULL) t->progress->tell(t->progress->state, what, done, all);
}

/* ---- bounds */

static void bound_key(void *state, int32_t thread, int32_t i) {
  Tuning *t = state;
  bounds_of(t->arenas[thread], &t->benches[thread], t->subject, &t->keys, i, &t->bounded[i]);
  tell(t, "parts of the model priced", i, t->keys.count);
}

static int compare_candidates(const void *a, const void *b) {
  const Candidate *x = *(const Candidate *const *)a, *y = *(const Candidate *const *)b;
  if (x->least_ns != y->least_ns) return x->least_ns < y->least_ns ? -1 : 1;
  if (x->least_bytes != y->least_bytes) return x->least_bytes < y->least_bytes ? -1 : 1;
  return x->setting.zero < y->setting.zero ? -1 : x->setting.zero > y->setting.zero;
}

/* Candidates that are equal in all that is compared keep the order in which they were found. */
typedef struct Ordered {
  const Candidate *candidate;
  int32_t number;
} Ordered;

static int compare_ordered(const void *a, const void *b) {
  const Ordered *x = a, *y = b;
  const int by_bounds = compare_candidates(&x->candidate, &y->candidate);
  return by_bounds != 0 ? by_bounds : (x->number > y->number) - (x->number < y->number);
}

static void gather(Tuning *t, Arena *arena, Tuned *out) {
  int32_t count = 0;
  for (int32_t k = 0; k < t->keys.count; k++)
    count += t->bounded[k].count;
  Ordered *ordered = ARENA_ARRAY(arena, Ordered, count + 1);
  Candidate *all = ARENA_ARRAY(arena, Candidate, count + 1);
  count = 0;
  for (int32_t k = 0; k < t->keys.count; k++) {
    const Candidates *from = &t->bounded[k];
    const bool is_first = out->cut[CUT_MEMORY] == 0;
    if (from->cut[CUT_MEMORY] > 0 &&
        (is_first || candidate_lacks(&from->smallest) < candidate_lacks(&out->smallest)))
      out->smallest = from->smallest;
    out->seen += from->seen;
    for (int32_t r = 0; r < CUT_RULES; r++)
      out->cut[r] += from->cut[r];
    for (int32_t i = 0; i < from->count; i++, count++)
      ordered[count] = (Ordered){&from->at[i], count};
  }
  qsort(ordered, (size_t)count, sizeof *ordered, compare_ordered);
  for (int32_t i = 0; i < count; i++)
    all[i] = *ordered[i].candidate;
  t->all = all;
  t->count = count;
  out->has_candidates = count > 0;
}

/* ---- forecasts */

typedef struct KeyTask {
  int32_t key;
  Candidate **at; /* in the order of their bounds */
  int32_t count;
  int64_t least_ns; /* of all, before forecasts */
  Refined refined;
} KeyTask;

static void group_by_key(Tuning *t, Arena *arena) {
  int32_t *task = ARENA_ARRAY(arena, int32_t, t->keys.count + 1);
  t->key = ARENA_ARRAY(arena, KeyTask, t->keys.count + 1);
  for (int32_t i = 0; i < t->count; i++) {
    int32_t *number = &task[t->all[i].key];
    if (*number == 0) {
      *number = ++t->key_count;
      t->key[*number - 1] =
          (KeyTask){.key = t->all[i].key,
                    .least_ns = t->all[i].least_ns,
                    .at = ARENA_ARRAY(arena, Candidate *, t->bounded[t->all[i].key].count)};
    }
    KeyTask *key = &t->key[*number - 1];
    key->at[key->count++] = &t->all[i];
  }
}

static void refine_task(void *state, int32_t thread, int32_t i) {
  Tuning *t = state;
  KeyTask *key = &t->key[t->key_first + i];
  key->refined = refine_key(&t->flows[thread], &t->benches[thread], t->subject,
                            &t->keys.at[key->key], key->at, key->count, t->limit_ns);
}

static void take_refined(Tuning *t, const Refined *refined, Tuned *out) {
  const int64_t limit_ns = refine_limit(refined->best_ns);
  if (limit_ns < t->limit_ns) t->limit_ns = limit_ns;
  out->forecasts += refined->forecasts;
}

/* Candidates that need little memory are sure to fit: the forecast of the one with the least bound
 * is a limit for all others. */
static void refine_seeds(Tuning *t, Arena *arena, Tuned *out) {
  static const double shares[] = {0.3, 0.5, 0.65, 0.8, 0.9, 0.95};
  enum { SEEDS = sizeof shares / sizeof *shares };
  KeyTask *all = t->key;
  t->key = ARENA_ARRAY(arena, KeyTask, SEEDS);
  int32_t count = 0;
  for (int32_t s = 0; s < SEEDS; s++) {
    int32_t i = 0;
    while (i < t->count && (double)t->all[i].least_bytes > shares[s] * (double)out->budget_bytes)
      i++;
    if (i == t->count || (count > 0 && t->key[count - 1].at[0] == &t->all[i])) continue;
    t->key[count] =
        (KeyTask){.key = t->all[i].key, .at = ARENA_ARRAY(arena, Candidate *, 1), .count = 1};
    t->key[count++].at[0] = &t->all[i];
  }
  t->key_first = 0;
  workers_run(t->threads, count, refine_task, t);
  for (int32_t i = 0; i < count; i++)
    take_refined(t, &t->key[i].refined, out);
  t->key = all;
}

/* Forecasts raise the bounds of candidates; a setting needs no forecast if its lower bound is not
 * below the best forecast of a setting that fits. */
static void refine(Tuning *t, Arena *arena, Tuned *out) {
  int32_t next = 0;
  group_by_key(t, arena);
  t->limit_ns = INT64_MAX;
  refine_seeds(t, arena, out);
  while (next < t->key_count) {
    int32_t count = 0;
    while (next + count < t->key_count && count < ROUND &&
           t->key[next + count].least_ns < t->limit_ns)
      count++;
    if (count == 0) break;
    t->key_first = next;
    workers_run(t->threads, count, refine_task, t);
    for (int32_t i = next; i < next + count; i++)
      take_refined(t, &t->key[i].refined, out);
    next += count;
    tell(t, "settings forecast", out->forecasts, t->count);
  }
}

/* Candidates that a forecast has shown to be too large leave; the others are sorted again. */
static void sort_again(Tuning *t, Arena *arena, Tuned *out) {
  Ordered *ordered = ARENA_ARRAY(arena, Ordered, t->count + 1);
  Candidate *all = ARENA_ARRAY(arena, Candidate, t->count + 1);
  int32_t count = 0;
  for (int32_t i = 0; i < t->count; i++) {
    if (t->all[i].is_too_large)
      out->cut[CUT_MEMORY]++;
    else
      ordered[count] = (Ordered){&t->all[i], i}, count++;
  }
  qsort(ordered, (size_t)count, sizeof *ordered, compare_ordered);
  for (int32_t i = 0; i < count; i++)
    all[i] = *ordered[i].candidate;
  t->all = all;
  t->count = count;
}

/* ---- estimates */

static void estimate_one(void *state, int32_t thread, int32_t i) {
  Tuning *t = state;
  Estimated *at = &t->round[i];
  Bench *bench = &t->benches[thread];
  at->fate = FATE_REFUSED;
  if (!refine_estimate(&t->flows[thread], bench, t->subject, &t->keys.at[at->candidate->key],
                       at->candidate, &at->estimate, &at->steps))
    return;
  at->fate = at->estimate.arena_bytes <= bench->known.budget_bytes ? FATE_FITS : FATE_TOO_LARGE;
}

/* True if b does the work of a and more: it cannot be faster, and a fits. */
static bool dominates(const Setting *a, const Setting *b) {
  Setting same = *b;
  const bool sends_more = b->zero >= 2 && a->zero == 1;
  if (sends_more) same.zero = a->zero;
  if (b->regather && !a->regather) same.regather = false;
  if (b->recompute.choice > a->recompute.choice) same.recompute = a->recompute;
  return setting_equals(&same, a) && !setting_equals(b, a);
}

static bool is_dominated(const TuneRow *fit, int32_t count, const Candidate *candidate) {
  for (int32_t i = 0; i < count; i++)
    if (dominates(&fit[i].candidate.setting, &candidate->setting)) return true;
  return false;
}

/* True if they differ in nothing but the number of chunks: one row is enough for both. */
static bool are_alike(const Setting *a, const Setting *b) {
  Setting same = *b;
  same.chunks = a->chunks;
  return setting_equals(&same, a);
}

static void insert_row(Tuned *out, const TuneRow *row) {
  int32_t at = 0, end = 0;
  while (at < out->row_count && out->row[at].estimate.step_ns <= row->estimate.step_ns)
    if (are_alike(&out->row[at++].candidate.setting, &row->candidate.setting)) return;
  for (end = at; end < out->row_count; end++)
    if (are_alike(&out->row[end].candidate.setting, &row->candidate.setting)) break;
  if (end == out->row_count && end < TUNE_ROWS) out->row_count++;
  if (end == TUNE_ROWS) end--; /* the last one leaves */
  if (at == TUNE_ROWS) return;
  memmove(&out->row[at + 1], &out->row[at], (size_t)(end - at) * sizeof *row);
  out->row[at] = *row;
}

/* Estimates by passes are within 1 % of plans in all but few of the jobs that tests draw. */
static int64_t least_by_passes(const TuneRow *row) {
  const int64_t least_ns = (int64_t)((double)row->estimate.step_ns * 0.99);
  return least_ns > row->candidate.least_ns ? least_ns : row->candidate.least_ns;
}

static void take_round(const Tuning *t, int32_t count, TuneRow *fit, int32_t *fit_count,
                       Tuned *out) {
  for (int32_t i = 0; i < count; i++) {
    const Estimated *at = &t->round[i];
    TuneRow row = {.candidate = *at->candidate, .estimate = at->estimate, .steps = at->steps};
    if (row.candidate.forecast_ns == 0) row.candidate.least_ns = least_by_passes(&row);
    out->estimates++;
    out->cut[at->fate == FATE_REFUSED ? CUT_DIVIDES : CUT_ESTIMATE]++;
    if (at->fate == FATE_FITS) {
      fit[(*fit_count)++] = row;
      insert_row(out, &row);
    } else if (at->fate == FATE_TOO_LARGE && out->row_count == 0) {
      row.candidate.least_bytes = at->estimate.arena_bytes;
      if (out->smallest.least_bytes == 0 ||
          candidate_lacks(&row.candidate) < candidate_lacks(&out->smallest))
        out->smallest = row.candidate;
    }
  }
}

/* Rows of which no other is faster with no more memory, the fastest first. */
static void keep_front(const TuneRow *fit, int32_t count, Arena *arena, Tuned *out) {
  TuneRow *front = ARENA_ARRAY(arena, TuneRow, count + 1);
  int32_t kept = 0;
  for (int32_t i = 0; i < count; i++) {
    bool is_beaten = false;
    for (int32_t k = 0; k < count && !is_beaten; k++) {
      const Estimate *a = &fit[i].estimate, *b = &fit[k].estimate;
      const bool is_same = a->step_ns == b->step_ns && a->live_bytes == b->live_bytes;
      is_beaten = b->step_ns <= a->step_ns && b->live_bytes <= a->live_bytes &&
                  (!is_same || k < i) && k != i;
    }
    if (is_beaten) continue;
    int32_t at = kept++;
    for (; at > 0 && fit[i].estimate.step_ns < front[at - 1].estimate.step_ns; at--)
      front[at] = front[at - 1];
    front[at] = fit[i];
  }
  out->front = front;
  out->front_count = kept;
}

/* A setting whose bound is not below this is not faster than the best. */
static int64_t worst_bound(const Tuned *out) {
  return out->row_count < ROWS_LEAST ? INT64_MAX : out->row[0].estimate.step_ns;
}

/* Estimates the settings whose bounds are below the best row, from `next` on. */
static int32_t estimate_below(Tuning *t, TuneRow *fit, int32_t *fit_count, int32_t next,
                              Tuned *out) {
  while (next < t->count && out->estimates < t->estimates_most) {
    int32_t count = 0;
    const int64_t worst_ns = worst_bound(out);
    for (; next < t->count && count < ROUND && out->estimates + count < t->estimates_most &&
           t->all[next].least_ns < worst_ns;
         next++) {
      if (is_dominated(fit, *fit_count, &t->all[next]))
        out->cut[CUT_DOMINATED]++;
      else
        t->round[count++].candidate = &t->all[next];
    }
    if (count == 0) break;
    workers_run(t->threads, count, estimate_one, t);

    take_round(t, count, fit, fit_count, out);
    tell(t, "settings estimated", out->estimates, next);
  }
  return next;
}

/* The fastest plan can take longer than its estimate did: then the settings with bounds between
 * the two are estimated as well. */
static void estimate_best(Tuning *t, Arena *arena, Tuned *out) {
  TuneRow *fit = ARENA_ARRAY(arena, TuneRow, t->estimates_most + ROUND);
  int32_t fit_count = 0, next = 0;
  t->round = ARENA_ARRAY(arena, Estimated, ROUND);
  for (int32_t before = -1; before != next;) {
    before = next;
    next = estimate_below(t, fit, &fit_count, next, out);
    if (next == before && next > 0) break;
    fit_count = finalists_prove(t->subject, t->threads, fit, fit_count, out);
    out->row_count = 0;
    for (int32_t i = 0; i < fit_count; i++)
      insert_row(out, &fit[i]);
  }
  for (; next < t->count && t->all[next].least_ns < worst_bound(out); next++)
    out->cut[is_dominated(fit, fit_count, &t->all[next]) ? CUT_DOMINATED : CUT_LIMIT]++;
  for (; next < t->count; next++)
    out->cut[t->all[next].forecast_ns > 0 ? CUT_FORECAST : CUT_TIME]++;
  keep_front(fit, fit_count, arena, out);
}

/* ---- all */

static bool refuse_unknown(Compile *c, const Job *job, const Bench *bench) {
  error_at(c, field_place(job, FIELD_cluster_device), "no-rates",
           "nothing says how fast %s computes, so no setting is faster than another",
           bench->known.cluster.device);
  note_at(c, (Span){0}, "specs/devices has the rates of GPUs: `lockstep list devices`");
  return false;
}

static bool is_rated(const Cluster *cluster) {
  return cluster_flops(cluster, RATE_FP32) > 0 || cluster_flops(cluster, RATE_BF16) > 0;
}

/* A bench that cannot be opened ends with its errors, and the files that these point into: `c` gets
 * them by the same pass. */
static void report_again(Compile *c, const Subject *subject) {
  Job job = *subject->job;
  Compiled known;
  job.sizes.capacity = job.sizes.count;
  (void)bench_meet(c, &job, subject->machine, &known);
  compile_close(&known);
}

/* The cluster and the batch; and all keys of parts. */
static bool open_subject(Compile *c, const Subject *subject, Tuned *out, PartsKeys *keys) {
  Bench bench;
  const bool is_open = bench_open(&bench, subject);
  bool is_good = is_open;
  if (!is_open) report_again(c, subject);
  if (is_open && !is_rated(&bench.known.cluster)) is_good = refuse_unknown(c, subject->job, &bench);
  if (is_good) {
    out->cluster = bench.known.cluster; /* copied with its texts, because the bench is freed */
    out->cluster.name = arena_copy(c->arena, out->cluster.name);
    out->cluster.device = arena_copy(c->arena, out->cluster.device);
    out->budget_bytes = bench.known.budget_bytes;
    out->batch_samples = bench.known.derived.batch_samples;
    out->sample_tokens = bench.known.derived.sample_tokens;
    out->layers = (int64_t)model_size(bench.known.model, "layers", 1);
    *keys = parts_keys(c->arena, &bench.job, &bench.known);
  }
  bench_close(&bench);
  return is_good;
}

bool tune(Compile *c, const Subject *subject, int32_t threads, int32_t most,
          const TuneProgress *progress, Tuned *out) {
  Tuning t = {.subject = subject, .progress = progress, .threads = threads, .estimates_most = most};
  *out = (Tuned){0};
  if (!open_subject(c, subject, out, &t.keys)) return false;
  for (int32_t r = 0; r < CUT_RULES; r++)
    out->seen += out->cut[r] = t.keys.cut[r];
  out->parts = t.keys.count;
  t.arenas = ARENA_ARRAY(c->arena, Arena *, threads);
  t.benches = ARENA_ARRAY(c->arena, Bench, threads);
  t.bounded = ARENA_ARRAY(c->arena, Candidates, t.keys.count + 1);
  for (int32_t i = 0; i < threads; i++)
    t.arenas[i] = arena_new();
  t.flows = ARENA_ARRAY(c->arena, Flows, threads);
  workers_run(threads, t.keys.count, bound_key, &t);
  Arena *sorted = arena_new();
  gather(&t, sorted, out);
  refine(&t, sorted, out);
  sort_again(&t, sorted, out);
  for (int32_t i = 0; i < threads; i++)
    arena_free(t.arenas[i]);
  estimate_best(&t, c->arena, out);
  arena_free(sorted);
  for (int32_t i = 0; i < threads; i++)
    if (t.benches[i].uses > 0) bench_close(&t.benches[i]);
  for (int32_t i = 0; i < threads; i++)
    flows_free(&t.flows[i]);
  return true;
}
