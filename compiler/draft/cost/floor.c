#include "compiler/draft/cost/floor.h"

#include <math.h>

#include "compiler/draft/cost/cost.h"
#include "compiler/draft/cost/demand.h"
#include "compiler/draft/cost/link.h"
#include "compiler/plan/simulate/price.h"
#include "kernels/contract/contract.h"

/* Backward attention recomputes the scores: one of its five products. */
static const double ATTENTION_BACKWARD_SHARE = 4.0 / 5;

/* A backward pass does at least twice the FLOPs of its forward pass, but where the model begins. */
static const double FORWARD_SHARE = 1.0 / 3;

static bool is_device_kernel(const Plan *plan, const PlanRecord *record) {
  return record->kind == RECORD_KERNEL && record->lane == plan_main_lane(plan);
}

static double compute_seconds(const Draft *d, const Plan *plan, const PlanRecord *record) {
  if (!is_device_kernel(plan, record) || record->purpose == PURPOSE_RECOMPUTE) return 0;
  if (record->flops == 0 || record->operands_count == 0) return 0;
  const KernelContract *kernel =
      contract_find(plan_string(plan, plan->kernels[record->kernel].name));
  double peak = cost_peak_of(d, (DType)plan->operands[record->operands_first].dtype);
  double flops = (double)record->flops;
  if (kernel == contract_of(KERNEL_attention_backward) ||
      kernel == contract_of(KERNEL_attention_apart_backward))
    flops *= ATTENTION_BACKWARD_SHARE;
  return peak > 0 ? flops / peak : 0;
}

static double memory_seconds(const Draft *d, const Plan *plan, const PlanRecord *record) {
  double rate = d->cluster->memory_bytes_per_s;
  if (!is_device_kernel(plan, record) || record->purpose != PURPOSE_UPDATE || rate <= 0) return 0;
  return (double)record->bytes / rate;
}

/* Bytes that a rank sends or receives at least, one way; between nodes, the rank's share of the
 * bytes that nodes must exchange. `copies`: ranks of a tensor parallel group that have the same
 * value, of which each needs to send a part only, since the others can pass theirs on. */
static double least_bytes(const Traffic *t, double node_members, double nodes, double copies) {
  switch (t->kind) {
  case RECORD_ALL_REDUCE: return t->largest_bytes;
  case RECORD_EXCHANGE: return traffic_bytes(t) / copies;
  case RECORD_ALL_TO_ALL:
    return nodes > 1 ? t->largest_bytes * (1 - node_members / t->members) : traffic_bytes(t);
  default: return nodes > 1 ? t->largest_bytes * (nodes - 1) / nodes : traffic_bytes(t);
  }
}

static void add_communication(const Draft *d, Floor *floor, const Plan *plan, uint32_t class,
                              const PlanRecord *record, double times) {
  if (plan->links_count == 0) return;
  const PlanLink *link = &plan->links[class * plan->comms_count + record->comm];
  Traffic traffic = traffic_of(plan, record);
  double rate = traffic_is_pairwise(&traffic) ? link->pair_bytes_per_s : link->bytes_per_s;
  double here = link->node_members > 0 ? link->node_members : traffic.members;
  double nodes = traffic.members / here;
  const double copies = d->derived.sequence ? 1 : (double)d->derived.tp;
  if (rate <= 0 || traffic.members <= 1) return;
  /* The whole of it. In a domain of several nodes the larger of two, which is no less. */
  const double inside = link_share(d->cluster, true), between = link_share(d->cluster, nodes <= 1);
  rate /= d->cluster->block > 1 ? fmin(inside, between) : between;
  floor->seconds[nodes > 1 ? FLOOR_NETWORK : FLOOR_INSIDE] +=
      times * least_bytes(&traffic, here, nodes, copies) / rate;
}

static Floor floor_of_class(const Draft *d, const Plan *plan, uint32_t class) {
  Arena *arena = d->compile->arena;
  const PlanProgram *program = plan_program(plan, &plan->classes[class], plan_purpose(plan));
  int64_t *times = ARENA_ARRAY(arena, int64_t, plan->records_count + 1);
  Floor floor = {0};
  if (program == NULL) return floor;
  count_records(arena, plan, program, times);
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    double n = (double)times[i];
    if (n == 0) continue;
    floor.seconds[FLOOR_COMPUTE] += n * compute_seconds(d, plan, record);
    floor.seconds[FLOOR_MEMORY] += n * memory_seconds(d, plan, record);
    if (plan_is_communication(record)) add_communication(d, &floor, plan, class, record, n);
  }
  return floor;
}

Floor floor_of(const Draft *d, const Plan *plan) {
  Floor all = {0};
  double parts = (double)(d->derived.accumulation * d->derived.chunks);
  double before = 0; /* the forward pass of one micro-batch through the stages before */
  for (uint32_t class = 0; class < plan->classes_count; class ++) {
    Floor floor = floor_of_class(d, plan, class);
    double compute = floor.seconds[FLOOR_COMPUTE];
    floor.seconds[FLOOR_COMPUTE] += before;
    before += compute * FORWARD_SHARE / parts;
    for (int i = 0; i < FLOOR_BOUNDS; i++)
      if (floor.seconds[i] > all.seconds[i]) all.seconds[i] = floor.seconds[i];
  }
  for (int i = 0; i < FLOOR_BOUNDS; i++)
    if (all.seconds[i] > all.seconds[all.bound]) all.bound = (FloorBound)i;
  return all;
}
