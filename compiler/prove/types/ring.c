/* ring.c -- attention whose ranks have some tokens each: keys and values go round the ranks, and
 * what comes of each block is joined; gradients of a block travel with it.
 *
 * A block is that of the rank `turn` places back. What a rank makes of its queries and that block
 * is a part: of what stands at queries, of the sum over all keys; of what stands at keys, of the
 * sum over all queries. Parts are joined when together they are of a run of ranks, each once; who
 * passes one on puts everything one place further back. */
#include <string.h>

#include "compiler/prove/types/forms.h"

enum { RING_MOST = UINT16_MAX, SENT_MOST = 8 };

static uint32_t ring_size(const Typing *t, uint32_t axis) {
  return t->plan->axes[axis].size;
}

/* ---- a block meets queries */

static bool is_cut_by(const NodeCall *c, uint32_t operand, uint32_t axis, uint64_t label) {
  const FormSlot *slot = &c->form.slot[operand];
  const Place *place = &c->in[operand].place[axis];
  return slot->input != FORM_NONE && place->kind == PLACE_CUT && place->dim < slot->dim_count &&
         slot->label[place->dim] == label_of(label);
}

bool is_ring(const Typing *t, const NodeCall *c, uint32_t axis) {
  bool any = false;
  for (uint32_t i = 0; i < c->form.slot_count && c->form.keys != 0; i++)
    any = any || is_cut_by(c, i, axis, c->form.queries) || is_cut_by(c, i, axis, c->form.keys);
  return any && t->plan->axes[axis].divides == DIVIDES_TOKENS && ring_size(t, axis) <= RING_MOST;
}

static bool varies_along(const Typing *t, uint32_t first_attr, uint32_t end_attr, uint32_t axis) {
  for (uint32_t i = 0; i < t->at->varies_count; i++) {
    const PlanVary *vary = &t->plan->varies[t->at->varies_first + i];
    bool is_one = vary->attr >= first_attr && vary->attr < end_attr;
    if (is_one && axes_of_comm(t, vary->by) != 1u << axis) return false;
  }
  return true;
}

/* The record takes the block's tokens to stand where those of the rank `turn` places back do. */
static bool stands_there(const Typing *t, uint32_t axis, uint32_t turn) {
  enum { QUERIES = 3, KEYS = 5, END = 7 }; /* two runs each */
  uint32_t count = ring_size(t, axis);
  if (!varies_along(t, QUERIES, END, axis)) return false;
  for (uint32_t m = 0; m < count; m++)
    for (uint32_t run = 0; run < 2; run++)
      if (attr_of(t, KEYS + run, m) != attr_of(t, QUERIES + run, (m + count - turn) % count))
        return false;
  return true;
}

/* All operands are cut by tokens, in one way; keys are of one block. */
static bool read_block(Typing *t, const NodeCall *c, uint32_t axis, Place *cut, uint16_t *turn) {
  bool has_keys = false, has_any = false;
  for (uint32_t i = 0; i < c->form.slot_count; i++) {
    if (c->form.slot[i].input == FORM_NONE) continue;
    bool is_key = is_cut_by(c, i, axis, c->form.keys);
    const Ring *ring = &c->in[i].ring;
    Place place = c->in[i].place[axis];
    place.dim = 0;
    bool fits = is_key || is_cut_by(c, i, axis, c->form.queries);
    fits = fits && ring->count == 0 && (is_key || ring->turn == 0);
    fits = fits && (!has_any || memcmp(cut, &place, sizeof place) == 0);
    fits = fits && (!is_key || !has_keys || ring->turn == *turn);
    if (!fits) {
      char holds[TYPE_TEXT_BYTES];
      refuse(t, "operand %u does not fit the others in the ring: %s", i,
             type_text(t->plan, &c->in[i], holds));
      return false;
    }
    if (is_key) *turn = ring->turn;
    has_keys = has_keys || is_key;
    has_any = true;
    *cut = place;
  }
  return has_keys;
}

