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

/* ---- a block meets queries */

/* The record takes the block's tokens to stand where those of the rank `turn` places back do: they
 * are those of some rank, and of one so many places back on all of them (records); here, which. */
static bool stands_there(const Typing *t, uint32_t axis, uint32_t turn) {
  enum { QUERIES = 3, KEYS = 5, END = 7 }; /* two runs each */
  uint32_t count = t->plan->axes[axis].size;
  for (uint32_t i = 0; i < t->at->varies_count; i++) {
    const PlanVary *vary = &t->plan->varies[t->at->varies_first + i];
    bool is_run = vary->attr >= QUERIES && vary->attr < END;
    if (is_run && axes_of_comm(t, vary->by) != 1u << axis) return false;
  }
  return attr_of_member(t->plan, t->at, KEYS, 0) ==
         attr_of_member(t->plan, t->at, QUERIES, (count - turn) % count);
}

bool ring_meets(Typing *t, const NodeCall *c, uint32_t axis, uint16_t *turn) {
  const uint32_t keys = form_label(c->form, "ring");
  bool has_keys = false;
  for (uint32_t i = 0; i < c->form->slot_count; i++) {
    const FormSlot *slot = &c->form->slot[i];
    if (slot->in == PLAN_NONE) continue;
    const Ring *ring = &c->in[i].ring;
    bool is_key = slot->label[c->in[i].place[axis].dim] == keys;
    if (ring->count != 0 || (!is_key && ring->turn != 0) ||
        (is_key && has_keys && ring->turn != *turn))
      return refuse_found(t, &c->in[i], "an operand does not fit the others in the ring");
    if (is_key) *turn = ring->turn;
    has_keys = has_keys || is_key;
  }
  if (t->plan->axes[axis].size <= RING_MOST && stands_there(t, axis, *turn)) return true;
  return refuse(t, "its keys are those of the rank %u back, and it takes them to stand elsewhere",
                *turn);
}

Ring ring_of_result(const Form *form, const FormSlot *slot, uint16_t turn) {
  const uint32_t keys = form_label(form, "ring");
  bool is_key = false;
  for (uint32_t dim = 0; dim < slot->dim_count; dim++)
    is_key = is_key || slot->label[dim] == keys;
  return is_key ? (Ring){.turn = turn, .count = 1} : (Ring){.first = turn, .count = 1};
}

/* ---- parts are joined */

/* The axis that divides tokens; axes_count: none does. */
static uint32_t token_axis(const Typing *t) {
  const uint32_t axes = axes_dividing(t, DIVIDES_TOKENS);
  return axes == 0 ? t->plan->axes_count : (uint32_t)__builtin_ctz(axes);
}

/* By its softmax forward; as a sum backward. */
bool is_ring_sum(const Typing *t, const PlanNode *node) {
  KernelId id = record_contract(t)->id;
  if (is_op(t->plan, node, "attention")) return id == KERNEL_attention_merge || id == KERNEL_cast;
  return is_op(t->plan, node, "attention_backward") && (id == KERNEL_add || id == KERNEL_cast);
}

/* What stands in the operand, if the node makes it, or a part of it. */
static bool read_made(Typing *t, const NodeCall *c, uint32_t operand, Type *found) {
  Type wanted = {.microbatch = TYPE_ANY};
  *found = read_type(t, operand);
  for (uint32_t i = 0; i < c->node->outputs_count; i++) {
    meaning_name(&t->meaning, c->region, t->plan->uses[c->node->outputs_first + i].value, &wanted);
    if (wanted.kind == TYPE_VALUE && found->kind == TYPE_VALUE && found->ref == wanted.ref &&
        found->layer == wanted.layer && found->part == PART_ALL &&
        (found->microbatch == TYPE_ANY || found->microbatch == 0))
      return true;
  }
  return refuse_operand(t, operand, found, &wanted);
}

/* Puts into `sum` what both are together; they may have different widths. */
static bool join_block(Typing *t, Type *sum, const Type *block) {
  Type alike = *block;
  alike.dtype = sum->dtype;
  return join_parts(t, sum, &alike) || refuse_joined(t, sum, block, "joined with");
}

/* What attention makes is merged with the statistics by which it is weighed: operands 0 and 1 are
 * all that is joined so far, 2 and 3 a block's. Sums have one of each. */
void type_ring_sum(Typing *t, const NodeCall *c) {
  const KernelId id = record_contract(t)->id;
  const bool merges = id == KERNEL_attention_merge;
  const bool adds = merges ? t->at->accumulate != 0 : id == KERNEL_add;
  const uint32_t count = merges ? 2 : 1, block_at = merges ? 2 : adds;
  Type sum[2] = {0}, block[2] = {0};
  for (uint32_t i = 0; i < count; i++)
    if (!read_made(t, c, block_at + i, &block[i]) || (adds && !read_made(t, c, i, &sum[i]))) return;
  for (uint32_t i = 0; i < count; i++) {
    if (!adds) sum[i] = block[i];
    if (adds && !join_block(t, &sum[i], &block[i])) return;
  }
  uint32_t out = t->plan->uses[c->node->outputs_first].value;
  if (merges && (sum[0].ref != out || sum[1].ref == out ||
                 memcmp(&sum[0].ring, &sum[1].ring, sizeof sum->ring) != 0 ||
                 memcmp(&block[0].ring, &block[1].ring, sizeof block->ring) != 0))
    refuse(t, "what is joined and what it is weighed by are not of the same ranks");
  for (uint32_t i = 0; i < count && !t->refused; i++) {
    const uint32_t target = merges ? i : block_at + 1;
    sum[i].dtype = (uint8_t)operand_at(t, target)->dtype;
    write_type(t, target, &sum[i]);
  }
}

/* ---- everything goes on to another rank */

/* What comes from the rank before, as it is there. */
static void receive(Typing *t, uint32_t operand, Type *type) {
  const uint32_t axis = token_axis(t);
  *type = read_type(t, operand);
  if (axis == t->plan->axes_count || axes_of_comm(t, t->at->comm) != 1u << axis ||
      type->kind != TYPE_VALUE || type->part != PART_ALL || type->place[axis].kind != PLACE_CUT) {
    refuse_found(t, type, "it sends what goes round no ring of tokens");
    return;
  }
  const uint32_t ranks = t->plan->axes[axis].size;
  Ring *ring = &type->ring;
  ring->turn = (uint16_t)((ring->turn + 1u) % ranks);
  if (ring->count != 0) ring->first = (uint16_t)((ring->first + 1u) % ranks);
}

/* The first half of the operands is sent to the next rank, the other comes from the one before. */
void type_ring(Typing *t) {
  uint32_t half = t->at->operands_count / 2;
  const int64_t *distance = record_dims(t);
  Type come[SENT_MOST];
  bool fits = half <= SENT_MOST;
  for (uint32_t i = 0; i < half && fits; i++)
    fits = operand_at(t, i)->access == ACCESS_READ &&
           operand_at(t, half + i)->access == ACCESS_WRITE && distance[i] == 1 &&
           distance[half + i] == -1;
  if (!fits) refuse(t, "it does not send to the next rank what comes from the one before");
  for (uint32_t i = 0; i < half && !t->refused; i++)
    receive(t, i, &come[i]);
  for (uint32_t i = 0; i < half && !t->refused; i++)
    write_type(t, half + i, &come[i]);
}
