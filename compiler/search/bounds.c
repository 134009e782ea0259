#include "compiler/search/bounds.h"

#include "compiler/draft/roles.h"
#include "compiler/draft/stages/stages.h"
#include "compiler/machine/place/place.h"

/* As spec_derive has them, without degrees that would have to divide them. */
static void measure_batch(Bench *bench) {
  const Job *job = &bench->job;
  Derived *out = &bench->known.derived;
  const int64_t positions = compile_facts(&bench->known).positions;
  const bool has_context = job->set[FIELD_train_context];
  const bool is_table = job->data.head == CHOICE_TABLE ||
                        (job->data.head == CHOICE_SYNTHETIC && positions <= 0 && !has_context);
  out->sample_tokens = is_table ? 1 : has_context ? job->train.context : positions;
  out->batch_samples = (int64_t)job->train.batch.value;
  if (job->train.batch.unit == UNIT_TOKENS && out->sample_tokens > 0)
    out->batch_samples /= out->sample_tokens;
}

bool bench_open(Bench *bench, const Subject *subject) {
  bench->compile = compile_new(subject->specs_dir);
  bench->job = *subject->job;
  bench->job.sizes.capacity = bench->job.sizes.count; /* the copy grows on its own */
  if (!compile_meet(bench->compile, &bench->job, subject->machine, &bench->known)) return false;
  if (!field_is_said(&bench->job, FIELD_memory_budget))
    bench->known.budget_bytes = (int64_t)((double)bench->known.budget_bytes * TIGHT_SHARE);
  measure_batch(bench);
  return true;
}

void bench_close(Bench *bench) {
  compile_close(&bench->known);
  compile_free(bench->compile);
}

/* ---- one cut of the parts into stages */

/* Sums over the layers of one chunk, for one micro-batch. */
typedef struct ChunkWork {
  int64_t forward_ns, backward_ns, weight_ns;
  int64_t kept_bytes;     /* between forward and backward */
  int64_t deferred_bytes; /* between backward and weight gradients, beside these */
  int64_t peak_bytes[4];  /* by zero: in its backward, with what it keeps itself */
} ChunkWork;

typedef struct StageNeeds {
  int64_t param_bytes, grad_bytes, state_bytes; /* of all its layers, shared with nobody */
  int64_t gathered_elements, reduced_elements;  /* that zero 3 gathers; that gradients have */
  int64_t update_ns;
  int64_t forward_ns, backward_ns, weight_ns; /* of all its chunks */
  int64_t head_ns, tail_ns; /* other stages work before its first chunk begins, and after */
  ChunkWork least;          /* bytes: the least of its chunks, each on its own */
  const ChunkWork **chunk;  /* its chunks */
} StageNeeds;

typedef struct Cut {
  int32_t stages, chunks;
  StageNeeds *at; /* by stage */
} Cut;

typedef struct RingRate {
  int64_t group;
  double bytes_per_s;
} RingRate;

typedef struct Bounds {
  Arena *arena;
  Bench *bench;
  const PartsKeys *keys;
  const PartsKey *key;
  const Draft *draft; /* NULL: the model cannot be cut so */
  CutRule why;        /* then */
  Candidates *out;
  RingRate rates[64];
  int32_t rate_count;
} Bounds;

static int64_t time_of(const Draft *d, int32_t segment) {
  return segment == NO_ID ? 0 : d->segments.at[segment].compute_ns;
}

static int64_t base_bytes(const Draft *d, int32_t segment, BaseRole role) {
  if (segment == NO_ID) return 0;
  const Segment *at = &d->segments.at[segment];
  for (int32_t i = 0; i < at->bases.count; i++)
    if (at->bases.at[i].role == role) return at->bases.at[i].size_bytes;
  return 0;
}

/* Whole parameters or gradients of a layer, which exist only around it. */
static int64_t whole_bytes(const Draft *d, const LayerUse *use, DType dtype) {
  int64_t bytes = 0;
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    for (int32_t i = 0; block->reads[use->region] && !block->tied && i < block->params.count; i++) {
      const int64_t elements = d->params[block->params.at[i]].elements;
      if (elements * dtype_bytes(d->train->compute_dtype) >= d->job->parallel.zero_keep)
        bytes += elements * dtype_bytes(dtype);
    }
  }
  return bytes;
}

