#include "compiler/compile.h"

#include <math.h>
#include <string.h>

#include "compiler/cost/cost.h"
#include "compiler/emit/emit.h"
#include "compiler/grad/grad.h"
#include "compiler/model/model.h"
#include "compiler/prove/prove.h"
#include "compiler/shard/shard.h"

typedef struct Recompute {
  RecomputeChoice choice; /* none, block or every */
  int64_t group_layers;   /* 0: none */
} Recompute;

static Mesh mesh_of(const Derived *derived) {
  Mesh mesh = {0};
  int64_t ranks = derived->dp * derived->cp;
  bool hybrid = derived->zero > 0 && derived->shard_ranks > 1;
  mesh.size[MESH_REPLICATE] = hybrid ? ranks / derived->shard_ranks : 1;
  mesh.size[MESH_DP] = derived->dp / mesh.size[MESH_REPLICATE];
  mesh.size[MESH_PP] = derived->pp;
  mesh.size[MESH_CP] = derived->cp;
  mesh.size[MESH_TP] = derived->tp;
  mesh.size[MESH_TP_GROUP] = 1;
  return mesh;
}

/* A traced model with its backward, cut over the mesh. NULL when reported. */
static Graph *make_graph(Draft *d, Model *model, bool training) {
  const Job *job = d->job;
  const Derived *derived = &d->derived;
  Graph *g =
      model_trace(d->compile, model, job->train.microbatch, derived->sample_tokens, training);
  if (g == NULL) return NULL;
  if (training) d->graph_id = graph_identity(g);
  g->target = d->cluster->target;
  g->threads = (int32_t)d->cluster->threads;
  g->tp_at = job->origin[FIELD_parallel_tp].span;
  g->cp_at = job->origin[FIELD_parallel_cp].span;
  g->loss_count = derived->batch_samples * derived->sample_tokens;
  if (training) d->parameters = model_parameters(g);
  graph_pad_dim(g, "vocab", job->model.vocab_multiple);
  if (training) {
    if (!grad_derive(g)) return NULL;
    d->flops_per_token = cost_flops_per_token(g, job->train.microbatch * derived->sample_tokens);
  }
  graph_keep_logical(g);
  d->mesh = mesh_of(derived);
  if (!shard_degrees(g, derived->tp, &d->mesh)) return NULL;
  g->mesh = d->mesh;
  const ShardOptions options = {.sequence = derived->sequence,
                                .regather = job->parallel.regather,
                                .context = job->parallel.cp_kind == CHOICE_ULYSSES ? CONTEXT_ULYSSES
                                                                                   : CONTEXT_RING};
  return shard_apply(g, options) ? g : NULL;
}

