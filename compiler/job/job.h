/* job.h -- what the user wrote, checked and completed. fields.def makes the struct:
 * job->train.microbatch. */
#ifndef LOCKSTEP_JOB_H
#define LOCKSTEP_JOB_H

#include "compiler/base/base.h"
#include "compiler/job/choices.h"
#include "compiler/job/profile.h"
#include "compiler/job/values.h"
#include "runtime/plan/loss_scales.h"
#include "runtime/plan/optimizers.h"
#include "runtime/plan/plan.h"

/* Where a value came from, weakest first. */
typedef enum OriginKind {
  ORIGIN_DEFAULT,
  ORIGIN_DERIVED,
  ORIGIN_PRESET,
  ORIGIN_BASE,
  ORIGIN_JOB,
  ORIGIN_OVERRIDE
} OriginKind;
typedef struct Origin {
  OriginKind kind;
  Span span;        /* of the value; of the section or key that uses it when it is in a variable */
  const char *rule; /* of derived values: the arithmetic, "16 sequences / (1 x 16)" */
} Origin;

/* A name and its value; text NULL: an option that takes no value, or is left out. */
typedef struct Pair {
  const char *name, *text;
  bool is_off; /* false in the job: overrides what the site says */
  Origin origin;
} Pair;
typedef VEC(Pair) PairList;

#define SECTION(section, head, default_head, doc)
#define END(section)
#define FIELD(section, key, KIND, values, default_text, doc) FIELD_##section##_##key,
typedef enum FieldId {
#include "compiler/job/fields.def"
  FIELD_COUNT
} FieldId;
#undef SECTION
#undef FIELD
#undef END

/* A size the model file declares, as the job sets it. */
typedef enum SizeKind { SIZE_NUMBER, SIZE_FLAG, SIZE_TEXT } SizeKind;
typedef struct ModelSize {
  const char *name;
  SizeKind kind;
  double number; /* also 0 / 1 of a flag */
  const char *text;
  Origin origin;
} ModelSize;

#define TYPE_TEXT     const char *
#define TYPE_PATH     const char *
#define TYPE_COUNT    int64_t
#define TYPE_COUNT_OR int64_t
#define TYPE_COUNTS   CountList
#define TYPE_NUMBER   double
#define TYPE_FLAG     bool
#define TYPE_CHOICE   int32_t
#define TYPE_SCALE    int32_t
#define TYPE_AMOUNT   Amount
#define TYPE_BYTES    int64_t
#define TYPE_BYTES_OR int64_t
#define TYPE_RATE     double
#define TYPE_LIST     TextList
#define TYPE_COLUMNS  ColumnList
#define TYPE_WORDS    TextList
#define TYPE_PAIRS    PairList

/* One struct per section; `head` is the index of the word in [1] where the section takes words. */
#define SECTION(section, head_values, default_head, doc)                                           \
  struct {                                                                                         \
    int32_t head;                                                                                  \
    const char *head_text; /* the word, name or file as written */                                 \
    Origin head_origin;
#define FIELD(section, key, KIND, values, default_text, doc) TYPE_##KIND key;
#define END(section)                                                                               \
  }                                                                                                \
  section;

typedef struct Job {
#include "compiler/job/fields.def"
  JobUse use;
  DrawOptions draw;         /* of USE_SAMPLE and USE_PREDICT */
  VEC(ModelSize) sizes;     /* of model */
  Amount offload_part;      /* of offload.optimizer = { "cpu", share = "60%" }, or most = "40GB" */
  Amount frames_part;       /* the same of offload.activations */
  int64_t recompute_blocks; /* of memory.recompute = { "every", blocks = N } */
  bool is_fp8_by_block;     /* of precision.linear = { "fp8", scaling = "block" } */
  int64_t pipeline_chunks;  /* of parallel.pipeline = { "interleaved", chunks = N } */
  LossScale loss_scale;     /* of precision.loss_scale, if it is set */
  Origin origin[FIELD_COUNT];
  MixSourceList mix;     /* of data.train in its order; none: it has no weights */
  bool is_data_absent;   /* spec_data found no file where one is named */
  bool set[FIELD_COUNT]; /* false: "none", or derived and not yet known */
  const char *path;      /* job.lua as named on the command line */
  const char *directory; /* of the file, for relative paths */
  bool is_train_masked;  /* some ids of data.train are no targets, after spec_data */
  int64_t train_tokens;  /* of data.train after spec_data; rows of a table; 0: not counted */
  int64_t valid_tokens, packed_context, train_windows, valid_windows; /* of spec_data_pack */
} Job;
#undef SECTION
#undef FIELD
#undef END

/* Nodes that are alike, as the cluster file says. */
typedef struct ClusterType {
  const char *name;
  int64_t nodes, devices;                /* 0: as the files say */
  double intra_bytes_per_s;              /* between ranks of a node, one way; 0 = unknown */
  double inter_bytes_per_s;              /* of one rank to other nodes; 0 = unknown */
  bool is_intra_nearer, is_inter_nearer; /* set nearer to the job than the files: replaces theirs */
  const char *hwloc, *nccl_topo;         /* files, or NULL */
  const char *hosts, *network; /* a list, NULL: the next ones; of cluster.network, NULL: unknown */
  Span hwloc_at, nccl_topo_at, hosts_at, network_at;
} ClusterType;

