/* op.h -- what the compiler knows about an op, all of it in one file per op (ops/NAME.c), listed in
 * ops.def.
 *
 * Forward ops are what model files call; the nodes their backward rules append are ops of the same
 * file. No pass switches over op kinds: it asks the OpDef.
 *
 * Forward nodes, with their inputs in order and their attrs by index; weights are VALUE_PARAM:
 *
 *   op              inputs                 attrs
 *
 *   embedding       table, ids
 *   positions
 *   linear          x, weight [, bias]
 *   layernorm       x, weight, bias        eps, offset
 *   rmsnorm         x, weight              eps, offset
 *   rope            x                      base, sign, and the four of its scaling (rope.c)
 *   attention       q, k, v                causal, scale (0: 1/sqrt(head)), dropout rate,
 *                                          (one of shard/), window, softcap
 *   gelu silu ...   x
 *   add subtract    a, b
 *   multiply        a, b
 *   affine          x                      scale, shift
 *   dropout         x                      rate
 *   split           x                      which of its dims (counted from 0) is cut
 *   cross_entropy   logits, target ids     smoothing, z
 *   mse             y, target
 *
 * shard/ adds, when ranks share what a node works on: all_reduce, all_gather, reduce_scatter,
 * slice, all_to_all, exchange (convert.c); cross_entropy_stats and _parts; attention_merge; cast.
 *
 * Which way a linear's weight lies follows from names: [out..., in...], or [in..., out...] for a
 * shared handle. Dropout and attention draw their masks from the node's path: paths are unique.
 *
 * Losses: output 0 is the VALUE_LOSS (sum, weight), which accumulates over micro-batches; in a
 * training graph output 1 is the gradient of input 0, times weight / loss_count (mse: also 1 /
 * features). The last two attrs are the weight (plan_losses.h). The mean is sum / weight:
 * cross_entropy counts tokens with a target, mse counts elements. */
#ifndef LOCKSTEP_OP_H
#define LOCKSTEP_OP_H

#include "compiler/graph/graph.h"

enum {
  LOWERED_OPERANDS_MAX = 12,
  LOWERED_DIMS_MAX = 20,
  LOWERED_ATTRS_MAX = 16,
  LOWERED_VARIES_MAX = 8
};

/* attrs[attr] + member * stride + values[member], member being the rank's number along `axes`. */
typedef struct LoweredVary {
  int32_t attr;
  uint32_t axes; /* MESH_BITs */
  double stride;
  const double *values; /* NULL, or one per member */
} LoweredVary;

/* The kernel call of a node: kernels.def states the order of operands, dims and attrs. */
typedef struct Lowered {
  const char *kernel; /* NULL: the node is only a view, no record */
  int32_t operand_count;
  ValueId operands[LOWERED_OPERANDS_MAX];
  Access access[LOWERED_OPERANDS_MAX];
  int32_t dim_count;
  int64_t dims[LOWERED_DIMS_MAX];
  int32_t attr_count;
  double attrs[LOWERED_ATTRS_MAX];
  int64_t workspace_bytes;  /* > 0: scratch appended as the last operand */
  int64_t flops;            /* multiply-add = 2; 0 for memory-bound ops whose FLOPs do not matter */
  int64_t recomputed_flops; /* the part of them that recomputes what forward has computed */
  RecordKind kind;          /* of a communication; RECORD_KERNEL else */
  uint32_t axes;            /* of a communication: MESH_BITs that vary within its communicator */
  int32_t vary_count;
  LoweredVary varies[LOWERED_VARIES_MAX];
  bool random; /* the record gets a key from the node's path */
} Lowered;

/* Facts about an op's layouts that do not follow from names of dims. */
enum {
  LAYOUT_LINEAR = 1u << 0, /* partial sums may pass through when all inputs are partial sums */
  LAYOUT_WHOLE_FEATURES = 1u << 1, /* it needs all features of a token that its weight has, or all
                                      when it has no weight */
  LAYOUT_HEADS = 1u << 2,          /* its inputs' cut names belong together: heads and kv_heads */
  LAYOUT_BILINEAR = 1u << 3,       /* linear in each input: one of them may be partial sums */
  LAYOUT_SAME_PLACES = 1u << 4,    /* dim i of the output is cut where dim i of the input is */
  LAYOUT_WHOLE_TOKENS = 1u << 5,   /* it needs all tokens that a rank has after cp */
  LAYOUT_CONVERTS = 1u << 6,       /* changes the layout along the node's axes */
  LAYOUT_MAKES_WHOLE = 1u << 7,    /* a conversion: dim attrs[0] is cut before and whole after */
  LAYOUT_AS_FORWARD =
      1u << 8, /* cut like the forward op whose gradient it is; its inputs are not asked */
};

/* The table that the ids of input 1 index, when that input is ids. */
typedef enum IdsOf {
  IDS_OF_NOTHING,
  IDS_OF_ROWS,   /* of input 0, a table */
  IDS_OF_CLASSES /* features of input 0; the ids are the targets */
} IdsOf;

/* The attr that a diagnostic is about: if the job has set it, the job's line is shown. */
typedef struct AttrBlame {
  const char *diagnostic; /* its name in diagnostics.def */
  int32_t attr;
} AttrBlame;

/* Backward bookkeeping, gradient.h. */
typedef struct Grad Grad;
/* A pass that cuts a graph, divide.h. */
typedef struct Shard Shard;