bool ring_places(Typing *t, const NodeCall *c, uint32_t axis, Type *out) {
  uint16_t turn = 0;
  Place cut = {0};
  if (!read_block(t, c, axis, &cut, &turn)) return false;
  if (!stands_there(t, axis, turn)) {
    refuse(t, "its keys are those of the rank %u back, and it takes them to stand elsewhere", turn);
    return false;
  }
  for (uint32_t i = 0; i < c->form.slot_count; i++) {
    const FormSlot *slot = &c->form.slot[i];
    if (slot->output == FORM_NONE) continue;
    out[i].place[axis] = cut;
    if (has_label(slot, label_of(c->form.queries), &out[i].place[axis].dim))
      out[i].ring = (Ring){.first = turn, .count = 1};
    else if (has_label(slot, label_of(c->form.keys), &out[i].place[axis].dim))
      out[i].ring = (Ring){.turn = turn, .count = 1};
    else
      refuse(t, "result %u has neither queries nor keys", i);
  }
  return !t->refused;
}

/* ---- parts are joined */

/* Of two runs of ranks that follow each other. */
static bool join_rings(Ring *ring, const Ring *other, uint32_t ranks) {
  uint32_t count = (uint32_t)ring->count + other->count;
  if (ring->turn != other->turn || ring->count == 0 || other->count == 0 || count > ranks)
    return false;
  bool behind = (ring->first + ring->count) % ranks == other->first;
  bool before = (other->first + other->count) % ranks == ring->first;
  if (!behind && !before) return false;
  ring->first = count == ranks ? 0 : behind ? ring->first : other->first;
  ring->count = count == ranks ? 0 : (uint16_t)count;
  return true;
}

/* The axis that divides tokens; axes_count: no one does. */
static uint32_t token_axis(const Typing *t) {
  uint32_t axis = 0;
  while (axis < t->plan->axes_count && axis < TYPE_AXES_MAX &&
         (t->plan->axes[axis].divides != DIVIDES_TOKENS || t->plan->axes[axis].size == 1))
    axis++;
  return axis < TYPE_AXES_MAX ? axis : t->plan->axes_count;
}

static bool is_op(const Typing *t, const PlanNode *node, const char *op) {
  return strcmp(plan_string(t->plan, node->op), op) == 0;
}

/* By its softmax forward; as a sum backward. */
bool is_ring_sum(const Typing *t, const PlanNode *node) {
  KernelId id = record_contract(t)->id;
  bool forward = is_op(t, node, "attention"), backward = is_op(t, node, "attention_backward");
  if (forward) return id == KERNEL_attention_merge || id == KERNEL_cast;
  return backward && (id == KERNEL_add || id == KERNEL_cast);
}

/* What stands in the operand, if the node makes it, or a part of it. */
static bool read_made(Typing *t, const NodeCall *c, uint32_t operand, Type *found) {
  Type wanted = {.microbatch = TYPE_ANY};
  *found = read_type(t, operand);
  for (uint32_t i = 0; i < c->node->outputs_count; i++) {
    uint32_t value = output_of(t, c->node, i);
    meaning_name(&t->meaning, c->region, value, &wanted);
    if (wanted.kind == TYPE_VALUE && found->kind == TYPE_VALUE && found->ref == wanted.ref &&
        found->layer == wanted.layer && found->part == PART_ALL &&
        (found->microbatch == TYPE_ANY || found->microbatch == 0))
      return true;
  }
  refuse_operand(t, operand, found, &wanted);
  return false;
}

/* Puts into `sum` what both are together; they may have different widths. */
static bool join_parts(Typing *t, Type *sum, const Type *other) {
  Type alike = *other, joined = *sum;
  uint32_t axis = token_axis(t);
  alike.ring = joined.ring = (Ring){0};
  alike.dtype = joined.dtype;
  if (axis < t->plan->axes_count && memcmp(&alike, &joined, sizeof joined) == 0 &&
      join_rings(&sum->ring, &other->ring, ring_size(t, axis)))
    return true;
  char one[TYPE_TEXT_BYTES], two[TYPE_TEXT_BYTES];
  refuse(t, "%s; cannot be joined with: %s", type_text(t->plan, other, two),
         type_text(t->plan, sum, one));
  return false;
}

