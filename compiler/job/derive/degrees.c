/* degrees.c -- checks ranks = dp x cp x tp x pp and the parts into which cp and tp cut sequences.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "compiler/job/job_room.h"
#include "compiler/job/units.h"

/* ---- numbers that divide */

CountList divisors(Arena *arena, int64_t n) {
  CountList list = {0}, above = {0};
  for (int64_t i = 1; i <= n / i; i++) {
    if (n % i != 0) continue;
    VEC_PUSH(arena, &list, i);
    if (i != n / i) VEC_PUSH(arena, &above, n / i);
  }
  while (above.count > 0)
    VEC_PUSH(arena, &list, above.at[--above.count]);
  return list;
}

int64_t counts_nearest(const CountList *list, int64_t value) {
  assert(list->count > 0 && list->at != NULL);
  int64_t best = list->at[0];
  for (int32_t i = 1; i < list->count; i++) {
    int64_t before = best > value ? best - value : value - best;
    int64_t now = list->at[i] > value ? list->at[i] - value : value - list->at[i];
    if (now <= before) best = list->at[i];
  }
  return best;
}

const char *counts_text(Arena *arena, const CountList *list, int64_t value) {
  enum { SHOWN_EACH_SIDE = 5 };
  int32_t middle = 0;
  while (middle < list->count && list->at[middle] <= value)
    middle++;
  int32_t first = middle > SHOWN_EACH_SIDE ? middle - SHOWN_EACH_SIDE : 0;
  int32_t end = middle + SHOWN_EACH_SIDE < list->count ? middle + SHOWN_EACH_SIDE : list->count;
  const char *text = first > 0 ? "... " : "";
  for (int32_t i = first; i < end; i++)
    text = arena_printf(arena, "%s%s%lld", text, i > first ? " " : "", (long long)list->at[i]);
  return end < list->count ? arena_printf(arena, "%s ...", text) : text;
}

/* ---- degrees */

enum { DEGREE_FIELDS = 3 };
static const int32_t degree_fields[DEGREE_FIELDS] = {FIELD_parallel_tp, FIELD_parallel_cp,
                                                     FIELD_parallel_pp};

static int64_t degree(Job *job, int32_t i) {
  assert(i >= 0 && i < DEGREE_FIELDS);
  return *(const int64_t *)field_at(job, degree_fields[i]);
}

static const char *product_text(Arena *arena, const Job *job) {
  return arena_printf(arena, "tp %lld x cp %lld x pp %lld", (long long)job->parallel.tp,
                      (long long)job->parallel.cp, (long long)job->parallel.pp);
}

/* A degree that another value could put right while the others stay as they are; -1: none. */
static int32_t find_culprit(Job *job, int64_t ranks, int32_t from) {
  int64_t product = job->parallel.tp * job->parallel.cp * job->parallel.pp;
  for (int32_t i = from; i < DEGREE_FIELDS; i++)
    if (degree(job, i) > 1 && ranks % (product / degree(job, i)) == 0) return i;
  return -1;
}

/* One after the other, each the nearest that divides what is left. */
static const char *mended_degrees(Arena *arena, Job *job, int64_t ranks) {
  const char *text = "";
  for (int32_t i = 0; i < DEGREE_FIELDS; i++) {
    CountList legal = divisors(arena, ranks);
    int64_t value = counts_nearest(&legal, degree(job, i));
    ranks /= value;
    if (degree(job, i) == 1) continue;
    text = arena_printf(arena, "%s%s%s = %lld", text, *text ? ", " : "",
                        spec_fields[degree_fields[i]].key, (long long)value);
  }
  return text;
}

static const char *ranks_text(Arena *arena, const Cluster *cluster) {
  return arena_printf(arena, "%lld node%s x %lld device%s", (long long)cluster->nodes,
                      plural(cluster->nodes), (long long)cluster->devices,
                      plural(cluster->devices));
}

static void note_devices(Compile *c, const Job *job) {
  static const int32_t fields[] = {FIELD_cluster_nodes, FIELD_cluster_devices};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const Origin *origin = &job->origin[fields[i]];
    if (!origin->span.file) continue;
    bool is_nodes = fields[i] == FIELD_cluster_nodes;
    const int64_t count = is_nodes ? job->cluster.nodes : job->cluster.devices;
    note_at(c, origin->span, "%lld %s%s%s here", (long long)count, is_nodes ? "node" : "device",
            plural(count), is_nodes ? "" : " a node");
  }
}

/* "here" without devices is one rank, and a named cluster without nodes is one node: degrees beyond
 * that need the count. NULL: something else is wrong. */
