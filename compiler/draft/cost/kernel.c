#include "compiler/draft/cost/kernel.h"

#include <math.h>

#include "kernels/contract/cached.h"

/* Fitted to the products and the attention of two steps on one H100 80GB (docs/measurements,
 * expected.md): the rate of a product is halved at K = K0, that of attention at a sequence of S0
 * and at a head of D0. */
static const double K0 = 60, S0 = 400, D0 = 64;

/* Unfused attention writes and reads the scores, with 2 bytes each: forward the product, softmax
 * with its mask, dropout and the second product; backward the same and their gradients. Korthikanti
 * et al. 2022 (arXiv:2205.05198), section 4. */
static const double SCORE_PASSES = 6, SCORE_PASSES_BACKWARD = 9, SCORE_BYTES = 2;

/* Records count a row of logits once; it does not fit into registers, and is read for its highest
 * and its sum before its slopes are written. Measured on the H100: twice the time of its bytes. */
static const double LOSS_PASSES = 2;

typedef struct ProductSize {
  double m, n, k;
} ProductSize;

static ProductSize product_size(const KernelWork *work) {
  const double rows = (double)work->dims[0], in = (double)work->dims[1],
               out = (double)work->dims[2];
  const KernelContract *kernel = work->kernel;
  if (kernel == contract_of(KERNEL_linear_dx) || kernel == contract_of(KERNEL_linear_fp8_dx))
    return (ProductSize){rows, in, out};
  if (kernel == contract_of(KERNEL_linear_dw) || kernel == contract_of(KERNEL_linear_fp8_dw))
    return (ProductSize){in, out, rows};
  return (ProductSize){rows, out, in};
}

/* The share of the sustained rate that sizes allow. */
static double product_fill(const ProductSize *size, double units) {
  static const double tiles[][2] = {{256, 128}, {192, 192}, {128, 256}, {128, 128}, {64, 128}};
  enum { SPLITS_MOST = 8 };
  double best = 0;
  for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
    for (int32_t split = 1; split <= SPLITS_MOST; split *= 2) {
      double count = ceil(size->m / tiles[t][0]) * ceil(size->n / tiles[t][1]);
      double used = size->m * size->n / (count * tiles[t][0] * tiles[t][1]);
      double busy = units > 0 ? count * split / (ceil(count * split / units) * units) : 1;
      double k = size->k / split;
      double fill = used * busy * k / (k + K0);
      if (fill > best) best = fill;
      if (units <= 0) break;
    }
  return best;
}

static double product_seconds(const Cluster *cluster, const KernelWork *work) {
  const Sustained *s = &cluster->sustained;
  const ProductSize size = product_size(work);
  if (work->peak <= 0) return 0;
  double fill = cluster->target == TARGET_CPU
                    ? 1
                    : product_fill(&size, (double)s->multiprocessors) / cluster->software.product;
  return work->flops / (work->peak * s->product * fill);
}

static bool is_backward(const KernelWork *work) {
  return work->kernel == contract_of(KERNEL_attention_backward) ||
         work->kernel == contract_of(KERNEL_attention_apart_backward);
}

static double flash_seconds(const Cluster *cluster, const KernelWork *work) {
  const double seq = (double)work->dims[1], head = (double)work->dims[4];
  const Sustained *s = &cluster->sustained;
  double share = is_backward(work) ? s->attention_backward : s->attention;
  if (cluster->target != TARGET_CPU) share *= seq / (seq + S0) * head / (head + D0);
  return work->peak > 0 ? work->flops / (work->peak * share) : 0;
}

/* The whole square of scores, also of a causal mask. */
static double unfused_seconds(const Cluster *cluster, const KernelWork *work) {
  const Sustained *s = &cluster->sustained;
  const double seq = (double)work->dims[1], head = (double)work->dims[4];
  const double scores = (double)work->dims[0] * (double)work->dims[2] * seq * seq;
  const bool remakes = is_backward(work) && cluster->software.remakes_scores;
  const double products = (is_backward(work) ? 4 : 2) + remakes;
  const double passes =
      (is_backward(work) ? SCORE_PASSES_BACKWARD : SCORE_PASSES) + (remakes ? SCORE_PASSES - 1 : 0);
  const ProductSize size = {seq, seq, head};
  double fill = product_fill(&size, 0);
  double seconds =
      work->peak > 0 ? products * 2 * scores * head / (work->peak * s->product * fill) : 0;
  if (cluster->memory_bytes_per_s > 0)
    seconds += passes * SCORE_BYTES * scores / (cluster->memory_bytes_per_s * s->copy);
  return seconds + (2 * products - 1) * (double)s->kernel_ns * 1e-9;
}

