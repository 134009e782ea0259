/* where.h -- coordinates of a rank in the words of a job. Private to explain/. */
#ifndef LOCKSTEP_EXPLAIN_WHERE_H
#define LOCKSTEP_EXPLAIN_WHERE_H

#include "compiler/show/explain/explain.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_place.h"

/* Named as in section `parallel`; dp counts all replicas, those that duplicate state and those that
 * shard it. */
typedef struct RankWhere {
  uint32_t at[ORDER_WORDS];
} RankWhere;

static inline uint32_t two_axes(const Plan *plan, uint32_t rank, uint32_t outer, uint32_t inner) {
  return plan_coordinate(plan, rank, outer) * plan->axes[inner].size +
         plan_coordinate(plan, rank, inner);
}

static inline RankWhere where_is(const Plan *plan, uint32_t rank) {
  return (RankWhere){{[ORDER_TP] = two_axes(plan, rank, MESH_TP, MESH_TP_GROUP),
                      [ORDER_CP] = plan_coordinate(plan, rank, MESH_CP),
                      [ORDER_PP] = plan_coordinate(plan, rank, MESH_PP),
                      [ORDER_DP] = two_axes(plan, rank, MESH_REPLICATE, MESH_DP)}};
}

static const char *const where_names[ORDER_WORDS] = {
    [ORDER_TP] = "tp", [ORDER_CP] = "cp", [ORDER_PP] = "pp", [ORDER_DP] = "dp"};

static inline int64_t where_size(const Compiled *compiled, int32_t word) {
  const Derived *d = &compiled->derived;
  const int64_t sizes[ORDER_WORDS] = {
      [ORDER_TP] = d->tp, [ORDER_CP] = d->cp, [ORDER_PP] = d->pp, [ORDER_DP] = d->dp};
  return sizes[word];
}

/* Cores of a node of processors when its ranks have more threads than that, which share them;
 * else 0. */
static inline int64_t where_shared_cores(const Compiled *compiled, const PlanPlace *place) {
  int64_t ranks = place->rank_count < place->node_ranks ? place->rank_count : place->node_ranks;
  int64_t cores = compiled->job->cluster.cores;
  bool is_short = cores > 0 && ranks * place->core_count > cores;
  return job_target(&compiled->plan) == TARGET_CPU && is_short ? cores : 0;
}

/* The coordinate by which a GPU is shown: the stage if there are several, else the replica. */
static inline int32_t where_shown(const Compiled *compiled) {
  return compiled->derived.pp > 1 ? ORDER_PP : ORDER_DP;
}

#endif
