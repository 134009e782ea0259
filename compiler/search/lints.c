#include "compiler/search/lints.h"

#include <math.h>
#include <string.h>

#include "compiler/draft/roles.h"
#include "compiler/search/advice.h"
#include "compiler/search/bounds.h"

typedef struct Look {
  Compile *c;
  const Job *job;
  const Compiled *out;
  int32_t field; /* of the rule's row */
} Look;

/* The finding of a rule, or NULL; and its fix, or NULL. */
typedef const char *Rule(const Look *look, const char **fix);

static const char *remove_key(const Look *look) {
  const char *name = field_name(look->c->arena, look->field);
  return arena_printf(look->c->arena, "remove %s", strchr(name, '.') + 1);
}

/* ---- zero 3: what is gathered at once */

/* Bytes of the weights that the layers of each chunk gather. */
typedef struct Gathers {
  int64_t layer, chunk; /* of the smallest layer; of the largest chunk */
  int32_t parts;        /* of that chunk: its layers, and the ends of the model */
} Gathers;

static int64_t layer_bytes(const Draft *d, int32_t u) {
  int64_t bytes = 0;
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    if (block->shards_params && block->reads[d->chain[u].region])
      bytes += block_bytes(d, block, BASE_PARAM);
  }
  return bytes;
}

static Gathers gathers_of(const Draft *d) {
  Gathers all = {.layer = INT64_MAX};
  for (int32_t c = 0; c < d->chunk_count; c++) {
    int64_t bytes = 0;
    for (int32_t u = d->chunk_first[c]; u < d->chunk_first[c + 1]; u++) {
      int64_t layer = layer_bytes(d, u);
      bytes += layer;
      if (layer > 0 && layer < all.layer) all.layer = layer;
    }
    if (bytes <= all.chunk) continue;
    all.chunk = bytes;
    all.parts = d->chunk_first[c + 1] - d->chunk_first[c];
  }
  return all;
}

/* Small models under the default of zero_keep. */
static const char *gathers_none(const Look *look) {
  return arena_printf(look->c->arena,
                      "%s: nothing is gathered, because every parameter is smaller than zero_keep",
                      field_name(look->c->arena, look->field));
}

static const char *unit_of_all(const Look *look, const char **fix) {
  int64_t unit = look->job->parallel.zero_unit;
  Gathers all = gathers_of(look->out->draft);
  Arena *arena = look->c->arena;
  *fix = remove_key(look);
  if (all.chunk == 0) return gathers_none(look);
  if (unit >= all.chunk)
    return arena_printf(arena,
                        "zero_unit = %s gathers all %d part%s of a stage at once, %s: every rank "
                        "then holds the weights that zero 3 shares",
                        format_bytes(arena, unit), all.parts, plural(all.parts),
                        format_bytes(arena, all.chunk));
  if (unit > 0 && all.layer < INT64_MAX && unit <= all.layer)
    return arena_printf(
        arena,
        "zero_unit = %s is at most one layer, %s: each layer is gathered on its own "
        "without it",
        format_bytes(arena, unit), format_bytes(arena, all.layer));
  return NULL;
}

static const char *prefetch_of_all(const Look *look, const char **fix) {
  Gathers all = gathers_of(look->out->draft);
  int64_t ahead = look->job->parallel.zero_prefetch;
  *fix = remove_key(look);
  if (all.chunk == 0) return gathers_none(look);
  if (all.parts < 2 || ahead < all.parts) return NULL;
  return arena_printf(
      look->c->arena,
      "zero_prefetch = %lld gathers all %d part%s of a stage ahead: every rank then "
      "holds the weights that zero 3 shares",
      (long long)ahead, all.parts, plural(all.parts));
}

static const char *keep_of_all(const Look *look, const char **fix) {
  const Draft *d = look->out->draft;
  if (gathers_of(d).chunk > 0 || look->out->derived.zero != 3) return NULL;
  *fix = remove_key(look);
  return arena_printf(look->c->arena,
                      "zero_keep = %s keeps every parameter whole: zero 3 shares no weights",
                      format_bytes(look->c->arena, look->job->parallel.zero_keep));
}

static const char *reduce_of_one(const Look *look, const char **fix) {
  if (look->job->parallel.zero_reduce != CHOICE_REDUCE_STEP || look->out->derived.accumulation > 1)
    return NULL;
  *fix = remove_key(look);
  return "zero_reduce = \"step\" is \"micro\": a step has one micro-batch";
}

static const char *reshard_of_one(const Look *look, const char **fix) {
  if (look->job->parallel.zero_reshard != CHOICE_RESHARD_STEP ||
      look->out->derived.accumulation > 1)
    return NULL;
  *fix = "zero_reshard = \"chunk\"";
  return "zero_reshard = \"step\" is \"chunk\": a step has one micro-batch";
}

