/* plan.h -- the plan: the one thing the compiler and the runtime share.
 *
 * A file of little-endian fixed-size records in tables; references are indices, never pointers, so
 * that a plan is mapped and used as it is. Byte-identical for equal inputs. plan.def lists the
 * records.
 *
 * Replay of a program: for each call in order (loops repeat theirs), for each record of its segment
 * whose `when` masks allow it: operand address = arena + binding of its base + operand offset; run
 * the kernel or the communication. Records of one lane run in list order, those of a launch in any
 * order, and a record with `fuses` may be fused with the previous one; across lanes exactly the
 * stated edges hold. */
#ifndef LOCKSTEP_PLAN_H
#define LOCKSTEP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/plan/dtype.h"
#include "runtime/plan/optimizers.h"

#define PLAN_MAGIC "LOCKSTEP"
#define PLAN_NONE  0xffffffffu
enum { PLAN_VERSION = 17, PLAN_ALIGN_BYTES = 256 }; /* arena offsets of buffers are multiples */
enum { PLAN_FILE_ALIGN_BYTES = 1 << 16 };           /* those in files: each run has a sum */
enum { PLAN_LANES_MAX = 12, PLAN_AXES_MAX = 8 };

/* The text form has the names of enum constants, V(TIER_HOST, "host"). Append only. */
/* clang-format off */
#define PLAN_ENUMS(E, V, X) \
  E(Schedule) V(SCHEDULE_CONSTANT, "constant") V(SCHEDULE_LINEAR, "linear") \
  V(SCHEDULE_COSINE, "cosine") V(SCHEDULE_WSD, "wsd") \
  V(SCHEDULE_POLYNOMIAL, "polynomial") V(SCHEDULE_INVERSE_SQRT, "inverse_sqrt") X(Schedule) \
  E(DecayShape) V(DECAY_LINEAR, "linear") V(DECAY_COSINE, "cosine") V(DECAY_SQRT, "sqrt") X(DecayShape) \
  E(DataKind) V(DATA_TOKENS, "tokens") V(DATA_TABLE, "table") V(DATA_SYNTHETIC, "synthetic") X(DataKind) \
  E(DataFormat) V(FORMAT_U8, "u8") V(FORMAT_U16, "u16") V(FORMAT_U32, "u32") \
  V(FORMAT_LLMC, "llmc") V(FORMAT_MEGATRON, "megatron") V(FORMAT_TOK, "tok") \
  V(FORMAT_CSV, "csv") X(DataFormat) \
  E(Resume) V(RESUME_AUTO, "auto") V(RESUME_NEVER, "never") V(RESUME_PATH, "path") V(RESUME_ANYWAY, "anyway") X(Resume) \
  E(SettingEffect) V(SETTING_EXPERIMENT, "experiment") V(SETTING_MODEL, "model") \
  V(SETTING_SCHEDULE, "schedule") V(SETTING_LAYOUT, "layout") V(SETTING_SAFE, "safe") \
  V(SETTING_DERIVED, "derived") X(SettingEffect) \
  E(SettingKind) V(SETTING_NONE, "none") V(SETTING_TEXT, "text") V(SETTING_FLAG, "flag") \
  V(SETTING_COUNT, "count") V(SETTING_REAL, "real") X(SettingKind) \
  E(Optimizer) OPTIMIZERS(OPTIMIZER_VALUE, V) X(Optimizer) \
  E(InitKind) V(INIT_NORMAL, "normal") V(INIT_UNIFORM, "uniform") V(INIT_CONSTANT, "constant") X(InitKind) \
  E(InputRole) V(INPUT_TOKENS, "tokens") V(INPUT_TARGETS, "targets") \
  V(INPUT_COLUMNS, "columns") V(INPUT_CLASSES, "classes") V(INPUT_BEGINS, "begins") \
  V(INPUT_PLACES, "places") X(InputRole) \
  E(BufferKind) V(BUFFER_PARAM, "parameters") V(BUFFER_GRAD, "gradients") \
  V(BUFFER_MASTER, "master") V(BUFFER_MOMENT1, "moment m") V(BUFFER_MOMENT2, "moment v") \
  V(BUFFER_ACTIVATION, "activations") V(BUFFER_GRAD_ACTIVATION, "activation gradients") \
  V(BUFFER_WORKSPACE, "workspace") V(BUFFER_COMM, "communication") V(BUFFER_DATA, "data") \
  V(BUFFER_CONTROL, "control") V(BUFFER_CAST, "parameters, cast") \
  V(BUFFER_COMPENSATION, "compensation") V(BUFFER_MIRROR, "control, mirrored") \
  V(BUFFER_MOMENT1_MAX, "maxima of m") V(BUFFER_MOMENT2_MAX, "maxima of v") \
  V(BUFFER_SNAPSHOT, "snapshot") V(BUFFER_CODES, "codes of weights") V(BUFFER_CACHE, "cache") X(BufferKind) \
  E(Target) V(TARGET_CPU, "cpu") V(TARGET_CUDA, "cuda") X(Target) \
  E(Tier) V(TIER_DEVICE, "device") V(TIER_HOST, "host") V(TIER_FILE, "file") X(Tier) \
  E(ProgramKind) V(PROGRAM_INIT, "init") V(PROGRAM_TRAIN_STEP, "train_step") \
  V(PROGRAM_EVAL_STEP, "eval_step") V(PROGRAM_SNAPSHOT, "snapshot") V(PROGRAM_PREFILL, "prefill") V(PROGRAM_DECODE, "decode") X(ProgramKind) \
  E(PartKind) V(PART_COMPUTE, "compute") V(PART_EXPOSED, "exposed") V(PART_BUBBLE, "bubble") \
  X(PartKind) \
  E(Processor) V(PROCESSOR_DEVICE, "device") V(PROCESSOR_HOST, "host") X(Processor) \
  E(RecordKind) V(RECORD_KERNEL, "kernel") V(RECORD_ALL_REDUCE, "all_reduce") \
  V(RECORD_ALL_GATHER, "all_gather") V(RECORD_REDUCE_SCATTER, "reduce_scatter") \
  V(RECORD_ALL_TO_ALL, "all_to_all") V(RECORD_EXCHANGE, "exchange") V(RECORD_LOAD, "load") \
  V(RECORD_COPY, "copy") V(RECORD_READ, "read") V(RECORD_WRITE, "write") X(RecordKind) \
  E(Access) V(ACCESS_READ, "read") V(ACCESS_WRITE, "write") V(ACCESS_UPDATE, "update") \
  X(Access) \
  E(ReduceOp) V(REDUCE_SUM, "sum") V(REDUCE_MAX, "max") X(ReduceOp) \
  E(SlotKind) V(SLOT_LASTING, "lasting") V(SLOT_OUT, "out") V(SLOT_IN_OUT, "in_out") \
  V(SLOT_IN, "in") X(SlotKind) \
  E(SlotType) V(SLOT_F64, "f64") V(SLOT_I64, "i64") V(SLOT_U64, "u64") X(SlotType) \
  E(SlotWriter) V(SLOT_BY_HOST, "host") V(SLOT_BY_KERNEL, "kernel") X(SlotWriter) \
  E(SlotReduce) V(SLOT_EQUAL, "equal") V(SLOT_SUM, "sum") V(SLOT_SUM_FIRST, "sum_first") \
  X(SlotReduce) E(Divides) V(DIVIDES_SAMPLES, "samples") V(DIVIDES_TOKENS, "tokens") \
  V(DIVIDES_DEPTH, "depth") V(DIVIDES_FEATURES, "features") V(DIVIDES_EXPERTS, "experts") \
  X(Divides) \
  E(CutStyle) V(CUT_BLOCK, "block") V(CUT_ZIGZAG, "zigzag") X(CutStyle) \
  E(ValueKind) V(VALUE_ACTIVATION, "activation") V(VALUE_INPUT, "input") \
  V(VALUE_PARAM, "parameter") V(VALUE_PARAM_GRAD, "gradient") V(VALUE_LOSS, "loss") V(VALUE_CACHE, "cache") \
  X(ValueKind) \
  E(Purpose) V(PURPOSE_NODE, "node") V(PURPOSE_PART, "part") V(PURPOSE_RECOMPUTE, "recompute") \
  V(PURPOSE_CONVERSION, "conversion") V(PURPOSE_LOAD, "load") V(PURPOSE_INIT, "init") \
  V(PURPOSE_GATHER, "gather") V(PURPOSE_REDUCE, "reduce") V(PURPOSE_CLEAR, "clear") \
  V(PURPOSE_NORM, "norm") V(PURPOSE_UPDATE, "update") V(PURPOSE_CONTROL, "control") \
  V(PURPOSE_TRANSFER, "transfer") V(PURPOSE_CAST, "cast") V(PURPOSE_OFFLOAD, "offload") \
  V(PURPOSE_SAVE, "save") X(Purpose) \
  E(Direction) V(DIRECTION_FORWARD, "forward") V(DIRECTION_BACKWARD, "backward") \
  V(DIRECTION_UPDATE, "update") V(DIRECTION_CONTROL, "control") X(Direction)
