/* compile.c -- the table of contents of the compiler: every pass, in the order in which they run.
 *
 *   compile_open      job, machine   the cluster, the degrees, the budget; the model file is open
 *   compile_segments  graph, draft   a draft with segments and their times
 *   compile_once      draft          one draft of the plan: memory is packed, times are known
 *   compile_emit      draft/emit     the plan, with the edges between its lanes
 *   compile_prove     plan/prove     the proof, from the plan alone
 *
 * No pass returns to an earlier one. Questions that need several drafts (how much to recompute,
 * what to change when nothing fits) are loops around compile_once, in search/. */
#include "compiler/compile.h"

#include <string.h>

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
#include "compiler/graph/ops/op.h"
#include "compiler/graph/shard/shard.h"
#include "compiler/job/data.h"
#include "compiler/job/pipelines/pipeline.h"
#include "compiler/plan/prove/prove.h"

/* A model before sharding. */
typedef struct Whole {
  Graph *graph; /* NULL when reported */
  int64_t parameters, flops_per_token;
} Whole;

/* The summed loss is divided by the step's tokens, so the model must produce one loss term per
 * token. A sampling program draws one token for each sample. */
static bool check_loss_tokens(Graph *g, ValueId made, const Job *job, int64_t tokens) {
  const Node *loss = graph_node(g, graph_value(g, made)->producer);
  DimId seq = graph_dim(g, "seq");
  if (tokens == 1 || job->use == USE_SAMPLE) return true;
  if (seq != NO_ID && value_has_dim(g, loss->inputs[0], seq)) return true;
  if (!model_check_inputs(g->compile, job, g)) return false; /* the model is for other data */
  error_at(g->compile, loss->origin, "loss-shape",
           "%s: %s is one value a sample, and a sample of this job is a sequence of %lld tokens",
           op_def(loss->op)->name, value_dims_text(g, loss->inputs[0]), (long long)tokens);
  note_at(g->compile, job->origin[FIELD_train_context].span,
          "samples without tokens: batch = \"64 samples\", and no context");
  return false;
}

static Whole whole_graph(Compile *c, const Job *job, const Compiled *known, ProgramKind program) {
  const Derived *derived = &known->derived;
  const bool training = program == PROGRAM_TRAIN_STEP;
  const int64_t samples = job->train.microbatch;
  const int64_t tokens = program == PROGRAM_DECODE ? 1 : derived->sample_tokens;
  /* model file -> ops of one micro-batch, blocks traced once */
  Graph *g = model_trace(c, known->model, samples, tokens, training);
  if (g == NULL) return (Whole){0};
  for (int32_t i = 0; i < g->losses_count; i++)
    if (!check_loss_tokens(g, g->losses[i], job, tokens)) return (Whole){0};
  g->program = program;
  Whole whole = {g, model_parameters(g), 0};
  g->target = known->cluster.target;
  g->threads = (int32_t)known->cluster.threads;
  g->tp_at = job->origin[FIELD_parallel_tp].span;
  g->cp_at = job->origin[FIELD_parallel_cp].span;
  g->loss_count = derived->batch_samples * derived->sample_tokens;
  for (int32_t i = 0; i < g->inputs.count; i++) /* a table may have classes below 0 */
    g->may_lack_targets |=
        (job->data.head == CHOICE_TABLE && g->inputs.at[i].role == INPUT_CLASSES) ||
        (job_may_lack_targets(job) && g->inputs.at[i].role == INPUT_TARGETS);
  graph_pad_dim(g, "vocab", job->model.vocab_multiple);
  if (known->cluster.software.joins_gates) grad_join_gates(g); /* silu(a) * b is one node */
  if (training && !grad_derive(g)) return (Whole){0};          /* + backward, parameter gradients */
  whole.flops_per_token = op_flops_per_token(g, samples * tokens);
  return whole;
}

/* Reduces the graph to one rank's part. False when reported. */
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

/* Recomputation, chunks of the loss, and the order of backward nodes. False when reported. */
static bool arrange_backward(Graph *g, const Job *job, const Derived *derived,
                             Recompute recompute) {
  const Span chunks_at = job->origin[FIELD_memory_loss_chunks].span;
  if (job->precision.linear == CHOICE_LINEAR_FP8) /* codes, and the products that read them */
    op_code_products(g, job->is_fp8_by_block ? FP8_BLOCK : FP8_TENSOR);
  if (g->training && recompute.choice != CHOICE_RECOMPUTE_NONE)
    /* clones of forward nodes, which backward reads instead of kept values */
    recompute_apply(g,
                    recompute.choice == CHOICE_RECOMPUTE_SELECTIVE ? RECOMPUTE_SELECTIVE
                    : recompute.group_layers > 1                   ? RECOMPUTE_EVERY
                                                                   : RECOMPUTE_BLOCK,
                    recompute.group_layers);
  /* the last linear layer and its loss run over one chunk of tokens at a time */
  if (!backward_chunks(g, job->memory.loss_chunks, chunks_at)) return false;
  if (g->training && derived->pp > 1 && pipe_rules[job->parallel.pipeline].is_split)
    backward_split(g); /* weight gradients become their own steps: they may wait */
  /* gradients of biases are summed by the kernel that reads their rows */
  if (g->training) backward_place_riders(g);
  return true;
}

