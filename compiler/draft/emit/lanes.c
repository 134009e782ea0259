/* lanes.c -- lanes, and the communicators that are used on them. */
#include "compiler/draft/emit/tables.h"

typedef struct LaneWords {
  const char *name;
  uint32_t priority;
  Processor processor;
} LaneWords;

#define LANE_WORDS(id, name, priority, processor) {name, priority, PROCESSOR_##processor},
static const LaneWords lane_words[Lane_COUNT] = {LANES(LANE_WORDS)};
#undef LANE_WORDS

void table_lanes(Tables *t, const Draft *d) {
  const int32_t count = d->uses[TIER_FILE]  ? Lane_COUNT
                        : d->offloads_state ? LANES_OF_HOST
                        : draft_offloads(d) ? LANES_OF_COPIES
                        : d->snapshots      ? LANES_OF_SAVES
                                            : LANES_OF_DEVICE;
  for (int32_t lane = 0; lane < count; lane++)
    TABLE_PUSH(t, lanes,
               (PlanLane){.processor = lane_words[lane].processor,
                          .priority = lane_words[lane].priority,
                          .name = table_string(t, lane_words[lane].name)});
}

uint32_t table_comm(Tables *t, uint32_t axes, Lane lane) {
  if (axes == 0) return PLAN_NONE;
  const char *name = "";
  for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++)
    if (axes & MESH_BIT(axis))
      name = arena_printf(t->arena, "%s%s%s", name, *name ? "+" : "", mesh_axis_name(axis));
  if (lane != LANE_COMPUTE) name = arena_printf(t->arena, "%s@%s", name, lane_words[lane].name);
  uint32_t text = table_string(t, name);
  for (int32_t i = 0; i < t->comms.count; i++)
    if (t->comms.at[i].name == text) return (uint32_t)i;
  TABLE_PUSH(t, comms, (PlanComm){axes, text});
  return (uint32_t)t->comms.count - 1;
}