/* ---- keys that need more ranks, nodes, steps or layers than there are */

static const char *needs_ranks(const Look *look, const char **fix) {
  if (look->out->cluster.ranks > 1) return NULL;
  *fix = remove_key(look);
  return arena_printf(look->c->arena, "%s: a single rank communicates with no other",
                      field_name(look->c->arena, look->field));
}

static const char *needs_nodes(const Look *look, const char **fix) {
  if (look->out->cluster.nodes > 1) return NULL;
  *fix = remove_key(look);
  return arena_printf(look->c->arena, "%s: there is one node",
                      field_name(look->c->arena, look->field));
}

static const char *needs_devices(const Look *look, const char **fix) {
  if (look->out->cluster.devices > 1) return NULL;
  *fix = remove_key(look);
  return arena_printf(look->c->arena, "%s: a node has one device",
                      field_name(look->c->arena, look->field));
}

static const char *needs_gpus(const Look *look, const char **fix) {
  if (look->out->cluster.target == TARGET_CUDA) return NULL;
  *fix = remove_key(look);
  return arena_printf(look->c->arena, "%s: the job has no GPUs",
                      field_name(look->c->arena, look->field));
}

/* `every` steps of a run that has fewer. */
static const char *beyond(const Look *look, double every, const char *then) {
  int64_t steps = look->out->derived.steps;
  if (every <= (double)steps) return NULL;
  return arena_printf(look->c->arena, "%s = %.0f, and the run has %lld step%s: %s",
                      field_name(look->c->arena, look->field), every, (long long)steps,
                      plural(steps), then);
}

static const char *log_beyond(const Look *look, const char **fix) {
  *fix = remove_key(look);
  return beyond(look, (double)look->job->log.every, "only the first and the last are printed");
}

static const char *validate_beyond(const Look *look, const char **fix) {
  *fix = remove_key(look);
  return beyond(look, (double)look->job->train.validate_every, "it validates only at the end");
}

static const char *checkpoint_beyond(const Look *look, const char **fix) {
  const Amount *every = &look->job->checkpoint.every;
  *fix = remove_key(look);
  return every->unit == UNIT_STEPS ? beyond(look, every->value, "it saves only at the end") : NULL;
}

static const char *blocks_beyond(const Look *look, const char **fix) {
  const Draft *d = look->out->draft;
  int64_t layers = 0, blocks = look->job->recompute_blocks;
  for (int32_t u = 0; u < d->chain_length; u++)
    layers += d->train->regions.at[d->chain[u].region].is_stack;
  bool has_blocks = look->job->memory.recompute >= CHOICE_RECOMPUTE_BLOCK &&
                    look->job->memory.recompute != CHOICE_RECOMPUTE_AUTO;
  if (has_blocks && layers == 0) {
    *fix = remove_key(look);
    return "recompute: the model has no stack, whose blocks backward could compute again";
  }
  if (look->job->memory.recompute != CHOICE_RECOMPUTE_EVERY || blocks <= layers) return NULL;
  *fix = "recompute = \"sqrt\"";
  return arena_printf(
      look->c->arena,
      "every %lld blocks: the model has %lld, which are all computed again from the "
      "first",
      (long long)blocks, (long long)layers);
}

static const char *needs_vocab(const Look *look, const char **fix) {
  const Graph *g = look->out->draft->train;
  for (DimId d = 0; d < g->dims.count; d++)
    if (strcmp(g->dims.at[d].name, "vocab") == 0) return NULL;
  *fix = remove_key(look);
  return "vocab_multiple: the model has no dimension vocab";
}

/* ---- schedules that stay where they begin */

static const char *floor_of_lr(const Look *look, const char **fix) {
  if (look->job->schedule.floor < 1) return NULL;
  *fix = "floor = 0.1";
  return "floor = 1: lr never decays";
}

static const char *warmup_from_lr(const Look *look, const char **fix) {
  if (look->job->schedule.warmup_floor < 1) return NULL;
  *fix = remove_key(look);
  return "warmup_floor = 1: warm-up begins at lr";
}

/* ---- what the plan wastes */

/* Layers of stacks on the stage that has fewest. */
static int64_t layers_least(const Draft *d) {
  int64_t *layers = ARENA_ARRAY(d->compile->arena, int64_t, d->stage_count);
  for (int32_t chunk = 0; chunk < d->chunk_count; chunk++)
    for (int32_t u = d->chunk_first[chunk]; u < d->chunk_first[chunk + 1]; u++)
      layers[draft_stage(d, chunk)] += d->train->regions.at[d->chain[u].region].is_stack;
  int64_t least = INT64_MAX;
  for (int32_t s = 0; s < d->stage_count; s++)
    if (layers[s] < least) least = layers[s];
  return least;
}

