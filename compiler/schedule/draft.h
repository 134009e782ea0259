/* draft.h -- segments, calls and buffers while they are being made: the plan before it has bytes.
 *
 * A segment is the straight-line code of one list of one region (forward, recompute, backward) or
 * of a piece of the step (load, reduce, norm, update). Its operands name a base and an offset. A
 * call binds each base to a buffer. A buffer is a named piece of the arena with a lifetime in
 * calls; memory/ gives it an offset. */
#ifndef LOCKSTEP_DRAFT_H
#define LOCKSTEP_DRAFT_H

#include "compiler/graph/graph.h"
#include "compiler/ops/op.h"
#include "compiler/spec/job.h"

typedef enum BaseRole {
  BASE_PARAM,
  BASE_GRAD,
  BASE_MASTER,
  BASE_MOMENT1,
  BASE_MOMENT2,
  BASE_FRAME,           /* what forward keeps for backward */
  BASE_RECOMPUTE_FRAME, /* what recompute makes again for backward */
  BASE_INPUT,           /* the carried value in */
  BASE_OUTPUT,          /* and out */
  BASE_D_INPUT,
  BASE_D_OUTPUT,
  BASE_SCRATCH,
  BASE_DATA, /* the micro-batch */
  BASE_CONTROL,
  BASE_PARTIALS, /* sums of squares, one f64 per parameter tensor */
  BASE_COMM,
  BASE_ROLE_COUNT
} BaseRole;

typedef struct SegmentBase {
  BaseRole role;
  RegionId
      region; /* of parameters and their like: a tied weight stands in another region's block */
  int64_t size_bytes;
} SegmentBase;

typedef struct Operand {
  int32_t base;
  int64_t offset_bytes, size_bytes;
  DType dtype;
  Access access;
  uint32_t by; /* MESH_BITs: offset + member along these axes x member_stride_bytes; 0: fixed */
  int64_t member_stride_bytes;
} Operand;

typedef struct Record {
  RecordKind kind;
  const char *kernel;
  const char *path;
  Lane lane;
  uint32_t when_all, when_none;
  bool accumulate, random;
  int32_t operand_count, dim_count, attr_count;
  Operand operands[LOWERED_OPERANDS_MAX];
  int64_t dims[LOWERED_DIMS_MAX];
  double attrs[LOWERED_ATTRS_MAX];
  int32_t vary_count;
  LoweredVary varies[LOWERED_VARIES_MAX];
  int64_t *pieces; /* of a collective with many pieces: dims instead, piece_count pairs */
  int32_t piece_count;
  int64_t flops, bytes;
  const char *meaning; /* of a communication: the logical value; NULL else */
  const char *before, *after; /* its layouts */
  uint32_t axes;              /* MESH_BITs that vary within its communicator */
  ReduceOp reduce;
  Direction direction;
} Record;

typedef struct Segment {
  const char *name;
  VEC(SegmentBase) bases;
  VEC(Record) records;
  int64_t flops; /* of one call in the steady state (accumulating) */
} Segment;

typedef struct Buffer {
  const char *name;
  BufferKind kind;
  int64_t size_bytes, offset;
  int32_t program;               /* ProgramKind; -1: persistent */
  int32_t first_call, last_call; /* positions in that program, inclusive */
  int32_t layer;                 /* -1: not of one */
} Buffer;

typedef struct BufferBinding {
  int32_t buffer;
  int64_t offset_bytes; /* within it */
} BufferBinding;

typedef struct Call {
  int32_t segment, layer, microbatch;
  uint32_t flags;
  BufferBinding *bindings; /* one per base of the segment */
} Call;

typedef struct Loop {
  int32_t first_call, call_count;
  int64_t times;
} Loop;

typedef struct Program {
  bool exists;
  VEC(Call) calls;
  VEC(Loop) loops;
  int64_t peak_bytes, live_bytes;
} Program;

/* Segments of one region; NO_ID where the list is empty. */
typedef struct RegionSegments {
  int32_t forward, recompute, backward, reduce, norm, update, init;
  int64_t frame_bytes, recompute_frame_bytes, input_bytes, output_bytes, d_input_bytes,
      d_output_bytes;
  bool backward_reads_input, backward_reads_output; /* in recompute or backward */
} RegionSegments;

/* Where a region's parameters stand inside its blocks, one block per layer. */
typedef struct RegionState {
  int64_t param_block_bytes, grad_block_bytes, full_block_bytes; /* full: fp32 master and moments */
  int32_t buffers[BASE_MOMENT2 + 1];                             /* by BaseRole; NO_ID: not kept */
  int32_t param_count;
  int64_t first_partial; /* index of layer 0's first sum of squares */
} RegionState;

typedef struct ParamOffsets {
  int64_t param, grad, full;
  int32_t index; /* within its region */
} ParamOffsets;

typedef struct Draft {
  Compile *compile;
  const Job *job;
  const Cluster *cluster;
  Derived derived;
  Graph *train, *eval;
  bool has_master, has_moment2;
  int64_t group_layers; /* layers of a recompute group; 0: nothing is recomputed */
  VEC(Segment) segments;
  VEC(Buffer) buffers;
  Program programs[ProgramKind_COUNT];
  RegionState *state;                       /* by region */
  ParamOffsets *params;                     /* by param */
  RegionSegments *train_parts, *eval_parts; /* by region */
  int64_t *input_offsets;                   /* by input: within the staged micro-batch */
  int64_t sample_bytes;
  int64_t partial_count;
  int32_t control_buffer, staging_buffer, partials_buffer;
  int64_t persistent_bytes, arena_bytes;
} Draft;

int32_t segment_add(Draft *d, const char *name);
/* Index of the base in the segment, made on first use; its size grows to cover `end_bytes`. */
int32_t segment_base(Draft *d, int32_t segment, BaseRole role, RegionId region, int64_t end_bytes);
Record *segment_record(Draft *d, int32_t segment, RecordKind kind, const char *kernel);
void record_operand(Record *record, int32_t base, int64_t offset_bytes, int64_t size_bytes,
                    DType dtype, Access access);
int32_t buffer_add(Draft *d, Buffer buffer);

/* The steps of scheduling, in order; each one's preconditions are the ones before. */
void state_layout(Draft *d); /* memory/state.c: persistent buffers */
void segments_build(Draft *d, Graph *g,
                    RegionSegments *parts); /* schedule/segments.c: regions' lists */
void update_segments_build(Draft *d);       /* schedule/update.c: init, reduce, norm, update */
int32_t load_segment_build(Draft *d, const Graph *g, const char *name); /* schedule/update.c */
int32_t clip_segment_build(Draft *d);
/* The one all-reduce of Control.reduce; NO_ID on one rank. */
int32_t control_segment_build(Draft *d, const char *name);
void timeline_build(Draft *d); /* schedule/timeline.c: calls and transient buffers */
void memory_pack(Draft *d);    /* memory/pack.c: offsets */

#endif