static const char *larger_cluster(Arena *arena, const Job *job, const Cluster *cluster) {
  int64_t product = job->parallel.tp * job->parallel.cp * job->parallel.pp;
  bool has_dp = field_is_said(job, FIELD_parallel_dp);
  if (has_dp && job->parallel.dp > ((int64_t)1 << 40) / product) return NULL;
  int64_t wanted = has_dp ? product * job->parallel.dp : product;
  bool is_here = strcmp(cluster->name, "here") == 0;
  bool is_open = !field_is_said(job, is_here ? FIELD_cluster_devices : FIELD_cluster_nodes) &&
                 !(is_here && field_is_said(job, FIELD_cluster_nodes));
  int64_t each = is_here ? 1 : cluster->devices, most = is_here ? 1024 : 1 << 20;
  if (!is_open || wanted <= cluster->ranks || wanted % each != 0 || wanted / each > most)
    return NULL;
  return arena_printf(arena, "cluster = { \"%s\", %s = %lld }", cluster->name,
                      is_here ? "devices" : "nodes", (long long)(wanted / each));
}

static void say_larger_cluster(Compile *c, Job *job, const Cluster *cluster, Span at,
                               const char *sentence, const char *fix) {
  error_at(c, at, "degrees", "%s", sentence);
  fix_last(c, "%s", fix);
  if (strcmp(cluster->name, "here") == 0)
    note_at(c, (Span){0}, "each rank is some threads of this machine");
  note_devices(c, job);
}

static bool refuse_degrees(Compile *c, Job *job, const Cluster *cluster) {
  Arena *arena = c->arena;
  int64_t ranks = cluster->ranks;
  int64_t product = job->parallel.tp * job->parallel.cp * job->parallel.pp;
  int32_t culprit = find_culprit(job, ranks, 0);
  int32_t shown = culprit;
  for (int32_t i = 0; shown < 0; i++)
    if (degree(job, i) > 1) shown = i;
  Span at = field_place(job, degree_fields[shown]);
  const char *sentence =
      arena_printf(arena, "%s = %lld does not divide %s = %lld rank%s", product_text(arena, job),
                   (long long)product, ranks_text(arena, cluster), (long long)ranks, plural(ranks));
  const char *larger = larger_cluster(arena, job, cluster);
  if (larger) {
    say_larger_cluster(c, job, cluster, at, sentence, larger);
    return false;
  }
  if (culprit < 0) {
    error_at(c, at, "degrees", "%s", sentence);
    fix_last(c, "%s", mended_degrees(arena, job, ranks));
  }
  for (int32_t i = culprit; i >= 0; i = find_culprit(job, ranks, i + 1)) {
    const char *key = spec_fields[degree_fields[i]].key;
    CountList legal = divisors(arena, ranks / (product / degree(job, i)));
    const char *list = counts_text(arena, &legal, degree(job, i));
    if (i == culprit) {
      error_at(c, at, "degrees", "%s; %s may be %s", sentence, key, list);
      fix_last(c, "%s = %lld", key, (long long)counts_nearest(&legal, degree(job, i)));
    } else {
      note_at(c, (Span){0}, "or %s may be %s", key, list);
    }
  }
  note_devices(c, job);
  return false;
}

int64_t chunks_of(const Job *job) {
  int32_t chunks = pipe_rules[job->parallel.pipeline].chunks;
  if (job->parallel.pp == 1) return 1;
  return chunks > 0 ? chunks : job->pipeline_chunks;
}

bool derive_degrees(Compile *c, Job *job, const Cluster *cluster, Derived *out) {
  int64_t ranks = cluster->ranks;
  int64_t product = job->parallel.tp * job->parallel.cp * job->parallel.pp;
  out->tp = job->parallel.tp;
  out->cp = job->parallel.cp;
  out->pp = job->parallel.pp;
  out->chunks = chunks_of(job);
  if (ranks % product != 0) return refuse_degrees(c, job, cluster);
  out->dp = ranks / product;
  const char *rule = ranks_text(c->arena, cluster);
  if (product > 1)
    rule =
        arena_printf(c->arena, "%lld ranks / (%s)", (long long)ranks, product_text(c->arena, job));
  if (!field_is_said(job, FIELD_parallel_dp)) {
    job->parallel.dp = out->dp;
    field_derive(job, FIELD_parallel_dp, rule);
    return true;
  }
  if (job->parallel.dp == out->dp) return true;
  const char *larger = larger_cluster(c->arena, job, cluster);
  const char *sentence = arena_printf(c->arena, "dp %lld is not %s = %lld",
                                      (long long)job->parallel.dp, rule, (long long)out->dp);
  if (larger) {
    say_larger_cluster(c, job, cluster, field_place(job, FIELD_parallel_dp), sentence, larger);
    return false;
  }
  error_at(c, field_place(job, FIELD_parallel_dp), "degrees", "%s", sentence);
  if (strcmp(cluster->name, "here") == 0)
    note_at(c, (Span){0}, "%lld replicas on one machine: cluster = { \"here\", devices = %lld }",
            (long long)job->parallel.dp, (long long)job->parallel.dp * (long long)product);
  fix_last(c, "dp = %lld", (long long)out->dp);
  return false;
}

