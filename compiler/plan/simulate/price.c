#include "compiler/plan/simulate/price.h"

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

/* The protocols of NCCL: LL with a flag beside every 4 bytes, LL128 beside every 120, Simple with a
 * flag a chunk. Latencies of a hop are those of LL times a factor. Source: NCCL at 5067397c,
 * src/graph/tuning.cc, ncclTunerConstantsDefaults: baseLat and hwLat of rings, and the shares of
 * the bandwidth. */
typedef struct Protocol {
  double start_ns, inside, between; /* inside, between: factors of a hop's latency */
  double share;                     /* of the bandwidth */
} Protocol;
static const Protocol protocols[] = {
    {6600, 1, 1, 0.5}, {14000, 1.9 / 0.6, 4.0 / 2.7, 0.92}, {8400, 3.4 / 0.6, 14.0 / 2.7, 1}};
static const Protocol direct = {0, 1, 1, 1};

static double latency_ns(const Traffic *t, const PlanLink *link, const Protocol *protocol) {
  const bool is_apart = link->node_members > 0 && link->node_members < t->members;
  const RingHops hops = {.members = t->members,
                         .node_members = link->node_members,
                         .inside_ns =
                             (double)(is_apart ? link->inside_latency_ns : link->latency_ns) *
                             protocol->inside,
                         .between_ns = (double)link->latency_ns * protocol->between};
  if (traffic_is_pairwise(t)) return traffic_messages(t) * (double)link->latency_ns;
  return traffic_passes(t) * ring_pass_ns(&hops, t->kind == RECORD_ALL_REDUCE);
}

/* The fastest protocol of NCCL's. Between members at once only LL, for small messages, and Simple.
 */
static double library_ns(const Traffic *t, const PlanLink *link) {
  const double rate = traffic_is_pairwise(t) ? link->pair_bytes_per_s : link->bytes_per_s;
  double best = 0;
  for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++) {
    double ns = protocols[i].start_ns + latency_ns(t, link, &protocols[i]);
    if (rate > 0) ns += traffic_bytes(t) / (rate * protocols[i].share) * 1e9;
    if (i == 0 || ns < best) best = ns;
  }
  return best;
}

int64_t traffic_ns(const Traffic *t, const PlanLink *link) {
  if (t->members <= 1) return 0; /* nobody to talk to: NCCL starts nothing */
  if (t->has_library) return (int64_t)(library_ns(t, link) + 0.5);
  double seconds = latency_ns(t, link, &direct) * 1e-9;
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

int64_t price_ns(const Plan *plan, uint32_t class, const PlanRecord *record) {
  if (!plan_is_communication(record)) return record->predicted_ns;
  if (plan->links_count == 0) return 0;
  Traffic traffic = traffic_of(plan, record);
  return traffic_ns(&traffic, &plan->links[class * plan->comms_count + record->comm]);
}
