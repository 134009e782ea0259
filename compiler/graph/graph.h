/* graph.h -- the op graph of one micro-batch on one replica: nodes over values with named
 * dimensions.
 *
 * A model is a chain of regions: what comes before a stack, the stack's block (traced once,
 * repeated `repeat` times), what comes between stacks and after. One value is carried from region
 * to region; a block returns a value of the kind that it takes. Node and value ids index growable
 * arrays, so they stay valid while the graph grows. */
#ifndef LOCKSTEP_GRAPH_H
#define LOCKSTEP_GRAPH_H

#include "compiler/base/base.h"
#include "compiler/job/mesh.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_losses.h"

enum { DIMS_MAX = 8, NODE_INPUTS_MAX = 8, NODE_OUTPUTS_MAX = 6, NODE_ATTRS_MAX = 6 };
typedef int32_t DimId, ValueId, NodeId, ParamId, RegionId;
#define NO_ID (-1)

typedef struct DimList {
  int32_t count;
  DimId at[DIMS_MAX];
} DimList;

typedef struct Dim {
  const char *name; /* "batch", "seq", "heads" ... */
  int64_t size;     /* whole, not sharded */
  const char *axis; /* mesh axis that may shard it: "dp", "cp", "tp", or NULL */
  bool carried;     /* batch, seq: linear and norms carry them; all others are features */
  bool is_part;     /* one rank's part of `whole` along `mesh`, made by shard/ */
  DimId whole;
  MeshAxis mesh;
  int64_t real_size; /* for a padded whole dim: the number of entries that are not padding; 0: not
                        padded */
  bool zigzag;       /* for a part: of 2n equal chunks, member m has chunks m and 2n-1-m */
  Span set_at;       /* the job's line that sets its size; no file: the model's file does */
} Dim;

/* Kinds of values (plan.h): an activation; an input is staged data of the micro-batch; a
 * parameter's storage as kernels read it, and its accumulated gradient; the loss, f64[2] in the
 * control buffer: sum of losses, sum of weights. */
typedef struct Value {
  const char *name; /* for messages: "h.*.attn.c_attn" */
  ValueKind kind;
  ValueId logical; /* the value before sharding that this is, or is a part of; or NO_ID */
  DType dtype;
  int32_t dim_count;
  DimId dims[DIMS_MAX]; /* row-major, first slowest */
  NodeId producer;
  RegionId region;        /* where it was made */
  ParamId param;          /* of VALUE_PARAM and VALUE_PARAM_GRAD */
  int32_t input;          /* of VALUE_INPUT: index into graph->inputs */
  int64_t extra_elements; /* for statistics: this many elements, without dims (dim_count 0) */
  /* A view lies inside another value: element 0 of each token at view_offset in the same token of
   * view_of.
   */
  uint32_t partial;    /* bit per MeshAxis: ranks hold partial sums */
  ValueId view_of;     /* NO_ID: owns its storage */
  int64_t view_offset; /* elements */
  bool is_joined;      /* a gate computes it inside: no node makes or reads it */
  int32_t loss;        /* of VALUE_LOSS: its number */
} Value;

/* How a node writes the parameter gradients among its outputs. */
typedef enum Accumulate {
  ACCUMULATE_NEVER,       /* has none */
  ACCUMULATE_AFTER_FIRST, /* assigns in the first micro-batch of a step, adds in the others */
  ACCUMULATE_ALWAYS,      /* a second contribution: adds */
} Accumulate;

typedef struct Node {
  int32_t op; /* index into ops.def: OP_LINEAR ... */
  int32_t input_count, output_count;
  ValueId inputs[NODE_INPUTS_MAX];
  ValueId outputs[NODE_OUTPUTS_MAX];
  double attrs[NODE_ATTRS_MAX]; /* meaning stated in the op's file */
  uint32_t axes; /* of conversions and exchanges: the mesh axes that they run along, a mask */
  Accumulate accumulate;
  RegionId region;
  const char *path; /* logical op path, "h.*.attn.c_attn": a recomputed clone has its original's */
  NodeId clone_of;  /* the node that this one recomputes in backward, or NO_ID */
  NodeId logical;   /* the node before sharding that this one carries out or works for, or NO_ID */
  Span origin;
} Node;

typedef struct Param {
  const char *name; /* "h.*.attn.c_attn.weight": * is the layer */
  RegionId region;  /* the region whose parameter block holds it */
  int32_t dim_count;
  DimId dims[DIMS_MAX];
  int64_t elements; /* of one layer */
  InitKind init;
  double init_a, init_b; /* mean std; low high; value */
  uint32_t partial;    /* bit per MeshAxis: the accumulated gradient is still to be summed there */
  const char *source;  /* its tensor in a file of Hugging Face, * is the layer; NULL: unknown */
  bool transposed;     /* there it is [in, out] */
  int32_t out_dims;    /* as in plan.def */
  bool decay;          /* two or more names: weight decay applies */
  ValueId value, grad; /* grad NO_ID until grad_derive */
  Span origin;
} Param;

typedef VEC(NodeId) NodeList;