/* Bytes that a layer's backward needs in addition to those that forward has kept. */
static int64_t working_bytes(const Draft *d, const LayerUse *use) {
  const RegionSegments *parts = &d->train_parts[use->region];
  int64_t bytes = base_bytes(d, parts->backward, BASE_SCRATCH) +
                  base_bytes(d, parts->backward, BASE_D_OUTPUT) + parts->recompute_frame_bytes +
                  parts->weight_frame_bytes;
  if (!use->first) bytes += base_bytes(d, parts->backward, BASE_D_INPUT);
  return bytes;
}

static void add_peaks(const Draft *d, int32_t u, bool is_first, ChunkWork *work) {
  const LayerUse *use = &d->chain[u];
  int64_t params = whole_bytes(d, use, d->train->compute_dtype);
  if (!is_first && d->job->parallel.zero_prefetch > 0) /* the next one's are there */
    params += whole_bytes(d, use - 1, d->train->compute_dtype);
  const int64_t grads = whole_bytes(d, use, d->train->grad_dtype);
  const bool is_each = d->job->parallel.zero_reduce == CHOICE_REDUCE_MICRO;
  for (int32_t zero = 0; zero <= 3; zero++) {
    int64_t bytes = work->kept_bytes + working_bytes(d, use);
    if (zero >= 2 && is_each) bytes += grads;
    if (zero == 3) bytes += params;
    if (bytes > work->peak_bytes[zero]) work->peak_bytes[zero] = bytes;
  }
}

static ChunkWork work_of(const Draft *d, int32_t chunk) {
  ChunkWork work = {0};
  for (int32_t u = d->chunk_first[chunk]; u < d->chunk_first[chunk + 1]; u++) {
    const RegionSegments *parts = &d->train_parts[d->chain[u].region];
    const bool begins_group = u == d->chunk_first[chunk] || d->chain[u - 1].group_last ||
                              d->chain[u - 1].region != d->chain[u].region;
    work.forward_ns += time_of(d, parts->forward);
    work.backward_ns += time_of(d, parts->backward);
    /* The last layer of a larger group does not remake its output. */
    if (d->group_layers <= 1 || !d->chain[u].group_last)
      work.backward_ns += time_of(d, parts->recompute);
    work.weight_ns += time_of(d, parts->weight);
    work.deferred_bytes += parts->weight_frame_bytes;
    if (!d->offloads_frames) {
      work.kept_bytes += parts->frame_bytes;
      if (parts->backward_reads_input && begins_group) work.kept_bytes += parts->input_bytes;
    }
    add_peaks(d, u, u == d->chunk_first[chunk], &work);
  }
  return work;
}

static void keep_least(ChunkWork *least, const ChunkWork *work, bool is_first) {
  if (is_first) *least = *work;
  if (work->kept_bytes < least->kept_bytes) least->kept_bytes = work->kept_bytes;
  if (work->deferred_bytes < least->deferred_bytes) least->deferred_bytes = work->deferred_bytes;
  for (int32_t zero = 0; zero <= 3; zero++)
    if (work->peak_bytes[zero] < least->peak_bytes[zero])
      least->peak_bytes[zero] = work->peak_bytes[zero];
}

static bool is_read_on(const Draft *d, const Block *block, int64_t layer, int32_t chunk) {
  for (int32_t u = d->chunk_first[chunk]; u < d->chunk_first[chunk + 1]; u++)
    if (block->reads[d->chain[u].region] && (block->layers == 1 || d->chain[u].layer == layer))
      return true;
  return false;
}

/* Time to move the bytes of a segment alone: its calls may share a launch. */
static int64_t moving_ns(const Draft *d, int32_t segment) {
  const double rate = d->cluster->memory_bytes_per_s;
  double bytes = 0;
  if (segment == NO_ID || rate <= 0) return 0;
  const Segment *at = &d->segments.at[segment];
  for (int32_t i = 0; i < at->records.count; i++)
    if (at->records.at[i].lane == LANE_COMPUTE && at->records.at[i].kind == RECORD_KERNEL)
      bytes += (double)(at->records.at[i].bytes - at->records.at[i].fused_bytes);
  return (int64_t)(bytes / rate * 1e9);
}