static void write_as(Typing *t, uint32_t operand, Type *type) {
  type->dtype = (uint8_t)where(t, operand).operand->dtype;
  write_type(t, operand, type);
}

/* Operands 0 and 1 are all that is joined so far, 2 and 3 a block's: what attention makes, and the
 * statistics by which it is weighed. Both are of the same ranks. */
static void merge(Typing *t, const NodeCall *c) {
  Type sum[2] = {0}, block[2] = {0};
  for (uint32_t i = 0; i < 2; i++)
    if (!read_made(t, c, 2 + i, &block[i]) ||
        (t->at->accumulate != 0 && !read_made(t, c, i, &sum[i])))
      return;
  for (uint32_t i = 0; i < 2; i++) {
    if (t->at->accumulate == 0)
      sum[i] = block[i];
    else if (!join_parts(t, &sum[i], &block[i]))
      return;
  }
  uint32_t out = output_of(t, c->node, 0);
  bool both = sum[0].ref == out && sum[1].ref != out;
  if (!both || memcmp(&sum[0].ring, &sum[1].ring, sizeof sum->ring) != 0 ||
      memcmp(&block[0].ring, &block[1].ring, sizeof block->ring) != 0) {
    refuse(t, "what is joined and what it is weighed by are not of the same ranks");
    return;
  }
  for (uint32_t i = 0; i < 2; i++)
    write_as(t, i, &sum[i]);
}

void type_ring_sum(Typing *t, const NodeCall *c) {
  Type sum = {0}, other = {0};
  KernelId id = record_contract(t)->id;
  if (id == KERNEL_attention_merge) {
    merge(t, c);
  } else if (id == KERNEL_cast) {
    if (read_made(t, c, 0, &sum)) write_as(t, 1, &sum);
  } else if (read_made(t, c, 0, &sum) && read_made(t, c, 1, &other) &&
             join_parts(t, &sum, &other)) {
    write_as(t, 2, &sum);
  }
}

/* ---- everything goes on to another rank */

static uint16_t further(uint16_t back, int64_t distance, uint32_t ranks) {
  int64_t size = ranks;
  return (uint16_t)(((back + distance) % size + size) % size);
}

/* What comes from `distance` places back, as it is there. */
static bool receive(Typing *t, uint32_t operand, int64_t distance, Type *type) {
  uint32_t axis = token_axis(t);
  *type = read_type(t, operand);
  if (axis == t->plan->axes_count || axes_of_comm(t, t->at->comm) != 1u << axis ||
      ring_size(t, axis) > RING_MOST || type->kind != TYPE_VALUE || type->part != PART_ALL ||
      type->place[axis].kind != PLACE_CUT) {
    char holds[TYPE_TEXT_BYTES];
    refuse(t, "operand %u goes round no ring of tokens: %s", operand,
           type_text(t->plan, type, holds));
    return false;
  }
  type->ring.turn = further(type->ring.turn, distance, ring_size(t, axis));
  if (type->ring.count != 0)
    type->ring.first = further(type->ring.first, distance, ring_size(t, axis));
  return true;
}

/* The first half of the operands is sent, the other comes, from as far as the first goes. */
void type_ring(Typing *t) {
  uint32_t half = t->at->operands_count / 2;
  const int64_t *distance = record_dims(t);
  const PlanOperand *operand = &t->plan->operands[t->at->operands_first];
  Type come[SENT_MOST];
  bool fits = t->at->operands_count == 2 * half && half > 0 && half <= SENT_MOST &&
              t->at->dims_count == 2 * half;
  for (uint32_t i = 0; i < half && fits; i++)
    fits = operand[i].access == ACCESS_READ && operand[half + i].access == ACCESS_WRITE &&
           distance[i] == -distance[half + i];
  if (!fits) refuse(t, "what comes is not what goes");
  for (uint32_t i = 0; i < half && !t->refused; i++)
    (void)receive(t, i, distance[i], &come[i]);
  for (uint32_t i = 0; i < half && !t->refused; i++)
    write_type(t, half + i, &come[i]);
}
