#include "compiler/search/fit.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/draft/cost/nodes.h"
#include "compiler/draft/cost/saves.h"
#include "compiler/plan/simulate/simulate.h"
#include "compiler/search/advice.h"
#include "compiler/search/automatic.h"
#include "compiler/search/lints.h"
#include "compiler/search/workers.h"

enum { RECOMPUTE_TRIES = 4 };

/* The choices that memory.recompute allows, cheapest first. */
static int32_t candidates(const Job *job, Model *model, Recompute out[RECOMPUTE_TRIES]) {
  int64_t root = (int64_t)lround(sqrt(model_size(model, "layers", 1)));
  const Recompute none = {CHOICE_RECOMPUTE_NONE, 0}, block = {CHOICE_RECOMPUTE_BLOCK, 1};
  const Recompute selective = {CHOICE_RECOMPUTE_SELECTIVE, 1};
  const Recompute by_root = {CHOICE_RECOMPUTE_EVERY, root > 1 ? root : 1};
  switch (job->memory.recompute) {
  case CHOICE_RECOMPUTE_NONE: out[0] = none; return 1;
  case CHOICE_RECOMPUTE_SELECTIVE: out[0] = selective; return 1;
  case CHOICE_RECOMPUTE_BLOCK: out[0] = block; return 1;
  case CHOICE_RECOMPUTE_SQRT: out[0] = by_root; return 1;
  case CHOICE_RECOMPUTE_EVERY:
    out[0] = (Recompute){CHOICE_RECOMPUTE_EVERY, job->recompute_blocks};
    return 1;
  default:
    out[0] = none;
    out[1] = selective;
    out[2] = block;
    out[3] = by_root;
    return RECOMPUTE_TRIES;
  }
}

bool fit_hosts(const Compiled *out, const Draft *d) {
  const int64_t host_bytes = draft_tier_bytes(d, TIER_HOST) * out->cluster.devices;
  const int64_t file_bytes = draft_tier_bytes(d, TIER_FILE) * out->cluster.devices;
  if (out->disk_budget_bytes >= 0 && file_bytes > out->disk_budget_bytes) return false;
  return host_bytes == 0 || out->cluster.target == TARGET_CPU ||
         (out->host_budget_bytes >= 0 && host_bytes <= out->host_budget_bytes);
}

Draft *fit_once(Compile *c, const Job *job, Compiled *out, Recompute recompute) {
  out->leaves_snapshots = false;
  Draft *d = compile_once(c, job, out, recompute);
  if (d == NULL || !d->snapshots || job->checkpoint.async != CHOICE_ASYNC_AUTO ||
      (d->arena_bytes <= out->budget_bytes && fit_hosts(out, d)))
    return d;
  out->leaves_snapshots = true;
  return compile_once(c, job, out, recompute);
}

int64_t fit_step_ns(Compile *c, const Job *job, const Compiled *out, Draft *d) {
  Job completed = *job;
  Compiled trial = *out;
  int64_t longest_ns = 0;
  if (cost_peak(d) == 0) return 0;
  trial.draft = d;
  compile_emit(c, &completed, &trial);
  const LaneTimes *times = simulate(c->arena, &trial.plan, PROGRAM_TRAIN_STEP);
  for (uint32_t i = 0; i < trial.plan.classes_count; i++)
    if (times[i].span_ns > longest_ns) longest_ns = times[i].span_ns;
  return longest_ns;
}

bool fit_draft(Compile *c, const Job *job, Compiled *out) {
  Recompute tries[RECOMPUTE_TRIES];
  int32_t count = candidates(job, out->model, tries);
  Draft *drafts[RECOMPUTE_TRIES];
  int32_t drawn = 0;
  out->draft = NULL;
  out->moves = (Moves){0};
  out->updates_here = false;
  out->host_step_ns = out->device_step_ns = 0;
  out->why = NULL;
  for (int32_t i = 0; i < count; i++) {
    Draft *d = fit_once(c, job, out, tries[i]);
    if (d == NULL) return false;
    drafts[drawn++] = d;
    if (i == 0) out->without_recompute_bytes = d->arena_bytes;
    if (out->draft == NULL || d->arena_bytes < out->draft->arena_bytes) {
      out->draft = d;
      out->recompute = tries[i];
    }
    if (d->arena_bytes <= out->budget_bytes) break;
  }
  assert(out->draft != NULL); /* there is a candidate */
  if (out->recompute.choice == tries[0].choice) out->without_recompute_bytes = 0;
  return job->offload.optimizer != CHOICE_OFFLOAD_AUTO ||
         automatic_choose(c, job, out, tries, drafts, drawn);
}

