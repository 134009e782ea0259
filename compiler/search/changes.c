#include "compiler/search/changes.h"

#include <string.h>

#include "compiler/job/change.h"
#include "compiler/job/pipelines/pipeline.h"
#include "compiler/search/fit.h"
#include "compiler/search/workers.h"

/* ---- a change in a job */

void change_set(Change *change, int32_t field, int64_t value) {
  int32_t i = 0;
  while (i < change->count && change->key[i].field != field)
    i++;
  if (i == CHANGED_KEYS) return;
  if (i == change->count) change->count++;
  change->key[i] = (ChangedKey){field, value};
}

Change *changes_add(Changes *list, const Change *base, int32_t field, int64_t value) {
  Change *change = &list->at[list->count < CHANGES_MOST ? list->count++ : CHANGES_MOST - 1];
  *change = (Change){0};
  memcpy(change->key, base->key, sizeof base->key);
  change->count = base->count;
  change_set(change, field, value);
  return change;
}

static void apply(const Change *change, Job *job) {
  for (int32_t i = 0; i < change->count; i++)
    field_change(job, change->key[i].field, change->key[i].value);
}

/* ---- lists of changes */

typedef struct Small {
  const Job *job;
  const Cluster *cluster;
  const Change *base;
  bool saves;
  Changes *out;
} Small;

static int64_t value_of(const Small *s, int32_t field) {
  for (int32_t i = 0; i < s->base->count; i++)
    if (s->base->key[i].field == field) return s->base->key[i].value;
  return field_number(s->job, field);
}

static void add(const Small *s, int32_t field, int64_t value) {
  if (value != value_of(s, field)) changes_add(s->out, s->base, field, value);
}

static int64_t least_factor(int64_t n) {
  int64_t factor = 2;
  while (factor * factor <= n && n % factor != 0)
    factor++;
  return n % factor == 0 ? factor : n;
}

static void add_microbatches(const Small *s) {
  const int64_t now = value_of(s, FIELD_train_microbatch), parts = s->base->derived.accumulation;
  if (now > 1) add(s, FIELD_train_microbatch, now / least_factor(now));
  if (now > 1) add(s, FIELD_train_microbatch, 1);
  if (parts > 1 && !s->saves) add(s, FIELD_train_microbatch, now * least_factor(parts));
}

static void add_recompute(const Small *s) {
  const int64_t now = value_of(s, FIELD_memory_recompute);
  if (now == CHOICE_RECOMPUTE_AUTO || now == CHOICE_RECOMPUTE_EVERY) return;
  for (int64_t word = s->saves ? now : CHOICE_RECOMPUTE_NONE; word <= CHOICE_RECOMPUTE_SQRT; word++)
    add(s, FIELD_memory_recompute, word);
}

static void add_zero(const Small *s) {
  const Derived *d = &s->base->derived;
  if (d->dp * d->cp == 1 || field_is_said(s->job, FIELD_parallel_shard)) return;
  for (int64_t zero = s->saves ? d->zero : 0; zero <= 3; zero++)
    if (zero != d->zero) changes_add(s->out, s->base, FIELD_parallel_zero, zero);
  if (d->zero > 0 && !s->saves && s->cluster->nodes > 1 && d->shard_ranks > s->cluster->devices)
    changes_add(s->out, s->base, FIELD_parallel_zero_group, ZERO_GROUP_NODE);
}

/* Twice, or this many times, as much of one degree, and less of another. */
static void add_degrees(const Small *s) {
  const Derived *d = &s->base->derived;
  static const int32_t fields[] = {FIELD_parallel_tp, FIELD_parallel_cp, FIELD_parallel_pp,
                                   FIELD_parallel_dp};
  const int64_t degrees[] = {d->tp, d->cp, d->pp, d->dp};
  const bool has_seq = d->sample_tokens > 1;
  enum { DEGREES = 4, CP = 1, DP = 3 };
  for (int32_t more = 0; more < DEGREES; more++)
    for (int32_t less = 0; less < DEGREES; less++) {
      const int64_t factor = degrees[less] > 1 ? least_factor(degrees[less]) : 1;
      if (more == less || factor == 1 || (more == CP && !has_seq)) continue;
      Change *change = NULL;
      for (int32_t i = 0; i < DEGREES; i++) {
        if (i != more && i != less) continue;
        if (i == DP && !field_is_said(s->job, FIELD_parallel_dp)) continue; /* it follows */
        const int64_t value = i == more ? degrees[i] * factor : degrees[i] / factor;
        if (change == NULL)
          change = changes_add(s->out, s->base, fields[i], value);
        else
          change_set(change, fields[i], value);
      }
    }
}

static void add_orders(const Small *s) {
  const int64_t now = value_of(s, FIELD_parallel_pipeline);
  if (s->saves || s->base->derived.pp == 1 || field_is_said(s->job, FIELD_parallel_stages)) return;
  for (int64_t kind = 0; kind < PIPE_KIND_COUNT; kind++)
    if (kind != PIPE_GPIPE && kind != now) add(s, FIELD_parallel_pipeline, kind);
}

static void add_offload(const Small *s) {
  const int32_t fields[] = {FIELD_offload_optimizer, FIELD_offload_activations};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const int64_t now = value_of(s, fields[i]);
    if (now == CHOICE_OFFLOAD_NONE || (now == CHOICE_OFFLOAD_CPU && !s->saves))
      add(s, fields[i], now == CHOICE_OFFLOAD_NONE ? CHOICE_OFFLOAD_CPU : CHOICE_OFFLOAD_NONE);
  }
}