/* Ranks on processors are as a rule a small copy of such a job. */
static const char *layers_few(const Look *look, const char **fix) {
  const Draft *d = look->out->draft;
  int64_t layers = 0, pp = look->out->derived.pp, least = 4, fewer = pp;
  for (int32_t u = 0; u < d->chain_length; u++)
    layers += d->train->regions.at[d->chain[u].region].is_stack;
  if (look->out->cluster.target != TARGET_CUDA) return NULL;
  /* Balanced stages with the embedding or the head have fewer layers, and the same work. */
  const bool is_uneven = layers >= least * pp;
  const bool is_said = field_is_said(look->job, FIELD_parallel_stages);
  if (pp == 1 || layers == 0 || (is_uneven && (!is_said || layers_least(d) >= least))) return NULL;
  do
    fewer--;
  while (fewer > 1 && (fewer * least > layers || pp % fewer != 0));
  *fix = is_uneven ? "remove stages" : arena_printf(look->c->arena, "pp = %lld", (long long)fewer);
  if (is_uneven)
    return arena_printf(look->c->arena,
                        "a stage has %lld of %lld layers, fewer than four: it computes less than "
                        "it waits for its neighbours",
                        (long long)layers_least(d), (long long)layers);
  return arena_printf(
      look->c->arena,
      "%lld layers on %lld stages are fewer than four a stage: stages cannot be balanced, and "
      "each waits for its neighbours more than it computes",
      (long long)layers, (long long)pp);
}

/* FSDP's word for zero, where the job has it, is what the fix replaces. */
static const char *zero_fix(const Look *look, int64_t zero) {
  if (look->field != FIELD_parallel_shard)
    return arena_printf(look->c->arena, "zero = %lld", (long long)zero);
  return zero == 1 ? "remove shard" : "shard = \"grad_op\"";
}

static const char *states_replicated(const Look *look, const char **fix) {
  const Compiled *out = look->out;
  if (out->derived.zero > 0 || out->derived.dp * out->derived.cp < 2) return NULL;
  int64_t most = 0;
  for (int32_t s = 0; s < out->draft->stage_count; s++) {
    int64_t bytes = out->draft->stages[s].persistent_bytes[TIER_DEVICE];
    if (bytes > most) most = bytes;
  }
  double share = (double)most / (double)out->budget_bytes;
  if (share < 0.6) return NULL;
  *fix = zero_fix(look, 1);
  return arena_printf(look->c->arena,
                      "weights, gradients and states, %s, are %.0f %% of what a rank may use, and "
                      "each of %lld replicas has all of them: zero = 1 divides the states",
                      format_bytes(look->c->arena, most), 100 * share, (long long)out->derived.dp);
}

static const char *warmup_short(const Look *look, const char **fix) {
  const Job *job = look->job;
  int64_t steps = look->out->derived.steps, warmup = (int64_t)job->schedule.warmup.value;
  if (strcmp(optimizer_rows[job->optimizer.head].name, "adamw") != 0) return NULL;
  double memory = 2 / (1 - job->optimizer.beta2), part = (double)steps / 50;
  double least = ceil((memory < part ? memory : part) - 1e-6); /* beta2 is rounded */
  if (warmup == 0 || (double)warmup >= least) return NULL;
  *fix = arena_printf(look->c->arena, "warmup = %.0f", least);
  return arena_printf(
      look->c->arena,
      "a warm-up of %lld steps ends before the second moment, which remembers about "
      "%.0f steps at beta2 = %g, has settled",
      (long long)warmup, memory / 2, job->optimizer.beta2);
}

/* The bytes of the largest layer that ZeRO 3 gathers, and of all layers. */
typedef struct Gathered {
  int64_t layer_bytes, all_bytes;
} Gathered;

static Gathered gathered_of(const Draft *d) {
  Gathered of = {0};
  for (RegionId r = 0; r < d->train->regions.count; r++) {
    int64_t bytes = 0;
    for (int32_t b = 0; b < d->blocks.count && d->train->regions.at[r].is_stack; b++)
      if (d->blocks.at[b].shards_params && d->blocks.at[b].reads[r])
        bytes += block_bytes(d, &d->blocks.at[b], BASE_PARAM);
    if (bytes > of.layer_bytes) of.layer_bytes = bytes;
    of.all_bytes += bytes * d->train->regions.at[r].repeat;
  }
  return of;
}

