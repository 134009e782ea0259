/* places.c -- where ranks are and what lies between them: the choice of place/ as tables. */
#include "compiler/cost/demand.h"
#include "compiler/cost/link.h"
#include "compiler/emit/tables.h"

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

/* One run for nodes of one kind that stand next to each other. */
static void emit_runs(Tables *t, const Draft *d, const uint32_t *seats_first) {
  const Fabric *fabric = d->fabric;
  int64_t step = fabric->nodes ? 1 : fabric->node_count;
  for (int64_t node = 0; node < fabric->node_count; node += step) {
    int32_t k = fabric_kind_of(fabric, node);
    const NodeKind *kind = &fabric->kinds[k];
    PlanPlace *last = t->places.count > 0 ? &t->places.at[t->places.count - 1] : NULL;
    uint32_t slots = (uint32_t)(kind->seat_count * step);
    if (last && fabric_kind_of(fabric, node - 1) == k) {
      last->rank_count += slots;
      continue;
    }
    TABLE_PUSH(t, places,
               (PlanPlace){.rank_first = (uint32_t)fabric_first_slot(fabric, node),
                           .rank_count = slots,
                           .node_first = (uint32_t)node,
                           .node_ranks = (uint32_t)kind->seat_count,
                           .core_count = (uint32_t)d->cluster->threads,
                           .seats_first = seats_first[k],
                           .seats_count = kind->seats ? (uint32_t)kind->seat_count : 0,
                           .kind = table_string(t, kind->name)});
  }
}

static void emit_links(Tables *t, const Draft *d, const Placement *at) {
  for (int32_t class = 0; class < t->classes.count; class ++)
    for (int32_t comm = 0; comm < t->comms.count; comm++) {
      Reach reach = place_reach(d->fabric, at, t->comms.at[comm].axes_mask, class);
      PlanLink link = link_of(&reach);
      link.class = (uint32_t) class;
      link.comm = (uint32_t)comm;
      TABLE_PUSH(t, links, link);
    }
}

/* NULL: the best. Groups of a node are whole replicas of one only in the usual order. */
static const Order *wanted_order(Arena *arena, const Job *job) {
  Order *order = ARENA_NEW(arena, Order);
  if (job->set[FIELD_parallel_order] && order_parse(job->parallel.order, order)) return order;
  return job->parallel.zero_group == ZERO_GROUP_NODE ? &order_usual : NULL;
}

Choice emit_places(Tables *t, const Draft *d) {
  Plan plan;
  table_view(t, &plan);
  Demands demands = demands_of(t->arena, &plan);
  Choice choice = place_choose(d->fabric, &d->mesh, &demands,
                               (Wish){wanted_order(t->arena, d->job), !d->job->parallel.tp_across});
  for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++)
    t->axes.at[axis].rank_stride = (uint32_t)choice.taken->stride[axis];
  uint32_t *seats_first = ARENA_ARRAY(t->arena, uint32_t, d->fabric->kind_count);
  for (int32_t k = 0; k < d->fabric->kind_count; k++)
    seats_first[k] = emit_seats(t, &d->fabric->kinds[k], choice.taken->seats[k]);
  emit_runs(t, d, seats_first);
  emit_links(t, d, choice.taken);
  return choice;
}