void changes_small(const Subject *subject, const Cluster *cluster, const Change *base, bool saves,
                   Changes *out) {
  enum { LOSS_CHUNKS = 8 };
  const Small s = {subject->job, cluster, base, saves, out};
  const bool has_gpus = cluster->target == TARGET_CUDA;
  const bool is_here = strcmp(subject->job->cluster.head_text, "here") == 0;
  add_microbatches(&s);
  add_zero(&s);
  add_degrees(&s);
  add_orders(&s);
  const bool gathers = value_of(&s, FIELD_parallel_regather) != 0;
  const bool is_whole = value_of(&s, FIELD_memory_loss_chunks) == 1;
  if (base->derived.tp > 1 && base->derived.sequence && !(saves && gathers))
    add(&s, FIELD_parallel_regather, !gathers);
  if (is_whole || !saves) add(&s, FIELD_memory_loss_chunks, is_whole ? LOSS_CHUNKS : 1);
  add_recompute(&s);
  if (has_gpus) add_offload(&s);
  if (has_gpus && !is_here && cluster->type_count == 1)
    add(&s, FIELD_cluster_nodes, 2 * cluster->nodes);
}

/* ---- the memory and time that changes need */

typedef struct AskedChange {
  const Subject *subject;
  Changes *list;
} AskedChange;

static bool open_changed(Bench *bench, const Subject *subject, const Change *change) {
  Job job = *subject->job;
  apply(change, &job);
  const Subject changed = {&job, subject->machine, subject->specs_dir};
  return bench_open(bench, &changed) && compile_derive(bench->compile, &bench->job, &bench->known);
}

static void ask(void *state, int32_t thread, int32_t i) {
  const AskedChange *asked = state;
  Change *change = &asked->list->at[i];
  Bench bench;
  (void)thread;
  change->is_legal = open_changed(&bench, asked->subject, change) &&
                     fit_estimate(bench.compile, &bench.job, &bench.known, &change->estimate) &&
                     !compile_failed(bench.compile);
  change->fits = change->is_legal && estimate_fits(&bench.known, &change->estimate);
  change->derived = bench.known.derived;
  bench_close(&bench);
}

void changes_estimate(const Subject *subject, Changes *list) {
  AskedChange asked = {subject, list};
  workers_run(workers_available(), list->count, ask, &asked);
}

bool change_takes_nodes(const Change *change) {
  for (int32_t i = 0; i < change->count; i++)
    if (change->key[i].field == FIELD_cluster_nodes) return true;
  return false;
}

/* Makes the plan, because an estimate leaves out how memory is packed and whether tp leaves its
 * domain. The change has the plan's numbers then. */
static bool is_compiled(const Subject *subject, Change *change) {
  Bench bench;
  bool fits = open_changed(&bench, subject, change);
  Compiled *known = &bench.known;
  if (fits) {
    fits = fit_draft(bench.compile, &bench.job, known) &&
           known->draft->arena_bytes <= known->budget_bytes && fit_hosts(known, known->draft);
    if (fits) compile_emit(bench.compile, &bench.job, known);
    fits = fits && place_check_tp(bench.compile, &bench.job, known->fabric, known->choice.taken);
    if (fits) change->estimate.step_ns = fit_longest_ns(&known->plan);
    if (fits) change->estimate.arena_bytes = known->draft->arena_bytes;
  }
  bench_close(&bench);
  return fits;
}

const Change *changes_best(const Subject *subject, Changes *list, bool more_nodes) {
  for (;;) {
    Change *best = NULL;
    for (int32_t i = 0; i < list->count; i++) {
      Change *at = &list->at[i];
      if (!at->fits || (!more_nodes && change_takes_nodes(at))) continue;
      if (best == NULL || at->estimate.step_ns < best->estimate.step_ns) best = at;
    }
    if (best == NULL || is_compiled(subject, best)) return best;
    best->fits = false;
  }
}

/* ---- as text */

static const char *join(Arena *arena, const Change *change, bool with_section) {
  const char *text = "";
  for (int32_t i = 0; i < change->count; i++) {
    const ChangedKey *key = &change->key[i];
    const char *name = with_section ? field_name(arena, key->field) : field_key(key->field);
    text = arena_printf(arena, "%s%s%s = %s", text, i > 0 ? ", " : "", name,
                        field_value(arena, key->field, key->value));
  }
  return text;
}

const char *change_text(Arena *arena, const Change *change) {
  return join(arena, change, true);
}

const char *change_keys(Arena *arena, const Change *change) {
  return join(arena, change, false);
}

const char *change_options(Arena *arena, const Change *change) {
  const char *text = "";
  for (int32_t i = 0; i < change->count; i++) {
    const ChangedKey *key = &change->key[i];
    const char *value = field_value(arena, key->field, key->value);
    const bool is_table = *value == '{';
    if (*value == '"') value = arena_copy_n(arena, value + 1, strlen(value) - 2);
    text = arena_printf(arena, "%s%s-D %s=%s%s%s", text, i > 0 ? " " : "",
                        field_name(arena, key->field), is_table ? "'" : "", value,
                        is_table ? "'" : "");
  }
  return text;
}