/* Attention to a cache goes through the multiplication of single numbers, not of tiles: the share
 * of the peak of each type that an H100's instructions for a position allow. */
static const double CACHED_SHARE = 0.01, CACHED_SHARE_F32 = 0.15;

/* The positions that a token meets are in the FLOPs: 2 for each of 2 products. Keys and values of
 * them are read once for all heads and tokens of a sample. */
static double cached_seconds(const Cluster *cluster, const KernelWork *work, double copy) {
  const int64_t *dims = work->dims;
  const double all = 4.0 * (double)(dims[0] * dims[1] * dims[2] * dims[4]);
  const double met = all > 0 ? work->flops / all : 0;
  const double bytes = 2 * work->number_bytes * met * (double)(dims[0] * dims[3] * dims[4]);
  const double share = work->number_bytes < 4 ? CACHED_SHARE : CACHED_SHARE_F32;
  const double seconds = work->peak > 0 ? work->flops / (work->peak * share) : 0;
  const double merge = cached_parts(dims) > 1 ? (double)cluster->sustained.kernel_ns * 1e-9 : 0;
  return fmax(seconds, copy > 0 ? bytes / copy : 0) + merge;
}

/* One pass over the states, which each program makes with one kernel. */
static bool is_of_states(KernelRole role) {
  return role == ROLE_UPDATE || role == ROLE_SQUARE_SUM || role == ROLE_FILL;
}

/* Seconds by a rate that was measured on these processors; 0: none was. */
static double measured_seconds(const Cluster *cluster, const KernelWork *work, KernelRole role) {
  const MeasuredRates *m = &cluster->measured;
  const double fp32_bytes = work->number_bytes > 0 ? work->bytes * 4 / work->number_bytes : 0;
  double rate = 0, amount = fp32_bytes;
  switch (role) {
  case ROLE_ATTENTION:
    rate = is_backward(work) ? m->attention_backward : m->attention;
    amount = work->flops;
    break;
  case ROLE_NORM: rate = m->norm; break;
  case ROLE_ACTIVATION:
  case ROLE_GATE: rate = m->activation; break;
  case ROLE_LOSS: rate = m->loss; break;
  case ROLE_UPDATE:
    rate = m->update;
    amount = work->bytes;
    break;
  default: break;
  }
  return rate > 0 ? amount / rate : 0;
}

double kernel_seconds(const Cluster *cluster, const KernelWork *work) {
  const KernelRole role = work->kernel ? work->kernel->row->role : ROLE_NONE;
  const double copy = cluster->memory_bytes_per_s * cluster->sustained.copy;
  double seconds = 0, moving = copy > 0 ? work->bytes / copy : 0;
  if (cluster->measured.is_taken) seconds = measured_seconds(cluster, work, role);
  if (seconds > 0) {
    moving = 0;
  } else if (work->kernel == contract_of(KERNEL_attention_cached) &&
             cluster->target != TARGET_CPU) {
    seconds = cached_seconds(cluster, work, copy);
    moving = 0;
  } else if (role == ROLE_LINEAR && work->flops > 0) {
    seconds = product_seconds(cluster, work);
  } else if (role == ROLE_ATTENTION && work->flops > 0) {
    seconds =
        cluster->software.has_flash ? flash_seconds(cluster, work) : unfused_seconds(cluster, work);
  } else {
    if (work->peak > 0) seconds = work->flops / work->peak;
    if (role == ROLE_LOSS && cluster->target != TARGET_CPU)
      moving *= LOSS_PASSES;
    else if (!is_of_states(role))
      moving *= cluster->software.traffic;
  }
  /* Updates of many tensors are one launch. */
  double between =
      work->is_fused || is_of_states(role) ? 0 : (double)cluster->sustained.kernel_ns * 1e-9;
  return fmax(seconds, moving) + between;
}
