/* agree.c -- every rank compares the same facts in the same order, so all come to the same verdict.
 */
#include "runtime/boot/agree.h"

#include <stdio.h>
#include <string.h>

#include "kernels/product.h"
#include "runtime/plan/plan_place.h"
#include "runtime/process/plural.h"

BootFacts facts_here(const Plan *plan, int32_t rank, bool reference_kernels) {
  BootFacts facts = {.plan_id = plan->id, .plan_version = PLAN_VERSION};
  const ProductChoice *choice = product_choice();
  Cores allowed = cores_allowed();
  facts.cores = allowed.count;
  facts.first_core = allowed.core[0];
  (void)seat_check(plan, rank, &allowed, "/sys", facts.seat);
  seat_machine(facts.machine);
  (void)snprintf(facts.version, sizeof facts.version, "%s", LOCKSTEP_VERSION);
  if (reference_kernels)
    (void)snprintf(facts.kernels, sizeof facts.kernels, "reference");
  else
    (void)snprintf(facts.kernels, sizeof facts.kernels, "fp32 %s, bf16 %s",
                   product_name(choice->f32), product_name(choice->bf16));
  return facts;
}

int32_t agree_nodes(const BootFacts *facts, int32_t rank_count, int32_t *node) {
  int32_t nodes = 0;
  for (int32_t rank = 0; rank < rank_count; rank++) {
    int32_t same = 0;
    while (same < rank && strcmp(facts[same].node, facts[rank].node) != 0)
      same++;
    node[rank] = same < rank ? node[same] : nodes++;
  }
  return nodes;
}

static bool same_version(const BootFacts *facts, int32_t rank, Status *status) {
  const BootFacts *first = &facts[0], *other = &facts[rank];
  if (strcmp(first->version, other->version) != 0 || first->plan_version != other->plan_version)
    return status_fail(status, STATUS_USER,
                       "rank 0 on %s is lockstep-rank %s (plan format %d), rank %d on %s is %s "
                       "(plan format %d): install the same on every node",
                       first->node, first->version, first->plan_version, rank, other->node,
                       other->version, other->plan_version);
  if (first->plan_id != other->plan_id)
    return status_fail(status, STATUS_USER,
                       "rank 0 on %s has plan %016llx, rank %d on %s has %016llx: give every node "
                       "the same file",
                       first->node, (unsigned long long)first->plan_id, rank, other->node,
                       (unsigned long long)other->plan_id);
  if (strcmp(first->kernels, other->kernels) != 0)
    return status_fail(status, STATUS_USER,
                       "matrix products of rank 0 on %s are %s, of rank %d on %s %s, and round "
                       "otherwise: use nodes of one kind, or set LOCKSTEP_CPU to what both have",
                       first->node, first->kernels, rank, other->node, other->kernels);
  return true;
}

bool agree_versions(const BootFacts *facts, int32_t rank_count, Status *status) {
  for (int32_t rank = 1; rank < rank_count; rank++)
    if (!same_version(facts, rank, status)) return false;
  return true;
}

static bool refuse_place(const Plan *plan, const BootFacts *facts, int32_t first, int32_t rank,
                         Status *status) {
  uint32_t here = plan_place(plan, (uint32_t)first).node;
  uint32_t there = plan_place(plan, (uint32_t)rank).node;
  return status_fail(
      status, STATUS_USER,
      "ranks %d and %d are on %s and %s, but the plan has them on nodes %u and %u: start %u rank%s "
      "a node, in order (srun --ntasks-per-node=%u --distribution=block), or use --on cpu to run "
      "the plan wherever its ranks are",
      first, rank, facts[first].node, facts[rank].node, here, there, plan->places[0].node_ranks,
      plural(plan->places[0].node_ranks), plan->places[0].node_ranks);
}

bool agree_places(const Plan *plan, const BootFacts *facts, int32_t rank_count, Status *status) {
  for (int32_t rank = 1; rank < rank_count; rank++)
    for (int32_t first = 0; first < rank; first++) {
      bool planned =
          plan_place(plan, (uint32_t)first).node == plan_place(plan, (uint32_t)rank).node;
      bool is = strcmp(facts[first].node, facts[rank].node) == 0;
      if (planned != is) return refuse_place(plan, facts, first, rank, status);
    }
  return true;
}

static bool have_seats(const BootFacts *facts, int32_t rank_count, Status *status) {
  int32_t first = -1, others = 0;
  for (int32_t rank = 0; rank < rank_count; rank++) {
    if (facts[rank].seat[0] == 0) continue;
    if (first < 0) first = rank;
    others++;
  }
  return first < 0 ||
         status_fail(
             status, STATUS_USER,
             "rank %d on %s %s (%d of %d ranks are on nodes that are not as planned): put "
             "the ranks on the nodes that were described, describe these (lockstep topology "
             "gather) and compile again, or use --on cpu to run the plan wherever it is",
             first, facts[first].node, facts[first].seat, others, rank_count);
}

bool agree_seats(const Plan *plan, const BootFacts *facts, int32_t rank_count, Status *status) {
  if (!have_seats(facts, rank_count, status)) return false;
  for (int32_t rank = 1; rank < rank_count; rank++) {
    const char *kind = plan_string(plan, plan_place(plan, (uint32_t)rank).run->kind);
    int32_t first = 0;
    while (strcmp(plan_string(plan, plan_place(plan, (uint32_t)first).run->kind), kind) != 0)
      first++;
    if (strcmp(facts[first].machine, facts[rank].machine) != 0)
      return status_fail(status, STATUS_USER,
                         "ranks %d and %d are on nodes of the kind '%s' in the plan, but %s is %s "
                         "and %s is %s: use nodes of one kind, describe both kinds in the cluster, "
                         "or use --on cpu to run the plan wherever its ranks are",
                         first, rank, kind, facts[first].node, facts[first].machine,
                         facts[rank].node, facts[rank].machine);
  }
  return true;
}

Neighbours agree_neighbours(const BootFacts *facts, const int32_t *node, int32_t rank_count,
                            int32_t rank) {
  Neighbours here = {0};
  for (int32_t i = 0; i < rank_count; i++) {
    if (node[i] != node[rank] || facts[i].first_core != facts[rank].first_core) continue;
    here.before += i < rank;
    here.count++;
  }
  return here;
}
