#include "compiler/advice/advice.h"

#include <string.h>

#include "compiler/backward/backward.h"
#include "compiler/cost/communicators.h"

/* A change to the job, as its file would say it; NULL: the job has it already, or it would not
 * help. `train` is the graph before the change. */
typedef const char *Rung(Compile *c, Job *job, Derived *derived, Graph *train);

static const char *shrink_microbatch(Compile *c, Job *job, Derived *derived, Graph *train) {
  (void)c, (void)train;
  if (job->train.microbatch == 1) return NULL;
  derived->accumulation *= job->train.microbatch;
  job->train.microbatch = 1;
  return "train.microbatch = 1";
}

static const char *divide_loss(Compile *c, Job *job, Derived *derived, Graph *train) {
  enum { CHUNKS_MOST = 16 }; /* more of them save little, and make products small */
  (void)derived;
  int64_t chunks = job->memory.loss_chunks > 1 ? 1 : backward_chunks_most(train, CHUNKS_MOST);
  if (chunks == 1) return NULL;
  job->memory.loss_chunks = chunks;
  return arena_printf(c->arena, "memory.loss_chunks = %lld", (long long)chunks);
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

/* The order in which a user would try them: what costs least first. */
static Rung *const rungs[] = {shrink_microbatch, divide_loss,     recompute_light,
                              recompute_blocks,  narrow_params,   narrow_grads,
                              shard_optimizer,   shard_gradients, shard_parameters};

typedef struct Step {
  const char *change;
  int64_t needs_bytes;
} Step;

enum { RUNG_COUNT = sizeof rungs / sizeof *rungs };

/* Compiles each change in turn until one fits; one that saves less than a hundredth is dropped,
 * unless it is what was missing. Returns how many were tried. */
static int32_t climb(Compile *c, const Job *job, const Compiled *out, Fit *fit,
                     Step steps[RUNG_COUNT]) {
  Job *changed = ARENA_NEW(c->arena, Job);
  *changed = *job;
  int32_t count = 0;
  Derived derived = out->derived;
  int64_t needs_bytes = out->draft->arena_bytes;
  Graph *train = out->draft->train;
  for (int32_t i = 0; i < RUNG_COUNT; i++) {
    const Job before = *changed;
    const Derived derived_before = derived;
    const char *change = rungs[i](c, changed, &derived, train);
    if (change == NULL) continue;
    Compiled trial = *out;
    trial.derived = derived;
    Model *model = model_open(c, changed); /* a model traces in its job's precision */
    bool compiled = model != NULL && fit(c, changed, model, &trial);
    if (model != NULL) model_close(model);
    if (!compiled) break;
    int64_t tried_bytes = trial.draft->arena_bytes;
    bool is_enough = tried_bytes <= out->budget_bytes;
    if (tried_bytes > needs_bytes - needs_bytes / 100 &&
        (tried_bytes >= needs_bytes || !is_enough)) {
      *changed = before; /* master weights, say, may cost more than bf16 saves */
      derived = derived_before;
      continue;
    }
    needs_bytes = tried_bytes;
    train = trial.draft->train;
    steps[count++] = (Step){change, needs_bytes};
    if (is_enough) break;
  }
  return count;
}

/* `parallel.zero = 3` as the command line takes it; nothing if the next step sets the key again.
 */
static const char *option_of(Arena *arena, const Step *step, const Step *next) {
  size_t width = strcspn(step->change, " ");
  if (next != NULL && strncmp(step->change, next->change, width + 1) == 0) return "";
  char *option = arena_printf(arena, " -D %s", step->change), *out = option + 4;
  for (const char *p = step->change; *p != '\0'; p++)
    if (*p != ' ' && *p != '"') *out++ = *p;
  *out = '\0';
  return option;
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

void advice_unfit(Compile *c, const Job *job, const Compiled *out, Fit *fit) {
  Step steps[RUNG_COUNT];
  int32_t count =
      climb(c, job, out, fit, steps); /* before the error is reported: rooms stop after an error */
  bool fits = count > 0 && steps[count - 1].needs_bytes <= out->budget_bytes;
  error_at(c, place_of_budget(job), "does-not-fit",
           "a rank needs %s, its budget is %s (`lockstep explain` shows the table)",
           format_bytes(c->arena, out->draft->arena_bytes),
           format_bytes(c->arena, out->budget_bytes));
  const char *all = "";
  for (int32_t i = 0; i < count; i++) {
    note_at(c, (Span){0}, "with %-26s it needs %s%s", steps[i].change,
            format_bytes(c->arena, steps[i].needs_bytes),
            steps[i].needs_bytes <= out->budget_bytes ? ": fits" : "");
    all = arena_printf(c->arena, "%s%s", all,
                       option_of(c->arena, &steps[i], i + 1 < count ? &steps[i + 1] : NULL));
  }
  if (!fits)
    note_at(c, (Span){0},
            "%s a rank are missing even then: more ranks that share the model (cluster.nodes, "
            "with parallel.tp, pp or zero), a smaller model, or devices with more memory",
            format_bytes(c->arena,
                         (count > 0 ? steps[count - 1].needs_bytes : out->draft->arena_bytes) -
                             out->budget_bytes));
  else
    fix_last(c, "%s", all + 1); /* without the leading blank */
}

/* What a process takes of a GPU besides NCCL: its context, and the code of kernels and libraries.
 * An estimate. */
#define CONTEXT_BYTES ((int64_t)600 << 20)

void advice_outside(Compile *c, const Job *job, const Compiled *out) {
  const Plan *plan = &out->plan;
  int64_t missing_bytes = 0, nccl_bytes = 0;
  if (plan->jobs[0].target != TARGET_CUDA) return;
  for (uint32_t i = 0; i < plan->classes_count; i++) {
    Communicators all = communicators_of(c->arena, plan, i);
    int64_t arena_bytes = (int64_t)plan_arena_bytes(plan, &plan->classes[i], TIER_DEVICE);
    int64_t over = arena_bytes + all.size_bytes + CONTEXT_BYTES - out->cluster.memory_bytes;
    if (all.count == 0 || over <= missing_bytes) continue;
    missing_bytes = over;
    nccl_bytes = all.size_bytes;
  }
  if (missing_bytes == 0) return;
  lint_at(c, place_of_budget(job), "outside-arena",
          "the arena leaves a GPU %s less than NCCL's communicators (%s, an estimate) and CUDA "
          "(%s) may take",
          format_bytes(c->arena, missing_bytes), format_bytes(c->arena, nccl_bytes),
          format_bytes(c->arena, CONTEXT_BYTES));
  int64_t budget_bytes = out->draft->arena_bytes - missing_bytes;
  if (budget_bytes > 0)
    fix_last(c, "memory = { budget = \"%lldMB\" }", (long long)budget_bytes / 1000000);
  note_at(c, (Span){0},
          "NCCL_MAX_CTAS=8 in the environment makes its buffers a third, or less, and it slower");
}