/* clang-format on */

#define PLAN_E(name)           typedef enum name {
#define PLAN_V(constant, text) constant,
#define PLAN_X(name)                                                                               \
  name##_COUNT                                                                                     \
  }                                                                                                \
  name;
PLAN_ENUMS(PLAN_E, PLAN_V, PLAN_X)
#undef PLAN_E
#undef PLAN_V
#undef PLAN_X
enum { DType_COUNT = DTYPE_COUNT };

/* The effect of resuming a job with another value of a key than its checkpoint was made with.
 * EXPERIMENT: it is another experiment. MODEL: as EXPERIMENT if the traced model also differs,
 * otherwise only another spelling. SCHEDULE: changes the rate or the length from here on. LAYOUT:
 * state may be cut differently. SAFE: nothing that is learned depends on it.
 * DERIVED: no key of the job, so checkpoints neither save nor compare it. */

/* Settings whose values are compared by content: the hash of the traced model, and of the training
 * files. */
#define PLAN_GRAPH_KEY "model.graph"
#define PLAN_DATA_KEY  "data.train"
/* A mix as "WEIGHT:FILES ...": the weight of each source and the number of its files. */
#define PLAN_MIX_KEY "data.mix"
/* The hash of the files that parameters begin with; "A=B": of their tensors which must be equal. */
#define PLAN_WEIGHTS_KEY "model.weights_hash"
#define PLAN_TIED_KEY    "model.weights_tied"

