/* alike.c -- classes of nodes, by what their positions mean and how far their communicators go. */
#include "compiler/place/alike.h"

typedef struct Walk {
  const Fabric *fabric;
  const Placement *at;
  uint32_t axes;
  int64_t span, total; /* slots from the first member to the last; of all */
} Walk;

/* The smallest block of slots, of those that axes repeat, that has the whole node. */
static int64_t block_of(const Walk *w, int64_t slot, int64_t seats) {
  int64_t block = w->total;
  for (int32_t i = 0; i < w->at->digit_count; i++) {
    int64_t stride = w->at->digit[i].stride;
    bool has_node = stride >= seats && slot % stride + seats <= stride;
    if (has_node && stride < block) block = stride;
  }
  return block;
}

/* The first member's slot, looked for along the axes whose strides are in [from, to). */
static int64_t first_along(const Walk *w, int64_t slot, int64_t from, int64_t to) {
  int64_t first = slot;
  for (int32_t i = 0; i < w->at->digit_count; i++) {
    const Digit *digit = &w->at->digit[i];
    if (has_axis(w->axes, digit->axis) && digit->stride >= from && digit->stride < to)
      first -= digit_of(digit, slot) * digit->stride;
  }
  return first;
}

/* The least stride of stages; all slots, where there is one. */
static int64_t stage_stride(const Walk *w) {
  for (int32_t i = 0; i < w->at->digit_count; i++)
    if (w->at->digit[i].axis == MESH_PP) return w->at->digit[i].stride;
  return w->total;
}

static int32_t distance_of(const Walk *w, int64_t slot, int64_t block) {
  int64_t first = first_along(w, slot, block, w->total + 1);
  return distance_from(w->fabric, first, w->span);
}

/* Of each position. */
static uint64_t mix_distances(const Walk *w, int64_t slot, int64_t seats, const NodeClass *at) {
  int64_t first = first_along(w, slot - at->offset, at->block, w->total + 1);
  uint64_t mixed = 0;
  for (int64_t p = at->offset; p < at->offset + seats; p++) {
    int64_t inside = first_along(w, p, 0, at->block);
    mixed = mixed * 31 + (uint64_t)distance_from(w->fabric, first + inside, w->span);
  }
  return mixed;
}

/* All but the distances. */
static NodeClass describe(const Walk *w, const NodeRun *run, int64_t slot) {
  int64_t seats = w->fabric->kinds[run->kind].seat_count, block = block_of(w, slot, seats);
  bool has_stage = stage_stride(w) >= block;
  return (NodeClass){.node = run->node_first + (slot - run->slot_first) / seats,
                     .kind = run->kind,
                     .block = block,
                     .offset = slot % block,
                     .stage = has_stage && !has_axis(w->axes, MESH_PP)
                                  ? (int32_t)coordinate_of(w->at, MESH_PP, slot)
                                  : -1};
}

static bool is_alike(const NodeClass *a, const NodeClass *b) {
  return a->kind == b->kind && a->block == b->block && a->offset == b->offset &&
         a->distances == b->distances;
}

static NodeClass *class_like(const Walk *w, NodeClasses *classes, const NodeClass *node) {
  int32_t i = classes->list.count - 1;
  while (i >= 0 &&
         !(classes->list.at[i].stage == node->stage && is_alike(&classes->list.at[i], node)))
    i--;
  if (i < 0) {
    VEC_PUSH(w->fabric->arena, &classes->list, *node);
    i = classes->list.count - 1;
  }
  return &classes->list.at[i];
}

/* ---- nodes that are blocks: all communicators of one go between the same two */

/* Do nodes of the run hold whole pieces of every axis? */
static bool are_blocks(const Walk *w, const NodeRun *run) {
  int64_t seats = w->fabric->kinds[run->kind].seat_count;
  bool are = run->slot_first % seats == 0;
  for (int32_t i = 0; i < w->at->digit_count; i++) {
    int64_t stride = w->at->digit[i].stride;
    are &= seats % stride == 0 || stride % seats == 0;
  }
  return are;
}

