#include "compiler/draft/calls/stage_segments.h"

#include <string.h>

#include "compiler/draft/words.h"

/* ---- exchanges */

/* The layout of the value that a stage passes to the next one. */
static Layout carried_layout(const Graph *g) {
  for (RegionId r = 0; r < g->regions.count; r++)
    if (g->regions.at[r].output != NO_ID) return value_layout(g, g->regions.at[r].output);
  return (Layout){0};
}

int32_t exchange_segment_build(Draft *d, const Stage *stage, const Transfer *transfers,
                               int32_t count, const int32_t *buffers) {
  DType dtype = d->train->compute_dtype;
  const char *name = segment_words[WORD_EXCHANGE];
  for (int32_t i = 0; i < count; i++)
    name = arena_printf(d->compile->arena, "%s %s.%s.%+d.%lld", name,
                        transfers[i].is_send ? "send" : "receive",
                        transfers[i].is_gradient ? "gradient" : "activation", transfers[i].distance,
                        (long long)stage->buffers.at[buffers[i]].size_bytes);
  for (int32_t s = 0; s < d->segments.count; s++)
    if (strcmp(d->segments.at[s].name, name) == 0) return s;
  int32_t segment = segment_add(d, name);
  Record *record = segment_record(d, segment, RECORD_EXCHANGE, NULL, PURPOSE_TRANSFER);
  record->meaning = "carried between stages";
  record->layout_before = record->layout_after = layout_of(d, carried_layout(d->train));
  record->axes = MESH_BIT(MESH_PP);
  record->lane = LANE_PP;
  record->direction = DIRECTION_FORWARD;
  for (int32_t i = 0; i < count; i++) {
    int64_t bytes = stage->buffers.at[buffers[i]].size_bytes;
    record_dim(record, transfers[i].distance);
    record_operand(record, segment_base(d, segment, BASE_TRANSFER, i, bytes), 0, bytes, dtype,
                   transfers[i].is_send ? ACCESS_READ : ACCESS_WRITE);
  }
  return segment;
}

/* ---- the norm: one sum for each group of tensors that the same ranks share, summed over the ranks
 * that hold different elements */

static bool group_exists(const Draft *d, int32_t group) {
  for (int32_t b = 0; b < d->blocks.count; b++)
    if (d->blocks.at[b].partials[group] > 0) return true;
  return false;
}

static int32_t norms_base(Draft *d, int32_t segment) {
  return segment_base(d, segment, BASE_NORMS, NO_ID, NORM_GROUPS * dtype_bytes(DTYPE_F64));
}

static void sum_group(Draft *d, const Stage *stage, int32_t segment, int32_t group) {
  const int64_t f64 = dtype_bytes(DTYPE_F64);
  int64_t count = stage->partial_count[group];
  if (count == 0) return;
  Record *record = segment_kernel(d, segment, KERNEL_sum, PURPOSE_NORM);
  record->direction = DIRECTION_UPDATE;
  record_dim(record, count);
  int32_t base = partials_base(d, segment, NO_ID, group, count * f64);
  record_operand(record, base, 0, count * f64, DTYPE_F64, ACCESS_READ);
  record_operand(record, norms_base(d, segment), group * f64, f64, DTYPE_F64, ACCESS_WRITE);
}

static void add_norms(Draft *d, int32_t segment, int32_t first, int32_t count, uint32_t axes) {
  const int64_t f64 = dtype_bytes(DTYPE_F64);
  axes = mesh_used(&d->mesh, axes);
  if (axes == 0) return;
  Record *record =
      collective(d, segment, RECORD_ALL_REDUCE, PURPOSE_NORM, axes, "squares of gradients");
  record->direction = DIRECTION_UPDATE;
  record_operand(record, norms_base(d, segment), first * f64, count * f64, DTYPE_F64,
                 ACCESS_UPDATE);
}

/* After the norm, which is the last reader of the old scale. */
static void move_loss_scale(Draft *d, int32_t segment) {
  Record *record = segment_kernel(d, segment, KERNEL_loss_scale, PURPOSE_NORM);
  record->direction = DIRECTION_UPDATE;
  for (int32_t i = LOSS_SCALE_OF_WINDOW; i <= LOSS_SCALE_OF_REFILL; i++)
    record_attr(record, d->job->loss_scale.number[i]);
}

int32_t clip_segment_build(Draft *d, const Stage *stage) {
  const int64_t f64 = dtype_bytes(DTYPE_F64);
  int32_t segment = segment_add(d, segment_words[WORD_CLIP]);
  Record *zero = clear_record(d, segment, NORM_GROUPS);
  record_operand(zero, norms_base(d, segment), 0, NORM_GROUPS * f64, DTYPE_F64, ACCESS_WRITE);
  for (int32_t group = 0; group < NORM_GROUPS; group++)
    sum_group(d, stage, segment, group);
  uint32_t shared = MESH_BIT(MESH_PP) | draft_zero_axes(&d->derived);
  add_norms(d, segment, 0, NORM_GROUPS, shared);
  for (int32_t group = 0; group < NORM_GROUPS; group++)
    if (group_exists(d, group)) add_norms(d, segment, group, 1, norm_group_axes(group));
  Record *record = segment_kernel(d, segment, KERNEL_grad_norm, PURPOSE_NORM);
  record->direction = DIRECTION_UPDATE;
  record_dim(record, NORM_GROUPS);
  record_attr(record, d->job->optimizer.clip);
  record_operand(record, norms_base(d, segment), 0, NORM_GROUPS * f64, DTYPE_F64, ACCESS_READ);
  if (d->job->set[FIELD_precision_loss_scale]) move_loss_scale(d, segment);
  return segment;
}
