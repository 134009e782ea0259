#include "compiler/search/advice.h"

#include <string.h>

#include "compiler/draft/cost/communicators.h"
#include "compiler/graph/backward/backward.h"
#include "compiler/job/pipelines/pipeline.h"
#include "compiler/search/changes.h"
#include "compiler/search/fit.h"

/* A change to the job, as its file would say it; NULL: the job has it already, or it would not
 * help. Is asked again while it helps, for changes that come in degrees. `train` is the graph
 * before the change. */
typedef const char *Rung(Compile *c, Job *job, Derived *derived, Graph *train);

static const char *shrink_microbatch(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)train;
  int64_t *size = &job->train.microbatch, parts = 2;
  if (*size == 1) return NULL;
  while (*size % parts != 0)
    parts++;
  derived->accumulation *= parts;
  *size /= parts;
  return arena_printf(c->arena, "train.microbatch = %lld", (long long)*size);
}

static const char *divide_loss(Compile *c, Job *job, Derived *derived, Graph *train) {
  enum { CHUNKS_MOST = 16 }; /* more of them save little, and make products small */
  (void)derived;
  int64_t chunks = job->memory.loss_chunks > 1 ? 1 : backward_chunks_most(train, CHUNKS_MOST);
  if (chunks == 1) return NULL;
  job->memory.loss_chunks = chunks;
  return arena_printf(c->arena, "memory.loss_chunks = %lld", (long long)chunks);
}

static const char *gather_again(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)train;
  if (derived->tp == 1 || !derived->sequence || job->parallel.regather) return NULL;
  job->parallel.regather = true;
  return "parallel.regather = true";
}

static const char *recompute_light(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->memory.recompute != CHOICE_RECOMPUTE_NONE) return NULL;
  job->memory.recompute = CHOICE_RECOMPUTE_SELECTIVE;
  return "memory.recompute = \"selective\"";
}

static const char *recompute_blocks(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->memory.recompute == CHOICE_RECOMPUTE_BLOCK ||
      job->memory.recompute == CHOICE_RECOMPUTE_AUTO)
    return NULL;
  job->memory.recompute = CHOICE_RECOMPUTE_BLOCK;
  return "memory.recompute = \"block\"";
}

static const char *narrow_params(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->precision.param != CHOICE_FP32) return NULL;
  job->precision.param = job->precision.compute = CHOICE_BF16;
  job->precision.master = CHOICE_MASTER_FP32;
  return "precision = \"bf16\"";
}

static const char *narrow_grads(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->precision.grad != CHOICE_FP32) return NULL;
  job->precision.grad = job->precision.reduce = CHOICE_BF16;
  return "precision.grad = \"bf16\"";
}

/* The wire alone: gradients are added up as before. */
static const char *narrow_wire(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)train;
  if (job->precision.reduce != CHOICE_FP32 || derived->dp * derived->cp == 1) return NULL;
  job->precision.reduce = CHOICE_BF16;
  return "precision.reduce = \"bf16\"";
}

static const char *split_masters(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->precision.master != CHOICE_MASTER_FP32 || job->precision.param != CHOICE_BF16)
    return NULL;
  job->precision.master = CHOICE_MASTER_SPLIT;
  return "precision.master = \"split\"";
}

static const char *narrow_moments(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->precision.moments == CHOICE_MOMENTS_INT8) return NULL;
  const bool is_fp32 = job->precision.moments == CHOICE_MOMENTS_FP32;
  job->precision.moments = is_fp32 ? CHOICE_MOMENTS_BF16 : CHOICE_MOMENTS_INT8;
  return is_fp32 ? "precision.moments = \"bf16\"" : "precision.moments = \"int8\"";
}

static const char *shard_to(Compile *c, Job *job, Derived *derived, int64_t zero) {
  int64_t ranks = derived->dp * derived->cp;
  if (ranks == 1 || derived->zero >= zero) return NULL;
  if (derived->zero == 0) derived->shard_ranks = ranks;
  job->parallel.zero = derived->zero = zero;
  return arena_printf(c->arena, "parallel.zero = %lld", (long long)zero);
}

static const char *shard_optimizer(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)train;
  return shard_to(c, job, derived, 1);
}