/* Parts of a storage: a moment's buffer has the codes, and that of its maxima the others. */
enum { STORAGE_CODES = 1u << 0, STORAGE_MAXIMA = 1u << 1 };

/* Call flags that `when` masks look at. */
enum {
  CALL_FIRST_MICROBATCH = 1u << 0,
  CALL_LAST_MICROBATCH = 1u << 1,
  CALL_FIRST_LAYER = 1u << 2,
  CALL_LAST_LAYER = 1u << 3,
  CALL_GROUP_LAST =
      1u << 4, /* last layer of a recompute group: its output need not be recomputed */
  CALL_FLAGS_BITS = 5,
};

#define TABLE(Type, table) typedef struct Type {
#define END(Type, table)                                                                           \
  }                                                                                                \
  Type;
#define U32(f)      uint32_t f;
#define I32(f)      int32_t f;
#define U64(f)      uint64_t f;
#define I64(f)      int64_t f;
#define F64(f)      double f;
#define STR(f)      uint32_t f;
#define ENUM(f, e)  uint32_t f;
#define REF(f, t)   uint32_t f;
#define OPT(f, t)   uint32_t f;
#define RANGE(f, t) uint32_t f##_first, f##_count;
#define FLAGS(f)    uint32_t f;
#define PAD(f)      uint32_t f;
#include "runtime/plan/plan.def"
#include "runtime/plan/plan_undef.h"

