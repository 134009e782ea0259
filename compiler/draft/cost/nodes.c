#include "compiler/draft/cost/nodes.h"

#include "runtime/plan/plan_place.h"

static const PlanClass *class_of_rank(const Plan *plan, uint32_t rank) {
  for (uint32_t c = 0; c < plan->classes_count; c++) {
    const PlanBound *bound = &plan->bounds[plan->classes[c].bounds_first];
    bool is_in = true;
    for (uint32_t axis = 0; axis < plan->axes_count && is_in; axis++) {
      uint32_t at = plan_coordinate(plan, rank, axis);
      is_in = at >= bound[axis].first && at < bound[axis].end;
    }
    if (is_in) return &plan->classes[c];
  }
  return plan->classes;
}

static void add_node(Arena *arena, NodeNeeds *needs, int32_t *room, const NodeNeed *node) {
  for (int32_t i = 0; i < needs->count; i++) {
    NodeNeed *other = &needs->at[i];
    if (other->ranks != node->ranks || other->host_bytes != node->host_bytes ||
        other->file_bytes != node->file_bytes || other->all_bytes != node->all_bytes)
      continue;
    other->nodes++;
    return;
  }
  if (needs->count == *room) {
    NodeNeed *grown = ARENA_ARRAY(arena, NodeNeed, 2 * *room + 1);
    for (int32_t i = 0; i < needs->count; i++)
      grown[i] = needs->at[i];
    needs->at = grown;
    *room = 2 * *room + 1;
  }
  needs->at[needs->count++] = *node;
}

NodeNeed node_need_of_rank(const Plan *plan, const PlanClass *class) {
  NodeNeed need = {.ranks = 1,
                   .host_bytes = (int64_t)plan_arena_bytes(plan, class, TIER_HOST),
                   .file_bytes = (int64_t)plan_arena_bytes(plan, class, TIER_FILE)};
  for (Tier tier = 0; tier < Tier_COUNT; tier++)
    if (tier != TIER_FILE) need.all_bytes += (int64_t)plan_arena_bytes(plan, class, tier);
  return need;
}

/* Ranks follow each other on nodes. */
NodeNeeds node_needs(Arena *arena, const Plan *plan) {
  NodeNeeds needs = {0};
  NodeNeed node = {.nodes = 1};
  uint32_t ranks = 1, last = 0;
  int32_t room = 0;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    ranks *= plan->axes[axis].size;
  for (uint32_t rank = 0; rank < ranks; rank++) {
    const PlanClass *class = class_of_rank(plan, rank);
    uint32_t at = plan_place(plan, rank).node;
    if (rank > 0 && at != last) {
      add_node(arena, &needs, &room, &node);
      node = (NodeNeed){.nodes = 1};
    }
    last = at;
    const NodeNeed of_rank = node_need_of_rank(plan, class);
    node.ranks += of_rank.ranks;
    node.host_bytes += of_rank.host_bytes;
    node.file_bytes += of_rank.file_bytes;
    node.all_bytes += of_rank.all_bytes;
  }
  add_node(arena, &needs, &room, &node);
  return needs;
}
