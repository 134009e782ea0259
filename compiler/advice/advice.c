#include "compiler/advice/advice.h"

#include <string.h>

#include "compiler/cost/communicators.h"

typedef struct Rung {
  const char *change;
  bool (*apply)(Job *job,
                Derived *derived); /* false: the job has it already, or it would not help */
} Rung;

static bool shrink_microbatch(Job *job, Derived *derived) {
  bool changes = job->train.microbatch > 1;
  derived->accumulation *= job->train.microbatch;
  job->train.microbatch = 1;
  return changes;
}

static bool recompute_blocks(Job *job, Derived *derived) {
  (void)derived;
  bool changes = job->memory.recompute != CHOICE_RECOMPUTE_BLOCK &&
                 job->memory.recompute != CHOICE_RECOMPUTE_AUTO;
  if (changes) job->memory.recompute = CHOICE_RECOMPUTE_BLOCK;
  return changes;
}

static bool narrow_params(Job *job, Derived *derived) {
  (void)derived;
  bool changes = job->precision.param == CHOICE_FP32;
  job->precision.param = job->precision.compute = CHOICE_BF16;
  job->precision.master = CHOICE_MASTER_FP32;
  return changes;
}

static bool narrow_grads(Job *job, Derived *derived) {
  (void)derived;
  bool changes = job->precision.grad == CHOICE_FP32;
  job->precision.grad = job->precision.reduce = CHOICE_BF16;
  return changes;
}

static bool shard_to(Job *job, Derived *derived, int64_t zero) {
  int64_t ranks = derived->dp * derived->cp;
  bool changes = ranks > 1 && derived->zero < zero;
  if (!changes) return false;
  if (derived->zero == 0) derived->shard_ranks = ranks;
  job->parallel.zero = derived->zero = zero;
  return true;
}

static bool shard_optimizer(Job *job, Derived *derived) {
  return shard_to(job, derived, 1);
}
static bool shard_gradients(Job *job, Derived *derived) {
  return shard_to(job, derived, 2);
}
static bool shard_parameters(Job *job, Derived *derived) {
  return shard_to(job, derived, 3);
}

/* The order in which a user would try them: what costs least first. */
static const Rung rungs[] = {
    {"train.microbatch = 1", shrink_microbatch}, {"memory.recompute = \"block\"", recompute_blocks},
    {"precision = \"bf16\"", narrow_params},     {"precision.grad = \"bf16\"", narrow_grads},
    {"parallel.zero = 1", shard_optimizer},      {"parallel.zero = 2", shard_gradients},
    {"parallel.zero = 3", shard_parameters}};

typedef struct Step {
  const char *change;
  int64_t needs_bytes;
} Step;

enum { RUNG_COUNT = sizeof rungs / sizeof *rungs };

/* Compiles each change in turn until one fits; a change that saves nothing is dropped. Returns how
 * many were tried. */
static int32_t climb(Compile *c, const Job *job, const Compiled *out, Fit *fit,
                     Step steps[RUNG_COUNT]) {
  Job *changed = ARENA_NEW(c->arena, Job);
  *changed = *job;
  int32_t count = 0;
  Derived derived = out->derived;
  int64_t needs_bytes = out->draft->arena_bytes;
  for (int32_t i = 0; i < RUNG_COUNT; i++) {
    const Job before = *changed;
    const Derived derived_before = derived;
    if (!rungs[i].apply(changed, &derived)) continue;
    Compiled trial = *out;
    trial.derived = derived;
    Model *model = model_open(c, changed); /* a model traces in its job's precision */
    bool compiled = model != NULL && fit(c, changed, model, &trial);
    if (model != NULL) model_close(model);
    if (!compiled) break;
    if (trial.draft->arena_bytes >=
        needs_bytes) { /* master weights may cost more than bf16 saves */
      *changed = before;
      derived = derived_before;
      continue;
    }
    needs_bytes = trial.draft->arena_bytes;
    steps[count++] = (Step){rungs[i].change, trial.draft->arena_bytes};
    if (trial.draft->arena_bytes <= out->budget_bytes) break;
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

/* Places the error at the job's memory budget if it sets one, otherwise at the model. */
static Span place_of_budget(const Job *job) {
  const FieldId keys[] = {FIELD_memory_budget, FIELD_cluster_memory};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (job->set[keys[i]] && job->origin[keys[i]].span.file != NULL)
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
            "%s a rank are missing even then: a smaller model, or a device with more memory",
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