bool fit_estimate(Compile *c, Job *job, const Compiled *known, Estimate *out) {
  Recompute tries[RECOMPUTE_TRIES];
  const int32_t count = candidates(job, known->model, tries);
  for (int32_t i = 0; i < count; i++) {
    Estimate now;
    if (!estimate(c, job, known, tries[i], &now)) return false;
    if (i == 0 || now.arena_bytes < out->arena_bytes) *out = now;
    if (now.arena_bytes <= known->budget_bytes) break;
  }
  return true;
}

static Span place_of_host(const Job *job) {
  const FieldId keys[] = {FIELD_offload_budget, FIELD_offload_optimizer, FIELD_checkpoint_async};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (job->origin[keys[i]].span.file != NULL) return job->origin[keys[i]].span;
  Span at = job->offload.head_origin.span;
  return at.file != NULL ? at : (Span){.file = job->path};
}

/* True if every node has room for as many ranks as it has devices, each with the largest arenas of
 * any class: then the ranks of a node need not be added up. */
static bool largest_fits(const Compiled *out) {
  const Plan *plan = &out->plan;
  const bool is_shared = out->cluster.target == TARGET_CPU;
  int64_t host_bytes = 0, file_bytes = 0;
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const NodeNeed rank = node_need_of_rank(plan, &plan->classes[c]);
    const int64_t bytes = is_shared ? rank.all_bytes : rank.host_bytes;
    if (bytes > host_bytes) host_bytes = bytes;
    if (rank.file_bytes > file_bytes) file_bytes = rank.file_bytes;
  }
  return host_bytes <= out->host_budget_bytes / out->cluster.devices &&
         (out->disk_budget_bytes < 0 ||
          file_bytes <= out->disk_budget_bytes / out->cluster.devices);
}

/* A limit that the job may raise, because the node has as much. */
static bool may_raise(const Job *job, FieldId limit, int64_t need_bytes, int64_t node_bytes) {
  return field_is_said(job, limit) && (node_bytes == 0 || need_bytes <= node_bytes);
}

static void refuse_disk(Compile *c, const Job *job, const Compiled *out, const NodeNeed *node) {
  const int64_t need_bytes = node->file_bytes;
  error_at(c, field_place(job, FIELD_offload_disk), "does-not-fit",
           "files: the rank%s of a node need%s %s, offload.disk is %s", plural(node->ranks),
           node->ranks == 1 ? "s" : "",
           format_bytes_beside(c->arena, need_bytes, out->disk_budget_bytes),
           format_bytes_beside(c->arena, out->disk_budget_bytes, need_bytes));
  if (may_raise(job, FIELD_offload_disk, need_bytes, out->cluster.disk_bytes))
    fix_last(c, "disk = \"%lldB\"", (long long)need_bytes);
  else
    note_at(c, (Span){0},
            "more nodes that share the model, or nodes with larger disks: cluster.disk");
}

static void refuse_host(Compile *c, const Job *job, const Compiled *out, const NodeNeed *node) {
  const bool is_shared = out->cluster.target == TARGET_CPU;
  const int64_t need_bytes = is_shared ? node->all_bytes : node->host_bytes;
  error_at(c, place_of_host(job), "does-not-fit",
           "host memory: the rank%s of a node need%s %s%s, offload.budget is %s",
           plural(node->ranks), node->ranks == 1 ? "s" : "",
           format_bytes_beside(c->arena, need_bytes, out->host_budget_bytes),
           is_shared ? ", all tiers of memory together" : "",
           format_bytes_beside(c->arena, out->host_budget_bytes, need_bytes));
  if (out->draft->snapshots)
    fix_last(c, "checkpoint.async = \"off\"");
  else if (may_raise(job, FIELD_offload_budget, need_bytes, out->cluster.host_bytes))
    fix_last(c, "budget = \"%lldB\"", (long long)need_bytes);
  note_at(c, (Span){0}, "%s",
          out->derived.zero == 0 && out->derived.dp * out->derived.cp > 1
              ? "parallel.zero = 1 divides the states over replicas"
              : "more nodes that share the model, or nodes with more memory: cluster.host");
}

