#include "compiler/draft/draft.h"

#include <assert.h>

int32_t segment_add(Draft *d, const char *name) {
  VEC_PUSH(d->compile->arena, &d->segments, (Segment){.name = name});
  return d->segments.count - 1;
}

int32_t segment_base(Draft *d, int32_t segment, BaseRole role, int32_t number, int64_t end_bytes) {
  Segment *seg = &d->segments.at[segment];
  int32_t i = 0;
  while (i < seg->bases.count &&
         !(seg->bases.at[i].role == role && seg->bases.at[i].number == number))
    i++;
  if (i == seg->bases.count)
    VEC_PUSH(d->compile->arena, &seg->bases, (SegmentBase){role, number, 0});
  if (seg->bases.at[i].size_bytes < end_bytes) seg->bases.at[i].size_bytes = end_bytes;
  return i;
}

Record *segment_record(Draft *d, int32_t segment, RecordKind kind, const char *kernel,
                       Purpose purpose) {
  Segment *seg = &d->segments.at[segment];
  VEC_PUSH(d->compile->arena, &seg->records,
           (Record){.kind = kind,
                    .kernel = kernel,
                    .path = seg->name,
                    .purpose = purpose,
                    .node = NO_ID,
                    .value = NO_ID,
                    .lane = LANE_COMPUTE});
  return &seg->records.at[seg->records.count - 1];
}

Record *segment_kernel(Draft *d, int32_t segment, KernelId kernel, Purpose purpose) {
  return segment_record(d, segment, RECORD_KERNEL, contract_of(kernel)->row->name, purpose);
}

void record_param(const Draft *d, Record *record, ParamId p) {
  record->model = d->train->logical;
  record->value = d->train->logical->params.at[p].value;
}

const Layout *layout_of(Draft *d, Layout layout) {
  Layout *kept = ARENA_NEW(d->compile->arena, Layout);
  *kept = layout;
  return kept;
}

void segment_set_lane(Draft *d, int32_t segment, Lane lane) {
  Segment *seg = &d->segments.at[segment];
  for (int32_t i = 0; i < seg->records.count; i++)
    seg->records.at[i].lane = lane;
}

Operand *record_operand(Record *record, int32_t base, int64_t offset_bytes, int64_t size_bytes,
                        DType dtype, Access access) {
  assert(record->operand_count < LOWERED_OPERANDS_MAX);
  Operand *operand = &record->operands[record->operand_count++];
  *operand = (Operand){.value = NO_ID,
                       .base = base,
                       .offset_bytes = offset_bytes,
                       .size_bytes = size_bytes,
                       .dtype = dtype,
                       .access = access};
  record->bytes += access == ACCESS_UPDATE ? 2 * size_bytes : size_bytes;
  return operand;
}

void record_dim(Record *record, int64_t dim) {
  assert(record->dim_count < LOWERED_DIMS_MAX);
  record->dims[record->dim_count++] = dim;
}

void record_attr(Record *record, double attr) {
  assert(record->attr_count < LOWERED_ATTRS_MAX);
  record->attrs[record->attr_count++] = attr;
}

void record_vary(Record *record, int32_t attr, uint32_t axes, double stride) {
  if (axes == 0 || stride == 0) return;
  assert(record->vary_count < LOWERED_VARIES_MAX);
  record->varies[record->vary_count++] = (LoweredVary){attr, axes, stride, NULL};
}

int32_t partials_base(Draft *d, int32_t segment, int32_t b, int32_t group, int64_t size_bytes) {
  int32_t number = b == NO_ID ? -1 - group : b * NORM_GROUPS + group;
  return segment_base(d, segment, BASE_PARTIALS, number, size_bytes);
}

/* Collectives on whole blocks of parameters. Layouts: before a reduction ranks hold partial sums;
 * pieces are flat. */
Record *collective(Draft *d, int32_t segment, RecordKind kind, Purpose purpose, uint32_t axes,
                   const char *meaning) {
  Record *record = segment_record(d, segment, kind, NULL, purpose);
  bool gathers = kind == RECORD_ALL_GATHER, scatters = kind == RECORD_REDUCE_SCATTER;
  record->meaning = meaning;
  record->axes = axes;
  record->reduce = REDUCE_SUM;
  record->layout_before =
      layout_of(d, (Layout){.flat_axes = gathers ? axes : 0, .owed_axes = gathers ? 0 : axes});
  record->layout_after = layout_of(d, (Layout){.flat_axes = scatters ? axes : 0});
  record->direction = DIRECTION_BACKWARD;
  return record;
}

Record *clear_record(Draft *d, int32_t segment, int64_t elements) {
  enum {
    DIMS = 5,
    ATTRS = 4
  }; /* of KERNEL_init_constant: the position in the whole tensor does not matter */
  Record *record = segment_kernel(d, segment, KERNEL_init_constant, PURPOSE_CLEAR);
  for (int32_t i = 0; i < DIMS; i++)
    record_dim(record, elements);
  for (int32_t i = 0; i < ATTRS; i++)
    record_attr(record, 0);
  return record;
}

int32_t buffer_add(Draft *d, Stage *stage, Buffer buffer) {
  VEC_PUSH(d->compile->arena, &stage->buffers, buffer);
  return stage->buffers.count - 1;
}