static void add_block(const Draft *d, const Block *block, int64_t layers, StageNeeds *needs) {
  needs->param_bytes += layers * block_bytes(d, block, stored_role(d, block));
  needs->grad_bytes += layers * block_bytes(d, block, BASE_GRAD);
  for (BaseRole role = BASE_MASTER; role <= BASE_STATE_LAST; role++)
    if (role_persists(d, block, role)) needs->state_bytes += layers * block_bytes(d, block, role);
  needs->reduced_elements += layers * block->elements;
  for (int32_t i = 0; i < block->params.count; i++) {
    const int64_t elements = d->params[block->params.at[i]].elements;
    const bool is_kept =
        elements * dtype_bytes(d->train->compute_dtype) < d->job->parallel.zero_keep;
    if (!is_kept) needs->gathered_elements += layers * elements;
  }
  needs->update_ns += layers * (moving_ns(d, block->update) + moving_ns(d, block->norm));
}

static void add_chunk_blocks(const Draft *d, int32_t chunk, StageNeeds *needs) {
  for (int32_t b = 0; b < d->blocks.count; b++) {
    const Block *block = &d->blocks.at[b];
    int64_t layers = 0;
    if (block->layers == 1 || block->tied) {
      layers = is_read_on(d, block, 0, chunk);
    } else {
      for (int32_t u = d->chunk_first[chunk]; u < d->chunk_first[chunk + 1]; u++)
        layers += block->reads[d->chain[u].region];
    }
    add_block(d, block, layers, needs);
  }
}

/* Tied parameters that a stage reads in two chunks count twice: not for a lower bound. */
static bool is_folded_end(const Draft *d, int32_t stage, int32_t k) {
  for (int32_t b = 0; b < d->blocks.count && k > 0; b++)
    if (d->blocks.at[b].tied) return stage == 0;
  return false;
}

/* NULL: layers do not suffice. */
static Cut *cut_into(Bounds *b, int64_t pp, int64_t chunks, int32_t kind) {
  Draft d = *b->draft;
  b->bench->job.parallel.pipeline = kind;
  d.derived.pp = d.mesh.size[MESH_PP] = pp;
  d.derived.chunks = chunks;
  if (!stages_cut(&d)) return NULL;
  Arena *arena = b->bench->compile->arena;
  Cut *cut = ARENA_NEW(arena, Cut);
  *cut = (Cut){d.stage_count, (int32_t)chunks, ARENA_ARRAY(arena, StageNeeds, d.stage_count)};
  ChunkWork *work = ARENA_ARRAY(arena, ChunkWork, d.chunk_count);
  for (int32_t chunk = 0; chunk < d.chunk_count; chunk++)
    work[chunk] = work_of(&d, chunk);
  for (int32_t s = 0; s < d.stage_count; s++) {
    StageNeeds *needs = &cut->at[s];
    needs->chunk = ARENA_ARRAY(arena, const ChunkWork *, chunks);
    for (int32_t k = 0; k < chunks; k++) {
      const int32_t chunk = draft_chunk(&d, s, k);
      needs->chunk[k] = &work[chunk];
      needs->forward_ns += work[chunk].forward_ns;
      needs->backward_ns += work[chunk].backward_ns;
      needs->weight_ns += work[chunk].weight_ns;
      keep_least(&needs->least, &work[chunk], k == 0);
      if (!is_folded_end(&d, s, k)) add_chunk_blocks(&d, chunk, needs);
    }
    for (int32_t chunk = 0; chunk < draft_chunk(&d, s, 0); chunk++) {
      needs->head_ns += work[chunk].forward_ns;
      needs->tail_ns += work[chunk].backward_ns;
    }
  }
  return cut;
}

/* ---- bounds of an arrangement */

/* The most chunks of micro-batches that a stage has run forward and not yet backward. */
static int64_t flights(int32_t kind, const Cut *cut, int32_t stage, int64_t m) {
  const int64_t left = cut->stages - stage, chunks = cut->chunks;
  const int64_t most = m * chunks, ahead = 2 * (left - 1) + (chunks - 1) * cut->stages + 1;
  if (kind == PIPE_GPIPE) return most;
  if (kind == PIPE_INTERLEAVED) return ahead < most ? ahead : most;
  return m < left ? m : left;
}

/* Before its first backward a stage runs chunk after chunk, each for as many micro-batches as there
 * are stages. The first backward is of its last chunk. */
