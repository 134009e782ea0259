/* segment.h -- straight-line code: records over operands, operands over bases.
 *
 * A segment is written once for all layers and micro-batches of its kind; its operands name a base
 * and an offset, and a call binds every base to a buffer. */
#ifndef LOCKSTEP_SEGMENT_H
#define LOCKSTEP_SEGMENT_H

#include "compiler/draft/lane.h"
#include "compiler/graph/layout.h"
#include "compiler/graph/ops/op.h"
#include "kernels/contract/contract.h"

typedef struct Draft Draft;

typedef enum BaseRole {
  BASE_PARAM,        /* whole parameters of a layer, as kernels read them */
  BASE_GRAD,         /* whole gradients, as kernels write them */
  BASE_PARAM_STORED, /* whole parameters as they persist, where kernels read another dtype */
  BASE_PARAM_SHARD,
  BASE_GRAD_SHARD,
  BASE_MASTER, /* or the lower half of a split one */
  BASE_COMPENSATION,
  BASE_MOMENT1,
  BASE_MOMENT2,
  BASE_MOMENT1_MAX, /* of codes */
  BASE_MOMENT2_MAX,
  BASE_STATE_LAST =
      BASE_MOMENT2_MAX, /* the roles so far are of blocks of parameters, and persist */
  BASE_CODES,           /* of weights, and their scales */
  BASE_FRAME,           /* what forward keeps for backward */
  BASE_RECOMPUTE_FRAME, /* values that recompute makes for backward */
  BASE_WEIGHT_FRAME,    /* values that backward keeps for deferred weight gradients */
  BASE_INPUT,           /* the carried value in */
  BASE_OUTPUT,          /* and out */
  BASE_D_INPUT,
  BASE_D_OUTPUT,
  BASE_SCRATCH,
  BASE_DATA, /* the micro-batch */
  BASE_CONTROL,
  BASE_PARTIALS, /* sums of squares, one f64 per parameter tensor */
  BASE_NORMS,    /* their sums, one f64 per norm group */
  BASE_WIRE,     /* gradients on the wire */
  BASE_WIRE_SHARD,
  BASE_CAST_SHARD, /* the rank's parameters in the dtype that kernels read, to be gathered */
  BASE_PIECES,     /* pieces of a collective, put together */
  BASE_RECEIVED,   /* pieces as they arrive, if they cannot arrive in the result's memory */
  BASE_TRANSFER,   /* values sent to or received from another pipeline stage */
  /* Buffers of a layer whose optimizer states are in host memory: */
  BASE_HOST_GRAD,  /* gradients, copied to the host */
  BASE_HOST_PARAM, /* updated parameters before they are copied to the device */
  BASE_DRAWN,      /* initial values of the master, drawn on the device */
  BASE_MIRROR,     /* the copy of the control block in host memory */
  BASE_FAR_PARAM,  /* parameters as they persist, in host memory; of a file's for their update */
  BASE_FAR_GRAD,   /* accumulated gradients in host memory, between micro-batches */
  BASE_FILE_PARAM, /* parameters as they persist, in a file */
  BASE_CAME_PARAM, /* the same in host memory, from the file on their way to the device */
  BASE_FILE_STATE, /* the states from here on, as from BASE_MASTER on, in a file */
  BASE_FILE_STATE_LAST = BASE_FILE_STATE + BASE_STATE_LAST - BASE_MASTER,
  BASE_FAR_FRAME, /* activations in host memory, until backward */
  BASE_FAR_INPUT, /* the carried value in, where backward reads it */
  BASE_SNAPSHOT,  /* a copy of a layer's tensors for a checkpoint */
  BASE_CACHE,     /* keys and values of a sampled model's layer */
  BASE_ROLE_COUNT
} BaseRole;

typedef struct SegmentBase {
  BaseRole role;
  int32_t number; /* block of parameters, gradients or states; group of partials; which transfer */
  int64_t size_bytes;
} SegmentBase;