/* ---- sequences */

/* A sequence length that cp and tp can cut, nearest below, or the shortest one. */
static bool refuse_context(Compile *c, const Job *job, const Derived *out, int64_t positions,
                           int64_t unit, const char *sentence) {
  bool is_said = field_is_said(job, FIELD_train_context);
  int32_t blamed = is_said       ? FIELD_train_context
                   : out->cp > 1 ? FIELD_parallel_cp
                                 : FIELD_parallel_tp;
  error_at(c, field_place(job, blamed), "context-multiple", "%s", sentence);
  int64_t below = out->sample_tokens / unit * unit, above = below + unit;
  bool fits = positions <= 0 || above <= positions;
  if (below > 0)
    fix_last(c, "context = %lld", (long long)below);
  else if (fits)
    fix_last(c, "context = %lld", (long long)above);
  if (below > 0 && fits) note_at(c, (Span){0}, "nearest above: %lld", (long long)above);
  return false;
}

static bool refuse_without_sequences(Compile *c, const Job *job, const Derived *out) {
  bool is_said = field_is_said(job, FIELD_parallel_sequence) && job->parallel.sequence;
  int32_t field = FIELD_parallel_cp;
  if (out->cp == 1 && is_said) field = FIELD_parallel_sequence;
  if (out->cp == 1 && !is_said && job->parallel.regather) field = FIELD_parallel_regather;
  if (field == FIELD_parallel_cp && out->cp == 1) return true;
  error_at(c, field_place(job, field), "conflict",
           "%s is for sequences, and samples of this data have none", field_name(c->arena, field));
  fix_last(c, "remove %s", spec_fields[field].key);
  return false;
}

bool derive_cuts(Compile *c, Job *job, const ModelFacts *model, bool has_seq, Derived *out) {
  int64_t positions = model->positions;
  Arena *arena = c->arena;
  bool is_said = field_is_said(job, FIELD_parallel_sequence);
  if (!has_seq && !refuse_without_sequences(c, job, out)) return false;
  out->sequence =
      is_said || job->use == USE_SAMPLE ? job->parallel.sequence : out->tp > 1 && has_seq;
  if (!is_said) {
    job->parallel.sequence = out->sequence;
    field_derive(job, FIELD_parallel_sequence,
                 out->tp > 1 && !has_seq ? "samples have no sequence"
                 : out->tp > 1           ? "tp > 1"
                                         : "tp is 1");
  }
  bool is_ring = job->parallel.cp_kind == CHOICE_RING;
  int64_t pieces = out->cp == 1 ? 1 : is_ring ? 2 * out->cp : out->cp;
  int64_t unit = pieces, per_rank = out->sequence ? out->cp * out->tp : 1;
  while (unit % per_rank != 0)
    unit += pieces; /* both divide it */
  long long context = out->sample_tokens;
  if (has_seq && context % pieces != 0)
    return refuse_context(c, job, out, positions, unit,
                          arena_printf(arena, "context %lld is not a multiple of %scp = %lld: %s",
                                       context, is_ring ? "2 x " : "", (long long)pieces,
                                       is_ring ? "a ring gives each rank two equal pieces"
                                               : "ulysses gives each rank one equal piece"));
  if (!has_seq || context % per_rank == 0) return true;
  if (model->heads > 0 && model->heads % out->tp != 0)
    return true; /* tp itself is reported elsewhere */
  const char *part = out->cp == 1 ? ""
                                  : arena_printf(arena, " / cp %lld = %lld token%s",
                                                 (long long)out->cp, context / (long long)out->cp,
                                                 plural(context / (long long)out->cp));
  refuse_context(c, job, out, positions, unit,
                 arena_printf(arena,
                              "context %lld%s is not a multiple of tp %lld, and sequence cuts it "
                              "by tp",
                              context, part, (long long)out->tp));
  note_at(c, (Span){0}, "or keep whole norms and residuals: sequence = false");
  return false;
}
