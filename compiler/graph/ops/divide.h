/* divide.h -- a pass that cuts a graph along cp, or along tp and tp_group: the layouts of its
 * values and the conversions between them, for the passes in shard/ and for ops that are cut in a
 * way of their own (OpDef.divide, OpDef.append). */
#ifndef LOCKSTEP_DIVIDE_H
#define LOCKSTEP_DIVIDE_H

#include "compiler/graph/ops/op.h"

typedef enum ContextKind {
  CONTEXT_RING,   /* zig-zag parts of seq; k and v travel around */
  CONTEXT_ULYSSES /* contiguous parts; attention has all tokens of some heads */
} ContextKind;

typedef struct ShardOptions {
  bool sequence; /* the carried value is cut along seq by tp (sequence parallel) */
  bool regather; /* backward gathers the input of a cut linear again instead of keeping the gathered
                    one */
  ContextKind context;
} ShardOptions;

typedef struct Conversion {
  ValueId from, result;
  OpKind op;
  DimId dim; /* the part that was added or removed; NO_ID for an all-reduce */
} Conversion;

typedef VEC(ValueId) ValueMap; /* by value: the value that replaces it, or NO_ID */

struct Shard {
  Graph *g;
  uint32_t axes;   /* MESH_BITs of this pass with more than one rank */
  bool everywhere; /* cp: every value with seq is cut from the start */
  ShardOptions options;
  int32_t dim_count; /* before the pass */
  DimId *part;       /* by dim before the pass: the rank's part of it, or NO_ID */
  VEC(DimId) base;   /* by dim made in this pass, minus dim_count: the dim it is a part of */
  DimId seq;         /* the dim that tokens are cut along; an earlier pass may have cut it */
  bool is_backward;  /* the current list is */
  RegionId region;
  NodeList *out;
  VEC(Conversion) made; /* in this region; shared by all readers */
  ValueMap instead;     /* by value: the value to read instead */
  ValueMap inside;      /* Ulysses: the form with all tokens of some heads */
};

ValueId map_get(const ValueMap *map, ValueId v); /* v itself if nothing replaces it */
void map_set(Shard *s, ValueMap *map, ValueId v, ValueId other);

/* ---- layouts along this pass's axes */
DimId part_of(const Shard *s, DimId dim);                   /* NO_ID: stays whole */
DimId base_of(const Shard *s, DimId part);                  /* NO_ID: not of this pass */
uint32_t axes_of(const Shard *s, DimId part);               /* the axes along which it is cut */
DimId cut_of(const Shard *s, ValueId v);                    /* the part among its dims, or NO_ID */
int32_t place_of_dim(const Shard *s, ValueId v, DimId dim); /* -1: not there */
uint32_t partial_of(const Shard *s, ValueId v);
bool is_param(const Shard *s, ValueId v);
bool can_cut_seq(const Shard *s, ValueId v);

/* ---- conversions: each is made once and serves all readers */
ValueId convert(Shard *s, ValueId v, OpKind op, uint32_t axes, DimId dim, const Node *reader);
/* Sums v over the axes on which it is Partial, except those in `keep`. The result is cut along seq
 * if `may_cut` and the pass allows it. */
ValueId settle(Shard *s, ValueId v, uint32_t keep, bool may_cut, const Node *reader);
ValueId as_carried(Shard *s, ValueId v, const Node *reader);
ValueId latest(const Shard *s,
               ValueId v); /* the value to read for v: its sum, when that was made in place */

/* ---- nodes */
NodeId push_node(Shard *s, Node node); /* inputs that need it become dense */
/* Appends node `id`, which is replaced by n. */
void push_cut(Shard *s, NodeId id, Node *n);
/* A node of `op` on behalf of `of`; inputs and outputs end with NO_ID. */
NodeId push_op(Shard *s, const Node *of, OpKind op, const ValueId *inputs, const ValueId *outputs);
ValueId owned(Shard *s, ValueId v, const Node *reader); /* v, or a copy where it is a view */
ValueId value_as(Shard *s, ValueId like, DType dtype);

/* ---- OpDef.divide of ops that are cut in a way of their own. The sums that n needs of its inputs
 * are made already. False: the rule does not apply in this pass, or not to this node. */
bool divide_attention(Shard *s, Node *n); /* attention_divide.c */
bool divide_attention_backward(Shard *s, Node *n);
bool divide_cross_entropy(Shard *s, Node *n); /* cross_entropy_divide.c */

#endif
