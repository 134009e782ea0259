#include "compiler/schedule/draft.h"

#include <assert.h>

int32_t segment_add(Draft *d, const char *name) {
  VEC_PUSH(d->compile->arena, &d->segments, (Segment){.name = name});
  return d->segments.count - 1;
}

int32_t segment_base(Draft *d, int32_t segment, BaseRole role, RegionId region, int64_t end_bytes) {
  Segment *seg = &d->segments.at[segment];
  int32_t i = 0;
  while (i < seg->bases.count &&
         !(seg->bases.at[i].role == role && seg->bases.at[i].region == region))
    i++;
  if (i == seg->bases.count)
    VEC_PUSH(d->compile->arena, &seg->bases, (SegmentBase){role, region, 0});
  if (seg->bases.at[i].size_bytes < end_bytes) seg->bases.at[i].size_bytes = end_bytes;
  return i;
}

Record *segment_record(Draft *d, int32_t segment, RecordKind kind, const char *kernel) {
  Segment *seg = &d->segments.at[segment];
  VEC_PUSH(d->compile->arena, &seg->records,
           (Record){.kind = kind, .kernel = kernel, .path = seg->name, .lane = LANE_COMPUTE});
  return &seg->records.at[seg->records.count - 1];
}

void record_operand(Record *record, int32_t base, int64_t offset_bytes, int64_t size_bytes,
                    DType dtype, Access access) {
  assert(record->operand_count < LOWERED_OPERANDS_MAX);
  record->operands[record->operand_count++] =
      (Operand){base, offset_bytes, size_bytes, dtype, access, 0, 0};
  record->bytes += access == ACCESS_UPDATE ? 2 * size_bytes : size_bytes;
}

int32_t buffer_add(Draft *d, Buffer buffer) {
  VEC_PUSH(d->compile->arena, &d->buffers, buffer);
  return d->buffers.count - 1;
}
