/* kernel.h -- the time of one kernel on a cluster's device, as its software runs it. Plans and
 * estimates price kernels by this.
 *
 *   products     FLOPs / (peak x sustained share x fill x K / (K + K0)), or bytes if longer
 *   attention    FLOPs / (peak x sustained share x s / (s + S0) x d / (d + D0)); unfused: two
 *                batched products, and the scores through memory
 *   to a cache   FLOPs / (peak x share of single numbers), or the bytes of the positions
 *   processors   after `lockstep bench kernels`: attention, norms, activations, the loss and
 *                updates at the measured rates
 *   others       bytes / (bandwidth x sustained share)
 *
 * On a GPU the time between two kernels of a lane is added. fill: the share of the multiprocessors
 * that the tiles of the result keep busy in the last wave, the best of several tiles and splits of
 * K. */
#ifndef LOCKSTEP_COST_KERNEL_H
#define LOCKSTEP_COST_KERNEL_H

#include "compiler/job/job.h"
#include "kernels/contract/contract.h"

typedef struct KernelWork {
  const KernelContract *kernel;
  const int64_t *dims; /* as the contract orders them */
  double flops, bytes;
  double number_bytes;      /* of one number of its first operand */
  double peak;              /* FLOP/s of its dtype; 0: unknown */
  bool is_causal, is_fused; /* fused: with the kernel before it, in one launch */
} KernelWork;

double kernel_seconds(const Cluster *cluster, const KernelWork *work);

#endif
