/* draft.h -- segments, calls and buffers while they are being made: the plan before it has bytes.
 * The rooms after shard/ fill it in, one after another, and emit/ writes it.
 *
 * A segment is the straight-line code of one list of one region (forward, recompute, backward) or
 * of a piece of the step (load, reduce, norm, update). Its operands name a base and an offset. A
 * call binds each base to a buffer. A buffer is a named piece of the arena with a lifetime in
 * calls; memory/ gives it an offset. */
#ifndef LOCKSTEP_DRAFT_H
#define LOCKSTEP_DRAFT_H

#include "compiler/draft/parameters.h"
#include "compiler/draft/segment.h"
#include "compiler/graph/graph.h"
#include "compiler/job/job.h"
#include "compiler/job/pipelines/pipeline.h"
#include "compiler/machine/place/place.h"
#include "runtime/plan/control.h"

typedef struct Buffer {
  const char *name;
  BufferKind kind;
  Tier tier;
  int64_t size_bytes, offset;
  int32_t program;               /* ProgramKind; -1: persistent */
  int32_t first_call, last_call; /* positions in that program, inclusive */
  int32_t layer;                 /* -1: not of one */
} Buffer;

typedef struct BufferBinding {
  int32_t buffer;
  int64_t offset_bytes; /* within it */
} BufferBinding;

/* The call's first record on `lane` starts when this record of another call is finished. */
typedef struct Wait {
  Lane lane;
  int32_t call, record;
  bool is_back;        /* of the iteration before */
  bool is_of_snapshot; /* of the latest snapshot: the call is one of that program */
  bool is_run_back;    /* of the program's run before */
} Wait;

typedef struct Call {
  int32_t segment, layer, microbatch;
  uint32_t flags;
  BufferBinding *bindings; /* one per base of the segment */
  int32_t binding_count;
  const PlanPost *posts; /* of a transfer: one for each operand */
  int32_t post_count;
  VEC(Wait) waits;
} Call;

typedef struct Loop {
  int32_t first_call, call_count;
  int64_t times;
  int32_t microbatch_stride; /* from one iteration to the next */
} Loop;

/* Calls that one launch runs. */
typedef struct KernelLaunch {
  int32_t first_call, call_count;
} KernelLaunch;

typedef struct Program {
  bool exists;
  VEC(Call) calls;
  VEC(Loop) loops;
  VEC(KernelLaunch) launches;
  int64_t peak_bytes[Tier_COUNT], live_bytes[Tier_COUNT];
} Program;

/* Segments of one region; NO_ID where the list is empty. */
typedef struct RegionSegments {
  int32_t codes, forward, recompute, backward, weight; /* codes: of weights */
  /* Copies of what is kept to host memory and back: of the frame, and of the carried value in. */
  int32_t frame_out, frame_in, input_out, input_in;
  int64_t codes_bytes, frame_bytes, recompute_frame_bytes, weight_frame_bytes;
  int64_t input_bytes, output_bytes, d_input_bytes, d_output_bytes;
  bool backward_reads_input, backward_reads_output; /* in recompute or backward */
  bool first_writes_d_input; /* a record that the model's first layer needs works in its place */
} RegionSegments;

/* Segments around a step's layers. `targets` is NO_ID if no target may be missing. */
typedef struct StepSegments {
  int32_t load, targets, control, mirror; /* mirror NO_ID: no kernel runs on the host */
} StepSegments;

/* The moves of offload = "auto", in addition to those of keys: whole layers, of each stage at least
 * this many bytes. NULL: none. */
typedef struct Moves {
  const int64_t *state_bytes, *frame_bytes; /* by stage */
  bool grads, weights;                      /* of layers whose states are moved */
  bool to_files;                            /* states are, instead of host memory */
} Moves;

/* Bytes that have left the device, of states and of frames; last: of the last layer of each. */
typedef struct Moved {
  int64_t state_bytes, last_state_bytes, all_state_bytes; /* all: of the stage */
  int64_t frame_bytes, last_frame_bytes, all_frame_bytes;
} Moved;