/* The graph of one rank; NULL graph when reported. */
static Whole rank_graph(Compile *c, const Job *job, const Compiled *known, Recompute recompute,
                        ProgramKind program) {
  Whole whole = whole_graph(c, job, known, program);
  if (whole.graph == NULL || !cut_graph(whole.graph, job, &known->derived) ||
      !arrange_backward(whole.graph, job, &known->derived, recompute))
    return (Whole){0};
  return whole;
}

/* Graphs and degrees -> segments and their times. */
static void build_segments(Draft *d, bool leaves_snapshots) {
  d->usual = place_in_order(d->fabric, &d->mesh, &order_usual); /* link of each communicator */
  blocks_layout(d); /* parameters -> blocks with one layout */
  d->snapshots = draft_wants_snapshots(d) && !leaves_snapshots;
  inputs_layout(d);         /* buffers of a micro-batch's samples */
  region_segments_build(d); /* ops -> straight-line code per layer kind */
  block_segments_build(d);  /* init, gather, reduce, norm, update */
  step_segments_build(d);   /* load; control values that all ranks share */
  pieces_gather(d);         /* collectives of many pieces: one run a member */
  records_fuse(d);          /* marks records that kernels may fuse */
  cost_segments(d);         /* predicted time of each segment */
}

Draft *compile_segments(Compile *c, const Job *job, const Compiled *known, Recompute recompute) {
  const bool trains = job->use == USE_TRAIN, validates = job->data.valid.count > 0 || !trains;
  const bool samples = job->use == USE_SAMPLE;
  const ProgramKind passes = samples ? PROGRAM_PREFILL : PROGRAM_EVAL_STEP;
  Whole train = trains ? rank_graph(c, job, known, recompute, PROGRAM_TRAIN_STEP) : (Whole){0};
  if (trains && train.graph == NULL) return NULL;
  const Whole eval = validates ? rank_graph(c, job, known, recompute, passes) : (Whole){0};
  if (validates && eval.graph == NULL) return NULL;
  const Whole decode = samples ? rank_graph(c, job, known, recompute, PROGRAM_DECODE) : (Whole){0};
  if (samples && decode.graph == NULL) return NULL;
  if (!trains) train = eval;

  Draft *d = ARENA_NEW(c->arena, Draft);
  *d = (Draft){.compile = c,
               .job = job,
               .cluster = &known->cluster,
               .fabric = known->fabric,
               .derived = known->derived,
               .group_layers = recompute.group_layers,
               .trains = trains,
               .truth = trains ? job_truth(job) : TRUTH_PLAIN,
               .moves = known->moves,
               .offloads_state = job->offload.optimizer == CHOICE_OFFLOAD_CPU ||
                                 job->offload.optimizer == CHOICE_OFFLOAD_NVME ||
                                 known->moves.state_bytes != NULL,
               .state_in_files =
                   job->offload.optimizer == CHOICE_OFFLOAD_NVME || known->moves.to_files,
               .offloads_weights = job->offload.weights != CHOICE_OFFLOAD_NONE ||
                                   (known->moves.weights && known->moves.state_bytes != NULL),
               .weights_in_files = job->offload.weights == CHOICE_OFFLOAD_NVME,
               .offloads_grads = job->offload.grads == CHOICE_OFFLOAD_CPU ||
                                 (known->moves.grads && known->moves.state_bytes != NULL),
               .offloads_frames = job->offload.activations == CHOICE_OFFLOAD_CPU ||
                                  known->moves.frame_bytes != NULL,
               .has_moment2 = optimizer_rows[job->optimizer.head].moments > 1,
               .train = train.graph,
               .eval = eval.graph,
               .decode = decode.graph,
               .mesh = train.graph->mesh,
               .parameters = train.parameters,
               .flops_per_token = train.flops_per_token};
  d->updates_here =
      d->offloads_state && (job->offload.update == CHOICE_UPDATES_DEVICE || known->updates_here);
  build_segments(d, known->leaves_snapshots);
  return d;
}

Draft *compile_rearranged(const Draft *parts, const Derived *derived) {
  static const MeshAxis moved[] = {MESH_REPLICATE, MESH_DP, MESH_PP};
  const JobMesh mesh = draft_mesh(derived);
  Draft *d = ARENA_NEW(parts->compile->arena, Draft);
  *d = *parts;
  d->derived = *derived;
  for (size_t i = 0; i < sizeof moved / sizeof *moved; i++)
    d->mesh.size[moved[i]] = mesh.size[moved[i]];
  d->train->mesh = d->mesh;
  if (d->eval != NULL) d->eval->mesh = d->mesh;
  memset(&d->blocks, 0, sizeof d->blocks);
  memset(&d->segments, 0, sizeof d->segments);
  memset(d->uses, 0, sizeof d->uses);
  d->sample_bytes = 0;
  build_segments(d, false);
  edges_inside(d);
  return d;
}

