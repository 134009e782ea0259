/* choices.h -- the words of fields.def as numbers: a value of a CHOICE is the index of its word.
 * Those of parallel.pipeline are PipeKind, of pipelines.def. */
#ifndef LOCKSTEP_CHOICES_H
#define LOCKSTEP_CHOICES_H

#include <stdint.h>

/* The plan of a job trains; or it only evaluates data.valid, or draws tokens, with weights that
 * there are. */
typedef enum JobUse { USE_TRAIN, USE_EVAL, USE_SAMPLE, USE_PREDICT } JobUse;

/* The settings by which a class is drawn (kernels.def), and how much is; or which answer is
 * predicted. */
typedef struct DrawOptions {
  double temperature, top_p;
  int64_t top_k;
  int64_t prompt_tokens, tokens, sequences; /* of the longest prompt, drawn at most, texts; or 0 */
  const char *loss; /* the name of the loss that predict answers for; NULL: the model's last */
} DrawOptions;

typedef enum { CHOICE_TOKENS, CHOICE_TABLE, CHOICE_SYNTHETIC } DataChoice; /* data.head */
typedef enum { CHOICE_JOINED, CHOICE_APART } DocumentsChoice;              /* data.documents */
typedef enum { CHOICE_STREAM, CHOICE_PACK } FillChoice;                    /* data.fill */
typedef enum {
  CHOICE_CONSTANT,
  CHOICE_LINEAR,
  CHOICE_COSINE,
  CHOICE_WSD,
  CHOICE_POLYNOMIAL,
  CHOICE_INVERSE_SQRT
} ScheduleChoice; /* schedule.head */
/* precision.*; tf32 of compute alone */
typedef enum { CHOICE_FP32, CHOICE_BF16, CHOICE_FP16, CHOICE_TF32 } PrecisionChoice;
/* The dtypes that devices have a peak of; the numbers of PrecisionChoice are the same. */
typedef enum { RATE_FP32, RATE_BF16, RATE_FP16, RATE_TF32, RATE_FP8, RATES } Rate;
typedef enum { CHOICE_LINEAR_COMPUTE, CHOICE_LINEAR_FP8 } LinearChoice; /* precision.linear */
/* precision.master, precision.moments, precision.update */
typedef enum { CHOICE_MASTER_FP32, CHOICE_MASTER_SPLIT, CHOICE_MASTER_NONE } MasterChoice;
typedef enum { CHOICE_MOMENTS_FP32, CHOICE_MOMENTS_BF16, CHOICE_MOMENTS_INT8 } MomentsChoice;
typedef enum { CHOICE_UPDATE_NEAREST, CHOICE_UPDATE_STOCHASTIC, CHOICE_UPDATE_KAHAN } UpdateChoice;
typedef enum {
  CHOICE_RECOMPUTE_NONE,
  CHOICE_RECOMPUTE_SELECTIVE,
  CHOICE_RECOMPUTE_BLOCK,
  CHOICE_RECOMPUTE_SQRT,
  CHOICE_RECOMPUTE_AUTO,
  CHOICE_RECOMPUTE_EVERY
} RecomputeChoice; /* memory.recompute */
typedef enum {
  CHOICE_OFFLOAD_NONE,
  CHOICE_OFFLOAD_CPU,
  CHOICE_OFFLOAD_NVME,
  CHOICE_OFFLOAD_AUTO
} OffloadChoice; /* offload.* */
typedef enum {
  CHOICE_UPDATES_AUTO,
  CHOICE_UPDATES_HOST,
  CHOICE_UPDATES_DEVICE
} UpdatesChoice;                                                            /* offload.update */
typedef enum { CHOICE_PARALLEL_SAID, CHOICE_PARALLEL_AUTO } ParallelChoice; /* parallel.head */
typedef enum { CHOICE_RING, CHOICE_ULYSSES } CpKindChoice;                  /* parallel.cp_kind */
typedef enum {
  CHOICE_REDUCE_MICRO,
  CHOICE_REDUCE_STEP
} ZeroReduceChoice; /* parallel.zero_reduce */
typedef enum {
  CHOICE_RESHARD_LAYER,
  CHOICE_RESHARD_CHUNK,
  CHOICE_RESHARD_STEP
} ZeroReshardChoice; /* parallel.zero_reshard */
typedef enum {
  CHOICE_SHARD_NONE,
  CHOICE_SHARD_GRAD_OP,
  CHOICE_SHARD_FULL,
  CHOICE_SHARD_HYBRID
} ShardChoice;                 /* parallel.shard */
enum { ZERO_GROUP_NODE = -1 }; /* parallel.zero_group = "node" */
typedef enum {
  CHOICE_DRILL_AUTO,
  CHOICE_DRILL_ON,
  CHOICE_DRILL_OFF
} DrillChoice; /* checkpoint.drill */
typedef enum {
  CHOICE_ASYNC_AUTO,
  CHOICE_ASYNC_ON,
  CHOICE_ASYNC_OFF
} AsyncChoice;                                                       /* checkpoint.async */
typedef enum { CHOICE_USR1, CHOICE_USR2, CHOICE_TERM } SignalChoice; /* checkpoint.signal */
typedef enum {
  CHOICE_PREFLIGHT_FULL,
  CHOICE_PREFLIGHT_QUICK,
  CHOICE_PREFLIGHT_OFF
} PreflightChoice; /* slurm.preflight */
typedef enum {
  CHOICE_INFINIBAND,
  CHOICE_ETHERNET,
  CHOICE_EFA,
  CHOICE_SLINGSHOT
} NetworkChoice;                                                 /* cluster.network */
typedef enum { CHOICE_PYXIS, CHOICE_APPTAINER } ContainerChoice; /* slurm.container_by */
typedef enum { CHOICE_GPUS_PER_NODE, CHOICE_GRES, CHOICE_GPUS_NONE } GpusChoice; /* slurm.gpus */

#endif
