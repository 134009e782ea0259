/* contract.h -- the rows of kernels.def, read: what a kernel's operands, dims and attrs are.
 *
 * The compiler, the proof, the runtime and the tests know about kernels only through this. The rows
 * are parsed once, on first use; a row that does not parse ends the program with its name. */
#ifndef LOCKSTEP_KERNELS_CONTRACT_H
#define LOCKSTEP_KERNELS_CONTRACT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/contract/workspace.h"
#include "runtime/plan/control.h"
#include "runtime/plan/dtype.h"
#include "runtime/plan/limits.h"

/* KERNEL_linear and so on: the number of a kernel. */
typedef enum KernelId {
#define KERNEL(name, ...) KERNEL_##name,
#include "kernels/kernels.def"
#undef KERNEL
  KERNEL_COUNT
} KernelId;

/* The purpose of a kernel, where code must tell kernels apart. */
typedef enum KernelRole {
  ROLE_NONE, /* not a kernel; no row has it */
  ROLE_EMBEDDING,
  ROLE_POSITIONS,
  ROLE_LINEAR,
  ROLE_NORM,
  ROLE_ROPE,
  ROLE_CACHE,
  ROLE_ATTENTION,
  ROLE_ACTIVATION,
  ROLE_GATE, /* an activation times another value */
  ROLE_ADD,
  ROLE_ARITHMETIC, /* element by element, but not add */
  ROLE_SUM_TO,
  ROLE_DROPOUT,
  ROLE_LOSS,
  ROLE_UPDATE,
  ROLE_SQUARE_SUM,
  ROLE_SUM,
  ROLE_GRAD_NORM,
  ROLE_LOSS_SCALE, /* the loss scale of the next step */
  ROLE_INIT,       /* random initial values */
  ROLE_FILL,       /* one value everywhere */
  ROLE_CAST,
  ROLE_QUANTISE, /* a cast whose result is codes and scales */
  ROLE_COPY,
  ROLE_SLICE,
  ROLE_PIECES /* gathers or scatters the pieces of members */
} KernelRole;

/* How an operand is used; kernels.def says what each means. The first three are Access of plan.h.
 */
typedef enum KernelAccess {
  KERNEL_READ,
  KERNEL_WRITE,
  KERNEL_UPDATE,
  KERNEL_SUM,
  KERNEL_KEEP,
  KERNEL_SCRATCH
} KernelAccess;

/* Below DTYPE_COUNT: that dtype. */
enum {
  KERNEL_DTYPE_SHARED = DTYPE_COUNT, /* the float type of all operands that say so */
  KERNEL_DTYPE_FLOAT,
  KERNEL_DTYPE_ANY,
  KERNEL_DTYPE_FP8, /* E4M3 or E5M2 */
  KERNEL_DTYPE_MOMENT
};

typedef enum KernelShapeKind {
  SHAPE_DENSE, /* rows x times */
  SHAPE_VIEW,  /* rows of inner elements, stride apart */
  SHAPE_SIZES, /* all sizes of a broadcast */
  SHAPE_SPAN,  /* the elements that the strides of a broadcast reach */
  SHAPE_KEPT,  /* the sizes of a broadcast whose stride is not 0 */
  SHAPE_PIECES /* the pieces of all members */
} KernelShapeKind;

enum {
  SHAPE_FACTORS_MAX = 5,
  KERNEL_NAME_BYTES = 24,
  KERNEL_BACKWARD_MAX = 4,
  KERNEL_CONTROLS_MAX = 6
};

/* Factors are numbers of dims. */
typedef struct KernelShape {
  KernelShapeKind kind;
  uint8_t rows_count, inner_count;
  uint8_t rows[SHAPE_FACTORS_MAX], inner[SHAPE_FACTORS_MAX], stride;
  int64_t times; /* constant factor of a dense one */
} KernelShape;

typedef struct KernelOperand {
  char name[KERNEL_NAME_BYTES];
  KernelAccess access;
  uint32_t dtype;     /* DType or KERNEL_DTYPE_* */
  bool may_be_unread; /* made for a backward pass, which may not follow */
  bool may_be_absent; /* a record may leave out: scratch, or the maxima of codes */
  uint32_t over;      /* mask of operands whose memory it may share */
  KernelShape shape;  /* nothing for scratch */
} KernelOperand;