/* Refuses a plan whose states in host memory do not fit a node's. False: refused. */
static bool nodes_fit(Compile *c, const Job *job, const Compiled *out) {
  const bool offloads = draft_offloads(out->draft);
  if (!offloads && (!out->draft->snapshots || out->cluster.target == TARGET_CPU)) return true;
  const bool is_shared = out->cluster.target == TARGET_CPU; /* all its tiers are one memory */
  if (out->host_budget_bytes < 0) {
    error_at(c, place_of_host(job), "missing-key",
             "%s: %s does not say how much memory a node has beside its devices",
             offloads ? "offload" : "checkpoint.async", job->cluster.head_text);
    fix_last(c, "cluster = { \"%s\", host = \"512GiB\" }", job->cluster.head_text);
    return false;
  }
  if (largest_fits(out)) return true;
  const NodeNeeds needs = node_needs(c->arena, &out->plan);
  for (int32_t i = 0; i < needs.count && out->disk_budget_bytes >= 0; i++) {
    if (needs.at[i].file_bytes <= out->disk_budget_bytes) continue;
    refuse_disk(c, job, out, &needs.at[i]);
    return false;
  }
  for (int32_t i = 0; i < needs.count; i++) {
    const int64_t bytes = is_shared ? needs.at[i].all_bytes : needs.at[i].host_bytes;
    if (bytes <= out->host_budget_bytes) continue;
    refuse_host(c, job, out, &needs.at[i]);
    return false;
  }
  return true;
}

/* Refuses checkpoint.memory whose copies do not fit beside the arenas. False: refused. */
static bool kept_fits(Compile *c, const Job *job, const Compiled *out) {
  Saves saves;
  const bool is_shared = out->cluster.target == TARGET_CPU;
  int64_t room = out->budget_bytes - out->draft->arena_bytes;
  const Span at = field_place(job, FIELD_checkpoint_memory);
  if (job->checkpoint.memory.value <= 0 || !saves_of(&out->plan, job, out->cluster.nodes, &saves) ||
      saves.kept_bytes == 0)
    return true;
  if (!is_shared && out->host_budget_bytes < 0) {
    error_at(c, at, "missing-key",
             "checkpoint.memory: %s does not say how much memory a node has beside its devices",
             job->cluster.head_text);
    fix_last(c, "cluster = { \"%s\", host = \"512GiB\" }", job->cluster.head_text);
    return false;
  }
  if (!is_shared) {
    const NodeNeeds needs = node_needs(c->arena, &out->plan);
    room = out->host_budget_bytes / out->cluster.devices;
    for (int32_t i = 0; i < needs.count; i++) {
      const int64_t left = (out->host_budget_bytes - needs.at[i].host_bytes) / needs.at[i].ranks;
      if (left < room) room = left;
    }
  }
  if (saves.kept_bytes <= room) return true;
  error_at(c, at, "does-not-fit",
           "checkpoint.memory: two copies of a rank's part are %s, and %s beside what the rank "
           "needs of %s",
           format_bytes(c->arena, saves.kept_bytes),
           room > 0 ? arena_printf(c->arena, "%s are free", format_bytes(c->arena, room))
                    : "nothing is free",
           is_shared ? "its budget" : "its node's host memory");
  fix_last(c, "leave checkpoint.memory out");
  return false;
}

int64_t fit_longest_ns(const Plan *plan) {
  int64_t longest_ns = 0;
  for (uint32_t i = 0; i < plan->programs_count; i++)
    if (plan->programs[i].kind == PROGRAM_TRAIN_STEP && plan->programs[i].predicted_ns > longest_ns)
      longest_ns = plan->programs[i].predicted_ns;
  return longest_ns;
}

/* offload.update = "auto": takes the plan whose states stream to the device if it is predicted to
 * be faster, and fits. Without rates of the link and of host memory there is no prediction. */