/* ---- ranks of one pipeline stage: a class of the plan */

typedef struct Stage {
  int32_t number;
  VEC(Buffer) buffers;
  Program programs[ProgramKind_COUNT];
  StageBlock *blocks;
  int64_t partial_count[NORM_GROUPS];
  int32_t partials_buffer[NORM_GROUPS];
  int32_t control_buffer, control_ring_buffer, mirror_buffer, staging_buffer, samples_buffer;
  int32_t norms_buffer, snapshot_buffer;   /* NO_ID: no snapshots */
  int32_t *cache_buffers, *cache_position; /* of each region; of each layer in it */
  int64_t persistent_bytes[Tier_COUNT], arena_bytes[Tier_COUNT];
  Moved moved;
  bool grads_leave_early; /* for updates on the host: all of them fit into its memory at once */
} Stage;

/* One layer of one region, in the order of the model. */
typedef struct LayerUse {
  RegionId region;
  int64_t layer;      /* of its region */
  bool first, last;   /* of its stack */
  bool group_last;    /* last of its recompute group */
  bool keeps_input;   /* the carried value in lives until backward, with what offloads frames */
  bool keeps_on_host; /* activations are kept in host memory until backward */
} LayerUse;

/* Each room fills in its own fields and reads those above. */
struct Draft {
  /* compile.c: known from the start */
  Compile *compile;
  const Job *job;
  const Cluster *cluster;
  const Fabric *fabric;
  Derived derived;
  int64_t group_layers; /* layers of a recompute group; 0: nothing is recomputed */
  TruthStorage truth;
  bool has_moment2, trains;
  bool offloads_state;   /* states are on the host, updates run there */
  bool state_in_files;   /* of offloads_state: they are in a file, and come for updates */
  bool offloads_weights; /* parameters are there, too, and are copied when layers read them */
  bool weights_in_files; /* of both: parameters are in the file, too */
  bool updates_here;     /* of offloads_state: states in host memory stream to updates here */
  bool offloads_grads;   /* gradients of layers whose states are there accumulate there */
  bool offloads_frames;  /* activations are kept in host memory until backward */
  bool snapshots;        /* checkpoints are written from a copy of the state */
  Moves moves;           /* the transfers that offload = "auto" has chosen */
  Graph *train, *eval;   /* eval NULL: it does not validate; train: eval, if it does not train */
  Graph *decode;         /* NULL: no tokens are drawn; eval is prefill */
  JobMesh mesh;
  int64_t parameters;      /* of the whole model */
  int64_t flops_per_token; /* of the whole model, as op_flops_per_token counts */
  const Placement
      *usual; /* ranks in the usual order, until there is a plan to choose an order by */
  /* segments/; stages/ and calls/ add buffers and their own segments */
  VEC(Block) blocks;
  ParamPlace *params;     /* by param */
  int64_t *input_offsets; /* by input: within the staged micro-batch */
  int64_t sample_bytes;
  VEC(Segment) segments;
  RegionSegments *train_parts, *eval_parts, *decode_parts; /* by region */
  StepSegments train_ends, eval_ends, decode_ends;
  /* cost/ */
  Reach *reaches; /* by mask of axes, in the usual order; node_members 0: not yet known */
  /* stages/ */
  LayerUse *chain;
  int32_t chain_length, stage_count;
  int32_t *chunk_first;         /* layers of chunk c: [chunk_first[c], chunk_first[c + 1]) */
  int32_t chunk_count;          /* stages x chunks of a stage */
  struct KnownCuts *known_cuts; /* stages.h; NULL: each cut is made anew */
  Stage *stages;                /* calls/ adds programs, memory/ offsets, edges/ waits */
  double stage_excess;          /* of the heaviest stage's work, above the mean: 0.08 = 8 % */
  bool uses[Tier_COUNT];
  bool has_edges; /* edges/: only a draft that becomes a plan has them */
  /* memory/ */
  int64_t arena_bytes; /* in device memory, of the stage that needs most */
  int64_t live_bytes;  /* alive there at once: without the gaps of packing */
};