/* The machine of the job. `here` is filled by topology/ before compile, which stays pure. */
typedef struct Cluster {
  const char *name;
  int64_t nodes, devices; /* devices: of a node that has most */
  int64_t ranks;
  const ClusterType *types;
  int32_t type_count;
  const char *switches, *drained; /* a file of switches; hosts of it that are drained; or NULL */
  Span at, switches_at, drained_at, devices_at;
  int64_t block, taper; /* 1: none */
  bool is_device_said;
  const char *device; /* "cpu", "h100-sxm" ... */
  Target target;
  int64_t memory_bytes;         /* of one rank */
  int64_t reserve_bytes;        /* of device memory, outside the arena; -1: by groups of ranks */
  int64_t threads;              /* of one rank */
  int64_t cores_described;      /* of a node of processors, by its file; 0: none says it */
  double flops[RATES];          /* dense peak per rank, FLOP/s; 0 = unknown */
  double memory_bytes_per_s;    /* 0 = unknown */
  int64_t host_bytes;           /* memory of a node's processors; 0 = unknown */
  double host_bytes_per_s;      /* of that memory, for all ranks of a node; 0 = unknown */
  double host_link_bytes_per_s; /* between a device and host memory, each way; 0 = unknown */
  bool is_link_device;          /* by the device's file: of a device alone */
  double link_share;            /* of it, when all devices copy; 1: no PCIe switch is shared */
  double update_bytes_per_s;    /* of updates on it, for all ranks of a node; 0 = not measured */
  int64_t disk_bytes;           /* of a node, for offload.path; 0 = unknown */
  double disk_read_bytes_per_s, disk_write_bytes_per_s; /* of all ranks of a node; 0 = unknown */
  double disk_request_s; /* fixed time of a read or write, beside its bytes; 0 = not measured */
  int64_t intra_latency_ns, inter_latency_ns; /* of a message in a node, and between nodes */
  Sustained sustained;
  Software software;
  MeasuredRates measured; /* of its processors */
} Cluster;

/* The rate of products among the cluster's `flops`. Processors round fp16 and tf32 and multiply in
 * fp32, so these have the rate of fp32. */
double cluster_flops(const Cluster *cluster, Rate rate);

/* This machine, for cluster = "here". */
typedef struct Machine {
  int64_t memory_bytes;
  int64_t cores;
  int64_t gpus;    /* how many GPUs the ranks can use; 0: none */
  const char *gpu; /* the model of all of them, as NVML names it: "NVIDIA H100 80GB HBM3" */
  int64_t gpu_memory_bytes;
  double gpu_fp32;        /* FLOP/s, by NVML; 0: unknown */
  const char *gpu_unused; /* there are some, and ranks cannot have them: why; else NULL */
  const char *processor;  /* as `lockstep version --kernels` names it; NULL: not asked */
} Machine;

/* `word`: of precision.param, compute, grad or reduce. */
DType precision_dtype(int32_t word);

/* Reads, checks and completes a job file. overrides: "section.key=value" texts of -D. NULL when
 * reported. */
Job *spec_load(Compile *c, const char *path, const char *const *overrides, int32_t override_count);

/* Computes what follows from the job, the cluster and the traced model's sizes (positions):
 * degrees, context, batch in sequences, accumulation, steps. Enforces
 * ranks = dp x cp x tp x pp and batch = microbatch x accumulation x dp. False when reported.
 * Not known here, so checked later: heads, ffn and vocab by tp, layers by stages. */
typedef struct Derived {
  int64_t dp, accumulation; /* accumulation: micro-batches of one replica in a step */
  int64_t tp, cp, pp;       /* 1: not used */
  int64_t chunks;           /* model chunks of a pipeline stage: 1 unless interleaved */
  int64_t zero;             /* 0 to 3 */
  int64_t shard_ranks; /* ranks that share state, over dp x cp; dp * cp unless hybrid; 1: zero 0 */
  bool sequence;       /* norms and residuals are cut along seq by tp */
  int64_t batch_samples, sample_tokens; /* sample_tokens 1 for tables */
  int64_t steps;
  int64_t validate_every;
  int64_t validate_samples; /* a validation reads so many, or all there are */
} Derived;
/* Sizes of the model that the arithmetic of degrees asks for; 0: it has none of the name. */
typedef struct ModelFacts {
  int64_t positions, heads;
} ModelFacts;

bool spec_derive(Compile *c, Job *job, const Cluster *cluster, const ModelFacts *model,
                 Derived *derived);

/* Bytes of its device that one rank may use: memory.budget, or what the reserve leaves. */
int64_t spec_budget(const Job *job, const Cluster *cluster, int64_t reserve_bytes);
/* Warns when memory.budget is more than the device has. */
void spec_check_budget(Compile *c, const Job *job, const Cluster *cluster, int64_t reserve_bytes);

/* Host memory and disk that the ranks of a node may use together; -1: nothing says what it has. */
int64_t spec_host_budget(const Job *job, const Cluster *cluster);
int64_t spec_disk_budget(const Job *job, const Cluster *cluster);

/* The origin of a value, "job: tiny.lua:8:29"; its place for diagnostics, else the job's. */
const char *origin_text(Arena *arena, const Origin *origin);
Span field_place(const Job *job, int32_t field);
bool field_is_said(const Job *job, int32_t field);   /* by a file or -D */
const char *field_name(Arena *arena, int32_t field); /* "train.batch"; keys of job have no prefix */

/* Resolves job->cluster against specs/clusters and specs/devices, and the machine for "here". */
bool spec_cluster(Compile *c, Job *job, const Machine *machine, Cluster *cluster);

/* The form in which its optimizer stores the exact value of parameters (master, split, ...). */
TruthStorage job_truth(const Job *job);

/* Sets keys that the job leaves open: the order of ranks, and counts that cluster files have. */
void spec_order(Job *job, const char *order);
void spec_cluster_counts(Job *job, Cluster *cluster);

#endif
