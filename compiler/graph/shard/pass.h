/* pass.h -- what the files of shard/ share, beside graph/ops/divide.h. Private to shard/. */
#ifndef LOCKSTEP_SHARD_PASS_H
#define LOCKSTEP_SHARD_PASS_H

#include "compiler/graph/ops/divide.h"
#include "compiler/graph/shard/shard.h"

void cut_list(Shard *s, NodeList *list);

/* degrees.c: all sizes that this pass divides. False when reported. */
bool check_tensor_degrees(const Graph *g, const JobMesh *mesh);
bool check_token_degrees(const Graph *g, ShardOptions options);
/* True of kv_heads where it is another dim than heads. */
bool is_kv_dim(const Graph *g, DimId d);

#endif
