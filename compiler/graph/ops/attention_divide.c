/* attention_divide.c -- attention when each rank of cp has some of a sample's tokens.
 *
 * Ring: k and v travel round the members, one block a step; each step's out is merged by its
 * log-sum-exp. In step i a rank has the block of the member i places back. In backward the blocks
 * travel round again, and the gradients of a block follow it, one step later, until they are back
 * at its owner.
 *
 * Ulysses: all_to_all gives each member all tokens of some heads, and back. Where documents begin
 * is an input, which all members have whole. */
#include <assert.h>

#include "compiler/graph/ops/divide.h"

enum { MEMBERS_BACK = 3 }; /* attr of attention */

static int64_t members(const Shard *s) {
  return s->g->mesh.size[MESH_CP];
}

/* ---- ring */

typedef struct BlockPair {
  ValueId at[2]; /* k and v, or their gradients */
} BlockPair;

static BlockPair pair_as(Shard *s, BlockPair like, DType dtype) {
  return (BlockPair){{value_as(s, like.at[0], dtype), value_as(s, like.at[1], dtype)}};
}

/* Sends `sent` to the next member, where it is the result. */
static void exchange(Shard *s, const Node *n, BlockPair sent, BlockPair received) {
  NodeId id = push_op(s, n, OP_exchange, (const ValueId[]){sent.at[0], sent.at[1], NO_ID},
                      (const ValueId[]){received.at[0], received.at[1], NO_ID});
  graph_node(s->g, id)->axes = s->axes;
}

static BlockPair pass_on(Shard *s, const Node *n, BlockPair block) {
  BlockPair next = pair_as(s, block, graph_value(s->g, block.at[0])->dtype);
  exchange(s, n, block, next);
  return next;
}

/* Sums over blocks are kept in f32 when values are narrower. */
static DType sum_dtype(DType dtype) {
  return dtype == DTYPE_BF16 || dtype == DTYPE_F16 ? DTYPE_F32 : dtype;
}

static void cut_seq(Shard *s, ValueId v) {
  int32_t at = place_of_dim(s, v, s->seq);
  if (at >= 0) graph_value(s->g, v)->dims[at] = part_of(s, s->seq);
}

/* lse with its dims [batch, heads, seq]: it is merged in place through a view, and views need dims.
 */
static void name_lse(Shard *s, ValueId lse, ValueId out) {
  Value *value = graph_value(s->g, lse), *like = graph_value(s->g, out);
  int32_t tokens = like->dim_count - 2;
  assert(tokens >= 1);
  value->extra_elements = 0;
  value->dim_count = tokens + 1;
  for (int32_t i = 0; i + 1 < tokens; i++)
    value->dims[i] = like->dims[i];
  value->dims[tokens - 1] = like->dims[tokens];
  value->dims[tokens] = like->dims[tokens - 1];
}

static void attend(Shard *s, const Node *n, int64_t step, BlockPair block, ValueId out,
                   ValueId lse) {
  Node one = *n;
  one.inputs[1] = block.at[0];
  one.inputs[2] = block.at[1];
  one.outputs[0] = out;
  one.outputs[1] = lse;
  one.attrs[MEMBERS_BACK] = (double)step;
  push_node(s, one);
}

typedef struct MergedBlocks {
  ValueId out, lse;
} MergedBlocks;

/* Merges a block's out and lse into those of the blocks before; `into` may exist already. */
static MergedBlocks merge(Shard *s, const Node *n, MergedBlocks before, MergedBlocks block,
                          MergedBlocks into) {
  NodeId id = push_op(s, n, OP_attention_merge,
                      (const ValueId[]){before.out, before.lse, block.out, block.lse, NO_ID},
                      (const ValueId[]){into.out, into.lse, NO_ID});
  graph_node(s->g, id)->accumulate = ACCUMULATE_ALWAYS;
  graph_value(s->g, into.out)->view_of = before.out;
  graph_value(s->g, into.lse)->view_of = before.lse;
  return into;
}

/* Each token's own document begins where its queries are. */
static void cut_begin(Shard *s, Node *n, int32_t input) {
  const DimId part = part_of(s, s->seq);
  if (n->input_count > input)
    n->inputs[input] = convert(s, n->inputs[input], OP_slice, s->axes, part, n);
}