typedef struct OpDef {
  const char *name;
  /* Checks inputs and attrs, makes the output values (dims, dtype, names) in n->outputs and sets
   * output_count. False when reported with error_at(n->origin). Nodes made by backward rules have
   * their outputs set already when output_count > 0; then shape only checks. */
  bool (*shape)(Graph *g, Node *n);
  /* Appends the nodes that compute the gradients of n's inputs (gradient.h). NULL: not
   * differentiable.
   */
  void (*backward)(Grad *b, const Node *n);
  /* op_lower has filled in the defaults: the kernel of the op's name, inputs READ, then outputs
   * WRITE. NULL: that is all. Accumulated operands are WRITE: the node's `accumulate` says when the
   * kernel adds instead. */
  void (*lower)(const Graph *g, const Node *n, Lowered *out);
  /* Output 0 may take over the storage of this input when nothing reads that input later and
   * neither is a view; -1: never. */
  int32_t in_place;
  uint32_t reads_views;  /* bit i: input i may have a row stride; others get a dense copy first */
  uint32_t writes_views; /* bit i: output i may have a row stride */
  uint32_t overwrites;   /* bit i: in training input i is destroyed; an output is a view of it */
  bool in_runs;    /* it may run for one run of tokens after another: lowers to dims with rows */
  bool is_light;   /* a pass over memory: computing it again costs less than keeping its result */
  bool is_gate;    /* input 0 times input 1: an activation that makes one of them may join it */
  bool recodes;    /* its results are input 0 in another storage */
  bool is_sent;    /* other ranks read input 0 in place while later nodes run */
  uint32_t layout; /* LAYOUT_*: what shard/ must know beyond names */
  /* further LAYOUT_* bits that depend on the attrs; or NULL */
  uint32_t (*layout_with)(const double *attrs);
  const struct OpDef *gradient_of; /* the op whose gradient it makes in backward; or NULL */
  /* Appends n as a rank has it, where names do not say how it is cut; the sums that n needs of its
   * inputs are made. Then nothing else is done about n. False, or NULL: names say it. */
  bool (*divide)(Shard *pass, Node *n);
  /* Appends node `id`, which has become n, its inputs and outputs cut; `asked` is n with the inputs
   * as they were before. NULL: push_cut. */
  void (*append)(Shard *pass, NodeId id, const Node *asked, Node *n);
  IdsOf ids;
  bool is_position;        /* it numbers tokens: every region that reads it makes its own */
  const AttrBlame *blames; /* ends with {0}; or NULL */
  const char *paper;       /* source of the formulas, or NULL */
  /* How model files call an op with one input and one output: call(x), or call(x, "form") where ops
   * share a call; without a form the first of them in ops.def is meant. NULL: it has no such call.
   */
  const char *call, *form;
} OpDef;

#define OP(name) OP_##name,
typedef enum OpKind {
#include "compiler/graph/ops/ops.def"
  OP_COUNT
} OpKind;
#undef OP

#define OP(name) extern const OpDef op_##name;
#include "compiler/graph/ops/ops.def"
#undef OP

const OpDef *op_def(int32_t op);

/* The LAYOUT_* flags of a node: the flags of its op, and flags that follow from its attrs. */
uint32_t op_layout(const Node *n);

/* Fills `out` for one node: defaults first, then the op's own rule. The second: for one of this
 * many equal runs of its tokens. */
void op_lower(const Graph *g, const Node *n, Lowered *out);
void op_lower_part(const Graph *g, const Node *n, int64_t parts, Lowered *out);

/* The number of an activation in attr `form` of a gate; NO_ID: of no activation. */
int32_t op_gate_form(int32_t op);

/* A dense value: v itself, or a copy of it appended to `list` on behalf of `n`. */
ValueId op_dense(Graph *g, NodeList *list, const Node *n, ValueId v);

/* Makes a dense copy of every input that the op cannot read with a stride. op_append does this. */
void op_dense_inputs(Graph *g, NodeList *list, Node *n);

/* Appends a node to `list`; its op's shape rule makes the outputs (op.h). NO_ID when reported. */
NodeId op_append(Graph *g, NodeList *list, Node node);

/* The number of elements that share a scale in codes of eight bits. */
typedef enum Fp8Scaling { FP8_TENSOR, FP8_BLOCK } Fp8Scaling;
enum { FP8_UNIT = 16 };    /* sizes that cublasLt multiplies are multiples of it, */
enum { CODE_BLOCK = 128 }; /* and by block of a block's side */

/* Has linear layers inside stacks multiply codes of eight bits (codes.c); g->not_fp8 gets those
 * whose sizes do not fit. Call it on the graph of one rank, before recomputation. */
void op_code_products(Graph *g, Fp8Scaling scaling);

/* Model FLOPs of one token in training, the numerator of MFU (Chowdhery et al. 2022, appendix B):
 * 6 N + 12 L h d T, and half of the second where attention is causal. N counts the weights of
 * matrix products, with the head's and its padded rows, without embeddings that are looked up; h d
 * is the width of all heads of a layer. Backward is twice forward: what flash attention or a
 * recompute policy computes again is not counted, though records' own FLOPs, which predict time,
 * have it. `g` is whole, not yet cut; it has `tokens` tokens in a micro-batch. */
int64_t op_flops_per_token(const Graph *g, int64_t tokens);

#endif