static inline bool draft_offloads(const Draft *d) {
  return d->offloads_state || d->offloads_frames;
}

int32_t buffer_add(Draft *d, Stage *stage, Buffer buffer);
void segment_set_lane(Draft *d, int32_t segment, Lane lane); /* of all its records */

static inline bool record_runs(const Record *record, uint32_t flags) {
  return plan_when(record->when_all, record->when_none, flags);
}

/* ---- derived from it: sizes.c */

/* All ranks of tp along its axis; shard_degrees moves some of them to tp_group. */
JobMesh draft_mesh(const Derived *derived);
/* The number of ranks along the axes of a mask. */
int64_t mesh_count(const JobMesh *mesh, uint32_t axes);
/* The axes of a mask that have more than one rank. */
uint32_t mesh_used(const JobMesh *mesh, uint32_t axes);

/* The axes that divide the tokens of a micro-batch, and those that divide state. */
enum { BATCH_AXES = MESH_BIT(MESH_REPLICATE) | MESH_BIT(MESH_DP) | MESH_BIT(MESH_CP) };
enum { ZERO_AXES = MESH_BIT(MESH_DP) | MESH_BIT(MESH_CP) };

/* The axes along which ZeRO shards states; 0: it shards none. */
uint32_t draft_zero_axes(const Derived *derived);
enum { TENSOR_AXES = MESH_BIT(MESH_TP) | MESH_BIT(MESH_TP_GROUP) };
uint32_t param_cut_axes(const Graph *g, ParamId p); /* of TENSOR_AXES */
uint32_t norm_group_axes(int32_t group);            /* of TENSOR_AXES */

/* How many library calls a communication makes, when each moves one run of memory. */
uint64_t record_flat_calls(const Record *record);
bool pieces_are_gathered(const Draft *d); /* collectives of many pieces are */
bool tensors_run_batch(const Draft *d);   /* kernels on many tensors are started once for all */

/* The largest arena of a stage. */
int64_t draft_tier_bytes(const Draft *d, Tier tier);

/* The number of a control slot among those that the plan has, in the order of control.h, and its
 * offset in the control block. */
int32_t draft_slot_number(const Draft *d, ControlSlot slot);
int64_t draft_slot_offset(const Draft *d, ControlSlot slot);
int64_t draft_control_bytes(const Draft *d);  /* job_control_bytes */
uint64_t draft_slots(const Draft *d);         /* CONTROL_BITs of the slots that its plan has */
int64_t draft_control_depth(const Draft *d);  /* job_control_depth */
int64_t draft_prefetch_steps(const Draft *d); /* job_prefetch_steps */

/* As in pipeline.h: a stage has draft_chunks; its k-th is draft_chunk, and has draft_stage. */
static inline int32_t draft_chunks(const Draft *d) {
  return d->chunk_count / d->stage_count;
}
static inline PipeKind draft_pipe_kind(const Draft *d) {
  return (PipeKind)d->job->parallel.pipeline;
}
static inline int32_t draft_chunk(const Draft *d, int32_t stage, int32_t k) {
  return pipeline_chunk_of(draft_pipe_kind(d), d->stage_count, stage, k);
}
static inline int32_t draft_stage(const Draft *d, int32_t chunk) {
  return pipeline_stage_of(draft_pipe_kind(d), d->stage_count, chunk);
}

/* True if the model's ends are on different stages; known before stages are cut, too. */
bool draft_ends_apart(const Draft *d);
/* True if checkpoints are to be written from a copy of the state: by checkpoint.async, and what one
 * takes by slurm.write. */
bool draft_wants_snapshots(const Draft *d);
/* The order of a pipeline's stages (pipeline.h); NULL without a pipeline. */
const Pipeline *draft_pipeline(const Draft *d);

#endif
