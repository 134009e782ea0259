/* alike.c -- classes of nodes, by the coordinates of their positions and the distances of their
 * communicators. */
#include "compiler/machine/place/alike.h"

typedef struct AlikeWalk {
  const Fabric *fabric;
  const Placement *at;
  uint32_t axes;
  int64_t total; /* slots */
} AlikeWalk;

/* ---- how far a communicator goes */

bool alike_is_diagonal(const Placement *at, uint32_t axes) {
  bool is_slanting = false;
  for (int32_t i = 0; at->slant >> i != 0; i++)
    is_slanting |= (at->slant >> i & 1u) != 0 && has_axis(axes, at->digit[i].axis);
  return is_slanting && !has_axis(axes, at->digit[at->slanted].axis);
}

typedef struct SlotExtent {
  int64_t first, last; /* slots */
} SlotExtent;

/* By how much members on a diagonal rotate the slanted digit. */
static int64_t most_turn(const Placement *at, uint32_t axes) {
  int64_t most = 0;
  for (int32_t i = 0; at->slant >> i != 0; i++)
    if ((at->slant >> i & 1u) != 0 && has_axis(axes, at->digit[i].axis))
      most += at->digit[i].size - 1;
  return most;
}

/* Digits descend from that of the first member and wrap around. */
static SlotExtent diagonal_extent(const Placement *at, uint32_t axes, int64_t slot) {
  const Digit *digit = &at->digit[at->slanted];
  int64_t own = digit_of(digit, slot), most = most_turn(at, axes);
  int64_t first = (own + turn_of(at, axes, slot)) % digit->size;
  bool is_around = first < most;
  int64_t low = is_around ? 0 : first - most, high = is_around ? digit->size - 1 : first;
  return (SlotExtent){(low - own) * digit->stride, (high - own) * digit->stride};
}

static SlotExtent extent_of(const Placement *at, uint32_t axes, int64_t slot) {
  SlotExtent extent = {slot, slot};
  for (int32_t i = 0; i < at->digit_count; i++) {
    const Digit *digit = &at->digit[i];
    if (!has_axis(axes, digit->axis)) continue;
    int64_t own = digit_of(digit, slot);
    extent.first -= own * digit->stride;
    extent.last += (digit->size - 1 - own) * digit->stride;
  }
  if (at->slant == 0 || !alike_is_diagonal(at, axes)) return extent;
  SlotExtent diagonal = diagonal_extent(at, axes, slot);
  return (SlotExtent){extent.first + diagonal.first, extent.last + diagonal.last};
}

/* Nodes ascend with slots, so the first and the last member give the distance. */
int32_t alike_distance(const Fabric *fabric, const Placement *at, uint32_t axes, int64_t slot) {
  SlotExtent extent = extent_of(at, axes, slot);
  return fabric_distance(fabric, fabric_node_of_slot(fabric, extent.first),
                         fabric_node_of_slot(fabric, extent.last));
}

/* ---- classes */

static bool are_stages_slanted(const AlikeWalk *w) {
  return w->at->slant != 0 && w->at->digit[w->at->slanted].axis == MESH_PP;
}

/* The smallest block of slots that axes repeat and that contains the whole node; for slanted
 * stages, all slots. */
static int64_t block_of(const AlikeWalk *w, int64_t slot, int64_t seats) {
  int64_t block = w->total, least = seats;
  const Digit *slanted = &w->at->digit[w->at->slanted];
  if (are_stages_slanted(w)) least = slanted->stride * slanted->size;
  for (int32_t i = 0; i < w->at->digit_count; i++) {
    int64_t stride = w->at->digit[i].stride;
    bool has_node = stride >= least && slot % stride + seats <= stride;
    if (has_node && stride < block) block = stride;
  }
  return block;
}

/* The smallest stride of stages; all slots if there is only one stage. */
static int64_t stage_stride(const AlikeWalk *w) {
  int64_t least = w->total;
  for (int32_t i = 0; i < w->at->digit_count; i++) {
    const Digit *digit = &w->at->digit[i];
    bool turns = are_stages_slanted(w) && (w->at->slant >> i & 1u) != 0;
    if ((digit->axis == MESH_PP || turns) && digit->stride < least) least = digit->stride;
  }
  return least;
}

/* Mixes the distances of each position into one number. */
static uint64_t mix_distances(const AlikeWalk *w, int64_t slot, int64_t seats) {
  uint64_t mixed = 0;
  for (int64_t p = 0; p < seats; p++)
    mixed = mixed * 31 + (uint64_t)alike_distance(w->fabric, w->at, w->axes, slot + p);
  return mixed;
}

