#include "compiler/plan/simulate/price.h"

#include <math.h>

#include "compiler/base/ring.h"
#include "runtime/plan/plan_job.h"

void traffic_add(Traffic *t, double size_bytes, Access access) {
  if (size_bytes > t->largest_bytes) t->largest_bytes = size_bytes;
  *(access == ACCESS_READ ? &t->sent_bytes : &t->received_bytes) += size_bytes;
  *(access == ACCESS_READ ? &t->sends : &t->receives) += 1;
}

double traffic_sent_bytes(const Traffic *t) {
  double n = t->members;
  switch (t->kind) {
  case RECORD_ALL_REDUCE: return 2 * (n - 1) / n * t->largest_bytes;
  case RECORD_EXCHANGE: return t->sent_bytes;
  default: return (n - 1) / n * t->largest_bytes;
  }
}

double traffic_bytes(const Traffic *t) {
  bool comes = t->kind == RECORD_EXCHANGE && t->received_bytes > t->sent_bytes;
  return comes ? t->received_bytes : traffic_sent_bytes(t);
}

double traffic_passes(const Traffic *t) {
  return t->kind == RECORD_ALL_REDUCE ? 2 : t->calls;
}

double traffic_messages(const Traffic *t) {
  if (t->kind != RECORD_EXCHANGE) return t->calls * (t->members - 1);
  return t->sends > t->receives ? t->sends : t->receives;
}

/* The ways in which NCCL moves a collective: algorithms by protocols. LL has a flag beside every 4
 * bytes, LL128 beside every 120, Simple one a chunk. Latencies of a hop are those of a ring by LL
 * times a factor. Source: NCCL at 5067397c, src/graph/tuning.cc, ncclTunerConstantsDefaults
 * (baseLat, hwLat) and ncclTopoTuneModel (shares of the bandwidth). */
typedef struct NcclWay {
  double start_ns, inside, between; /* inside, between: factors of a hop's latency */
  double share;                     /* of the bandwidth */
} NcclWay;
static const NcclWay rings[] = {
    {6600, 1, 1, 0.5}, {14000, 1.9 / 0.6, 4.0 / 2.7, 0.92}, {8400, 3.4 / 0.6, 14.0 / 2.7, 1}};
static const NcclWay trees[] = {{6800, 1, 5.0 / 2.7, 1 / 3.8},
                                {14000, 1.25 / 0.6, 8.5 / 2.7, 0.92 * 120 / 128},
                                {8400, 4.0 / 0.6, 14.0 / 2.7, 0.92}};
/* Gathers and scatters between nodes with one member each. */
static const NcclWay pat = {8000, 4.0 / 0.6, 14.0 / 2.7, 0.75};
/* Sums by the switches of an NVLink domain, which start later. */
static const double SWITCH_SUM_NS = 25000;
static const NcclWay direct = {0, 1, 1, 1};
enum { PROTOCOLS = sizeof rings / sizeof *rings };

static RingHops hops_of(const Traffic *t, const PlanLink *link, const NcclWay *way) {
  const bool is_apart = link->node_members > 0 && link->node_members < t->members;
  const int64_t inside_ns = is_apart ? link->inside_latency_ns : link->latency_ns;
  return (RingHops){.members = t->members,
                    .node_members = link->node_members,
                    .inside_ns = (double)inside_ns * way->inside,
                    .between_ns = (double)link->latency_ns * way->between};
}

static double way_ns(const Traffic *t, const PlanLink *link, const NcclWay *way, double pass_ns) {
  const double rate = traffic_is_pairwise(t) ? link->pair_bytes_per_s : link->bytes_per_s;
  const double ns = way->start_ns + pass_ns;
  return rate > 0 ? ns + traffic_bytes(t) / (rate * way->share) * 1e9 : ns;
}

/* Between members at once only LL, for small messages, and Simple. */
static double pairs_ns(const Traffic *t, const PlanLink *link) {
  const double latency_ns = traffic_messages(t) * (double)link->latency_ns;
  double best = INFINITY;
  for (int i = 0; i < PROTOCOLS; i++)
    best = fmin(best, way_ns(t, link, &rings[i], latency_ns));
  return best;
}