/* From the slot on, nodes of one stage. */
static int64_t stage_end(const Walk *w, const NodeClass *at, int64_t slot, int64_t end) {
  int64_t stride = stage_stride(w);
  if (at->stage < 0) return end;
  int64_t next = slot - slot % stride + stride;
  return next < end ? next : end;
}

/* What goes farther is not faster, so the farthest node stands for all. */
static void count_blocks(const Walk *w, NodeClasses *classes, const NodeRun *run, int64_t end) {
  int64_t seats = w->fabric->kinds[run->kind].seat_count;
  int32_t most = w->span < seats ? 0 : w->fabric->level_count + 1;
  for (int64_t slot = run->slot_first, next; slot < end; slot = next) {
    NodeClass node = describe(w, run, slot), *class = class_like(w, classes, &node);
    next = stage_end(w, &node, slot, end);
    class->count += (next - slot) / seats;
    for (int64_t at = slot; at < next && class->farthest < most; at += seats) {
      int32_t distance = distance_of(w, at, seats);
      if (distance <= class->farthest) continue;
      class->farthest = distance;
      class->node = node.node + (at - slot) / seats;
    }
  }
}

/* ---- all of them */

static void count_others(const Walk *w, NodeClasses *classes, const NodeRun *run, int64_t end) {
  int64_t seats = w->fabric->kinds[run->kind].seat_count;
  for (int64_t slot = run->slot_first; slot < end; slot += seats) {
    NodeClass node = describe(w, run, slot);
    node.distances = mix_distances(w, slot, seats, &node);
    class_like(w, classes, &node)->count++;
  }
}

static void count_nodes(const Walk *w, NodeClasses *classes) {
  for (int32_t i = 0; i < w->fabric->run_count; i++) {
    const NodeRun *run = &w->fabric->runs[i];
    int64_t end = i + 1 < w->fabric->run_count ? run[1].slot_first : w->total;
    if (are_blocks(w, run))
      count_blocks(w, classes, run, end);
    else
      count_others(w, classes, run, end);
  }
}

/* The class of the stage that is like the one of another; NULL: none is. */
static const NodeClass *find_like(const NodeClasses *classes, const NodeClass *of, int32_t stage) {
  for (int32_t i = 0; i < classes->list.count; i++) {
    const NodeClass *found = &classes->list.at[i];
    bool is_equal = found->count == of->count && found->farthest == of->farthest;
    if (found->stage == stage && is_equal && is_alike(found, of)) return found;
  }
  return NULL;
}

/* Stages whose nodes are theirs alone, the same classes of them. */
static bool are_stages_alike(const NodeClasses *classes, int32_t a, int32_t b) {
  for (int32_t i = 0; i < classes->list.count; i++) {
    const NodeClass *at = &classes->list.at[i];
    if (at->stage < 0) return false;
    if (at->stage == a && !find_like(classes, at, b)) return false;
    if (at->stage == b && !find_like(classes, at, a)) return false;
  }
  return true;
}

static void compare_stages(const Walk *w, NodeClasses *classes) {
  int32_t stages = (int32_t)w->at->size[MESH_PP];
  classes->like = ARENA_ARRAY(w->fabric->arena, int32_t, stages);
  for (int32_t stage = 0; stage < stages; stage++) {
    int32_t *like = &classes->like[stage];
    while (*like < stage && !are_stages_alike(classes, *like, stage))
      ++*like;
  }
}

const NodeClasses *alike_nodes(const Fabric *fabric, const Placement *at, uint32_t axes) {
  NodeClasses **known = &at->classes[axes];
  if (*known) return *known;
  Walk w = {.fabric = fabric, .at = at, .axes = axes, .total = fabric->slot_count};
  for (int32_t i = 0; i < at->digit_count; i++)
    if (has_axis(axes, at->digit[i].axis)) w.span += (at->digit[i].size - 1) * at->digit[i].stride;
  *known = ARENA_NEW(fabric->arena, NodeClasses);
  count_nodes(&w, *known);
  compare_stages(&w, *known);
  return *known;
}