/* The tables, in file order. The last three are plain arrays. */
/* clang-format off */
#define PLAN_TABLES(T) \
  T(PlanSetting, settings) T(PlanInput, inputs) T(PlanFile, files) \
  T(PlanTier, tiers) T(PlanLane, lanes) T(PlanSlot, slots) T(PlanAxis, axes) T(PlanPlace, places) T(PlanSeat, seats) \
  T(PlanStorage, storages) \
  T(PlanLayout, layouts) T(PlanLayoutDim, layout_dims) T(PlanCut, cuts) T(PlanRegion, regions) T(PlanValue, values) T(PlanNode, nodes) \
  T(PlanUse, uses) T(PlanParameter, parameters) T(PlanClass, classes) T(PlanArena, arenas) T(PlanBound, bounds) \
  T(PlanTensor, tensors) T(PlanBuffer, buffers) T(PlanProgram, programs) T(PlanPeak, peaks) \
  T(PlanPart, parts) \
  T(PlanLoop, loops) T(PlanLaunch, launches) T(PlanCall, calls) T(PlanPost, posts) T(PlanBinding, bindings) \
  T(PlanWait, waits) T(PlanSegment, segments) T(PlanBase, bases) T(PlanRecord, records) \
  T(PlanEdge, edges) T(PlanOperand, operands) T(PlanControl, controls) T(PlanVary, varies) T(PlanKernel, kernels) T(PlanComm, comms) \
  T(PlanLink, links) T(PlanMeaning, meanings) \
  T(int64_t, ints) T(double, reals) T(char, strings)
/* clang-format on */

/* A plan in memory: the tables of a mapped file, or those that the compiler builds. */
typedef struct Plan {
#define PLAN_T(Type, table)                                                                        \
  const Type *table;                                                                               \
  uint32_t table##_count;
  PLAN_TABLES(PLAN_T)
#undef PLAN_T
  const void *mapped; /* NULL when built in memory */
  size_t mapped_bytes;
  uint64_t id; /* checksum of the content: names the plan */
} Plan;

/* One number for an address in any tier, so that addresses of two tiers never overlap. */
enum { PLAN_TIER_SHIFT = 56 };
static inline uint64_t plan_address(uint32_t tier, uint64_t offset) {
  return (uint64_t)tier << PLAN_TIER_SHIFT | offset;
}

/* PLAN_NONE: the plan has no memory of this kind. */
static inline uint32_t plan_tier(const Plan *plan, Tier kind) {
  for (uint32_t i = 0; i < plan->tiers_count; i++)
    if (plan->tiers[i].kind == (uint32_t)kind) return i;
  return PLAN_NONE;
}

static inline uint64_t plan_arena_bytes(const Plan *plan, const PlanClass *class, Tier kind) {
  uint32_t tier = plan_tier(plan, kind);
  return tier < class->arenas_count ? plan->arenas[class->arenas_first + tier].size_bytes : 0;
}

/* The peak in device memory, which every program uses. */
static inline const PlanPeak *plan_peak(const Plan *plan, const PlanProgram *program) {
  return &plan->peaks[program->peaks_first + plan_tier(plan, TIER_DEVICE)];
}

/* How many ranks a communicator has, and the member number of the rank at `coordinate`. */
static inline uint32_t plan_comm_size(const Plan *plan, uint32_t comm) {
  uint32_t size = 1;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    if (plan->comms[comm].axes_mask >> axis & 1u) size *= plan->axes[axis].size;
  return size;
}

static inline uint32_t plan_member(const Plan *plan, uint32_t comm, const int32_t *coordinate) {
  uint32_t member = 0;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    if (plan->comms[comm].axes_mask >> axis & 1u)
      member = member * plan->axes[axis].size + (uint32_t)coordinate[axis];
  return member;
}

static inline const char *plan_string(const Plan *plan, uint32_t offset) {
  return plan->strings + offset;
}

/* Bytes pass from one operand to the other as they are. */
static inline bool plan_is_copy(const PlanRecord *record) {
  return record->kind == RECORD_COPY || record->kind == RECORD_READ || record->kind == RECORD_WRITE;
}

static inline bool plan_is_communication(const PlanRecord *record) {
  return record->kind != RECORD_KERNEL && record->kind != RECORD_LOAD && !plan_is_copy(record);
}

/* NULL: the class has no program of this kind. */
static inline const PlanProgram *plan_program(const Plan *plan, const PlanClass *class,
                                              ProgramKind kind) {
  for (uint32_t i = 0; i < class->programs_count; i++)
    if (plan->programs[class->programs_first + i].kind == (uint32_t)kind)
      return &plan->programs[class->programs_first + i];
  return NULL;
}

#include "runtime/plan/plan_lanes.h"
#include "runtime/plan/plan_purpose.h"
#include "runtime/plan/plan_when.h"

#endif
