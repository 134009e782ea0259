#include "compiler/draft/cost/cost.h"

#include "compiler/draft/cost/kernel.h"
#include "compiler/draft/cost/link.h"

double cost_peak_of(const Draft *d, DType dtype) {
  static const int32_t rates[DTYPE_COUNT] = {[DTYPE_BF16] = RATE_BF16,
                                             [DTYPE_F16] = RATE_FP16,
                                             [DTYPE_E4M3] = RATE_FP8,
                                             [DTYPE_E5M2] = RATE_FP8};
  if (dtype == DTYPE_F32) return cluster_flops(d->cluster, d->train->tf32 ? RATE_TF32 : RATE_FP32);
  return cluster_flops(d->cluster, rates[dtype]);
}

double cost_peak(const Draft *d) {
  return cost_peak_of(d, d->train->compute_dtype);
}

/* Bytes a second between a device and the memory of its node. Devices of one PCIe switch share its
 * link, and all devices of a node share the memory's bandwidth. */
static double link_rate(const Cluster *cluster) {
  const double part = cluster->link_share > 0 ? cluster->link_share : 1;
  const double link = cluster->host_link_bytes_per_s * part;
  const double share = cluster->host_bytes_per_s / (double)cluster->devices;
  return link > 0 && share > 0 && share < link ? share : link;
}

/* Bytes a second that a copy between tiers, or a kernel on the host, has; 0: unknown. Ranks of a
 * node share its memory and its disk. */
static double host_rate(const Cluster *cluster, const Record *record) {
  if (record->kind == RECORD_COPY) return link_rate(cluster);
  if (record->kind == RECORD_READ) return cluster->disk_read_bytes_per_s / (double)cluster->devices;
  if (record->kind == RECORD_WRITE)
    return cluster->disk_write_bytes_per_s / (double)cluster->devices;
  if (cluster->update_bytes_per_s > 0 && record->kind == RECORD_KERNEL)
    return cluster->update_bytes_per_s / (double)cluster->devices;
  if (cluster->target == TARGET_CPU) return cluster->memory_bytes_per_s;
  return cluster->host_bytes_per_s / (double)cluster->devices;
}

static int64_t host_ns(const Draft *d, const Record *record) {
  double rate = host_rate(d->cluster, record);
  double moved = record->kind == RECORD_KERNEL ? (double)record->bytes
                                               : (double)record->operands[0].size_bytes;
  const bool is_file = record->kind == RECORD_READ || record->kind == RECORD_WRITE;
  const double request_s = is_file ? d->cluster->disk_request_s : 0;
  return rate > 0 ? (int64_t)((moved / rate + request_s) * 1e9 + 0.5) : 0;
}

int64_t cost_kernel_ns(const Draft *d, const Record *record) {
  if (record->kind == RECORD_COPY || record->lane >= LANE_HOST) return host_ns(d, record);
  if (record->kind != RECORD_KERNEL) return 0;
  const bool is_fused = record->fused_bytes > FUSED_ALONE;
  const KernelWork work = {
      .kernel = contract_find(record->kernel),
      .dims = record->dims,
      .flops = (double)record->flops,
      .bytes = (double)(record->bytes - (is_fused ? record->fused_bytes : 0)),
      .number_bytes = (double)dtype_bytes(record->operands[0].dtype),
      .peak = record->flops > 0 ? cost_peak_of(d, record->operands[0].dtype) : 0,
      .is_causal = record->attr_count > 0 && record->attrs[0] != 0,
      .is_fused = is_fused,
  };
  return (int64_t)(kernel_seconds(d->cluster, &work) * 1e9 + 0.5);
}

void cost_segments(Draft *d) {
  d->reaches = ARENA_ARRAY(d->compile->arena, Reach, MESH_BIT(MESH_AXES));
  for (int32_t s = 0; s < d->segments.count; s++) {
    Segment *segment = &d->segments.at[s];
    segment->compute_ns = segment->copy_ns = segment->host_ns = 0;
    for (int32_t i = 0; i < segment->records.count; i++) {
      const Record *record = &segment->records.at[i];
      bool steady = record_runs(record, 0);
      if (steady && record->kind == RECORD_COPY) segment->copy_ns += cost_kernel_ns(d, record);
      if (steady && record->lane == LANE_HOST) segment->host_ns += cost_kernel_ns(d, record);
      if (!steady || record->lane != LANE_COMPUTE) continue;
      segment->compute_ns +=
          record->meaning != NULL ? link_record_ns(d, record) : cost_kernel_ns(d, record);
    }
  }
}