static const char *shard_gradients(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)train;
  return shard_to(c, job, derived, 2);
}

static const char *shard_parameters(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)train;
  return shard_to(c, job, derived, 3);
}

static const char *write_at_once(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->checkpoint.async != CHOICE_ASYNC_ON || job->checkpoint.every.unit == UNIT_NEVER)
    return NULL;
  job->checkpoint.async = CHOICE_ASYNC_OFF;
  return "checkpoint.async = \"off\"";
}

static const char *offload_states(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->offload.optimizer != CHOICE_OFFLOAD_NONE) return NULL;
  job->offload.optimizer = CHOICE_OFFLOAD_CPU;
  return "offload.optimizer = \"cpu\"";
}

static const char *offload_frames(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->offload.activations != CHOICE_OFFLOAD_NONE) return NULL;
  job->offload.activations = CHOICE_OFFLOAD_CPU;
  return "offload.activations = \"cpu\"";
}

static const char *offload_weights(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)train;
  const bool is_shared = derived->dp * derived->cp > 1;
  if (job->offload.weights != CHOICE_OFFLOAD_NONE || (is_shared && derived->zero != 3) ||
      (job->offload.optimizer != CHOICE_OFFLOAD_CPU &&
       job->offload.optimizer != CHOICE_OFFLOAD_NVME))
    return NULL;
  job->offload.weights = CHOICE_OFFLOAD_CPU;
  return "offload.weights = \"cpu\"";
}

/* Pipelines that split backward are refused (derive/shards.c). */
static const char *offload_grads(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)train;
  const bool are_states_far =
      job->offload.optimizer == CHOICE_OFFLOAD_CPU || job->offload.optimizer == CHOICE_OFFLOAD_NVME;
  if (job->offload.grads != CHOICE_OFFLOAD_NONE || !are_states_far ||
      (derived->pp > 1 && pipe_rules[job->parallel.pipeline].is_split) ||
      job->offload.update == CHOICE_UPDATES_DEVICE)
    return NULL;
  job->offload.grads = CHOICE_OFFLOAD_CPU;
  return "offload.grads = \"cpu\"";
}

/* True if the job names a directory of a node for files of offload. */
static const char *offload_to_files(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)derived, (void)train;
  if (job->offload.optimizer == CHOICE_OFFLOAD_NVME || job->slurm.scratch == NULL) return NULL;
  job->offload.optimizer = CHOICE_OFFLOAD_NVME;
  return "offload.optimizer = \"nvme\"";
}

/* The order in which a user would try them: what costs least time first, what changes numbers last,
 * and then what changes none but waits for the host. */
static Rung *const rungs[] = {write_at_once,   shard_optimizer,  shard_gradients, shrink_microbatch,
                              divide_loss,     gather_again,     recompute_light, shard_parameters,
                              narrow_params,   recompute_blocks, split_masters,   narrow_wire,
                              narrow_grads,    narrow_moments,   offload_states,  offload_frames,
                              offload_weights, offload_grads,    offload_to_files};

enum { RUNG_COUNT = sizeof rungs / sizeof *rungs };

/* From this one on a step waits for the host. */
static bool is_offload(int32_t rung) {
  int32_t first = 0;
  while (rungs[first] != offload_states)
    first++;
  return rung >= first;
}

/* True if a node takes what its ranks keep there. On processors it is the memory that is too small
 * already. */
static bool node_fits(const Compiled *out, const Draft *draft) {
  return fit_hosts(out, draft) && !(draft_offloads(draft) && out->cluster.target == TARGET_CPU);
}

typedef struct ClimbStep {
  int32_t rung;
  const char *change;
  int64_t needs_bytes;
  int64_t step_ns, before_ns; /* of offload: predicted, and without any; 0: not known */
} ClimbStep;

typedef struct Climb {
  Compile *compile;
  const Job *job;
  const Compiled *out;
  int32_t count;
  ClimbStep steps[RUNG_COUNT];
  int64_t step_ns; /* predicted with all steps, where they are enough; 0: not known */
} Climb;

static bool is_enough(const Climb *climb) {
  return climb->count > 0 && climb->steps[climb->count - 1].needs_bytes <= climb->out->budget_bytes;
}