typedef struct Region {
  const char *name; /* "h" for a stack; "begin", "end", "between" else */
  int64_t repeat;   /* layers; 1 for others */
  bool is_stack;
  ValueId input, output; /* the carried value; NO_ID at the ends of the chain */
  ValueId d_output,
      d_input;    /* their gradients; NO_ID until grad_derive, or if nothing upstream trains */
  NodeList codes; /* makes codes of weights: once a step, before its first forward */
  NodeList forward;
  NodeList recompute; /* clones that backward reads instead when the region is recomputed */
  NodeList backward;
  NodeList
      weight; /* nodes moved from backward that only make parameter gradients and may be deferred */
  /* Nodes [first, first + count) of backward, in evaluation of forward, run `chunks` times, each
   * time on the next of this many equal runs of tokens; chunks 0: none do. */
  int32_t chunk_first, chunk_count;
  int64_t chunks;
  ValueId output_again;   /* recompute's clone of output when groups have more than one layer; else
                             NO_ID */
  bool output_recomputed; /* recompute also makes the region's output again (groups of more than one
                             layer) */
} Region;

typedef struct GraphInput {
  const char *name; /* "tokens", "targets", or the user's */
  ValueId value;
  InputRole role;
  int64_t vocab; /* for ids: they must be below it; 0 for numbers */
  Span at;       /* where the model file declares it */
} GraphInput;

typedef struct Graph {
  Compile *compile;
  const char *model_name;
  bool training;       /* false: the eval graph, no dropout, no backward */
  ProgramKind program; /* the program that the graph becomes */
  DType compute_dtype; /* of activations */
  DType cache_dtype;   /* of the cache of a sampled model */
  bool tf32;           /* products round their inputs */
  DType param_dtype, grad_dtype;
  VEC(const char *) not_fp8; /* paths of linear layers that stay in the compute dtype */
  int64_t loss_count; /* targets of one optimizer step over the whole job: the loss denominator */
  bool may_lack_targets; /* some targets may not count: the control slot `targets` is the
                            denominator */
  const char *loss_name; /* how samples end: "mse" where a loss is, else the first loss's op */
  JobMesh mesh;
  VEC(Dim) dims;
  VEC(Value) values;
  VEC(Node) nodes;
  VEC(Param) params;
  VEC(Region) regions;
  VEC(GraphInput) inputs;
  ValueId losses[LOSSES_MAX]; /* training minimises the weighted sum of their means */
  int32_t losses_count;
  ValueId answer;   /* of predictions: what the loss would compare with */
  bool has_weights; /* parameters begin with the tensors of files, whose hash is weights_sum */
  uint64_t weights_sum;
  const char *config_json, *model_folder; /* as in settings.def */
  const char *tied_tensors;               /* "A=B C=D": of these files, to be equal; NULL: none */
  Target target; /* the plan's target and the threads of a rank: workspaces depend on them */
  int32_t threads;
  Span tp_at, cp_at;           /* where the job sets these degrees; no file: it does not */
  const struct Graph *logical; /* the graph before sharding; NULL: not kept yet */
} Graph;

Graph *graph_new(Compile *c, bool training);
/* Keeps a copy of the graph as `logical`: every node and value made later refers to it. */
void graph_keep_logical(Graph *g);
DimId graph_dim(Graph *g, const char *name); /* by name; NO_ID when there is none */
DimId graph_add_dim(Graph *g, Dim dim);
/* Pads a dim, and the parameters that have it, to a multiple. Before sharding. */
void graph_pad_dim(Graph *g, const char *name, int64_t multiple);
ValueId graph_add_value(
    Graph *g,
    Value value); /* value as given: view_of and producer must be NO_ID if there is none */

/* A new activation with the dims of `like` in dtype `dtype`, without a producer. */
ValueId graph_value_like(Graph *g, ValueId like, DType dtype, const char *name);
ValueId graph_value_dims(Graph *g, const DimId *dims, int32_t dim_count, DType dtype,
                         const char *name);
ValueId graph_value_extra(Graph *g, int64_t elements, DType dtype,
                          const char *name); /* statistics */

static inline Value *graph_value(const Graph *g, ValueId v) {
  return &g->values.at[v];
}
static inline Node *graph_node(const Graph *g, NodeId n) {
  return &g->nodes.at[n];
}

int64_t value_elements(const Graph *g, ValueId v);
int64_t value_bytes(const Graph *g, ValueId v);
int64_t value_rows(const Graph *g, ValueId v);     /* product of carried dims: tokens */
int64_t value_features(const Graph *g, ValueId v); /* product of the others */
int64_t value_row_stride(const Graph *g,
                         ValueId v); /* elements between tokens: its root's features when a view */
bool value_has_dim(const Graph *g, ValueId v, DimId d);
char *value_dims_text(Graph *g, ValueId v); /* "[batch, seq, width]" */

/* The weight of the loss that the node makes. */
static inline double node_loss_weight(const Node *n) {
  return n->attrs[LOSS_ATTR_WEIGHTED] != 0 ? n->attrs[LOSS_ATTR_WEIGHT] : 1;
}

/* True if the node at this position, of the list that has chunks, runs in them. */
static inline bool region_in_chunks(const Region *r, int32_t at) {
  return r->chunks > 0 && at >= r->chunk_first && at < r->chunk_first + r->chunk_count;
}

/* True if something before the region needs the gradient of its input. */
bool region_feeds_back(const Graph *g, RegionId r);

#endif
