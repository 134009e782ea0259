#include "tests/gpu/probes/sdpa_check.h"

#include <math.h>
#include <stdlib.h>

#include "tests/gpu/probes/sdpa_reference.h"

/* A bf16 result carries 2^-9 / sqrt(3) of relative rounding noise; the probabilities (and, in the
 * backward pass, their gradients) were rounded to bf16 on the way. Ten times the first, as a root
 * mean square, is far below any mistake in a mask, a scale or a head mapping. */
static const double RMS_LIMIT = 0.0113;
static const double STATS_LIMIT = 2e-3; /* fp32 log-sum-exp near 7, hardware exp2 and log2 */

typedef struct {
  double *qkv, *d_o, *o, *stats, *d_qkv;
  uint16_t *got_o, *got_d_qkv;
  float *got_stats;
} Host;

static void host_free(Host *host) {
  void *arrays[] = {host->qkv,   host->d_o,   host->o,         host->stats,
                    host->d_qkv, host->got_o, host->got_d_qkv, host->got_stats};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    free(arrays[i]);
}

static bool host_take(const SdpaShape *shape, Host *host) {
  size_t qkv = (size_t)sdpa_qkv_count(shape), o = (size_t)sdpa_o_count(shape);
  size_t stats = (size_t)sdpa_stats_count(shape);
  *host = (Host){
      .qkv = calloc(qkv, sizeof(double)),
      .d_o = calloc(o, sizeof(double)),
      .o = calloc(o, sizeof(double)),
      .stats = calloc(stats, sizeof(double)),
      .d_qkv = calloc(qkv, sizeof(double)),
      .got_o = calloc(o, sizeof(uint16_t)),
      .got_d_qkv = calloc(qkv, sizeof(uint16_t)),
      .got_stats = calloc(stats, sizeof(float)),
  };
  if (!host->qkv || !host->d_o || !host->o || !host->stats || !host->d_qkv || !host->got_o ||
      !host->got_d_qkv || !host->got_stats)
    FAIL("out of host memory");
  return true;
}

static bool fetch(const SdpaShape *shape, const SdpaBuffers *buffers, Host *host) {
  size_t qkv = (size_t)sdpa_qkv_count(shape), o = (size_t)sdpa_o_count(shape);
  size_t stats = (size_t)sdpa_stats_count(shape);
  TRY_CUDA(cudaMemcpy(host->got_o, buffers->o, o * sizeof(uint16_t), cudaMemcpyDeviceToHost));
  TRY_CUDA(
      cudaMemcpy(host->got_d_qkv, buffers->d_qkv, qkv * sizeof(uint16_t), cudaMemcpyDeviceToHost));
  TRY_CUDA(
      cudaMemcpy(host->got_stats, buffers->stats, stats * sizeof(float), cudaMemcpyDeviceToHost));
  Pattern qkv_pattern = sdpa_qkv_pattern(), d_o_pattern = sdpa_d_o_pattern();
  for (size_t i = 0; i < qkv; i++)
    host->qkv[i] = pattern_at(&qkv_pattern, (int64_t)i);
  for (size_t i = 0; i < o; i++)
    host->d_o[i] = pattern_at(&d_o_pattern, (int64_t)i);
  return true;
}

static void compare(const SdpaShape *shape, const Host *host, SdpaDifferences *differences) {
  int64_t per_token = (shape->heads + 2 * shape->kv_heads) * shape->head_size;
  int64_t k_start = shape->heads * shape->head_size;
  int64_t v_start = k_start + shape->kv_heads * shape->head_size;
  for (int64_t i = 0; i < sdpa_o_count(shape); i++)
    difference_add(&differences->o, number_at(TYPE_BF16, host->got_o, i), host->o[i], INFINITY);
  for (int64_t i = 0; i < sdpa_stats_count(shape); i++)
    difference_add(&differences->stats, (double)host->got_stats[i], host->stats[i], STATS_LIMIT);
  for (int64_t i = 0; i < sdpa_qkv_count(shape); i++) {
    int64_t place = i % per_token;
    Difference *part = place < k_start   ? &differences->d_q
                       : place < v_start ? &differences->d_k
                                         : &differences->d_v;
    difference_add(part, number_at(TYPE_BF16, host->got_d_qkv, i), host->d_qkv[i], INFINITY);
  }
}

static bool judge(const SdpaDifferences *differences) {
  const Difference *parts[] = {&differences->o, &differences->d_q, &differences->d_k,
                               &differences->d_v};
  static const char *const names[] = {"o", "d_q", "d_k", "d_v"};
  for (int i = 0; i < 4; i++)
    if (!(difference_relative_rms(parts[i]) <= RMS_LIMIT) || parts[i]->outside > 0)
      FAIL("%s differs from fp64 by %.3g of its size (limit %.3g)", names[i],
           difference_relative_rms(parts[i]), RMS_LIMIT);
  if (differences->stats.outside > 0)
    FAIL("the log-sum-exp differs from fp64 by %.3g", differences->stats.max_error);
  return true;
}

static bool check(const SdpaShape *shape, const SdpaBuffers *buffers, Host *host,
                  SdpaDifferences *differences) {
  TRY(host_take(shape, host));
  TRY(fetch(shape, buffers, host));
  SdpaArrays arrays = {host->qkv, host->d_o, host->o, host->stats, host->d_qkv};
  if (!sdpa_reference(shape, &arrays)) FAIL("out of host memory");
  compare(shape, host, differences);
  return judge(differences);
}

bool sdpa_check(const SdpaShape *shape, const SdpaBuffers *buffers, SdpaDifferences *differences) {
  *differences = (SdpaDifferences){0};
  Host host = {0};
  bool ok = check(shape, buffers, &host, differences);
  host_free(&host);
  return ok;
}
