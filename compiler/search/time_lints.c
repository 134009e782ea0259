/* time_lints.c -- rules about the time of a step: lints about wasted time. The cost of a waste
 * comes from the simulated plan, and the gain of a change from its estimate. */
#include <math.h>
#include <string.h>

#include "compiler/draft/cost/breakdown.h"
#include "compiler/job/change.h"
#include "compiler/job/pipelines/pipeline.h"
#include "compiler/job/units.h"
#include "compiler/search/changes.h"
#include "compiler/search/lints.h"

/* Below this, a part or a gain is no reason to change a job: the range of expected times is wider.
 */
#define LEAST_PART 0.10
#define LEAST_GAIN 0.03

/* A rank should use between this and TIGHT_SHARE of its memory. One that uses less than the first
 * is a trial of something else than speed. */
#define TRIAL_SHARE 0.05
#define LOOSE_SHARE 0.80

typedef struct TimeLook {
  Compile *c;
  const Job *job;
  const Compiled *out;
  const PlanProgram *step; /* the train step that takes longest; NULL: times are not known */
  Subject subject;
} TimeLook;

static int64_t part_ns(const TimeLook *look, PartKind kind, const char *axis) {
  const Plan *plan = &look->out->plan;
  int64_t ns = 0;
  for (uint32_t i = 0; look->step != NULL && i < look->step->parts_count; i++) {
    const PlanPart *part = &plan->parts[look->step->parts_first + i];
    const bool is_axis =
        axis == NULL || (part->axis != PLAN_NONE &&
                         strcmp(plan_string(plan, plan->axes[part->axis].name), axis) == 0);
    if (part->kind == (uint32_t)kind && is_axis) ns += part->predicted_ns;
  }
  return ns;
}

static const char *seconds_text(const TimeLook *look, int64_t ns) {
  return format_seconds(look->c->arena, 1e-9 * (double)ns);
}

/* ", 3.1 ms of 42 ms"; "": times are not known */
static const char *cost_text(const TimeLook *look, int64_t ns) {
  if (look->step == NULL || ns <= 0) return "";
  return arena_printf(look->c->arena, ", %s of %s a step", seconds_text(look, ns),
                      seconds_text(look, look->step->predicted_ns));
}

/* The best of the changes, if it is faster than the plan by so much that it matters. */
static const Change *gain_of(const TimeLook *look, Changes *list) {
  if (list->count == 0) return NULL;
  changes_estimate(&look->subject, list);
  const Change *best = changes_best(&look->subject, list, false);
  const double most = (1 - LEAST_GAIN) * (double)look->step->predicted_ns;
  return best != NULL && (double)best->estimate.step_ns < most ? best : NULL;
}

static const char *gain_text(const TimeLook *look, const Change *change) {
  const int64_t now = look->step->predicted_ns, then = change->estimate.step_ns;
  return arena_printf(look->c->arena, "%s takes %s less of %s a step",
                      change_text(look->c->arena, change), seconds_text(look, now - then),
                      seconds_text(look, now));
}

static double memory_share(const TimeLook *look) {
  return (double)look->out->draft->arena_bytes / (double)look->out->budget_bytes;
}

/* ---- pipelines */

/* As many micro-batches as idle for a tenth of a step: by a smaller micro-batch, which changes no
 * number, or else by a larger batch. */
static const char *fix_of_bubble(const TimeLook *look, int64_t wanted) {
  const Derived *d = &look->out->derived;
  const Job *job = look->job;
  const int64_t samples = d->accumulation * job->train.microbatch; /* of a replica */
  for (int64_t micro = job->train.microbatch - 1; micro > 0; micro--)
    if (job->train.microbatch % micro == 0 && samples / micro >= wanted)
      return arena_printf(look->c->arena, "microbatch = %lld", (long long)micro);
  const bool is_tokens = job->train.batch.unit == UNIT_TOKENS;
  double batch = (double)wanted * (double)(d->dp * job->train.microbatch);
  if (is_tokens) batch *= (double)d->sample_tokens;
  return arena_printf(look->c->arena, "batch = \"%s %s\"", units_print_count(look->c->arena, batch),
                      is_tokens               ? "tokens"
                      : d->sample_tokens == 1 ? "samples"
                                              : "sequences");
}