static int64_t kept_interleaved(const Cut *cut, int32_t stage, const Candidate *at) {
  const StageNeeds *needs = &cut->at[stage];
  const int64_t flying = flights(PIPE_INTERLEAVED, cut, stage, at->microbatches);
  const int64_t turn = (int64_t)cut->stages * cut->chunks;
  const ChunkWork *last = needs->chunk[cut->chunks - 1];
  int64_t bytes = last->peak_bytes[at->setting.zero] - last->kept_bytes;
  for (int32_t k = 0; k < cut->chunks; k++) {
    int64_t more = flying % turn - (int64_t)k * cut->stages;
    more = more < 0 ? 0 : more > cut->stages ? cut->stages : more;
    bytes += (flying / turn * cut->stages + more) * needs->chunk[k]->kept_bytes;
  }
  return bytes;
}

/* Bytes of what a stage keeps for backward, at its most. */
static int64_t kept_bytes(const Bounds *b, const Cut *cut, int32_t stage, const Candidate *at) {
  const ChunkWork *least = &cut->at[stage].least;
  const int64_t zero = at->setting.zero;
  const Kept *kept = NULL;
  if (at->setting.pipeline == PIPE_INTERLEAVED && cut->stages > 1)
    return kept_interleaved(cut, stage, at);
  for (int32_t i = 0; i < b->keys->kept_count; i++)
    if (b->keys->kept[i].kind == at->setting.pipeline && b->keys->kept[i].stages == cut->stages)
      kept = &b->keys->kept[i];
  if (kept == NULL || at->microbatches < kept->microbatches || cut->stages == 1)
    return (flights(at->setting.pipeline, cut, stage, at->microbatches) - 1) * least->kept_bytes +
           least->peak_bytes[zero];
  int64_t most = 0;
  for (int32_t i = kept->first[stage]; i < kept->first[stage + 1]; i++) {
    const int64_t bytes =
        kept->at[i].frames * least->kept_bytes + kept->at[i].deferred * least->deferred_bytes;
    if (bytes > most) most = bytes;
  }
  return most;
}

static int64_t stage_bytes(const Draft *d, const StageNeeds *needs, const Candidate *at,
                           int64_t group, int64_t kept) {
  const int64_t zero = at->setting.zero;
  int64_t bytes = kept;
  if (!d->offloads_weights) bytes += needs->param_bytes / (zero >= 3 ? group : 1);
  bytes += needs->grad_bytes / (zero >= 2 ? group : 1);
  if (d->job->offload.optimizer == CHOICE_OFFLOAD_NONE)
    bytes += needs->state_bytes / (zero >= 1 ? group : 1);
  return bytes;
}

/* Bytes a second of a ring of so many ranks that share states, at their best: next to tp and cp. */
static double ring_rate(Bounds *b, int64_t group) {
  enum { RATES_MOST = sizeof b->rates / sizeof *b->rates };
  for (int32_t i = 0; i < b->rate_count; i++)
    if (b->rates[i].group == group) return b->rates[i].bytes_per_s;
  const Draft *d = b->draft;
  Derived derived = d->derived;
  derived.dp *= derived.pp;
  derived.pp = 1;
  derived.zero = 1;
  derived.shard_ranks = group;
  Mesh mesh = draft_mesh(&derived);
  mesh.size[MESH_TP_GROUP] = d->mesh.size[MESH_TP_GROUP];
  mesh.size[MESH_TP] = d->mesh.size[MESH_TP];
  const Placement *at = place_in_order(d->fabric, &mesh, &order_usual);
  const double rate = at == NULL ? 0 : place_reach(d->fabric, at, ZERO_AXES, -1).ring_bytes_per_s;
  if (b->rate_count < (int32_t)RATES_MOST) b->rates[b->rate_count++] = (RingRate){group, rate};
  return rate;
}

/* Time of the collectives of parameters and gradients in a step, one after the other on their lane:
 * bytes alone. `updated`: of them, those that begin after the update. */
