/* shard.h -- layouts: which mesh axis holds which part of every value, and the conversions between
 * them.
 *
 * In:   a graph after grad_derive.   Out: local shapes, collectives where layouts disagree.
 *
 * A value's layout along an axis is Replicated, Shard(name) -- its dim is replaced by the rank's
 * part of it -- or Partial -- ranks hold summands. Parameters are cut along the first of their
 * names that the axis takes (heads, kv_heads, ffn, vocab). Everything else follows from names: what
 * all inputs of a node cut alike stays cut, what is contracted over a cut name is Partial, and
 * where a node's inputs disagree one conversion is inserted: Partial -> Replicated all-reduce;
 * Partial -> Shard reduce-scatter; Shard -> Replicated all-gather; Replicated -> Shard a slice.
 * Column and row parallel linears (arXiv:1909.08053), vocabulary-parallel ends and sequence
 * parallel norms (arXiv:2205.05198) are not named anywhere: they are what the rule gives. */
#ifndef LOCKSTEP_SHARD_H
#define LOCKSTEP_SHARD_H

#include "compiler/graph/graph.h"

typedef struct ShardOptions {
  bool sequence; /* the carried value is cut along seq by tp (sequence parallel) */
  bool regather; /* backward gathers the input of a cut linear again instead of keeping the gathered
                    one */
} ShardOptions;

/* Cuts along g->mesh. False when reported: a size that the axis does not divide, an op that cannot
 * be cut. */
bool shard_apply(Graph *g, ShardOptions options);

#endif