/* The time that stages wait in the simulated step, where stages take unequal times. */
static const char *waiting_text(const TimeLook *look) {
  const int64_t ns = part_ns(look, PART_BUBBLE, NULL);
  if (look->step == NULL || ns <= 0) return "";
  return arena_printf(look->c->arena, "; the slowest stage waits %s of %s", seconds_text(look, ns),
                      seconds_text(look, look->step->predicted_ns));
}

static void lint_bubble(const TimeLook *look) {
  const Derived *d = &look->out->derived;
  const PipeShape shape = {.kind = (PipeKind)look->job->parallel.pipeline,
                           .stages = (int32_t)d->pp,
                           .chunks = (int32_t)d->chunks,
                           .microbatches = (int32_t)d->accumulation,
                           .costs = pipe_costs_even};
  if (d->pp == 1) return;
  const double share = pipeline_idle_share(&shape), waits = (double)(d->pp - 1);
  if (share <= LEAST_PART) return;
  /* Each micro-batch is as much work as this many of the waits that pp-1 stages add up to. */
  const double times = (1 / share - 1) * waits / (double)d->accumulation;
  const int64_t wanted = pipeline_microbatches_for(&shape, LEAST_PART);
  Arena *arena = look->c->arena;
  lint_at(look->c, field_place(look->job, FIELD_parallel_pp), "bubble",
          "stages idle %.1f %% of a step: (pp-1) / (%sm + pp-1) with m = %lld micro-batch%s%s",
          share * 100, fabs(times - 1) < 1e-9 ? "" : arena_printf(arena, "%.3g ", times),
          (long long)d->accumulation, plural_es(d->accumulation), waiting_text(look));
  fix_last(look->c, "%s", fix_of_bubble(look, wanted));
  note_at(look->c, (Span){0}, "m = %lld: at most 20 %%; m = %lld: at most 10 %%",
          (long long)pipeline_microbatches_for(&shape, 2 * LEAST_PART), (long long)wanted);
}

static int64_t compute_ns(const Plan *plan, const PlanClass *class) {
  const PlanProgram *step = plan_program(plan, class, PROGRAM_TRAIN_STEP);
  int64_t ns = 0;
  for (uint32_t i = 0; i < step->parts_count; i++)
    if (plan->parts[step->parts_first + i].kind == PART_COMPUTE)
      ns += plan->parts[step->parts_first + i].predicted_ns;
  return ns;
}

/* The work of the heaviest stage above the mean of all. */
static int64_t excess_ns(const Plan *plan) {
  int64_t most = 0, sum = 0;
  if (plan->classes_count == 0) return 0;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    const int64_t ns = compute_ns(plan, &plan->classes[i]);
    sum += ns;
    if (ns > most) most = ns;
  }
  return most - sum / (int64_t)plan->classes_count;
}

static void lint_stages(const TimeLook *look) {
  enum { UNEVEN_PERCENT = 25 };
  const double excess = look->out->draft->stage_excess;
  if (excess < UNEVEN_PERCENT / 100.0) return;
  lint_at(look->c, field_place(look->job, FIELD_parallel_pp), "imbalance",
          "the heaviest stage has %.0f %% more work than the mean%s, and the others wait "
          "for it (`explain --schedule` says why)",
          100 * excess, look->step == NULL ? "" : cost_text(look, excess_ns(&look->out->plan)));
  if (field_is_said(look->job, FIELD_parallel_stages)) fix_last(look->c, "remove stages");
}

/* ---- links */