/* Fills in all of a node's class except its distances. */
static NodeClass describe(const AlikeWalk *w, const NodeRun *run, int64_t slot) {
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

static NodeClass *class_like(const AlikeWalk *w, NodeClasses *classes, const NodeClass *node) {
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

/* ---- nodes that are blocks: all communicators of a node connect the same nodes */

/* True if communicators on a diagonal wrap around completely; then all of a node pass the same
 * nodes. */
static bool goes_around(const Placement *at, uint32_t axes) {
  return !alike_is_diagonal(at, axes) || most_turn(at, axes) >= at->digit[at->slanted].size - 1;
}

/* True if nodes of the run hold whole pieces of every axis. */
static bool are_blocks(const AlikeWalk *w, const NodeRun *run) {
  int64_t seats = w->fabric->kinds[run->kind].seat_count;
  bool are = run->slot_first % seats == 0;
  if (w->at->slant != 0) are &= !are_stages_slanted(w) && goes_around(w->at, w->axes);
  for (int32_t i = 0; i < w->at->digit_count; i++) {
    int64_t stride = w->at->digit[i].stride;
    are &= seats % stride == 0 || stride % seats == 0;
  }
  return are;
}

/* How many nodes of one stage begin at the slot. */
static int64_t stage_end(const AlikeWalk *w, const NodeClass *at, int64_t slot, int64_t end) {
  int64_t stride = stage_stride(w);
  if (at->stage < 0) return end;
  int64_t next = slot - slot % stride + stride;
  return next < end ? next : end;
}

/* A longer distance is never faster, so the farthest node represents all. */
static void count_blocks(const AlikeWalk *w, NodeClasses *classes, const NodeRun *run,
                         int64_t end) {
  int64_t seats = w->fabric->kinds[run->kind].seat_count;
  int32_t most = extent_of(w->at, w->axes, 0).last < seats ? 0 : w->fabric->level_count + 1;
  for (int64_t slot = run->slot_first, next; slot < end; slot = next) {
    NodeClass node = describe(w, run, slot), *class = class_like(w, classes, &node);
    next = stage_end(w, &node, slot, end);
    class->count += (next - slot) / seats;
    for (int64_t at = slot; at < next && class->farthest < most; at += seats) {
      int32_t distance = alike_distance(w->fabric, w->at, w->axes, at);
      if (distance <= class->farthest) continue;
      class->farthest = distance;
      class->node = node.node + (at - slot) / seats;
    }
  }
}

/* ---- all classes of nodes */

static void count_others(const AlikeWalk *w, NodeClasses *classes, const NodeRun *run,
                         int64_t end) {
  int64_t seats = w->fabric->kinds[run->kind].seat_count;
  for (int64_t slot = run->slot_first; slot < end; slot += seats) {
    NodeClass node = describe(w, run, slot);
    node.distances = mix_distances(w, slot, seats);
    class_like(w, classes, &node)->count++;
  }
}

static void count_nodes(const AlikeWalk *w, NodeClasses *classes) {
  for (int32_t i = 0; i < w->fabric->run_count; i++) {
    const NodeRun *run = &w->fabric->runs[i];
    int64_t end = i + 1 < w->fabric->run_count ? run[1].slot_first : w->total;
    if (are_blocks(w, run))
      count_blocks(w, classes, run, end);
    else
      count_others(w, classes, run, end);
  }
}

/* The class of a stage that is like one of another stage, or NULL. */
static const NodeClass *find_like(const NodeClasses *classes, const NodeClass *of, int32_t stage) {
  for (int32_t i = 0; i < classes->list.count; i++) {
    const NodeClass *found = &classes->list.at[i];
    bool is_equal = found->count == of->count && found->farthest == of->farthest;
    if (found->stage == stage && is_equal && is_alike(found, of)) return found;
  }
  return NULL;
}

/* Finds stages with their own nodes that have the same classes. */
static bool are_stages_alike(const NodeClasses *classes, int32_t a, int32_t b) {
  for (int32_t i = 0; i < classes->list.count; i++) {
    const NodeClass *at = &classes->list.at[i];
    if (at->stage < 0) return false;
    if (at->stage == a && !find_like(classes, at, b)) return false;
    if (at->stage == b && !find_like(classes, at, a)) return false;
  }
  return true;
}

static void compare_stages(const AlikeWalk *w, NodeClasses *classes) {
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
  AlikeWalk w = {.fabric = fabric, .at = at, .axes = axes, .total = fabric->slot_count};
  *known = ARENA_NEW(fabric->arena, NodeClasses);
  count_nodes(&w, *known);
  compare_stages(&w, *known);
  return *known;
}