/* Compiles each change that `tries` has a bit for in turn until one fits; one that saves less than
 * a hundredth is dropped, unless it is what was missing. */
static void climb_up(Climb *climb, uint32_t tries) {
  Compile *c = climb->compile;
  Job *changed = ARENA_NEW(c->arena, Job);
  *changed = *climb->job;
  Derived derived = climb->out->derived;
  int64_t needs_bytes = climb->out->draft->arena_bytes;
  Graph *train = climb->out->draft->train;
  Compiled resident = *climb->out; /* the last one that offloads nothing */
  int64_t before_ns = -1;
  climb->count = 0;
  for (int32_t i = 0; i < RUNG_COUNT && !is_enough(climb); i++) {
    const Job before = *changed;
    const Derived derived_before = derived;
    const char *change = tries >> i & 1 ? rungs[i](c, changed, &derived, train) : NULL;
    if (change == NULL) continue;
    Compiled trial = *climb->out;
    trial.derived = derived;
    trial.model = model_open(c, changed); /* a model traces in its job's precision */
    bool compiled = trial.model != NULL && fit_draft(c, changed, &trial);
    compile_close(&trial);
    if (!compiled) break;
    int64_t tried_bytes = trial.draft->arena_bytes;
    if (!node_fits(&trial, trial.draft)) {
      *changed = before;
      derived = derived_before;
      continue;
    }
    if (tried_bytes > needs_bytes - needs_bytes / 100 &&
        (tried_bytes >= needs_bytes || tried_bytes > trial.budget_bytes)) {
      *changed = before; /* master weights, say, may cost more than bf16 saves */
      derived = derived_before;
      continue;
    }
    needs_bytes = tried_bytes;
    if (needs_bytes <= climb->out->budget_bytes)
      climb->step_ns = fit_step_ns(c, changed, &trial, trial.draft);
    train = trial.draft->train;
    if (climb->count == 0 || climb->steps[climb->count - 1].rung != i) climb->count++;
    ClimbStep *step = &climb->steps[climb->count - 1];
    *step = (ClimbStep){.rung = i, .change = change, .needs_bytes = needs_bytes};
    if (is_offload(i)) {
      if (before_ns < 0) before_ns = fit_step_ns(c, &before, &resident, resident.draft);
      step->before_ns = before_ns;
      step->step_ns = fit_step_ns(c, changed, &trial, trial.draft);
    } else {
      resident = trial;
    }
    i--; /* try more of the same change */
  }
}

/* Takes back what turned out not to be needed, the costliest first: of a search that ended well. */
static void climb_less(Climb *climb) {
  uint32_t tries = 0;
  for (int32_t i = 0; i < climb->count; i++)
    tries |= 1u << climb->steps[i].rung;
  for (int32_t i = RUNG_COUNT; i-- > 0 && climb->count > 1;) {
    const Climb before = *climb;
    if ((tries >> i & 1) == 0) continue;
    climb_up(climb, tries & ~(1u << i));
    if (is_enough(climb))
      tries &= ~(1u << i);
    else
      *climb = before;
  }
}

/* The changes as the command line takes them: `-D parallel.zero=3`; of a key that is set twice the
 * last. */
static const char *options_of(Arena *arena, const Climb *climb) {
  const char *all = "";
  for (const ClimbStep *s = climb->steps, *end = s + climb->count; s < end; s++) {
    const size_t width = strcspn(s->change, " ") + 1;
    bool is_last = true;
    for (const ClimbStep *later = s + 1; later < end; later++)
      is_last = is_last && strncmp(s->change, later->change, width) != 0;
    if (!is_last) continue;
    char *value = arena_printf(arena, "%s", s->change), *end_of_value = value;
    for (const char *p = s->change; *p != '\0'; p++)
      if (*p != ' ' && *p != '"') *end_of_value++ = *p;
    *end_of_value = '\0';
    all = arena_printf(arena, "%s%s-D %s", all, *all == '\0' ? "" : " ", value);
  }
  return all;
}

/* Places the error at the job's memory budget if it sets one, otherwise at the model: what the
 * library says of a device is not to be changed. */