static int64_t sharing_ns(const Bounds *b, const StageNeeds *needs, const Candidate *at,
                          int64_t group, double rate, int64_t *updated) {
  const Job *job = &b->bench->job;
  const int64_t zero = at->setting.zero;
  *updated = 0;
  if (group < 2 || rate <= 0) return 0;
  const double part = (double)(group - 1) / (double)group / rate * 1e9;
  const double gather_ns =
      part * (double)(needs->gathered_elements * dtype_bytes(b->draft->train->compute_dtype));
  const double reduce_ns = part * (double)(needs->reduced_elements *
                                           dtype_bytes(precision_dtype(job->precision.reduce)));
  const bool is_each = zero >= 2 && job->parallel.zero_reduce == CHOICE_REDUCE_MICRO;
  double all_ns = reduce_ns * (double)(is_each ? at->microbatches : 1);
  if (zero == 0) return (int64_t)(2 * all_ns);
  if (zero == 3) {
    const int32_t reshard = job->parallel.zero_reshard;
    const double times = reshard == CHOICE_RESHARD_STEP    ? 1
                         : reshard == CHOICE_RESHARD_CHUNK ? (double)at->microbatches
                                                           : 2 * (double)at->microbatches;
    return (int64_t)(all_ns + times * gather_ns);
  }
  *updated = (int64_t)gather_ns;
  return (int64_t)(all_ns + gather_ns);
}

static int64_t stage_ns(const StageNeeds *needs, int64_t m, int64_t zero, int64_t group,
                        int64_t updated_ns) {
  int64_t update_ns = needs->update_ns / (zero >= 1 ? group : 1);
  if (update_ns < updated_ns) update_ns = updated_ns;
  const int64_t passes = m * (needs->forward_ns + needs->backward_ns);
  const int64_t with_tail = needs->head_ns + passes + needs->tail_ns;
  const int64_t with_weights = needs->head_ns + passes + m * needs->weight_ns;
  return (with_tail > with_weights ? with_tail : with_weights) + update_ns;
}

/* Half a percent: work in the plan may be fused or cut a little better than in its parts. */
enum { SLACK = 200 };

static void bound(Bounds *b, const Cut *cut, Candidate *at, int64_t group) {
  const Draft *d = b->draft;
  const double rate = group > 1 ? ring_rate(b, group) : 0;
  at->least_bytes = at->least_ns = 0;
  for (int32_t s = 0; s < cut->stages; s++) {
    const StageNeeds *needs = &cut->at[s];
    const int64_t bytes = stage_bytes(d, needs, at, group, kept_bytes(b, cut, s, at));
    int64_t updated_ns = 0;
    const int64_t lane_ns = sharing_ns(b, needs, at, group, rate, &updated_ns);
    int64_t ns = stage_ns(needs, at->microbatches, at->setting.zero, group, updated_ns);
    if (lane_ns > ns) ns = lane_ns;
    if (bytes > at->least_bytes) at->least_bytes = bytes;
    ns -= ns / SLACK;
    if (ns > at->least_ns) at->least_ns = ns;
  }
}

/* ---- all arrangements */

static void take(Bounds *b, const Cut *cut, Candidate candidate, int64_t group) {
  Candidates *out = b->out;
  bound(b, cut, &candidate, group);
  if (candidate.least_bytes <= b->bench->known.budget_bytes) {
    out->at = vec_grow(b->arena, out->at, out->count, &out->capacity, sizeof *out->at);
    out->at[out->count++] = candidate;
    return;
  }
  if (out->cut[CUT_MEMORY]++ == 0 || candidate.least_bytes < out->smallest.least_bytes)
    out->smallest = candidate;
}

static bool may_be_zero(const Job *job, int64_t zero) {
  const bool is_kept =
      setting_is_kept(job, FIELD_parallel_zero) || setting_is_kept(job, FIELD_parallel_shard);
  return !is_kept || job->parallel.zero == zero;
}

/* Ranks of dp x cp on one node; 0: they are not a group. */
static int64_t node_group(const Bounds *b, const Candidate *at) {
  const Job *job = &b->bench->job;
  const Cluster *cluster = &b->bench->known.cluster;
  const Setting *s = &at->setting;
  const int64_t group = cluster->devices / (s->tp * s->pp);
  if (cluster->nodes == 1 || cluster->devices % (s->tp * s->cp * s->pp) != 0 || group < 2 ||
      group >= at->dp * s->cp || setting_is_kept(job, FIELD_parallel_zero_group) ||
      setting_is_kept(job, FIELD_parallel_shard))
    return 0;
  return group;
}

