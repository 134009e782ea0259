#include "compiler/cost/cost.h"

int64_t cost_record_ns(const Draft *d, const Record *record) {
  const Cluster *cluster = d->cluster;
  double seconds = 0;
  if (record->kind == RECORD_ALL_REDUCE && cluster->link_bytes_per_s > 0) {
    double n = (double)d->derived.dp, bytes = (double)record->operands[0].size_bytes;
    seconds = 2 * (n - 1) / n * bytes / cluster->link_bytes_per_s;
  } else if (record->kind == RECORD_KERNEL) {
    double peak = d->train->compute_dtype == DTYPE_BF16 ? cluster->flops_bf16 : cluster->flops_fp32;
    if (peak > 0) seconds = (double)record->flops / peak;
    double moving =
        cluster->memory_bytes_per_s > 0 ? (double)record->bytes / cluster->memory_bytes_per_s : 0;
    if (moving > seconds) seconds = moving;
  }
  return (int64_t)(seconds * 1e9 + 0.5);
}

static int64_t segment_flops(const Draft *d, int32_t segment) {
  return segment == NO_ID ? 0 : d->segments.at[segment].flops;
}

int64_t cost_flops_per_token(const Draft *d) {
  int64_t flops = 0;
  for (RegionId r = 0; r < d->train->regions.count; r++) {
    const RegionSegments *parts = &d->train_parts[r];
    flops += d->train->regions.at[r].repeat *
             (segment_flops(d, parts->forward) + segment_flops(d, parts->backward));
  }
  return flops / (d->job->train.microbatch * d->derived.sample_tokens);
}