/* A gather of less than 1 MiB a rank takes the time of its latency; one of much memory leaves less
 * for activations. */
static const char *gather_size(const Look *look, const char **fix) {
  const int64_t least_bytes = 1 << 20, unit_bytes = look->job->parallel.zero_unit;
  const Compiled *out = look->out;
  Arena *arena = look->c->arena;
  const Gathered of = gathered_of(out->draft);
  const int64_t ranks = out->derived.shard_ranks;
  int64_t bytes = unit_bytes > of.layer_bytes ? unit_bytes : of.layer_bytes;
  if (bytes > of.all_bytes) bytes = of.all_bytes;
  if (out->cluster.target != TARGET_CUDA || out->derived.zero < 3 || bytes == 0) return NULL;
  if (bytes > of.layer_bytes && bytes > out->budget_bytes / 10) {
    *fix = "zero_unit = \"layer\"";
    return arena_printf(arena, "ZeRO 3 gathers %s at once, %.0f %% of what a rank may use",
                        format_bytes(arena, bytes),
                        100 * (double)bytes / (double)out->budget_bytes);
  }
  if (bytes / ranks >= least_bytes || bytes == of.all_bytes) return NULL;
  *fix = of.all_bytes > ranks * least_bytes
             ? arena_printf(arena, "zero_unit = \"%lldMiB\"", (long long)ranks)
             : zero_fix(look, 2);
  return arena_printf(arena,
                      "ZeRO 3 gathers pieces of %s a rank: below 1 MiB the latency of a message is "
                      "most of its time",
                      format_bytes(arena, bytes / ranks));
}

typedef struct LintRow {
  const char *name; /* in diagnostics.def */
  int32_t field;    /* where the lint is placed */
  bool if_said;     /* only where a file or -D sets the key */
  Rule *rule;
} LintRow;

static const LintRow rows[] = {
    {"no-effect", FIELD_parallel_zero_unit, true, unit_of_all},
    {"no-effect", FIELD_parallel_zero_prefetch, true, prefetch_of_all},
    {"no-effect", FIELD_parallel_zero_keep, true, keep_of_all},
    {"no-effect", FIELD_parallel_zero_reduce, true, reduce_of_one},
    {"no-effect", FIELD_parallel_zero_reshard, true, reshard_of_one},
    {"no-effect", FIELD_parallel_bucket, true, needs_ranks},
    {"no-effect", FIELD_parallel_order, true, needs_ranks},
    {"no-effect", FIELD_precision_reduce, true, needs_ranks},
    {"no-effect", FIELD_cluster_inter, true, needs_nodes},
    {"no-effect", FIELD_cluster_inter_latency, true, needs_nodes},
    {"no-effect", FIELD_cluster_taper, true, needs_nodes},
    {"no-effect", FIELD_cluster_block, true, needs_nodes},
    {"no-effect", FIELD_cluster_intra, true, needs_devices},
    {"no-effect", FIELD_cluster_intra_latency, true, needs_devices},
    {"no-effect", FIELD_slurm_gpu_type, true, needs_gpus},
    {"no-effect", FIELD_log_every, true, log_beyond},
    {"no-effect", FIELD_train_validate_every, true, validate_beyond},
    {"no-effect", FIELD_checkpoint_every, true, checkpoint_beyond},
    {"no-effect", FIELD_memory_recompute, true, blocks_beyond},
    {"no-effect", FIELD_model_vocab_multiple, true, needs_vocab},
    {"no-effect", FIELD_schedule_floor, true, floor_of_lr},
    {"no-effect", FIELD_schedule_warmup_floor, true, warmup_from_lr},
    {"few-layers", FIELD_parallel_pp, true, layers_few},
    {"states-replicated", FIELD_parallel_zero, true, states_replicated},
    {"states-replicated", FIELD_parallel_shard, true, states_replicated},
    {"warmup-short", FIELD_schedule_warmup, true, warmup_short},
    {"gather-size", FIELD_parallel_zero, true, gather_size},
    {"gather-size", FIELD_parallel_shard, true, gather_size},
};

void plan_lints(Compile *c, const Job *job, const Compiled *out) {
  bool is_outside = advice_outside(c, job, out);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const LintRow *row = &rows[i];
    const char *fix = NULL;
    if (row->if_said && !field_is_said(job, row->field)) continue;
    const Look look = {c, job, out, row->field};
    const char *found = row->rule(&look, &fix);
    if (found == NULL) continue;
    Span at = field_place(job, row->field);
    lint_at(c, at, row->name, "%s", found);
    if (fix) fix_last(c, "%s", fix);
  }
  time_lints(c, job, out, is_outside);
}
