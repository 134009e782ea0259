/* ring.c -- ring attention: each rank has some of the tokens, keys and values travel round the
 * ranks, and the results of their blocks are merged; the gradients of a block travel with it.
 *
 * A block belongs to the rank `turn` places back. What a rank computes from its queries and that
 * block is partial: results at queries lack the other keys, results at keys lack the other queries.
 * Partial results may be merged when together they cover a run of adjacent ranks, each once.
 * Passing a block on increases every distance by one. */
#include <string.h>

#include "compiler/plan/prove/types/forms.h"

enum { RING_MOST = UINT16_MAX, SENT_MOST = 8 };

/* ---- a block meets queries */

/* The record's attrs must give the positions of the tokens of the rank `turn` places back.
 * `records` has shown that they are those of some rank, at the same distance on all ranks; here it
 * is found which. */
static bool stands_there(const Typing *t, uint32_t axis, uint32_t turn) {
  enum { QUERIES = 3, KEYS = 5, END = 7 }; /* two runs each */
  uint32_t count = t->plan->axes[axis].size;
  for (uint32_t i = 0; i < t->call.at->varies_count; i++) {
    const PlanVary *vary = &t->plan->varies[t->call.at->varies_first + i];
    bool is_run = vary->attr >= QUERIES && vary->attr < END;
    if (is_run && axes_of_comm(t, vary->by) != 1u << axis) return false;
  }
  return attr_of_member(t->plan, t->call.at, KEYS, 0) ==
         attr_of_member(t->plan, t->call.at, QUERIES, (count - turn) % count);
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
  return REFUSE(t, "its keys are those of the rank %u back, but its positions are not", *turn);
}

Ring ring_of_result(const Form *form, const FormSlot *slot, uint16_t turn) {
  const uint32_t keys = form_label(form, "ring");
  bool is_key = false;
  for (uint32_t dim = 0; dim < slot->dim_count; dim++)
    is_key = is_key || slot->label[dim] == keys;
  return is_key ? (Ring){.turn = turn, .count = 1} : (Ring){.first = turn, .count = 1};
}

/* ---- parts are joined */

/* The axis that divides tokens, or axes_count. */
static uint32_t token_axis(const Typing *t) {
  const uint32_t axes = axes_dividing(t, DIVIDES_TOKENS);
  return axes == 0 ? t->plan->axes_count : (uint32_t)__builtin_ctz(axes);
}

/* Merged by softmax in forward, as a sum in backward. */
bool is_ring_sum(const Typing *t, const PlanNode *node) {
  KernelId id = record_contract(t)->id;
  if (is_op(t->plan, node, "attention") || is_op(t->plan, node, "attention_apart"))
    return id == KERNEL_attention_merge || id == KERNEL_cast;
  return (is_op(t->plan, node, "attention_backward") ||
          is_op(t->plan, node, "attention_apart_backward")) &&
         (id == KERNEL_add || id == KERNEL_cast);
}

/* The operand's type, if the node makes that value or a part of it. */
static bool read_made(Typing *t, const NodeCall *c, uint32_t operand, Type *found) {
  Type wanted = {.microbatch = TYPE_ANY};
  *found = read_type(t, operand);
  for (uint32_t i = 0; i < c->node->outputs_count; i++) {
    meaning_name(&t->proof.meaning, c->region, t->plan->uses[c->node->outputs_first + i].value,
                 &wanted);
    if (wanted.kind == TYPE_VALUE && found->kind == TYPE_VALUE && found->ref == wanted.ref &&
        found->layer == wanted.layer && found->part == PART_ALL &&
        (found->microbatch == TYPE_ANY || found->microbatch == 0))
      return true;
  }
  return refuse_operand(t, operand, found, &wanted);
}

/* Writes the union of both into `sum`. They may differ in dtype. */
static bool join_block(Typing *t, Type *sum, const Type *block) {
  Type alike = *block;
  alike.dtype = sum->dtype;
  return join_parts(t, sum, &alike) || refuse_joined(t, sum, block, "joined with");
}

/* Attention results are merged with the statistics that weigh them: operands 0 and 1 hold the
 * merged result so far, 2 and 3 the result of one block. A sum has one of each. The numbers of all
 * follow from what the plan states of the values. */
void type_ring_sum(Typing *t, const NodeCall *c) {
  const KernelId id = record_contract(t)->id;
  const bool merges = id == KERNEL_attention_merge;
  const bool adds = merges ? t->call.at->accumulate != 0 : id == KERNEL_add;
  const uint32_t count = merges ? 2 : 1, block_at = merges ? 2 : adds;
  Type sum[2] = {0}, block[2] = {0};
  for (uint32_t i = 0; i < count; i++)
    if (!read_made(t, c, block_at + i, &block[i]) || (adds && !read_made(t, c, i, &sum[i]))) return;
  for (uint32_t i = 0; i < count; i++) {
    if (!adds) sum[i] = block[i];
    if (adds && !join_block(t, &sum[i], &block[i])) return;
  }
  if (!is_as_said(t, block_at, &block[0]) || (adds && !is_as_said(t, 0, &sum[0]))) return;
  uint32_t out = t->plan->uses[c->node->outputs_first].value;
  if (merges && (sum[0].ref != out || sum[1].ref == out ||
                 memcmp(&sum[0].ring, &sum[1].ring, sizeof sum->ring) != 0 ||
                 memcmp(&block[0].ring, &block[1].ring, sizeof block->ring) != 0))
    REFUSE(t, "what is joined and what it is weighed by are not of the same ranks");
  for (uint32_t i = 0; i < count && !t->class.refused; i++) {
    const uint32_t target = merges ? i : block_at + 1;
    sum[i].dtype = (uint8_t)operand_at(t, target)->dtype;
    if (i > 0 || is_as_said(t, target, &sum[i])) write_type(t, target, &sum[i]);
  }
}

/* ---- everything continues to another rank */

/* The type of what arrives from the previous rank, as seen there. */
static void receive(Typing *t, uint32_t operand, Type *type) {
  const uint32_t axis = token_axis(t);
  *type = read_type(t, operand);
  if (axis == t->plan->axes_count || axes_of_comm(t, t->call.at->comm) != 1u << axis ||
      type->kind != TYPE_VALUE || type->part != PART_ALL || type->place[axis].kind != PLACE_CUT) {
    refuse_found(t, type, "it sends a value that no ring passes on");
    return;
  }
  const uint32_t ranks = t->plan->axes[axis].size;
  Ring *ring = &type->ring;
  ring->turn = (uint16_t)((ring->turn + 1u) % ranks);
  if (ring->count != 0) ring->first = (uint16_t)((ring->first + 1u) % ranks);
}

/* The first half of the operands is sent to the next rank, the second half arrives from the
 * previous one. */
void type_ring(Typing *t) {
  uint32_t half = t->call.at->operands_count / 2;
  const int64_t *distance = record_dims(t);
  Type come[SENT_MOST];
  bool fits = half <= SENT_MOST;
  for (uint32_t i = 0; i < half && fits; i++)
    fits = operand_at(t, i)->access == ACCESS_READ &&
           operand_at(t, half + i)->access == ACCESS_WRITE && distance[i] == 1 &&
           distance[half + i] == -1;
  if (!fits) REFUSE(t, "it does not send to the next rank and receive from the previous one");
  for (uint32_t i = 0; i < half && !t->class.refused; i++)
    receive(t, i, &come[i]);
  for (uint32_t i = 0; i < half && !t->class.refused; i++)
    write_type(t, half + i, &come[i]);
}