/* A domain of NVLink or xGMI that tp leaves is an error of place/check.c. */
static void lint_pcie(const TimeLook *look) {
  const double pcie = 64e9; /* of generation 5, one way */
  const uint32_t axes = MESH_BIT(MESH_TP) | MESH_BIT(MESH_TP_GROUP);
  const Compiled *out = look->out;
  if (out->cluster.target != TARGET_CUDA || out->derived.tp == 1 || look->job->parallel.tp_across)
    return;
  const Reach reach = place_reach(out->fabric, out->choice.taken, axes, -1);
  const bool is_described = out->fabric->kinds[0].host != NULL;
  const double rate = reach.pair_bytes_per_s;
  const bool is_slow = is_described ? reach.is_slow_inside : rate > 0 && rate <= pcie;
  if (reach.distance != 0 || !is_slow) return;
  lint_at(look->c, field_place(look->job, FIELD_parallel_tp), "tp-over-pcie",
          "tp %lld sums activations in every layer over links of %.3g GB/s, as PCIe has%s: "
          "pp or zero communicate less; tp_across = true allows it",
          (long long)out->derived.tp, rate / 1e9,
          cost_text(look, part_ns(look, PART_EXPOSED, "tp")));
  fix_last(look->c, "tp = 1");
}

/* ZeRO 3 gathers weights from all ranks that share them, twice a step or more. */
static void lint_zero_links(const TimeLook *look) {
  const Derived *d = &look->out->derived;
  const uint32_t axes = MESH_BIT(MESH_DP) | MESH_BIT(MESH_CP);
  if (look->step == NULL || d->zero != 3 || d->shard_ranks == 1) return;
  const int64_t exposed = part_ns(look, PART_EXPOSED, "dp");
  if ((double)exposed < LEAST_PART * (double)look->step->predicted_ns) return;
  if (place_reach(look->out->fabric, look->out->choice.taken, axes, -1).distance == 0) return;
  const bool is_shard = field_is_said(look->job, FIELD_parallel_shard);
  const Change base = {.derived = *d};
  Changes list = {0};
  if (d->shard_ranks > look->out->cluster.devices)
    changes_add(&list, &base, FIELD_parallel_zero_group, ZERO_GROUP_NODE);
  for (int64_t zero = 1; zero < 3 && !is_shard; zero++)
    changes_add(&list, &base, FIELD_parallel_zero, zero);
  const Change *best = gain_of(look, &list);
  if (best == NULL) return;
  lint_at(look->c, field_place(look->job, is_shard ? FIELD_parallel_shard : FIELD_parallel_zero),
          "zero-slow-links",
          "ZeRO 3 gathers weights over links between nodes, which nothing hides%s: %s",
          cost_text(look, exposed), gain_text(look, best));
  fix_last(look->c, "%s", change_keys(look->c->arena, best));
}

/* ---- memory */

static void lint_tight(const TimeLook *look) {
  const Change base = {.derived = look->out->derived};
  const Job *job = look->job;
  const double share = memory_share(look);
  if (share < TIGHT_SHARE || field_is_said(job, FIELD_memory_budget)) return;
  Changes list = {.count = 1}; /* the first: the same job within the smaller budget */
  if (job->train.microbatch > 1)
    changes_add(&list, &base, FIELD_train_microbatch, job->train.microbatch / 2);
  for (int64_t zero = base.derived.zero + 1; zero <= 3 && base.derived.dp > 1; zero++)
    if (!field_is_said(job, FIELD_parallel_shard))
      changes_add(&list, &base, FIELD_parallel_zero, zero);
  if (job->memory.recompute < CHOICE_RECOMPUTE_BLOCK)
    changes_add(&list, &base, FIELD_memory_recompute, CHOICE_RECOMPUTE_BLOCK);
  changes_estimate(&look->subject, &list);
  const Change *best = changes_best(&look->subject, &list, false);
  const int64_t more =
      best != NULL && look->step ? best->estimate.step_ns - look->step->predicted_ns : 0;
  lint_at(look->c, field_place(job, FIELD_memory_budget), "tight-memory",
          "the arena takes %.1f %% of what a rank has: other programs, or a driver that "
          "needs more, make the run fail%s",
          100 * share,
          more <= 0 ? ""
                    : arena_printf(look->c->arena, "; the fix takes %s more of %s a step",
                                   seconds_text(look, more),
                                   seconds_text(look, look->step->predicted_ns)));
  if (best != NULL || job->offload.optimizer == CHOICE_OFFLOAD_AUTO) /* which moves more then */
    fix_last(look->c, "%s",
             best == NULL || best->count == 0 ? "memory = { budget = \"95%\" }"
                                              : change_keys(look->c->arena, best));
}