static Span place_of_budget(const Job *job) {
  const FieldId keys[] = {FIELD_memory_budget, FIELD_cluster_memory};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (job->set[keys[i]] && job->origin[keys[i]].kind != ORIGIN_PRESET &&
        job->origin[keys[i]].span.file != NULL)
      return job->origin[keys[i]].span;
  Span at = job->model.head_origin.span;
  return at.file != NULL ? at : (Span){.file = job->path};
}

static const char *step_text(Arena *arena, int64_t step_ns) {
  if (step_ns == 0) return "";
  return arena_printf(arena, ", a step of %s", format_seconds(arena, 1e-9 * (double)step_ns));
}

/* ", a step 1.24 times as long: 1.05 s"; all_ns: the time of a train step after this and all
 * earlier changes; 0: not known.
 */
static const char *slower_text(Arena *arena, const ClimbStep *step, int64_t all_ns) {
  if (step->step_ns == 0 || step->before_ns == 0) return step_text(arena, all_ns);
  const double times = (double)step->step_ns / (double)step->before_ns;
  return arena_printf(arena, ", a step %.2f times as long: %s", times,
                      format_seconds(arena, 1e-9 * (double)step->step_ns));
}

/* The use of host memory is a large model on few devices. */
static void note_scale(Compile *c, const Compiled *out) {
  enum { MANY_RANKS = 64 };
  const int64_t ranks = out->cluster.ranks;
  note_at(
      c, (Span){0},
      ranks < MANY_RANKS
          ? "host memory is for large models on few devices, such as 70B on one node: with more "
            "nodes parallel.zero divides states, and nothing is copied"
          : "at %lld ranks host memory rarely pays: more ranks that share the model "
            "(parallel.tp, pp, zero) hold states without copies",
      (long long)ranks);
}

/* ---- small changes of the job, degrees and nodes included */

/* The one that leaves least to be saved, for more on top of it; NULL: none saves anything. */
static const Change *smallest_of(const Changes *list, int64_t below_bytes) {
  const Change *smallest = NULL;
  for (int32_t i = 0; i < list->count; i++) {
    const Change *at = &list->at[i];
    if (!at->is_legal || change_takes_nodes(at) || at->estimate.arena_bytes >= below_bytes)
      continue;
    smallest = at;
    below_bytes = at->estimate.arena_bytes;
  }
  return smallest;
}

/* As many nodes as states need that all ranks share. */
static void add_nodes(const Compiled *out, const Change *base, Changes *list) {
  enum { NODES_MOST = 1 << 14 };
  const bool is_here = strcmp(out->as_read->cluster.head_text, "here") == 0;
  if (out->cluster.target != TARGET_CUDA || is_here || out->cluster.type_count != 1) return;
  int64_t nodes = 2 * out->cluster.nodes, times = 2;
  while (out->draft->arena_bytes / times > out->budget_bytes / 2 && nodes < NODES_MOST)
    nodes *= 2, times *= 2;
  change_set(changes_add(list, base, FIELD_cluster_nodes, nodes), FIELD_parallel_zero, 3);
}

/* The fastest small change that fits; if no single change fits, it continues from the change that
 * saves most; only then one that takes more nodes. False: none fits. */
static bool find_change(Compile *c, const Compiled *out, Change *found) {
  enum { ROUNDS = 2 };
  const Subject subject = {out->as_read, out->machine, c->specs_dir};
  Change base = {.derived = out->derived};
  int64_t bytes = out->draft->arena_bytes;
  bool has_nodes = false;
  for (int32_t round = 0; round < ROUNDS; round++) {
    Changes *list = ARENA_NEW(c->arena, Changes);
    changes_small(&subject, &out->cluster, &base, true, list);
    if (round == 0) add_nodes(out, &base, list);
    changes_estimate(&subject, list);
    const Change *best = changes_best(&subject, list, false);
    if (best != NULL) {
      *found = *best;
      return true;
    }
    const Change *with_nodes = has_nodes ? NULL : changes_best(&subject, list, true);
    if (with_nodes != NULL) *found = *with_nodes;
    has_nodes |= with_nodes != NULL;
    const Change *smallest = smallest_of(list, bytes);
    if (smallest == NULL) break;
    base = *smallest;
    bytes = base.estimate.arena_bytes;
  }
  return has_nodes;
}

