/* timeline.h -- calls of one program of one stage, and the buffers that live between them. Private
 * to schedule/.
 *
 * A flight is one micro-batch on one chunk of the model, from what comes in to the last gradient
 * that leaves. carry[i] is the value before the chunk's link i, d_carry[i] its gradient. */
#ifndef LOCKSTEP_TIMELINE_H
#define LOCKSTEP_TIMELINE_H

#include "compiler/schedule/draft.h"

typedef struct Flight {
  int32_t *carry, *again, *d_carry; /* buffers by link, one more than links; again: recomputed */
  int32_t *frame, *recompute_frame, *weight_frame; /* by link */
  int32_t *grads; /* by slot: whole gradients of a layer on their way into a shard */
  int32_t data;
} Flight;

typedef VEC(int32_t) BufferList;

typedef struct Timeline {
  Draft *draft;
  Stage *stage;
  int32_t kind; /* ProgramKind */
  const Graph *graph;
  const RegionSegments *parts;
  int32_t first, end;  /* links of the chunk at work */
  Flight *flight;      /* at work */
  int32_t *slot_first; /* by block: slot of its layer 0 */
  int32_t slot_count;
  int32_t *gathered; /* by slot: whole parameters of a layer that are there now */
  int32_t load_segment;
  BufferList reducing, sending; /* what the last reduction or exchange may still be at work on */
} Timeline;

void timeline_open(Timeline *t, Draft *d, Stage *stage, ProgramKind kind);

int32_t timeline_here(const Timeline *t); /* position of the next call */

/* Sets the chunk at work; a flight is made empty for it. */
void timeline_chunk(Timeline *t, int32_t chunk);
Flight *flight_new(Timeline *t);
void flight_clear(Timeline *t, Flight *flight);

void timeline_forward(Timeline *t, int32_t microbatch, uint32_t flags);
/* Without a split, weights' gradients too; gradients then leave as their block's ZeRO stage says.
 */
void timeline_backward(Timeline *t, int32_t microbatch, uint32_t flags);
void timeline_weight(Timeline *t, int32_t microbatch, uint32_t flags);

/* A segment that belongs to no link: of layer `layer` of block b, or of nothing (NO_ID). */
void timeline_call(Timeline *t, int32_t segment, int32_t b, int64_t layer);

/* A call whose transfers are bound to the given buffers. */
void timeline_exchange(Timeline *t, int32_t segment, const int32_t *buffers);

/* The buffer for what a chunk takes from another stage or makes; made when not there yet. */
int32_t timeline_carry(Timeline *t, Flight *flight, int32_t chunk, bool gradient, bool at_end);

#endif