typedef struct KernelNumber {
  char name[KERNEL_NAME_BYTES];
  bool is_flag; /* 0 or 1 */
} KernelNumber;

/* A row as written in kernels.def. */
typedef struct KernelRow {
  const char *name;
  bool has_fast; /* it has a fast kernel beside the reference */
  KernelRole role;
  const char *dims, *attrs, *operands, *control, *backward, *about; /* NULL: none */
  WorkspaceBytes *workspace;                                        /* NULL: no scratch */
} KernelRow;

/* A control slot as an operand. */
typedef struct KernelControl {
  ControlSlot slot;
  KernelAccess access; /* READ, WRITE or UPDATE */
  bool may_be_absent;  /* records of plans without the slot do not name it */
} KernelControl;

typedef struct KernelContract {
  const KernelRow *row;
  KernelId id;
  bool is_broadcast; /* dims are k, k sizes, k strides; no KernelNumber names them */
  bool is_pieces;    /* dims are members, k, k pairs (times, elements); nor these */
  bool may_be_tf32;  /* attrs[attr_count] is tf32, which only records that round have */
  int32_t dim_count, attr_count, operand_count, backward_count;
  KernelNumber dims[KERNEL_DIMS_MAX], attrs[KERNEL_ATTRS_MAX];
  KernelOperand operands[KERNEL_OPERANDS_MAX];
  KernelId backward[KERNEL_BACKWARD_MAX];
  int32_t control_count;
  KernelControl controls[KERNEL_CONTROLS_MAX];
} KernelContract;

/* NULL: no kernel has that name. */
const KernelContract *contract_find(const char *kernel);
const KernelContract *contract_of(KernelId kernel);

/* The number of the dim or operand of that name, or -1. */
int32_t contract_dim(const KernelContract *contract, const char *name);
int32_t contract_operand(const KernelContract *contract, const char *name);

/* The slots that a record of the kernel names in a plan with `slots` (CONTROL_BITs), as bits of
 * their numbers in the kernel's row. */
uint32_t contract_controls_in(const KernelContract *contract, uint64_t slots);
/* CONTROL_BITs of the slots that it reads, or writes. */
uint64_t contract_control_reads(const KernelContract *contract);
uint64_t contract_control_writes(const KernelContract *contract);

/* True if these dims are valid for the kernel: their number is right, and flags are 0 or 1. */
bool contract_dims_fit(const KernelContract *contract, const int64_t *dims, uint32_t count);

/* The number of attrs of a record, whose products round their inputs to tf32 or not. */
int32_t contract_attrs_in(const KernelContract *contract, bool tf32);
/* True if a record with these attrs has the attr tf32, and it is not 0. */
bool contract_is_tf32(const KernelContract *contract, const double *attrs, int64_t count);

/* True if a record may have this many operands of these dtypes: all, or all except scratch that may
 * be left out; the maxima of codes exactly where there are codes. */
bool contract_operands_fit(const KernelContract *contract, const uint32_t *dtypes, uint32_t count);

/* Elements of an operand, from its first to its last; dims must be valid. -1: a dim is negative, or
 * overflow. Not for scratch. */
int64_t contract_elements(const KernelContract *contract, int32_t operand, const int64_t *dims);

/* Rows of an operand, between which other data may lie; all numbers count elements. */
typedef struct KernelView {
  int64_t rows, inner, stride;
} KernelView;

/* How the kernel strides over its operand; dims must be valid. False: the operand is dense. */
bool contract_view(const KernelContract *contract, int32_t operand, const int64_t *dims,
                   KernelView *view);

/* True if an operand may have this dtype, in a record whose operands have `dtypes`. */
bool contract_dtype_fits(const KernelContract *contract, int32_t operand, const uint32_t *dtypes);

/* Bytes of the scratch operand; 0: the kernel has none. dims must be valid. */
int64_t contract_workspace_bytes(const KernelContract *contract, const WorkspaceUse *use);

/* The rows as a page of Markdown: docs/kernels.md. */
void contract_page(FILE *out);

#endif
