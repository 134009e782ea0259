/* parameters.h -- blocks of parameters that are treated alike, and what a pipeline stage holds of
 * them. Part of draft.h. */
#ifndef LOCKSTEP_DRAFT_PARAMETERS_H
#define LOCKSTEP_DRAFT_PARAMETERS_H

#include "compiler/draft/segment.h"
#include "compiler/graph/graph.h"

/* Parameters whose squares are summed over the same ranks: cut by tp and tp_group, tp, none. */
enum { NORM_GROUPS = 3 };

/* Parameters that are treated alike, layer by layer: those of a region, those of a region that are
 * not sharded, or one that several regions read. */
typedef struct Block {
  const char *name;                   /* "h", "h small", "tied wte.weight" */
  RegionId region;                    /* the region whose layers the block has */
  bool *reads;                        /* by region: its forward reads them */
  RegionId reader_first, reader_last; /* the first and the last of these */
  bool tied, has_codes;               /* codes: its moments are (kernels/math/codes.h) */
  /* Which of these are sharded over shard_ranks: optimizer state (ZeRO 1 and up), gradients in
   * every micro-batch (2 and up; not when they wait for the end of the step, or for another chunk
   * of their stage), parameters (3). */
  bool shards_state, shards_grads, shards_params;
  int64_t layers;
  VEC(ParamId) params;
  int64_t elements, shard_elements;               /* padding between parameters included */
  int64_t stride_elements, shard_stride_elements; /* from layer to layer */
  int32_t partials[NORM_GROUPS];                  /* sums of squares of one layer, by group */
  /* Segments. gather: the pieces that ranks have updated become whole parameters. fetch, refetch:
   * makes the copy that kernels read, for forward and for backward: gathered, cast or both.
   * fetch_coded: casts for forward what it reads beside codes of weights. */
  int32_t init, gather, fetch, refetch, fetch_coded, reduce, clear, pad, norm, update;
  int32_t host_init, host_update; /* of layers whose states are in host memory */
  int32_t grads_out;              /* of the same layers: copies gradients to host memory; NO_ID */
  /* Layers whose gradients accumulate in host memory: segments that copy them to the device before
   * backward, to the host after it, and to the host after the last micro-batch, for the update.
   * NO_ID: gradients stay on the device. */
  int32_t grads_in, grads_back, grads_last;
  int32_t come, go;    /* of states in host memory that are updated on the device; NO_ID */
  int32_t read, write; /* of states in a file; NO_ID */
  /* Copy what a checkpoint has of a layer, for a snapshot; far: of one whose parameters are in host
   * memory. NO_ID: there are no snapshots. */
  int32_t save, far_save;
  int32_t bring;   /* of layers whose parameters are there: copies them; NO_ID */
  int32_t join[2]; /* for the first and the last stage that hold it */
} Block;

typedef struct ParamPlace {
  int32_t block, norm_group, partial; /* partial: number among the layer's in its group */
  int64_t elements;                   /* without padding */
  int64_t piece;                      /* elements of one rank, padding included */
  int64_t first, shard_first;         /* offset in the block, in elements */
} ParamPlace;

typedef struct StageBlock {
  int32_t *position;        /* by layer: its index among those held here; -1: not held */
  int32_t held, host_first; /* states are on the host from this position on */
  bool in_norm;             /* a tied block counts on one stage only */
  int32_t buffers[BASE_STATE_LAST + 1];      /* by BaseRole; NO_ID: not persistent here */
  int32_t host_buffers[BASE_STATE_LAST + 1]; /* the same of layers from host_first on, or a file */
  int64_t first_partial[NORM_GROUPS];        /* of the first layer held */
} StageBlock;

#endif