/* One pass through the house: what every loop below repeats. NULL when reported. */
static Draft *make_draft(Compile *c, const Job *job, const Compiled *known, Model *model,
                         Recompute recompute) {
  Draft *d = ARENA_NEW(c->arena, Draft);
  *d = (Draft){.compile = c,
               .job = job,
               .cluster = &known->cluster,
               .derived = known->derived,
               .group_layers = recompute.group_layers,
               .has_master = job->precision.master == CHOICE_MASTER_FP32,
               .has_moment2 = job->optimizer.head == CHOICE_ADAMW};
  d->fabric = known->fabric;
  d->train = make_graph(d, model, true); /* model description -> ops + backward, cut by layouts */
  if (d->train == NULL) return NULL;
  d->usual = place_in_order(d->fabric, &d->mesh, &order_usual);
  d->reaches = ARENA_ARRAY(c->arena, Reach, MESH_BIT(MESH_AXES));
  if (recompute.choice != CHOICE_RECOMPUTE_NONE) /* what backward computes again      */
    recompute_apply(d->train, recompute.group_layers > 1 ? RECOMPUTE_EVERY : RECOMPUTE_BLOCK,
                    recompute.group_layers);
  if (d->derived.pp > 1 && job->parallel.pipeline == CHOICE_ZB_H1)
    grad_split_weight(d->train); /* what only makes parameter gradients may wait      */
  if (job->data.valid.count > 0) {
    d->eval = make_graph(d, model, false);
    if (d->eval == NULL) return NULL;
  }
  d->train_parts = ARENA_ARRAY(c->arena, RegionSegments, d->train->regions.count);
  d->eval_parts = ARENA_ARRAY(c->arena, RegionSegments, d->train->regions.count);

  blocks_layout(d);                            /* parameters that are treated alike         */
  inputs_layout(d);                            /* the micro-batch                           */
  segments_build(d, d->train, d->train_parts); /* ops -> straight-line code per layer kind  */
  if (d->eval != NULL) segments_build(d, d->eval, d->eval_parts);
  block_segments_build(d);         /* init, gather, reduce, norm, update        */
  pieces_pack(d);                  /* collectives of many pieces: one run a member  */
  cost_segments(d);                /* how long they take                        */
  if (!stages_cut(d)) return NULL; /* layers -> pipeline stages                 */
  state_layout(d);                 /* parameters, gradients, optimizer state    */
  timeline_build(d);               /* calls, and the lifetimes of their buffers */
  memory_pack(d);                  /* lifetimes -> offsets                      */
  edges_build(d);                  /* what waits for what on other lanes        */
  return d;
}

static int64_t layers_of(Model *model) {
  return (int64_t)model_size(model, "layers", 1);
}

/* What memory.recompute asks for, in the order in which to try: cheapest first. */
static int32_t candidates(const Job *job, Model *model, Recompute out[3]) {
  int64_t root = (int64_t)lround(sqrt((double)layers_of(model)));
  const Recompute none = {CHOICE_RECOMPUTE_NONE, 0}, block = {CHOICE_RECOMPUTE_BLOCK, 1};
  const Recompute by_root = {CHOICE_RECOMPUTE_EVERY, root > 1 ? root : 1};
  switch (job->memory.recompute) {
  case CHOICE_RECOMPUTE_NONE: out[0] = none; return 1;
  case CHOICE_RECOMPUTE_BLOCK: out[0] = block; return 1;
  case CHOICE_RECOMPUTE_SQRT: out[0] = by_root; return 1;
  case CHOICE_RECOMPUTE_EVERY:
    out[0] = (Recompute){CHOICE_RECOMPUTE_EVERY, job->recompute_blocks};
    return 1;
  default:
    out[0] = none;
    out[1] = block;
    out[2] = by_root;
    return 3;
  }
}

static int64_t budget_of(const Job *job, const Cluster *cluster) {
  int64_t whole = cluster->memory_bytes - cluster->reserve_bytes;
  if (!job->set[FIELD_memory_budget]) return whole;
  if (job->memory.budget.unit == UNIT_PERCENT)
    return (int64_t)((double)cluster->memory_bytes * job->memory.budget.value / 100);
  return (int64_t)job->memory.budget.value;
}

/* Takes the first candidate that fits; when none does, the one that needs least. */
static bool choose_draft(Compile *c, const Job *job, Model *model, Compiled *out) {
  Recompute tries[3];
  int32_t count = candidates(job, model, tries);
  out->draft = NULL;
  for (int32_t i = 0; i < count; i++) {
    Draft *d = make_draft(c, job, out, model, tries[i]);
    if (d == NULL) return false;
    if (out->draft == NULL || d->arena_bytes < out->draft->arena_bytes) {
      out->draft = d;
      out->recompute = tries[i].choice;
      out->group_layers = tries[i].group_layers;
    }
    if (d->arena_bytes <= out->budget_bytes) break;
  }
  return true;
}

/* ---- what to change when it does not fit: each rung is compiled on top of those above */

