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

static double latency_ns(const Traffic *t, const PlanLink *link) {
  const bool is_apart = link->node_members > 0 && link->node_members < t->members;
  const RingHops hops = {.members = t->members,
                         .node_members = link->node_members,
                         .inside_ns =
                             (double)(is_apart ? link->inside_latency_ns : link->latency_ns),
                         .between_ns = (double)link->latency_ns};
  if (traffic_is_pairwise(t)) return traffic_messages(t) * (double)link->latency_ns;
  return traffic_passes(t) * ring_pass_ns(&hops, t->kind == RECORD_ALL_REDUCE);
}

int64_t traffic_ns(const Traffic *t, const PlanLink *link) {
  double seconds = latency_ns(t, link) * 1e-9;
  double rate = traffic_is_pairwise(t) ? link->pair_bytes_per_s : link->bytes_per_s;
  if (rate > 0) seconds += traffic_bytes(t) / rate;
  return (int64_t)(seconds * 1e9 + 0.5);
}

Traffic traffic_of(const Plan *plan, const PlanRecord *record) {
  bool has_library = plan_has_job(plan) && job_target(plan) != TARGET_CPU;
  Traffic traffic = {.kind = (RecordKind)record->kind,
                     .members = plan_comm_size(plan, record->comm),
                     .calls = has_library ? (double)record->flat_calls : 1};
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