typedef struct Operand {
  int32_t base;
  int64_t offset_bytes, size_bytes;
  DType dtype;
  Access access;
  uint32_t by; /* MESH_BITs: offset + member along these axes x member_stride_bytes; 0: fixed */
  int64_t member_stride_bytes;
  ValueId value; /* of the record's model; NO_ID */
  const Layout *layout;
} Operand;

enum { FUSED_ALONE = 1 };

typedef struct Record {
  RecordKind kind;
  const char *kernel;
  const char *path;
  Purpose purpose;
  const Graph *model; /* the graph before sharding that node and value belong to; NULL: none */
  NodeId node;        /* the node that the record carries out or works for, or NO_ID */
  ValueId value;      /* the value that it converts, initialises, moves or updates, or NO_ID */
  Lane lane;
  uint32_t when_all, when_none;
  VEC(int32_t) after; /* records of this segment on other lanes that must finish first */
  bool accumulate, random;
  /* the number of its run of tokens, out of `parts` equal ones; parts 0: all tokens */
  int64_t part, parts;
  int32_t operand_count, dim_count, attr_count;
  Operand operands[LOWERED_OPERANDS_MAX];
  int64_t dims[LOWERED_DIMS_MAX];
  double attrs[LOWERED_ATTRS_MAX];
  int32_t vary_count;
  LoweredVary varies[LOWERED_VARIES_MAX];
  int64_t *pieces; /* of a collective with many pieces or what gathers them: piece_count pairs
                      instead of dims */
  int32_t piece_count;
  int64_t flops, bytes;
  /* Bytes that need not be moved, because it may be fused with the record before it; 0: it may not.
   * FUSED_ALONE: it may, but counts as if it ran alone. */
  int64_t fused_bytes;
  const char *meaning; /* of a communication: the logical value; NULL else */
  const Layout *layout_before, *layout_after;
  uint32_t axes; /* MESH_BITs that vary within its communicator */
  ReduceOp reduce;
  Direction direction;
} Record;

typedef struct Segment {
  const char *name;
  VEC(SegmentBase) bases;
  VEC(Record) records;
  int64_t flops;      /* of one call in the steady state (accumulating) */
  int64_t compute_ns; /* predicted time of the same on the compute lane; 0: unknown.
                         draft/cost/cost.c */
  /* The same of copies between tiers, and of kernels on the host. */
  int64_t copy_ns, host_ns;
} Segment;

int32_t segment_add(Draft *d, const char *name);
/* Index of the base in the segment, made on first use; its size grows to cover `end_bytes`. */
int32_t segment_base(Draft *d, int32_t segment, BaseRole role, int32_t number, int64_t end_bytes);
Record *segment_record(Draft *d, int32_t segment, RecordKind kind, const char *kernel,
                       Purpose purpose);
Record *segment_kernel(Draft *d, int32_t segment, KernelId kernel, Purpose purpose);
/* Marks the record as being about a parameter, its gradient or its state. */
void record_param(const Draft *d, Record *record, ParamId p);
/* A copy of the layout that lives as long as the draft. */
const Layout *layout_of(Draft *d, Layout layout);
Operand *record_operand(Record *record, int32_t base, int64_t offset_bytes, int64_t size_bytes,
                        DType dtype, Access access);
void record_dim(Record *record, int64_t dim);
void record_attr(Record *record, double attr);
void record_vary(Record *record, int32_t attr, uint32_t axes, double stride);

/* ---- records that several rooms append */

/* Sums of squares: of one layer of block b, or (NO_ID) of everything in the group. */
int32_t partials_base(Draft *d, int32_t segment, int32_t b, int32_t group, int64_t size_bytes);
/* Writes `elements` zeros into the operand that the caller adds. */
Record *clear_record(Draft *d, int32_t segment, int64_t elements);
/* A sum, gather or scatter over `axes` of something that is not a single value of the model. */
Record *collective(Draft *d, int32_t segment, RecordKind kind, Purpose purpose, uint32_t axes,
                   const char *meaning);

#endif