/* Ranks that share states, as the job says, or all. */
static int64_t usual_group(const Bounds *b, const Candidate *at) {
  const Job *job = &b->bench->job;
  const int64_t sharing = at->dp * at->setting.cp, said = job->parallel.zero_group;
  const bool is_hybrid =
      setting_is_kept(job, FIELD_parallel_shard) && job->parallel.shard == CHOICE_SHARD_HYBRID;
  const int64_t in_node = b->bench->known.cluster.devices / (at->setting.tp * at->setting.pp);
  if (is_hybrid) return in_node > 0 ? in_node : 1;
  if (!setting_is_kept(job, FIELD_parallel_zero_group)) return sharing;
  return said != ZERO_GROUP_NODE ? said : in_node > 0 ? in_node : 1;
}

static void take_zeros(Bounds *b, const Cut *cut, Candidate at) {
  const int64_t sharing = at.dp * at.setting.cp;
  for (int64_t zero = 0; zero <= 3; zero++) {
    if ((sharing == 1 && zero > 0) || !may_be_zero(&b->bench->job, zero)) continue;
    at.setting.zero = zero;
    at.setting.groups_are_nodes = false;
    b->out->seen++;
    const int64_t shared = zero > 0 ? usual_group(b, &at) : sharing;
    if (zero > 0 && (shared < 2 || shared % at.setting.cp != 0 || sharing % shared != 0))
      b->out->cut[CUT_DIVIDES]++;
    else if (cut != NULL)
      take(b, cut, at, shared);
    else
      b->out->cut[b->why]++;
    const int64_t group = zero > 0 ? node_group(b, &at) : 0;
    if (group == 0) continue;
    at.setting.groups_are_nodes = true;
    b->out->seen++;
    if (cut != NULL)
      take(b, cut, at, group);
    else
      b->out->cut[b->why]++;
  }
}

static int64_t sample_count(const Bounds *b) {
  return b->bench->known.derived.batch_samples;
}

/* Fills in dp and micro-batches; false: they do not divide. */
static bool divide(const Bounds *b, Candidate *at) {
  const Setting *s = &at->setting;
  const Job *job = &b->bench->job;
  at->dp = b->bench->known.cluster.ranks / (s->tp * s->cp * s->pp);
  const int64_t pass = at->dp * s->microbatch;
  const int64_t group = s->pp == 1 ? 1 : pipeline_group((PipeKind)s->pipeline, (int32_t)s->pp);
  const int64_t least = s->pp == 1 ? 1 : pipeline_least((PipeKind)s->pipeline, (int32_t)s->pp);
  at->microbatches = sample_count(b) / pass;
  return sample_count(b) % (pass * group) == 0 && at->microbatches >= least &&
         (!setting_is_kept(job, FIELD_parallel_dp) || job->parallel.dp == at->dp);
}

static void take_order(Bounds *b, Candidate at, int64_t units) {
  const Setting *s = &at.setting;
  const Job *job = &b->bench->job;
  const int64_t all = s->pp * s->chunks;
  if (setting_is_kept(job, FIELD_parallel_stages) && job->parallel.stages.count != all) return;
  b->why = b->draft == NULL ? b->why : CUT_DIVIDES;
  if (!divide(b, &at) || (units > 0 && all > units)) {
    b->out->seen++;
    b->out->cut[CUT_DIVIDES]++;
    return;
  }
  const Cut *cut = b->draft == NULL ? NULL : cut_into(b, s->pp, s->chunks, s->pipeline);
  take_zeros(b, cut, at);
}

static void take_orders(Bounds *b, Setting setting, bool is_kept, int32_t kept, int64_t chunks,
                        int64_t units) {
  enum { CHUNKS_MOST = 16 };
  for (int32_t kind = 0; kind < PIPE_KIND_COUNT; kind++) {
    const PipeRule *rule = &pipe_rules[kind];
    if (rule->is_split != b->key->is_split || (is_kept && kind != kept)) continue;
    setting.pipeline = kind;
    if (kind == PIPE_GPIPE && !is_kept) { /* 1f1b idles as long and keeps less */
      b->out->seen++;
      b->out->cut[CUT_DOMINATED]++;
      continue;
    }
    const int64_t first = rule->chunks > 0 ? rule->chunks : is_kept ? chunks : 2;
    int64_t last = rule->chunks > 0 || is_kept ? first : CHUNKS_MOST;
    if (first != last && units > 0 && last > units / setting.pp) last = units / setting.pp;
    for (setting.chunks = first; setting.chunks <= last; setting.chunks++)
      take_order(b, (Candidate){.setting = setting}, units);
  }
}