static void ring_forward(Shard *s, Node *n) {
  cut_begin(s, n, 3);
  ValueId out = n->outputs[0], lse = n->outputs[1];
  DType dtype = graph_value(s->g, out)->dtype, wide = sum_dtype(dtype);
  cut_seq(s, out);
  name_lse(s, lse, out);
  DType lse_dtype = graph_value(s->g, lse)->dtype;
  BlockPair block = {{n->inputs[1], n->inputs[2]}}, next = block;
  for (int32_t i = 0; i < 2; i++)
    block.at[i] = op_dense(s->g, s->out, n, block.at[i]);
  MergedBlocks sum = {NO_ID, NO_ID};
  for (int64_t step = 0; step < members(s); step++) {
    bool last = step + 1 == members(s);
    if (!last) next = pass_on(s, n, block);
    MergedBlocks one = {value_as(s, out, dtype), value_as(s, lse, lse_dtype)};
    attend(s, n, step, block, one.out, one.lse);
    block = next;
    if (step == 0) {
      sum = one;
      if (wide == dtype) continue;
      sum = (MergedBlocks){value_as(s, out, wide), value_as(s, lse, lse_dtype)};
      push_op(s, n, OP_attention_merge, (const ValueId[]){one.out, one.lse, NO_ID},
              (const ValueId[]){sum.out, sum.lse, NO_ID});
      continue;
    }
    MergedBlocks into = {last && wide == dtype ? out : value_as(s, out, wide),
                         last ? lse : value_as(s, lse, lse_dtype)};
    sum = merge(s, n, sum, one, into);
  }
  if (wide != dtype)
    push_op(s, n, OP_cast, (const ValueId[]){sum.out, NO_ID}, (const ValueId[]){out, NO_ID});
}

/* A dense value that a node can write in place of v: v itself, unless it is a view. */
static ValueId dense_for(Shard *s, ValueId v) {
  return graph_value(s->g, v)->view_of == NO_ID ? v : value_as(s, v, graph_value(s->g, v)->dtype);
}

static void deliver(Shard *s, const Node *n, ValueId from, ValueId to) {
  if (from != to)
    push_op(s, n, OP_copy, (const ValueId[]){from, NO_ID}, (const ValueId[]){to, NO_ID});
}

static ValueId add(Shard *s, const Node *n, ValueId a, ValueId b, ValueId sum) {
  push_op(s, n, OP_add, (const ValueId[]){a, b, NO_ID}, (const ValueId[]){sum, NO_ID});
  return sum;
}

typedef struct RingGradients {
  DType dtype, wide;
  ValueId d_q;       /* the sum so far */
  BlockPair travels; /* d_k and d_v of this step's block, accumulated so far */
} RingGradients;

/* One block: its gradients from this rank are added to those that arrived with it. */
static void ring_step(Shard *s, const Node *n, int64_t step, BlockPair block, const ValueId *whole,
                      RingGradients *r) {
  bool first = step == 0, last = step + 1 == members(s);
  ValueId d[3];
  Node one = *n;
  one.inputs[2] = block.at[0];
  one.inputs[3] = block.at[1];
  one.attrs[MEMBERS_BACK] = (double)step;
  for (int32_t i = 0; i < 3; i++)
    one.outputs[i] = d[i] = value_as(s, whole[i], r->dtype);
  push_node(s, one);
  if (first) {
    r->d_q = d[0];
    r->travels = (BlockPair){{d[1], d[2]}};
    return;
  }
  r->d_q = add(s, n, r->d_q, d[0], last ? whole[0] : value_as(s, whole[0], r->wide));
  for (int32_t i = 0; i < 2; i++)
    r->travels.at[i] =
        add(s, n, r->travels.at[i], d[1 + i], value_as(s, whole[1 + i], last ? r->dtype : r->wide));
}

