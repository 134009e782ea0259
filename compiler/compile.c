#include "compiler/compile.h"

#include "compiler/draft/calls/calls.h"
#include "compiler/draft/cost/cost.h"
#include "compiler/draft/edges/edges.h"
#include "compiler/draft/emit/emit.h"
#include "compiler/draft/memory/memory.h"
#include "compiler/draft/segments/segments.h"
#include "compiler/draft/stages/stages.h"
#include "compiler/graph/backward/backward.h"
#include "compiler/graph/grad/grad.h"
#include "compiler/graph/model/model.h"
#include "compiler/graph/shard/shard.h"
#include "compiler/job/pipelines/pipeline.h"
#include "compiler/plan/prove/prove.h"
#include "compiler/search/advice.h"
#include "compiler/search/fit.h"

/* A model before sharding. */
typedef struct Whole {
  Graph *graph; /* NULL when reported */
  int64_t parameters, flops_per_token;
  uint64_t identity;
} Whole;

/* The sum of losses is divided by all tokens of a step, so it has one of each. */
static bool check_loss_tokens(Graph *g, const Job *job, int64_t tokens) {
  const Node *loss = graph_node(g, graph_value(g, g->loss)->producer);
  DimId seq = graph_dim(g, "seq");
  if (tokens == 1 || (seq != NO_ID && value_has_dim(g, loss->inputs[0], seq))) return true;
  if (!model_check_inputs(g->compile, job, g)) return false; /* it is of other data */
  error_at(g->compile, loss->origin, "loss-shape",
           "%s: %s is one value a sample, and a sample of this job is a sequence of %lld tokens",
           op_def(loss->op)->name, value_dims_text(g, loss->inputs[0]), (long long)tokens);
  note_at(g->compile, job->origin[FIELD_train_context].span,
          "samples without tokens: batch = \"64 samples\", and no context");
  return false;
}

static Whole whole_graph(Compile *c, const Job *job, const Compiled *known, Model *model,
                         bool training) {
  const Derived *derived = &known->derived;
  int64_t samples = job->train.microbatch;
  /* model file -> ops of one micro-batch, blocks traced once */
  Graph *g = model_trace(c, model, samples, derived->sample_tokens, training);
  if (g == NULL || !check_loss_tokens(g, job, derived->sample_tokens)) return (Whole){0};
  Whole whole = {g, model_parameters(g), 0, op_graph_identity(g)};
  g->target = known->cluster.target;
  g->threads = (int32_t)known->cluster.threads;
  g->tp_at = job->origin[FIELD_parallel_tp].span;
  g->cp_at = job->origin[FIELD_parallel_cp].span;
  g->loss_count = derived->batch_samples * derived->sample_tokens;
  graph_pad_dim(g, "vocab", job->model.vocab_multiple);
  if (training && !grad_derive(g)) return (Whole){0}; /* + backward, parameter gradients */
  whole.flops_per_token = op_flops_per_token(g, samples * derived->sample_tokens);
  return whole;
}

/* Makes the graph that of one rank. False when reported. */
static bool cut_graph(Graph *g, const Job *job, const Derived *derived) {
  const ShardOptions options = {.sequence = derived->sequence,
                                .regather = job->parallel.regather,
                                .context = job->parallel.cp_kind == CHOICE_ULYSSES ? CONTEXT_ULYSSES
                                                                                   : CONTEXT_RING};
  graph_keep_logical(g); /* the model as it was */
  g->mesh = draft_mesh(derived);
  if (!shard_degrees(g, derived->tp, &g->mesh)) return false; /* ranks that share key-value heads */
  return shard_apply(g, options); /* as one rank has it, + the collectives that layouts ask for */
}