/* From segments to calls. False when reported. */
static bool call_segments(Draft *d) {
  if (!stages_cut(d)) return false; /* layers -> pipeline stages */
  state_layout(d);                  /* parameters, gradients, optimizer state */
  frames_choose(d);                 /* what forward keeps in host memory */
  calls_build(d);                   /* calls, and the live ranges of their buffers */
  return true;
}

bool compile_stage(const Draft *segments, const Pipeline *pipeline, int64_t microbatches,
                   int32_t stage, Draft *out) {
  *out = *segments;
  out->derived.accumulation = microbatches;
  out->segments.capacity = out->segments.count; /* stages add their own to a copy */
  if (!stages_cut(out)) return false;
  state_layout(out);
  calls_build_train(out, stage, pipeline);
  return true;
}

Draft *compile_once(Compile *c, const Job *job, const Compiled *known, Recompute recompute) {
  Draft *d = compile_segments(c, job, known, recompute);
  if (d == NULL || !call_segments(d)) return NULL;
  memory_pack(d); /* live ranges -> offsets */
  return d;
}

Draft *compile_sketch(Compile *c, const Job *job, const Compiled *known, Recompute recompute) {
  Draft *d = compile_segments(c, job, known, recompute);
  if (d == NULL || !call_segments(d)) return NULL;
  memory_pack(d);
  for (int32_t s = 0; s < d->stage_count; s++)
    for (int32_t kind = 0; kind < ProgramKind_COUNT; kind++)
      d->stages[s].programs[kind].exists &= kind == PROGRAM_TRAIN_STEP;
  return d;
}

int64_t compile_budget_of(const Job *job, const Compiled *known, const Derived *derived,
                          Outside *outside) {
  *outside = outside_of(job, &known->cluster, derived, known->kv_heads);
  const double share = job->set[FIELD_memory_budget] ? 1 : known->budget_share;
  return (int64_t)((double)spec_budget(job, &known->cluster, outside->all_bytes) * share);
}

bool compile_meet(Compile *c, Job *job, const Machine *machine, Compiled *out) {
  *out = (Compiled){.job = job};
  if (!spec_cluster(c, job, machine, &out->cluster)) return false;
  out->fabric = fabric_make(c, &out->cluster);
  if (out->fabric == NULL) return false;
  spec_cluster_counts(job, &out->cluster);
  if (!place_check_order(c, job)) return false;
  out->model = model_open(c, job);
  if (out->model == NULL) return false;
  model_complete(out->model, c, job);
  out->kv_heads = (int64_t)model_size(out->model, "kv_heads", 0);
  out->budget_share = 1;
  out->budget_bytes = compile_budget_of(job, out, NULL, &out->outside);
  spec_check_budget(c, job, &out->cluster, out->outside.all_bytes);
  out->disk_budget_bytes = spec_disk_budget(job, &out->cluster);
  out->host_budget_bytes = spec_host_budget(job, &out->cluster);
  return true;
}

ModelFacts compile_facts(const Compiled *met) {
  return (ModelFacts){.positions = (int64_t)model_size(met->model, "positions", 0),
                      .heads = (int64_t)model_size(met->model, "heads", 0)};
}

bool compile_derive(Compile *c, Job *job, Compiled *out) {
  const ModelFacts facts = compile_facts(out);
  if (!spec_derive(c, job, &out->cluster, &facts, &out->derived)) return false;
  out->budget_bytes = compile_budget_of(job, out, &out->derived, &out->outside);
  return true;
}

bool compile_open(Compile *c, Job *job, const Machine *machine, Compiled *out) {
  return compile_meet(c, job, machine, out) && compile_derive(c, job, out);
}

void compile_close(Compiled *out) {
  if (out->model != NULL) model_close(out->model);
  out->model = NULL;
}

void compile_emit(Compile *c, Job *job, Compiled *out) {
  out->parameters = out->draft->parameters;
  out->flops_per_token = out->draft->flops_per_token;
  if (!out->draft->has_edges) edges_build(out->draft); /* dependencies between lanes */
  out->draft->has_edges = true;
  /* the plan's tables, ranks in the order that communicates best */
  out->choice = emit_plan(out->draft, out->parameters, &out->plan);
  spec_order(job, order_text(c->arena, &out->choice.taken->order));
}

void compile_prove(Compile *c, const Job *job, Compiled *out) {
  out->proof = ARENA_NEW(c->arena, ProveReport);
  if (prove(&out->plan, out->proof)) return; /* from the plan alone */
  c->is_defect = true;
  error_at(c, (Span){.file = job->path}, "unproven",
           "the plan breaks a promise; this is a defect of lockstep");
  for (uint32_t i = 0; i < out->proof->finding_count && i < PROVE_FINDINGS_MAX; i++)
    note_at(c, (Span){0}, "%s", out->proof->finding[i]);
}
