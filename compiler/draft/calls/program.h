/* program.h -- calls of one program of one stage, and the buffers that live between them. Private
 * to calls/.
 *
 * A flight is one micro-batch on one chunk of the model, from its input to the last gradient that
 * it passes on. carry[i] is the value before the chunk's layer i, d_carry[i] its gradient. */
#ifndef LOCKSTEP_CALLS_PROGRAM_H
#define LOCKSTEP_CALLS_PROGRAM_H

#include "compiler/draft/draft.h"

typedef struct InFlight {
  int32_t *carry, *again, *d_carry; /* buffers by layer, one more than layers; again: recomputed */
  int32_t *frame, *recompute_frame, *weight_frame; /* by layer */
  int32_t *far_frame, *far_input; /* by layer: in host memory, until they are copied back */
  int32_t *grads; /* by slot: whole gradients of a layer, before they are reduced into a shard */
  int32_t data;
} InFlight;

typedef VEC(int32_t) BufferList;

/* Gradients of a layer that accumulate in host memory, and have all of a micro-batch. */
typedef struct FarGrad {
  int32_t block;
  int64_t layer;
  int32_t microbatch;
  uint32_t flags;
} FarGrad;

typedef VEC(FarGrad) FarGrads;

/* "h output": there are thousands of buffers with few names. */
typedef struct BufferName {
  const char *of, *word, *text;
} BufferName;

typedef struct Calls {
  Draft *draft;
  Stage *stage;
  int32_t kind; /* ProgramKind */
  const Graph *graph;
  const RegionSegments *parts;
  const StepSegments *ends;
  int32_t first, end;  /* layers of the current chunk */
  InFlight *flight;    /* at work */
  int32_t *slot_first; /* by block: slot of its layer 0 */
  int32_t slot_count;
  int32_t *gathered;  /* by slot: whole parameters of a layer that are present now */
  int32_t *coded;     /* by layer of the model: codes of its weights that are present now */
  int32_t *far_grads; /* by slot: gradients in host memory, which an update will read; NO_ID */
  int64_t leaving_ns; /* predicted time of gradients that are on their way to host memory */
  int32_t *shards;    /* by slot: gradients that are here now and accumulate in host memory */
  BufferList going;   /* gradients that the last copies to host memory may still read */
  FarGrads ready;     /* gradients that leave when the next reduction begins */
  int32_t *states;    /* by slot and state: what an update reads and writes of states in a file */
  int32_t *brought;   /* by slot: parameters as they persist, copied from host memory */
  VEC(BufferName) names;
  BufferList reducing, sending; /* buffers that the last reduction or exchange may still be using */
  BufferList leaving;           /* buffers that the last copies to host memory may still read */
  BufferList coming;            /* weights of a file in host memory: of the last two layers */
  BufferList staged;            /* buffers in host memory, in the order of their calls */
  int64_t saved_bytes;          /* of the snapshot that calls are bound to so far */
} Calls;

void calls_open(Calls *t, Draft *d, Stage *stage, ProgramKind kind);

int32_t calls_here(const Calls *t); /* position of the next call */

/* Sets the current chunk, and makes an empty flight for it. */
void calls_chunk(Calls *t, int32_t chunk);
InFlight *flight_new(Calls *t);
void flight_clear(Calls *t, InFlight *flight);

void calls_forward(Calls *t, int32_t microbatch, uint32_t flags);
/* When backward is not split, this includes weight gradients; gradients are then reduced as their
 * block's ZeRO stage says.
 */
void calls_backward(Calls *t, int32_t microbatch, uint32_t flags);
void calls_weight(Calls *t, int32_t microbatch, uint32_t flags);

/* Calls a segment that belongs to no region's layer: it is for layer `layer` of block b, or for
 * neither (NO_ID). */
void calls_add(Calls *t, int32_t segment, int32_t b, int64_t layer);