static void lint_microbatch(const TimeLook *look) {
  enum { DOUBLINGS = 3 };
  const Change base = {.derived = look->out->derived};
  int64_t micro = look->job->train.microbatch, parts = base.derived.accumulation;
  Changes list = {0};
  for (int32_t i = 0; i < DOUBLINGS && parts % 2 == 0; i++) {
    micro *= 2;
    parts /= 2;
    changes_add(&list, &base, FIELD_train_microbatch, micro);
  }
  const Change *best = gain_of(look, &list);
  if (best == NULL) return;
  lint_at(look->c, field_place(look->job, FIELD_train_microbatch), "small-microbatch",
          "a rank uses %.0f %% of its memory, and larger micro-batches fit: %s",
          100 * memory_share(look), gain_text(look, best));
  fix_last(look->c, "%s", change_keys(look->c->arena, best));
}

/* Keys that a job sets to save memory that it does not need. */
static void lint_saved(const TimeLook *look) {
  const Job *job = look->job;
  const Change base = {.derived = look->out->derived};
  const int32_t places[] = {FIELD_memory_recompute,  FIELD_parallel_zero,
                            FIELD_parallel_regather, FIELD_memory_loss_chunks,
                            FIELD_offload_optimizer, FIELD_offload_activations};
  Changes list = {0};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    const int32_t field = places[i];
    const int64_t now = field_number(job, field);
    if (!field_is_said(job, field)) continue;
    if (field == FIELD_parallel_zero && now > 1) changes_add(&list, &base, field, now - 1);
    if (field == FIELD_parallel_regather && now) changes_add(&list, &base, field, false);
    if (field == FIELD_memory_loss_chunks && now > 1) changes_add(&list, &base, field, 1);
    if (field == FIELD_memory_recompute && now > 0 && now != CHOICE_RECOMPUTE_AUTO)
      changes_add(&list, &base, field, CHOICE_RECOMPUTE_NONE);
    if (i >= 4 && now == CHOICE_OFFLOAD_CPU) changes_add(&list, &base, field, CHOICE_OFFLOAD_NONE);
  }
  const Change *best = gain_of(look, &list);
  if (best == NULL) return;
  lint_at(look->c, field_place(job, best->key[0].field), "unused-memory",
          "a rank uses %.0f %% of its memory, and saves more than it must: %s",
          100 * memory_share(look), gain_text(look, best));
  fix_last(look->c, "%s", change_keys(look->c->arena, best));
}

static TimeLook look_at(Compile *c, const Job *job, const Compiled *out) {
  const Plan *plan = &out->plan;
  const uint32_t class = longest_class(plan);
  return (TimeLook){
      c,
      job,
      out,
      class == PLAN_NONE ? NULL : plan_program(plan, &plan->classes[class], PROGRAM_TRAIN_STEP),
      {out->as_read, out->machine, c->specs_dir}};
}

void time_lints(Compile *c, const Job *job, const Compiled *out, bool is_outside) {
  const TimeLook look = look_at(c, job, out);
  lint_bubble(&look);
  lint_stages(&look);
  lint_pcie(&look);
  if (!is_outside && out->as_read != NULL) lint_tight(&look);
}

void change_lints(Compile *c, const Compiled *out) {
  const TimeLook look = look_at(c, out->job, out);
  const bool is_open = out->as_read != NULL && out->job->use == USE_TRAIN && out->proof != NULL;
  if (!is_open || look.step == NULL || out->cluster.target != TARGET_CUDA) return;
  lint_zero_links(&look);
  if (memory_share(&look) < TRIAL_SHARE || memory_share(&look) >= LOOSE_SHARE) return;
  lint_microbatch(&look);
  lint_saved(&look);
}