static void choose_update(Compile *c, Job *job, Compiled *out) {
  const Draft *d = out->draft;
  const Cluster *cluster = &out->cluster;
  Compiled here = *out;
  if (job->offload.update != CHOICE_UPDATES_AUTO || job->offload.optimizer != CHOICE_OFFLOAD_CPU ||
      d->offloads_weights || d->offloads_grads || cluster->host_link_bytes_per_s <= 0 ||
      cluster->host_bytes_per_s <= 0)
    return;
  here.updates_here = true;
  here.draft = fit_once(c, job, &here, here.recompute);
  if (here.draft == NULL || here.draft->arena_bytes > here.budget_bytes) return;
  compile_emit(c, job, &here);
  out->host_step_ns = here.host_step_ns = fit_longest_ns(&out->plan);
  out->device_step_ns = here.device_step_ns = fit_longest_ns(&here.plan);
  if (out->device_step_ns < out->host_step_ns) *out = here;
}

static void finish(Compile *c, Job *job, Compiled *out) {
  compile_emit(c, job, out);
  choose_update(c, job, out);
  if (out->draft->arena_bytes > out->budget_bytes) {
    advice_unfit(c, job, out);
    return;
  }
  if (!nodes_fit(c, job, out) || !kept_fits(c, job, out)) return;
  if (!place_check_tp(c, job, out->fabric, out->choice.taken)) return;
  if (job->use == USE_TRAIN) plan_lints(c, job, out);
  compile_prove(c, job, out);
}

static bool fit_said(Compile *c, Job *job, const Machine *machine, Compiled *out) {
  Job *as_read = ARENA_NEW(c->arena, Job);
  *as_read = *job;
  bool ok = compile_open(c, job, machine, out);
  out->as_read = as_read;
  if (machine != NULL) { /* the caller's is gone when screens ask for changes of the job */
    Machine *kept = ARENA_NEW(c->arena, Machine);
    *kept = *machine;
    out->machine = kept;
  }
  ok = ok && fit_draft(c, job, out) && model_check_inputs(c, job, out->draft->train);
  if (ok) finish(c, job, out);
  compile_close(out);
  return ok && !compile_failed(c);
}

/* True if a packed draft of the setting fits; `on_host` if its part in a node's memory does, too.
 */
static bool is_packed(const Subject *subject, const Setting *setting, bool *on_host) {
  Bench bench;
  bool fits = bench_open(&bench, subject);
  if (fits) {
    setting_apply(setting, &bench.job);
    fits = compile_derive(bench.compile, &bench.job, &bench.known) &&
           fit_draft(bench.compile, &bench.job, &bench.known) &&
           bench.known.draft->arena_bytes <= bench.known.budget_bytes;
  }
  *on_host = fits && fit_hosts(&bench.known, bench.known.draft);
  bench_close(&bench);
  return fits;
}

static void note_unfit(Compile *c, const Subject *subject, const Tuned *tuned) {
  const Candidate *nearest = &tuned->smallest;
  const bool is_said = field_is_said(subject->job, FIELD_memory_budget);
  if (nearest->least_bytes > 0)
    note_at(c, (Span){0}, "the nearest needs %s or more, and %s %s: %s",
            format_bytes_beside(c->arena, nearest->least_bytes, nearest->budget_bytes),
            is_said ? "memory.budget is" : "its communicators and other programs leave",
            format_bytes_beside(c->arena, nearest->budget_bytes, nearest->least_bytes),
            setting_words(c->arena, &nearest->setting, nearest->dp));
  if (tuned->cut[CUT_LIMIT] > 0)
    note_at(c, (Span){0},
            "the search ended after %s estimates, before %s other settings: keys that the job "
            "sets make it shorter",
            format_count(c->arena, tuned->estimates),
            format_count(c->arena, tuned->cut[CUT_LIMIT]));
  if (subject->job->offload.optimizer == CHOICE_OFFLOAD_AUTO)
    note_at(c, (Span){0},
            "the search moves nothing out of device memory: with degrees that the job sets, "
            "offload = \"auto\" may still fit");
}

/* The next smaller batch that replicas divide if each has a node, or a part of one. */
static void note_batch(Compile *c, const Tuned *tuned) {
  const int64_t ranks = tuned->cluster.ranks;
  int64_t tp = tuned->cluster.devices;
  while (tp > 1 && ranks % tp != 0)
    tp--;
  const int64_t replicas = ranks / tp, batch = tuned->batch_samples / replicas * replicas;
  if (tuned->batch_samples % replicas == 0) return;
  note_at(c, (Span){0},
          "replicas divide the batch: with tp = %lld there are %lld, and %s sequences would do",
          (long long)tp, (long long)replicas, format_count(c->arena, batch > 0 ? batch : replicas));
}