/* Layers and ends of the model. */
static int64_t units_of(const Draft *d) {
  int64_t units = 0;
  for (RegionId r = 0; r < d->train->regions.count; r++)
    units += d->train->regions.at[r].repeat;
  return units;
}

static void take_all(Bounds *b, int32_t kept, int64_t chunks) {
  const Job *job = &b->bench->job;
  const int64_t ranks = b->bench->known.cluster.ranks / (b->key->tp * b->key->cp);
  const int64_t units = b->draft == NULL ? 0 : units_of(b->draft);
  const bool is_kept = setting_is_kept(job, FIELD_parallel_pipeline);
  const int64_t pp_kept = setting_is_kept(job, FIELD_parallel_pp) ? job->parallel.pp : 0;
  for (int64_t pp = 1; pp <= ranks && (units == 0 || pp <= units); pp++) {
    if (ranks % pp != 0 || (pp_kept > 0 && pp != pp_kept)) continue;
    Setting setting = {.tp = b->key->tp,
                       .cp = b->key->cp,
                       .pp = pp,
                       .chunks = 1,
                       .microbatch = b->key->microbatch,
                       .pipeline = PIPE_1F1B,
                       .regather = b->key->regather,
                       .recompute = b->key->recompute};
    if (pp > 1)
      take_orders(b, setting, is_kept, kept, chunks, units);
    else if (!is_kept && !b->key->is_split)
      take_order(b, (Candidate){.setting = setting}, units);
  }
}

/* The parts, as ranks of the smallest pipeline have them: with zero 0, which shares nothing. */
static const Draft *parts_of(Bench *bench, const PartsKey *key, CutRule *why) {
  Compiled *known = &bench->known;
  Job *job = &bench->job;
  Derived *derived = &known->derived;
  int64_t rest = known->cluster.ranks / (key->tp * key->cp), pp = 1;
  const bool has_seq = derived->sample_tokens > 1;
  const int64_t pieces = key->cp == 1                           ? 1
                         : job->parallel.cp_kind == CHOICE_RING ? 2 * key->cp
                                                                : key->cp;
  for (int64_t i = 2; key->is_split && pp == 1 && i <= rest; i++)
    if (rest % i == 0) pp = i;
  derived->sequence = setting_is_kept(job, FIELD_parallel_sequence) ? job->parallel.sequence
                                                                    : key->tp > 1 && has_seq;
  *why = CUT_DIVIDES;
  const int64_t cut = derived->sequence ? key->cp * key->tp : 1;
  if (derived->sample_tokens % pieces != 0 || derived->sample_tokens % cut != 0) return NULL;
  derived->tp = key->tp, derived->cp = key->cp, derived->pp = pp;
  derived->dp = rest / pp;
  derived->chunks = derived->shard_ranks = derived->accumulation = 1;
  derived->zero = 0;
  job->train.microbatch = key->microbatch;
  job->parallel.regather = key->regather;
  job->parallel.pipeline = key->is_split ? PIPE_ZB_H1 : PIPE_1F1B;
  *why = CUT_MODEL;
  const Draft *d = compile_segments(bench->compile, job, known, key->recompute);
  if (d == NULL) return NULL;
  *why = CUT_DOMAIN;
  return place_check_tp(bench->compile, job, known->fabric, d->usual) ? d : NULL;
}

void bounds_of(Arena *arena, const Subject *subject, const PartsKeys *keys, int32_t number,
               Candidates *out) {
  const PartsKey *key = &keys->at[number];
  Bench bench;
  const int32_t kept = subject->job->parallel.pipeline;
  const int64_t chunks = subject->job->pipeline_chunks;
  if (bench_open(&bench, subject)) {
    Bounds b = {.arena = arena, .bench = &bench, .keys = keys, .key = key, .out = out};
    b.draft = parts_of(&bench, key, &b.why);
    take_all(&b, kept, chunks);
  }
  bench_close(&bench);
}