static void note_steps(Compile *c, const Climb *climb) {
  const int64_t budget_bytes = climb->out->budget_bytes;
  bool offloads = false;
  for (int32_t i = 0; i < climb->count; i++) {
    const ClimbStep *step = &climb->steps[i];
    const bool fits = step->needs_bytes <= budget_bytes;
    note_at(c, (Span){0}, "with %-30s it needs %s%s%s", step->change,
            format_bytes(c->arena, step->needs_bytes), fits ? ": fits" : "",
            slower_text(c->arena, step, fits ? climb->step_ns : 0));
    offloads |= is_offload(step->rung);
  }
  if (offloads) note_scale(c, climb->out);
}

void advice_unfit(Compile *c, const Job *job, const Compiled *out) {
  Climb climb = {.compile = c, .job = job, .out = out};
  Change change;
  climb_up(&climb, ~0u); /* before the error is reported: rooms stop after an error */
  const bool fits = is_enough(&climb);
  if (fits) climb_less(&climb);
  const int64_t step_ns = fits ? climb.step_ns : 0;
  const bool is_open = !fits || step_ns > 0; /* without times the first rungs are the best */
  const bool has_change =
      is_open && find_change(c, out, &change) && (!fits || change.estimate.step_ns < step_ns);
  error_at(c, place_of_budget(job), "does-not-fit",
           "a rank needs %s, its budget is %s (`lockstep explain` shows the table)",
           format_bytes_beside(c->arena, out->draft->arena_bytes, out->budget_bytes),
           format_bytes_beside(c->arena, out->budget_bytes, out->draft->arena_bytes));
  note_steps(c, &climb);
  if (has_change)
    note_at(c, (Span){0}, "or with %s it needs %s: fits%s", change_text(c->arena, &change),
            format_bytes(c->arena, change.estimate.arena_bytes),
            step_text(c->arena, change.estimate.step_ns));
  if (has_change && !(fits && change_takes_nodes(&change)))
    fix_last(c, "%s", change_options(c->arena, &change));
  else if (fits)
    fix_last(c, "%s", options_of(c->arena, &climb));
  else
    note_at(c, (Span){0},
            "%s a rank are missing even then: more ranks that share the model (cluster.nodes, "
            "with parallel.tp, pp or zero), a smaller model, or devices with more memory",
            format_bytes(c->arena, (climb.count > 0 ? climb.steps[climb.count - 1].needs_bytes
                                                    : out->draft->arena_bytes) -
                                       out->budget_bytes));
}

bool advice_outside(Compile *c, const Job *job, const Compiled *out) {
  const Plan *plan = &out->plan;
  int64_t missing_bytes = 0, nccl_bytes = 0;
  if (out->cluster.target != TARGET_CUDA) return false;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    Communicators all = communicators_of(c->arena, plan, i);
    int64_t arena_bytes = (int64_t)plan_arena_bytes(plan, &plan->classes[i], TIER_DEVICE);
    int64_t over = arena_bytes + all.size_bytes + OUTSIDE_CONTEXT_BYTES - out->cluster.memory_bytes;
    if (all.count == 0 || over <= missing_bytes) continue;
    missing_bytes = over;
    nccl_bytes = all.size_bytes;
  }
  if (missing_bytes == 0) return false;
  lint_at(c, place_of_budget(job), "outside-arena",
          "the arena leaves a GPU %s less than NCCL's communicators (%s, an estimate) and CUDA "
          "(%s) may take",
          format_bytes(c->arena, missing_bytes), format_bytes(c->arena, nccl_bytes),
          format_bytes(c->arena, OUTSIDE_CONTEXT_BYTES));
  int64_t budget_bytes = out->draft->arena_bytes - missing_bytes;
  if (budget_bytes > 0)
    fix_last(c, "memory = { budget = \"%lldMB\" }", (long long)budget_bytes / 1000000);
  note_at(c, (Span){0},
          "NCCL_MAX_CTAS=8 in the environment makes its buffers a third, or less, and it slower");
  return true;
}
