#include "compiler/search/arrangements.h"

/* The budget of a rank of these degrees. */
static int64_t budget_of(const Bounds *b, const Candidate *at, int64_t group) {
  const Setting *s = &at->setting;
  const Derived derived = {.dp = at->dp,
                           .tp = s->tp,
                           .cp = s->cp,
                           .pp = s->pp,
                           .zero = s->zero,
                           .shard_ranks = group,
                           .sequence = b->draft->derived.sequence};
  Outside outside;
  return compile_budget_of(&b->bench->job, &b->bench->known, &derived, &outside);
}

static void take(Bounds *b, const Cut *cut, Candidate candidate, int64_t group) {
  Candidates *out = b->out;
  bound(b, cut, &candidate, group);
  candidate.key = (int32_t)(b->key - b->keys->at);
  candidate.budget_bytes = budget_of(b, &candidate, group);
  if (candidate.least_bytes <= candidate.budget_bytes) {
    out->at = vec_grow(b->arena, out->at, out->count, &out->capacity, sizeof *out->at);
    out->at[out->count++] = candidate;
    return;
  }
  if (out->cut[CUT_MEMORY]++ == 0 || candidate_lacks(&candidate) < candidate_lacks(&out->smallest))
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
  const Cut *cut =
      b->draft == NULL ? NULL : cut_into(&b->bench->job, b->draft, s->pp, s->chunks, s->pipeline);
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

void bounds_of(Arena *arena, Bench *bench, const Subject *subject, const PartsKeys *keys,
               int32_t number, Candidates *out) {
  const PartsKey *key = &keys->at[number];
  const int32_t kept = subject->job->parallel.pipeline;
  const int64_t chunks = subject->job->pipeline_chunks;
  if (!bench_again(bench, subject)) return;
  Bounds b = {.arena = arena, .bench = bench, .keys = keys, .key = key, .out = out};
  b.draft = parts_of(bench, key, &b.why);
  take_all(&b, kept, chunks);
}
