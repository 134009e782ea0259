/* outside.h -- memory of a GPU that a rank needs outside its arena. It is known before the draft,
 * because every draft's budget is the remaining memory.
 *
 * Groups of ranks follow from the degrees: every plan of the job opens these communicators, or
 * fewer. Ranks are in the usual order; where a plan takes another, `lockstep explain --layouts` has
 * the buffers of that order, and the lint outside-arena compares them with what is left. */
#ifndef LOCKSTEP_COST_OUTSIDE_H
#define LOCKSTEP_COST_OUTSIDE_H

#include "compiler/draft/cost/communicators.h"
#include "compiler/job/job.h"

/* CUDA's context, and the code of kernels and libraries: 567 MB were in use beside the arena of one
 * rank on an H100 (driver 580.159, CUDA 13.0, cublasLt 13.1, cuDNN 9.19;
 * docs/measurements/gpu-2026-11-26.md), rounded up to 600 MiB for other versions. */
#define OUTSIDE_CONTEXT_BYTES ((int64_t)600 << 20)

typedef struct Outside {
  bool is_said;          /* by `reserve` of the device's file: only `all_bytes` is known */
  int64_t context_bytes; /* OUTSIDE_CONTEXT_BYTES */
  int64_t nccl_bytes;    /* of all communicators, on the stage that needs most: communicators.h */
  int32_t groups;        /* communicators, of each lane its own */
  /* Workspaces of libraries outside the plan: none, because cublasLt and cuDNN get operands of
   * their records as workspace, and their algorithms are tried in the arena. */
  int64_t workspace_bytes;
  int64_t all_bytes; /* of a processor: what its file, or the program and the system, take */
} Outside;

/* `derived` NULL: the degrees are not known yet, and communicators are not counted. `kv_heads`: of
 * the model; 0: it has none of the name. */
Outside outside_of(const Job *job, const Cluster *cluster, const Derived *derived,
                   int64_t kv_heads);

/* The communicators that are counted in it, at most OUTSIDE_GROUPS_MOST; `axes[i]` has the
 * MESH_BITs of the i-th. */
enum { OUTSIDE_GROUPS_MOST = 16 };
int32_t outside_groups(const Job *job, const Cluster *cluster, const Derived *derived,
                       int64_t kv_heads, uint32_t *axes, Communicator *at);

#endif
