/* pipeline.h -- the order in which pipeline stages work, as pure functions of a few numbers.
 *
 * A model is cut into V = stages * chunks model chunks; which stage holds a chunk is
 * pipeline_stage_of, and chunk c is its local chunk c / stages. Per micro-batch, every chunk runs
 * forward after the chunk before it and backward after the chunk that follows it. Some orders split
 * backward: input gradients, and later weight gradients, which nobody waits for.
 *
 *   gpipe        all forwards, then all backwards (arXiv:1811.06965)
 *   1f1b         stage i runs p-i-1 forwards ahead, then one forward and one backward in turn
 *   interleaved  the same over chunks > 1, 2(p-i-1) + (v-1)p forwards ahead (arXiv:2104.04473);
 *                needs microbatches % stages == 0
 *   zb-h1        1f1b's limit on activations; weight gradients fill what would be idle
 *                (arXiv:2401.10241)
 *   zb-v         two chunks a stage, the second on the way back; 1f1b's limit on activations on
 *                every stage (same paper); needs microbatches >= 2 stages - 1
 *
 * Exchanges. What a step makes for another stage is sent in an exchange between this step and the
 * stage's next. An exchange is a set of transfers that start together; it ends when each of them
 * has met its other half. Exchanges follow from a simulation in which a transfer happens as soon as
 * the sender's step has finished and the receiver is between two steps. All transfers of one tick
 * are in one exchange of each stage that takes part in them, and every stage runs its exchanges in
 * the order of ticks: the earliest unfinished exchange waits only for steps, so stages never
 * deadlock, however long steps take. In one tick a stage sends at most one value, so that the k-th
 * send between two stages meets the k-th receive. */
#ifndef LOCKSTEP_PIPELINE_H
#define LOCKSTEP_PIPELINE_H

#include "compiler/base/base.h"

#define PIPELINE(ID, word, chunks, way, backward, order) PIPE_##ID,
typedef enum PipeKind {
#include "compiler/job/pipelines/pipelines.def"
  PIPE_KIND_COUNT
} PipeKind;
#undef PIPELINE

/* The properties of an order: its row of pipelines.def. */
typedef struct PipeRule {
  const char *word; /* as in job.lua: "zb-h1" */
  int32_t chunks;   /* of each stage; 0: as many as the job says */
  bool is_folded;   /* the chain of chunks turns back at the last stage */
  bool is_split;    /* weight gradients are separate steps */
} PipeRule;

extern const PipeRule pipe_rules[PIPE_KIND_COUNT];

/* The words in the order of rows, separated by blanks. */
#define PIPE_WORDS (pipe_words_after_blanks + 1)
extern const char pipe_words_after_blanks[];

/* The stage that holds a chunk of the model, and the chunk of the model that is a stage's k-th. */
int32_t pipeline_stage_of(PipeKind kind, int32_t stages, int32_t chunk);
int32_t pipeline_chunk_of(PipeKind kind, int32_t stages, int32_t stage, int32_t k);

/* The distance from a chunk's stage to the stage of the chunk before or after it, modulo stages: +1
 * or -1; 0: the same stage, which needs no transfer. */
int32_t pipeline_distance(PipeKind kind, int32_t stages, int32_t from, int32_t to);

/* The number of micro-batches in a step must be a multiple of pipeline_group, and at least
 * pipeline_least. */
int32_t pipeline_group(PipeKind kind, int32_t stages);
int32_t pipeline_least(PipeKind kind, int32_t stages);

typedef enum PipeAction {
  PIPE_FORWARD,
  PIPE_BACKWARD, /* where backward is split: input gradients only */
  PIPE_WEIGHT,   /* of orders that split backward: weight gradients */
  PIPE_ACTION_COUNT
} PipeAction;

/* Times of one chunk and micro-batch, in ticks of any length: at least 1. Where backward is not
 * split, a backward step takes backward + weight, and weight may be 0. */
typedef struct PipeCosts {
  int64_t forward, backward, weight;
} PipeCosts;

/* Forward, input gradients and weight gradients take equally long: used until something is
 * measured. */
extern const PipeCosts pipe_costs_even;

typedef struct PipeShape {
  PipeKind kind;
  int32_t stages, chunks; /* chunks of a stage */
  int32_t microbatches;   /* for one replica in a step */
  PipeCosts costs;
} PipeShape;

typedef struct PipeStep {
  PipeAction action;
  int32_t chunk; /* local */
  int32_t microbatch;
  int64_t tick; /* start, if steps take as long as the costs say and exchanges only wait */
} PipeStep;

/* One end of a transfer. Activations go to the next model chunk, gradients to the previous one. */
typedef struct PipeTransfer {
  bool is_send;
  bool is_gradient;
  int32_t distance; /* to the stage at the other end, modulo stages: +1 or -1 */
  int32_t chunk; /* local chunk on this stage that makes what is sent, or needs what is received */
  int32_t peer_chunk; /* local chunk at the other end */
  int32_t microbatch;
} PipeTransfer;

/* At most three transfers: in a tick a stage hands over one output, and receives one from each
 * neighbour. */
typedef struct PipeExchange {
  int64_t tick;
  int32_t steps_before; /* it runs before steps[steps_before] and after the one before that */
  int32_t transfer_first, transfer_count;
} PipeExchange;

/* The work of one stage: steps in order; exchanges in order, each between two steps. */
typedef struct PipeStage {
  PipeStep *steps;
  int32_t step_count;
  VEC(PipeTransfer) transfers;
  VEC(PipeExchange) exchanges;
  int32_t in_flight; /* most (chunk, micro-batch) pairs at once that have run forward but not
                        backward */
  int32_t kept; /* the same, counted until weight gradients, while their frames are still needed */
} PipeStage;

typedef struct Pipeline {
  PipeShape shape;
  PipeStage *stages;
  int64_t span_ticks; /* from the first step's start to the last one's end when senders do not wait,
                         as papers count */
  int64_t bubble_ticks;  /* how many of them a stage is idle; the same for all stages */
  int64_t meeting_ticks; /* the span when senders wait for receivers, as in the steps' ticks */
} Pipeline;

/* The shape must be valid; the spec has checked it. */
Pipeline *pipeline_make(Arena *arena, PipeShape shape);

/* The idle share of a stage's time, 0 to 1. */
double pipeline_bubble_share(const Pipeline *pipeline);

/* The same without making the pipeline, in time independent of the number of micro-batches. */
double pipeline_idle_share(const PipeShape *shape);

/* How many micro-batches bring the bubble down to `share` of the time, whatever number the shape
 * has. The order must allow that number. 0 < share <= 1. */
int64_t pipeline_microbatches_for(const PipeShape *shape, double share);

#endif
