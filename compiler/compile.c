#include "compiler/compile.h"

#include "compiler/advice/advice.h"
#include "compiler/advice/fit.h"
#include "compiler/calls/calls.h"
#include "compiler/cost/cost.h"
#include "compiler/edges/edges.h"
#include "compiler/emit/emit.h"
#include "compiler/grad/grad.h"
#include "compiler/memory/memory.h"
#include "compiler/model/model.h"
#include "compiler/pipelines/pipeline.h"
#include "compiler/prove/prove.h"
#include "compiler/segments/segments.h"
#include "compiler/shard/shard.h"
#include "compiler/stages/stages.h"

/* A traced model with its backward, cut over the mesh. NULL when reported. */
static Graph *make_graph(Draft *d, Model *model, bool training) {
  const Job *job = d->job;
  const Derived *derived = &d->derived;
  /* model file -> ops of one micro-batch, blocks traced once */
  Graph *g =
      model_trace(d->compile, model, job->train.microbatch, derived->sample_tokens, training);
  if (g == NULL) return NULL;
  if (training) d->parameters = model_parameters(g);
  if (training) d->graph_id = op_graph_identity(g);
  g->target = d->cluster->target;
  g->threads = (int32_t)d->cluster->threads;
  g->tp_at = job->origin[FIELD_parallel_tp].span;
  g->cp_at = job->origin[FIELD_parallel_cp].span;
  g->loss_count = derived->batch_samples * derived->sample_tokens;
  graph_pad_dim(g, "vocab", job->model.vocab_multiple);
  if (training && !grad_derive(g)) return NULL; /* + backward, parameter gradients */
  graph_keep_logical(g);                        /* the model as it was, before anything is cut */
  if (training)
    d->flops_per_token = cost_flops_per_token(g, job->train.microbatch * derived->sample_tokens);
  d->mesh = draft_mesh(derived);
  if (!shard_degrees(g, derived->tp, &d->mesh)) return NULL;
  g->mesh = d->mesh;
  const ShardOptions options = {.sequence = derived->sequence,
                                .regather = job->parallel.regather,
                                .context = job->parallel.cp_kind == CHOICE_ULYSSES ? CONTEXT_ULYSSES
                                                                                   : CONTEXT_RING};
  /* as one rank has it, + the collectives that layouts ask for */
  return shard_apply(g, options) ? g : NULL;
}

/* One pass through the rooms: what every loop repeats. NULL when reported. */
static Draft *make_draft(Compile *c, const Job *job, const Compiled *known, Model *model,
                         Recompute recompute) {
  Draft *d = ARENA_NEW(c->arena, Draft);
  *d = (Draft){.compile = c,
               .job = job,
               .cluster = &known->cluster,
               .derived = known->derived,
               .group_layers = recompute.group_layers,
               .has_master = job->precision.master == CHOICE_MASTER_FP32,
               .has_moment2 = optimizer_rows[job->optimizer.head].moments > 1};
  d->fabric = known->fabric;
  d->train = make_graph(d, model, true); /* model description -> ops + backward, cut by layouts */
  if (d->train == NULL) return NULL;
  if (recompute.choice != CHOICE_RECOMPUTE_NONE) /* what backward computes again      */
    recompute_apply(d->train, recompute.group_layers > 1 ? RECOMPUTE_EVERY : RECOMPUTE_BLOCK,
                    recompute.group_layers);
  if (d->derived.pp > 1 && pipe_rules[job->parallel.pipeline].is_split)
    grad_split_weight(d->train); /* what only makes parameter gradients may wait      */
  if (job->data.valid.count > 0) {
    d->eval = make_graph(d, model, false);
    if (d->eval == NULL) return NULL;
  }
  d->usual = place_in_order(d->fabric, &d->mesh, &order_usual); /* what lies between ranks        */
  d->reaches = ARENA_ARRAY(c->arena, Reach, MESH_BIT(MESH_AXES));
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
  calls_build(d);                  /* calls, and the lifetimes of their buffers */
  memory_pack(d);                  /* lifetimes -> offsets                      */
  edges_build(d);                  /* what waits for what on other lanes        */
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
  out->budget_bytes = ok ? fit_budget(job, &out->cluster) : 0;
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