/* A call whose transfers are bound to the given buffers and described by the posts. */
void calls_exchange(Calls *t, int32_t segment, const int32_t *buffers, const PlanPost *posts,
                    int32_t count);

/* Call when the program is complete: calls that repeat become a loop. */
void calls_rotate(Calls *t);

/* ---- for microbatch.c and sharded.c */

/* "of word". Both texts live as long as the compile and are compared by address. */
const char *calls_name(Calls *t, const char *of, const char *word);

/* A buffer that lives from the next call to the last one that binds it; _if: when *slot has none
 * and size_bytes > 0. */
int32_t calls_buffer(Calls *t, const char *name, BufferKind kind, int64_t size_bytes,
                     int64_t layer);
int32_t calls_buffer_if(Calls *t, int32_t *slot, const char *name, BufferKind kind,
                        int64_t size_bytes, int64_t layer);
void calls_add_layer(Calls *t, int32_t segment, int32_t u, int32_t microbatch, uint32_t flags,
                     bool recompute);
void calls_add_block(Calls *t, int32_t segment, int32_t b, int64_t layer, int32_t microbatch,
                     uint32_t flags);
/* Releases buffers held for a reduction or exchange beside the computation. */
void calls_let_go(Calls *t, BufferList *list);
bool calls_has_input_gradient(const Calls *t, int32_t u);

/* The buffer of a layer's parameters that are copied from host memory, made on first use. */
int32_t calls_brought(Calls *t, int32_t b, int64_t layer);

int64_t block_layer(const Block *block, int64_t layer); /* 0 if the block has no layers */
bool block_is_read(const LayerUse *use, const Block *block);

/* Gathers whole parameters for layer u (in backward: those that backward reads), and those of the
 * layers ahead; step is +1 forward, -1 backward. */
void sharded_gather(Calls *t, int32_t u, bool backward, int32_t microbatch, uint32_t flags);
void sharded_gather_ahead(Calls *t, int32_t u, int32_t step, int32_t microbatch, uint32_t flags);
/* Makes the codes of layer u's weights, if there are none of this step. */
void sharded_code(Calls *t, int32_t u, int32_t microbatch, uint32_t flags);
/* They stay until `over`, or longer if parallel.zero_reshard says so. */
void sharded_release(Calls *t, int32_t u, ZeroReshardChoice over);
void sharded_clear(Calls *t, int32_t u, int32_t microbatch, uint32_t flags);
/* Copies the gradients of a layer to host memory for an update there, if that has not been done. */
void sharded_grads_leave(Calls *t, int32_t b, int64_t layer);
void sharded_reduce(Calls *t, int32_t u, int32_t microbatch, uint32_t flags);

/* passing.c: accumulated gradients come for backward of layer u and of those ahead, and leave after
 * it: when they are reduced, at the latest with `flush`. */
bool passing_is_far(const Calls *t, int32_t b, int64_t layer);
void passing_arrive(Calls *t, int32_t u, int32_t microbatch, uint32_t flags);
void passing_add(Calls *t, int32_t u, int32_t microbatch, uint32_t flags);
void passing_leave(Calls *t);
BufferBinding passing_bind(Calls *t, const SegmentBase *base, int32_t slot, int64_t layer);

/* frames.c: copies what layer u keeps for backward to host memory; brings back what layers
 * [first, end) need, and as many before them as the job asks. */
void frames_leave(Calls *t, int32_t u, int32_t microbatch, uint32_t flags);
void frames_return(Calls *t, int32_t first, int32_t end, int32_t microbatch, uint32_t flags);
int32_t calls_host_buffer(Calls *t, const char *name, BufferKind kind, int64_t size_bytes,
                          int64_t layer);
const char *region_name(Calls *t, RegionId r, const char *word);

/* The buffer for a value that a chunk receives from another stage or makes; created if there is
 * none yet. */
int32_t calls_carry(Calls *t, InFlight *flight, int32_t chunk, bool gradient, bool at_end);

#endif