typedef struct Rung {
  const char *change;
  bool (*apply)(Job *job, Derived *derived); /* false: already so, or it would not help */
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

/* Compiles each rung until one fits; one that saves nothing is left out. Returns how many were
 * climbed. */
static int32_t climb(Compile *c, const Job *job, const Compiled *out, Step steps[RUNG_COUNT]) {
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
    bool compiled = model != NULL && choose_draft(c, changed, model, &trial);
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

/* `parallel.zero = 3` as the command line takes it; nothing where the next step sets the key again.
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

/* What a rank holds is too much for what the job says that it may hold; else the model is. */
static Span place_of_budget(const Job *job) {
  const FieldId keys[] = {FIELD_memory_budget, FIELD_cluster_memory};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (job->set[keys[i]] && job->origin[keys[i]].span.file != NULL)
      return job->origin[keys[i]].span;
  Span at = job->model.head_origin.span;
  return at.file != NULL ? at : (Span){.file = job->path};
}

static void report_unfit(Compile *c, const Job *job, const Compiled *out) {
  Step steps[RUNG_COUNT];
  int32_t count = climb(c, job, out, steps); /* before the error: rooms stop once there is one */
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
    fix_last(c, "%s", all + 1); /* behind its first blank */
}

/* A plan that cannot be proven never leaves the compiler. */
static void prove_plan(Compile *c, const Job *job, Compiled *out) {
  out->proof = ARENA_NEW(c->arena, ProveReport);
  if (prove(&out->plan, out->proof)) return;
  c->is_defect = true;
  error_at(c, (Span){.file = job->path}, "unproven",
           "the plan breaks a promise; this is a defect of lockstep");
  for (uint32_t i = 0; i < out->proof->finding_count && i < PROVE_FINDINGS_MAX; i++)
    note_at(c, (Span){0}, "%s", out->proof->finding[i]);
}

/* What a run would find when it opens the data, before there is any. */
static bool check_inputs(Compile *c, const Job *job, Graph *g) {
  DataInputs inputs = {0};
  for (int32_t i = 0; i < g->inputs.count; i++) {
    const GraphInput *input = &g->inputs.at[i];
    const Value *value = graph_value(g, input->value);
    DataInput out = {.name = input->name,
                     .elements = value_elements(g, input->value) / job->train.microbatch,
                     .is_ids = value->dtype == DTYPE_I32,
                     .vocab = g->inputs.at[i].vocab,
                     .is_stream = input->role != INPUT_COLUMNS,
                     .at = input->at};
    if (value->dim_count == 2) out.feature = g->dims.at[value->dims[1]].name;
    VEC_PUSH(c->arena, &inputs, out);
  }
  return spec_data_inputs(c, job, &inputs, graph_dim(g, "vocab") != NO_ID);
}

bool compile(Compile *c, Job *job, const Machine *machine, Compiled *out) {
  *out = (Compiled){.job = job};
  if (!spec_cluster(c, job, machine, &out->cluster)) return false;
  out->fabric = fabric_make(c, &out->cluster);
  if (out->fabric == NULL) return false;
  spec_cluster_counts(job, &out->cluster);
  if (!place_check_order(c, job)) return false;
  Model *model = model_open(c, job);
  if (model == NULL) return false;
  const ModelFacts facts = {.positions = (int64_t)model_size(model, "positions", 0),
                            .heads = (int64_t)model_size(model, "heads", 0)};
  bool ok = spec_derive(c, job, &out->cluster, &facts, &out->derived);
  out->budget_bytes = ok ? budget_of(job, &out->cluster) : 0;
  if (ok) ok = choose_draft(c, job, model, out) && check_inputs(c, job, out->draft->train);
  if (ok) {
    out->parameters = out->draft->parameters;
    out->flops_per_token = out->draft->flops_per_token;
    out->choice = emit_plan(out->draft, out->parameters, &out->plan);
    spec_order(job, order_text(c->arena, &out->choice.taken->order));
    if (out->draft->arena_bytes > out->budget_bytes)
      report_unfit(c, job, out);
    else if (place_check_tp(c, job, out->fabric, out->choice.taken))
      prove_plan(c, job, out);
  }
  model_close(model);
  return ok && !compile_failed(c);
}