/* One pass through the rooms; the loops around compile repeat it. NULL when reported. */
static Draft *make_draft(Compile *c, const Job *job, const Compiled *known, Model *model,
                         Recompute recompute) {
  const Derived *derived = &known->derived;
  bool validates = job->data.valid.count > 0;
  Whole train = whole_graph(c, job, known, model, true);
  if (train.graph == NULL || !cut_graph(train.graph, job, derived)) return NULL;
  Whole eval = validates ? whole_graph(c, job, known, model, false) : (Whole){0};
  if (validates && (eval.graph == NULL || !cut_graph(eval.graph, job, derived))) return NULL;
  if (recompute.choice != CHOICE_RECOMPUTE_NONE) /* what backward computes again */
    recompute_apply(train.graph,
                    recompute.choice == CHOICE_RECOMPUTE_SELECTIVE ? RECOMPUTE_SELECTIVE
                    : recompute.group_layers > 1                   ? RECOMPUTE_EVERY
                                                                   : RECOMPUTE_BLOCK,
                    recompute.group_layers);
  const Span chunks_at = job->origin[FIELD_memory_loss_chunks].span;
  if (!backward_chunks(train.graph, job->memory.loss_chunks, chunks_at)) return NULL;
  if (eval.graph != NULL && !backward_chunks(eval.graph, job->memory.loss_chunks, chunks_at))
    return NULL;
  if (derived->pp > 1 && pipe_rules[job->parallel.pipeline].is_split)
    backward_split(train.graph); /* what only makes parameter gradients may wait */
  backward_pair(train.graph);    /* what may run as one stands side by side */
  if (eval.graph != NULL) backward_pair(eval.graph);

  Draft *d = ARENA_NEW(c->arena, Draft);
  *d = (Draft){.compile = c,
               .job = job,
               .cluster = &known->cluster,
               .fabric = known->fabric,
               .derived = *derived,
               .group_layers = recompute.group_layers,
               .has_master = job->precision.master == CHOICE_MASTER_FP32,
               .has_moment2 = optimizer_rows[job->optimizer.head].moments > 1,
               .train = train.graph,
               .eval = eval.graph,
               .mesh = train.graph->mesh,
               .parameters = train.parameters,
               .graph_id = train.identity,
               .flops_per_token = train.flops_per_token};
  d->usual = place_in_order(d->fabric, &d->mesh, &order_usual); /* what lies between ranks */
  blocks_layout(d);                /* parameters that are treated alike */
  inputs_layout(d);                /* the micro-batch */
  region_segments_build(d);        /* ops -> straight-line code per layer kind */
  block_segments_build(d);         /* init, gather, reduce, norm, update */
  step_segments_build(d);          /* load; what all ranks agree on */
  pieces_pack(d);                  /* collectives of many pieces: one run a member */
  records_join(d);                 /* what may run as one with what is before it */
  cost_segments(d);                /* how long they take */
  if (!stages_cut(d)) return NULL; /* layers -> pipeline stages */
  state_layout(d);                 /* parameters, gradients, optimizer state */
  calls_build(d);                  /* calls, and the lifetimes of their buffers */
  memory_pack(d);                  /* lifetimes -> offsets */
  edges_build(d);                  /* what waits for what on other lanes */
  return d;
}

static bool choose_draft(Compile *c, const Job *job, Model *model, Compiled *out) {
  return fit_draft(c, job, model, out, make_draft);
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
  out->budget_bytes = ok ? fit_budget(c, job, &out->cluster) : 0;
  if (ok) ok = choose_draft(c, job, model, out) && model_check_inputs(c, job, out->draft->train);
  if (ok) {
    out->parameters = out->draft->parameters;
    out->flops_per_token = out->draft->flops_per_token;
    out->choice = emit_plan(out->draft, out->parameters, &out->plan);
    spec_order(job, order_text(c->arena, &out->choice.taken->order));
    if (out->draft->arena_bytes > out->budget_bytes)
      advice_unfit(c, job, out, choose_draft);
    else if (place_check_tp(c, job, out->fabric, out->choice.taken)) {
      advice_outside(c, job, out);
      prove_plan(c, job, out);
    }
  }
  model_close(model);
  return ok && !compile_failed(c);
}