static void ring_backward(Shard *s, Node *n) {
  cut_begin(s, n, 6);
  ValueId whole[3];
  for (int32_t i = 0; i < 3; i++) {
    cut_seq(s, n->outputs[i]);
    whole[i] = dense_for(s, n->outputs[i]);
  }
  BlockPair block = {{n->inputs[2], n->inputs[3]}}, next = block;
  for (int32_t i = 0; i < 2; i++)
    block.at[i] = op_dense(s->g, s->out, n, block.at[i]);
  DType dtype = graph_value(s->g, whole[0])->dtype;
  RingGradients r = {.dtype = dtype, .wide = sum_dtype(dtype)};
  for (int64_t step = 0; step < members(s); step++) {
    bool last = step + 1 == members(s);
    if (!last) next = pass_on(s, n, block);
    ring_step(s, n, step, block, whole, &r);
    block = next;
    if (!last) r.travels = pass_on(s, n, r.travels);
  }
  exchange(s, n, r.travels, (BlockPair){{whole[1], whole[2]}}); /* home */
  for (int32_t i = 0; i < 3; i++)
    deliver(s, n, whole[i], n->outputs[i]);
}

/* ---- Ulysses */

/* [batch, seq part, heads, head] <-> [batch, seq, heads part, head] */
static void to_other_cut(Shard *s, const Node *n, ValueId from, ValueId to) {
  const Value *value = graph_value(s->g, from);
  int32_t heads = value->dim_count - 2, seq = heads - 1;
  bool inward = value->dims[seq] != s->seq;
  NodeId id =
      push_op(s, n, OP_all_to_all, (const ValueId[]){from, NO_ID}, (const ValueId[]){to, NO_ID});
  Node *made = graph_node(s->g, id);
  made->axes = s->axes;
  made->attrs[0] = inward ? seq : heads;
  made->attrs[1] = inward ? heads : seq;
}

/* Converts v from the rank's tokens of all heads to all tokens of the rank's heads. */
static ValueId inside_value(Shard *s, ValueId v) {
  ValueId inner = value_as(s, v, graph_value(s->g, v)->dtype);
  Value *value = graph_value(s->g, inner);
  int32_t heads = value->dim_count - 2;
  value->dims[heads - 1] = s->seq;
  value->dims[heads] = part_of(s, value->dims[heads]);
  return inner;
}

static ValueId inward(Shard *s, const Node *n, ValueId v) {
  if (map_get(&s->inside, v) != v) return map_get(&s->inside, v);
  ValueId inner = inside_value(s, v);
  to_other_cut(s, n, v, inner);
  map_set(s, &s->inside, v, inner);
  return inner;
}

static void ulysses_forward(Shard *s, Node *n) {
  Node all = *n;
  for (int32_t i = 0; i < 3; i++)
    all.inputs[i] = inward(s, n, n->inputs[i]);
  cut_seq(s, n->outputs[0]);
  all.outputs[0] = inside_value(s, n->outputs[0]);
  graph_value(s->g, n->outputs[1])->extra_elements /= members(s);
  push_node(s, all);
  to_other_cut(s, n, all.outputs[0], n->outputs[0]);
  map_set(s, &s->inside, n->outputs[0], all.outputs[0]);
}

static void ulysses_backward(Shard *s, Node *n) {
  Node all = *n;
  ValueId whole[3];
  for (int32_t i = 0; i < 5; i++)
    all.inputs[i] = inward(s, n, n->inputs[i]);
  for (int32_t i = 0; i < 3; i++) {
    cut_seq(s, n->outputs[i]);
    whole[i] = dense_for(s, n->outputs[i]);
    all.outputs[i] = inside_value(s, whole[i]);
  }
  push_node(s, all);
  for (int32_t i = 0; i < 3; i++) {
    to_other_cut(s, n, all.outputs[i], whole[i]);
    deliver(s, n, whole[i], n->outputs[i]);
  }
}

bool divide_attention(Shard *s, Node *n) {
  if (!s->everywhere) return false;
  (s->options.context == CONTEXT_RING ? ring_forward : ulysses_forward)(s, n);
  return true;
}

bool divide_attention_backward(Shard *s, Node *n) {
  if (!s->everywhere) return false;
  (s->options.context == CONTEXT_RING ? ring_backward : ulysses_backward)(s, n);
  return true;
}
