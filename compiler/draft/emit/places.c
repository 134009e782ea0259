/* places.c -- where ranks are and what lies between them: the choice of place/ as tables. */
#include "compiler/draft/cost/demand.h"
#include "compiler/draft/cost/link.h"
#include "compiler/draft/emit/tables.h"

static uint32_t emit_seats(Tables *t, const NodeKind *kind, const int32_t *seats) {
  uint32_t first = (uint32_t)t->seats.count;
  for (int32_t p = 0; kind->seats && p < kind->seat_count; p++) {
    const Seat *seat = &kind->seats[seats[p]];
    TABLE_PUSH(t, seats,
               (PlanSeat){.device = (uint32_t)seat->device,
                          .numa = seat->numa >= 0 ? (uint32_t)seat->numa : PLAN_NONE,
                          .pci = table_string(t, seat->pci),
                          .nic = table_string(t, seat->nic),
                          .cores = table_string(t, seat->cores)});
  }
  return first;
}

static void emit_runs(Tables *t, const Draft *d, const uint32_t *seats_first) {
  const Fabric *fabric = d->fabric;
  for (int32_t i = 0; i < fabric->run_count; i++) {
    const NodeRun *run = &fabric->runs[i];
    const NodeKind *kind = &fabric->kinds[run->kind];
    int64_t end = i + 1 < fabric->run_count ? run[1].slot_first : fabric->slot_count;
    TABLE_PUSH(t, places,
               (PlanPlace){.rank_first = (uint32_t)run->slot_first,
                           .rank_count = (uint32_t)(end - run->slot_first),
                           .node_first = (uint32_t)run->node_first,
                           .node_ranks = (uint32_t)kind->seat_count,
                           .core_count = (uint32_t)d->cluster->threads,
                           .seats_first = seats_first[run->kind],
                           .seats_count = kind->seats ? (uint32_t)kind->seat_count : 0,
                           .kind = table_string(t, kind->name)});
  }
}

static void emit_links(Tables *t, const Draft *d, const Placement *at) {
  for (int32_t class = 0; class < t->classes.count; class ++)
    for (int32_t comm = 0; comm < t->comms.count; comm++) {
      Reach reach = place_reach(d->fabric, at, t->comms.at[comm].axes_mask, class);
      PlanLink link = link_of(&reach, d->cluster);
      link.class = (uint32_t) class;
      link.comm = (uint32_t)comm;
      TABLE_PUSH(t, links, link);
    }
}

static void emit_strides(Tables *t, const Placement *at) {
  for (int32_t i = 0; i < at->digit_count; i++) {
    const Digit *digit = &at->digit[i];
    PlanAxis *axis = &t->axes.at[digit->axis];
    if (digit->weight == 1)
      axis->rank_stride = (uint32_t)digit->stride;
    else
      axis->near = (uint32_t)digit->weight, axis->far_stride = (uint32_t)digit->stride;
    if ((at->slant >> i & 1u) != 0)
      t->axes.at[at->digit[at->slanted].axis].slant_axes |= 1u << digit->axis;
  }
}

/* NULL: the best order. Only in the usual order does a group that fits a node consist of whole
 * replicas. */
static const Order *wanted_order(const Draft *d) {
  const Job *job = d->job;
  Order *order = ARENA_NEW(d->compile->arena, Order);
  if (!place_check_parts(d->compile, job, d->fabric, &d->mesh)) return NULL;
  if (job->set[FIELD_parallel_order] && order_parse(job->parallel.order, order)) return order;
  return job->parallel.zero_group == ZERO_GROUP_NODE ? &order_usual : NULL;
}

Choice draft_choose_places(const Draft *d, const Demands *demands) {
  return place_choose(d->fabric, &d->mesh, demands,
                      (Wish){wanted_order(d), !d->job->parallel.tp_across});
}

Choice emit_places(Tables *t, const Draft *d) {
  Plan plan;
  table_view(t, &plan);
  Demands demands = demands_of(t->arena, &plan);
  Choice choice = draft_choose_places(d, &demands);
  emit_strides(t, choice.taken);
  uint32_t *seats_first = ARENA_ARRAY(t->arena, uint32_t, d->fabric->kind_count);
  for (int32_t k = 0; k < d->fabric->kind_count; k++)
    seats_first[k] = emit_seats(t, &d->fabric->kinds[k], choice.taken->seats[k]);
  emit_runs(t, d, seats_first);
  emit_links(t, d, choice.taken);
  return choice;
}
