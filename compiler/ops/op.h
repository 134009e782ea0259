/* op.h -- what the compiler knows about an op, all of it in one file per op (ops/NAME.c), listed in
 * ops.def.
 *
 * Forward ops are what model files call; the nodes their backward rules append are ops of the same
 * file. No pass switches over op kinds: it asks the OpDef. */
#ifndef LOCKSTEP_OP_H
#define LOCKSTEP_OP_H

#include "compiler/graph/graph.h"

enum { LOWERED_OPERANDS_MAX = 12, LOWERED_DIMS_MAX = 20, LOWERED_ATTRS_MAX = 4 };

/* A node as one kernel call: kernels.def states the order of operands, dims and attrs. */
typedef struct Lowered {
  const char *kernel; /* NULL: the node is only a view, no record */
  int32_t operand_count;
  ValueId operands[LOWERED_OPERANDS_MAX];
  Access access[LOWERED_OPERANDS_MAX];
  int32_t dim_count;
  int64_t dims[LOWERED_DIMS_MAX];
  int32_t attr_count;
  double attrs[LOWERED_ATTRS_MAX];
  int64_t workspace_bytes; /* > 0: scratch appended as the last operand */
  int64_t flops; /* multiply-add = 2; 0 for memory-bound ops is honest when they do not matter */
  bool random;   /* the record gets a key from the node's path */
} Lowered;

/* Backward bookkeeping, grad/grad.h. */
typedef struct Grad Grad;

typedef struct OpDef {
  const char *name;
  /* Checks inputs and attrs, makes the output values (dims, dtype, names) in n->outputs and sets
   * output_count. False when reported with error_at(n->origin). Nodes made by backward rules have
   * their outputs set already when output_count > 0; then shape only checks. */
  bool (*shape)(Graph *g, Node *n);
  /* Appends the nodes that compute the gradients of n's inputs (grad.h). NULL: not differentiable.
   */
  void (*backward)(Grad *b, const Node *n);
  /* Defaults (operands = inputs READ, then outputs WRITE) are already filled in. */
  void (*lower)(const Graph *g, const Node *n, Lowered *out);
  /* Output 0 may take over the storage of this input when nothing reads that input later; -1:
   * never. */
  int32_t in_place;
  const char *paper; /* source of the formulas, or NULL */
} OpDef;

#define OP(name) OP_##name,
typedef enum OpKind {
#include "compiler/ops/ops.def"
  OP_COUNT
} OpKind;
#undef OP

#define OP(name) extern const OpDef op_##name;
#include "compiler/ops/ops.def"
#undef OP

const OpDef *op_def(int32_t op);

#endif
