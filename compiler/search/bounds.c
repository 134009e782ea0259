#include "compiler/machine/place/place.h"
#include "compiler/search/arrangements.h"

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

/* The most bytes of activations that a stage keeps for backward. */
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

/* Bytes a second of a ring of this many ranks that share states, at their best: next to tp and cp.
 */
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
  JobMesh mesh = draft_mesh(&derived);
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

void bound(Bounds *b, const Cut *cut, Candidate *at, int64_t group) {
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