/* Each rank sends all bytes of a sum to the switches once, and receives them once. */
static double switches_ns(const Traffic *t, const PlanLink *link) {
  const uint32_t permille = link->ways & 0xffff;
  if (t->kind != RECORD_ALL_REDUCE || permille == 0 || link->bytes_per_s <= 0) return INFINITY;
  const double rate = link->bytes_per_s * permille / 1000;
  return SWITCH_SUM_NS + t->largest_bytes / rate * 1e9;
}

/* The fastest way, which NCCL's tuner would take. */
static double library_ns(const Traffic *t, const PlanLink *link) {
  const bool is_sum = t->kind == RECORD_ALL_REDUCE;
  const bool has_trees = link->ways >> 16 != 0;
  const double passes = traffic_passes(t);
  double best = switches_ns(t, link);
  if (traffic_is_pairwise(t)) return pairs_ns(t, link);
  for (int i = 0; i < PROTOCOLS; i++) {
    const RingHops ring = hops_of(t, link, &rings[i]), tree = hops_of(t, link, &trees[i]);
    best = fmin(best, way_ns(t, link, &rings[i], passes * ring_alone_ns(&ring)));
    if (!is_sum && has_trees && ring_has_tree(&ring, false))
      best = fmin(best, way_ns(t, link, &rings[i], passes * ring_tree_ns(&ring)));
    if (is_sum && ring_has_tree(&tree, true))
      best = fmin(best, way_ns(t, link, &trees[i], passes * ring_tree_ns(&tree)));
  }
  const RingHops hops = hops_of(t, link, &pat);
  if (!is_sum && ring_has_tree(&hops, false))
    best = fmin(best, way_ns(t, link, &pat, passes * ring_tree_ns(&hops)));
  return best;
}

static double latency_ns(const Traffic *t, const PlanLink *link) {
  const RingHops hops = hops_of(t, link, &direct);
  if (traffic_is_pairwise(t)) return traffic_messages(t) * (double)link->latency_ns;
  return traffic_passes(t) * ring_pass_ns(&hops, t->kind == RECORD_ALL_REDUCE);
}

int64_t traffic_ns(const Traffic *t, const PlanLink *link) {
  if (t->members <= 1) return 0; /* nobody to talk to: NCCL starts nothing */
  if (t->has_library) return (int64_t)(library_ns(t, link) + 0.5);
  double seconds = latency_ns(t, link) * 1e-9;
  double rate = traffic_is_pairwise(t) ? link->pair_bytes_per_s : link->bytes_per_s;
  if (rate > 0) seconds += traffic_bytes(t) / rate;
  return (int64_t)(seconds * 1e9 + 0.5);
}

Traffic traffic_of(const Plan *plan, const PlanRecord *record) {
  const bool has_library = plan_has_job(plan) && job_target(plan) != TARGET_CPU;
  Traffic traffic = {.kind = (RecordKind)record->kind,
                     .members = plan_comm_size(plan, record->comm),
                     .calls = has_library ? (double)record->flat_calls : 1,
                     .has_library = has_library};
  for (uint32_t i = 0; i < record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    traffic_add(&traffic, (double)operand->size_bytes, (Access)operand->access);
  }
  return traffic;
}

bool price_same_link(const PlanLink *a, const PlanLink *b) {
  return a->bytes_per_s == b->bytes_per_s && a->pair_bytes_per_s == b->pair_bytes_per_s &&
         a->latency_ns == b->latency_ns && a->inside_latency_ns == b->inside_latency_ns &&
         a->node_members == b->node_members && a->ways == b->ways;
}

int64_t price_ns(const Plan *plan, uint32_t class, const PlanRecord *record) {
  if (!plan_is_communication(record)) return record->predicted_ns;
  if (plan->links_count == 0) return 0;
  Traffic traffic = traffic_of(plan, record);
  return traffic_ns(&traffic, &plan->links[class * plan->comms_count + record->comm]);
}
