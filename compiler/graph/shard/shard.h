/* shard.h -- layouts: which mesh axis holds which part of every value, and the conversions between
 * them.
 *
 * In:   a graph after grad_derive.   Out: local shapes, collectives where layouts disagree.
 *
 * A value's layout along an axis is Replicated, Shard(name) -- its dim is replaced by the rank's
 * part of it -- or Partial -- ranks hold summands. Parameters are cut along the first of their
 * names that the axis takes (heads, kv_heads, ffn, vocab). Everything else follows from names: a
 * dim that all inputs of a node cut the same way stays cut, a result contracted over a cut dim is
 * Partial, and where a node's inputs disagree one conversion is inserted: Partial -> Replicated
 * all-reduce; Partial -> Shard reduce-scatter; Shard -> Replicated all-gather; Replicated -> Shard
 * a slice. Column and row parallel linears (arXiv:1909.08053), vocabulary-parallel ends and
 * sequence parallel norms (arXiv:2205.05198) are not named anywhere: they follow from the rule.
 *
 * There are two passes over the graph: along cp, where every value with seq is cut from the start
 * and attention becomes a ring (arXiv:2310.01889) or works on all tokens of some heads (Ulysses,
 * arXiv:2309.14509), and gradients of values without seq stay Partial up to those of parameters;
 * then along tp and tp_group together. kv_heads are cut along tp only: k and v
 * are Replicated along tp_group, and their gradients Partial. */
#ifndef LOCKSTEP_SHARD_H
#define LOCKSTEP_SHARD_H

#include "compiler/graph/graph.h"
#include "compiler/graph/ops/divide.h"

/* Cuts along g->mesh, forward and (in a training graph) backward. False when reported: all sizes
 * that a degree does not divide, each by the name of its dimension. */
bool shard_apply(Graph *g, ShardOptions options);

/* Sets tp and tp_group of the mesh for `tp` ranks in all: with fewer kv_heads than ranks, several
 * ranks share each of them. False when reported, as above. */
bool shard_degrees(const Graph *g, int64_t tp, JobMesh *mesh);

#endif