/* The degrees and the micro-batch that the job sets: what no degrees can be found beside. */
static void refuse_degrees(Compile *c, const Job *job, const Tuned *tuned) {
  const struct {
    int32_t field;
    const char *key;
    int64_t value;
    bool divides_ranks;
  } keys[] = {{FIELD_parallel_tp, "parallel.tp", job->parallel.tp, true},
              {FIELD_parallel_cp, "parallel.cp", job->parallel.cp, true},
              {FIELD_parallel_pp, "parallel.pp", job->parallel.pp, true},
              {FIELD_parallel_dp, "parallel.dp", job->parallel.dp, true},
              {FIELD_train_microbatch, "train.microbatch", job->train.microbatch, false}};
  const int64_t ranks = tuned->cluster.ranks;
  const char *said = "";
  Span at = field_place(job, FIELD_parallel_pp);
  bool has_place = false;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (!field_is_said(job, keys[i].field)) continue;
    said = arena_printf(c->arena, "%s%s%s = %lld", said, *said ? ", " : " with ", keys[i].key,
                        (long long)keys[i].value);
    if (!has_place) at = field_place(job, keys[i].field);
    has_place = true;
  }
  error_at(c, at, "degrees",
           "no degrees that keep the job's keys divide %lld rank%s, the batch and the model%s",
           (long long)ranks, plural(ranks), said);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (field_is_said(job, keys[i].field) && keys[i].divides_ranks && keys[i].value > 0 &&
        ranks % keys[i].value != 0)
      note_at(c, (Span){0}, "%s = %lld does not divide %lld rank%s", keys[i].key,
              (long long)keys[i].value, (long long)ranks, plural(ranks));
  note_batch(c, tuned);
}

bool fit_tuned(Compile *c, const Subject *subject, const Tuned *tuned, int32_t *row) {
  int32_t first = -1; /* that fits on devices */
  bool on_host;
  for (*row = 0; *row < tuned->row_count; ++*row) {
    const TuneRow *at = &tuned->row[*row];
    on_host = at->is_proven && !at->lacks_host;
    if (!at->is_proven && !is_packed(subject, &at->candidate.setting, &on_host)) continue;
    if (on_host) return true;
    if (first < 0) first = *row;
  }
  *row = first;
  if (first >= 0) return true; /* the message says what a node lacks for this plan */
  if (tuned->row_count == 0 && tuned->smallest.least_bytes == 0) {
    refuse_degrees(c, subject->job, tuned);
    return false;
  }
  error_at(c, field_place(subject->job, FIELD_parallel_pp), "does-not-fit",
           "no degrees, order, micro-batch or recomputation%s make the job fit on %lld rank%s",
           tuned->cut[CUT_LIMIT] > 0 ? " that were estimated" : "", (long long)tuned->cluster.ranks,
           plural(tuned->cluster.ranks));
  note_unfit(c, subject, tuned);
  return false;
}

/* Sets what the job leaves open. */
static bool choose_setting(Compile *c, Job *job, const Machine *machine, TextList *limits) {
  Job *before = ARENA_NEW(c->arena, Job);
  *before = *job;
  const Subject subject = {before, machine, c->specs_dir};
  Tuned tuned;
  int32_t row;
  if (!tune(c, &subject, workers_available(), TUNE_ESTIMATES_MOST, NULL, &tuned) ||
      !fit_tuned(c, &subject, &tuned, &row))
    return false;
  setting_apply(&tuned.row[row].candidate.setting, job);
  *limits = tune_limits(c->arena, &tuned);
  return true;
}

bool fit_plan(Compile *c, Job *job, const Machine *machine, Compiled *out) {
  TextList *limits = ARENA_NEW(c->arena, TextList);
  *out = (Compiled){.job = job};
  if (job->parallel.head == CHOICE_PARALLEL_AUTO && !choose_setting(c, job, machine, limits))
    return false;
  const bool is_good = fit_said(c, job, machine, out);
  if (limits->count > 0) out->limits = limits;
  return is_good;
}
