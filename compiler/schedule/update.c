/* update.c -- the code of a step that is not the model's: load, reduce, norm, update, and initial
 * values.
 *
 * One segment per region for what runs once per layer, one for what runs once. Every parameter
 * tensor has its own records, so padding never enters a sum or an update. */
#include "compiler/schedule/draft.h"
#include "runtime/plan/control.h"

static int32_t region_segment(Draft *d, RegionId r, const char *word) {
  return segment_add(d,
                     arena_printf(d->compile->arena, "%s.%s", d->train->regions.at[r].name, word));
}

static void add_param_operand(Draft *d, int32_t segment, Record *record, ParamId p, BaseRole role,
                              Access access) {
  const Graph *g = d->train;
  const Param *param = &g->params.at[p];
  const ParamOffsets *at = &d->params[p];
  DType dtype = role == BASE_PARAM ? g->param_dtype : role == BASE_GRAD ? g->grad_dtype : DTYPE_F32;
  int64_t offset = role == BASE_PARAM ? at->param : role == BASE_GRAD ? at->grad : at->full;
  int64_t size = param->elements * dtype_bytes(dtype);
  const RegionState *state = &d->state[param->region];
  int64_t block = role == BASE_PARAM  ? state->param_block_bytes
                  : role == BASE_GRAD ? state->grad_block_bytes
                                      : state->full_block_bytes;
  int32_t base = segment_base(d, segment, role, param->region, block);
  record_operand(record, base, offset, size, dtype, access);
}

static Record *param_record(Draft *d, int32_t segment, const char *kernel, ParamId p) {
  Record *record = segment_record(d, segment, RECORD_KERNEL, kernel);
  record->path = d->train->params.at[p].name;
  record->direction = DIRECTION_UPDATE;
  record->dims[record->dim_count++] = d->train->params.at[p].elements;
  return record;
}

/* ---- initial values */

static const char *const init_kernels[] = {"init_normal", "init_uniform", "init_constant"};

static void init_param(Draft *d, int32_t segment, ParamId p) {
  const Param *param = &d->train->params.at[p];
  Record *record = param_record(d, segment, init_kernels[param->init], p);
  record->attrs[0] = param->init_a;
  record->attrs[1] = param->init_b;
  record->attr_count = param->init == INIT_CONSTANT ? 1 : 2;
  record->random = true;
  add_param_operand(d, segment, record, p, d->has_master ? BASE_MASTER : BASE_PARAM, ACCESS_WRITE);
  if (!d->has_master) return;
  record = param_record(d, segment, "cast", p);
  add_param_operand(d, segment, record, p, BASE_MASTER, ACCESS_READ);
  add_param_operand(d, segment, record, p, BASE_PARAM, ACCESS_WRITE);
}

/* Whole blocks, padding included: what collectives move must have been written. */
static void zero_block(Draft *d, int32_t segment, RegionId r, BaseRole role, DType dtype,
                       int64_t block_bytes) {
  if (d->state[r].buffers[role] == NO_ID) return;
  Record *record = segment_record(d, segment, RECORD_KERNEL, "init_constant");
  record->dims[record->dim_count++] = block_bytes / dtype_bytes(dtype);
  record->attr_count = 1; /* value 0 */
  int32_t base = segment_base(d, segment, role, r, block_bytes);
  record_operand(record, base, 0, block_bytes, dtype, ACCESS_WRITE);
}

static int32_t build_init(Draft *d, RegionId r) {
  const RegionState *state = &d->state[r];
  int32_t segment = region_segment(d, r, "init");
  if (d->has_master) zero_block(d, segment, r, BASE_MASTER, DTYPE_F32, state->full_block_bytes);
  zero_block(d, segment, r, BASE_PARAM, d->train->param_dtype, state->param_block_bytes);
  for (ParamId p = 0; p < d->train->params.count; p++)
    if (d->train->params.at[p].region == r) init_param(d, segment, p);
  zero_block(d, segment, r, BASE_GRAD, d->train->grad_dtype, state->grad_block_bytes);
  zero_block(d, segment, r, BASE_MOMENT1, DTYPE_F32, state->full_block_bytes);
  zero_block(d, segment, r, BASE_MOMENT2, DTYPE_F32, state->full_block_bytes);
  return segment;
}

/* ---- reduce: gradients of one layer over dp, in precision.reduce */

static Record *add_all_reduce(Draft *d, int32_t segment, const char *meaning, Direction direction) {
  Record *record = segment_record(d, segment, RECORD_ALL_REDUCE, "all_reduce");
  record->meaning = meaning;
  record->direction = direction;
  record->lane = LANE_COMPUTE;
  return record;
}

static void add_cast(Draft *d, int32_t segment, int64_t elements, int32_t from, DType from_dtype,
                     int32_t to, DType to_dtype) {
  Record *record = segment_record(d, segment, RECORD_KERNEL, "cast");
  record->dims[record->dim_count++] = elements;
  record->direction = DIRECTION_UPDATE;
  record_operand(record, from, 0, elements * dtype_bytes(from_dtype), from_dtype, ACCESS_READ);
  record_operand(record, to, 0, elements * dtype_bytes(to_dtype), to_dtype, ACCESS_WRITE);
}

static int32_t build_reduce(Draft *d, RegionId r) {
  int64_t block = d->state[r].grad_block_bytes;
  DType grad = d->train->grad_dtype,
        wire = d->job->precision.reduce == CHOICE_BF16 ? DTYPE_BF16 : DTYPE_F32;
  int64_t elements = block / dtype_bytes(grad);
  int32_t segment = region_segment(d, r, "reduce");
  int32_t grads = segment_base(d, segment, BASE_GRAD, r, block);
  const char *meaning =
      arena_printf(d->compile->arena, "%s gradients", d->train->regions.at[r].name);
  if (wire == grad) {
    Record *record = add_all_reduce(d, segment, meaning, DIRECTION_BACKWARD);
    record_operand(record, grads, 0, block, grad, ACCESS_UPDATE);
    return segment;
  }
  int64_t wire_bytes = elements * dtype_bytes(wire);
  int32_t comm = segment_base(d, segment, BASE_COMM, NO_ID, wire_bytes);
  add_cast(d, segment, elements, grads, grad, comm, wire);
  Record *record = add_all_reduce(d, segment, meaning, DIRECTION_BACKWARD);
  record_operand(record, comm, 0, wire_bytes, wire, ACCESS_UPDATE);
  add_cast(d, segment, elements, comm, wire, grads, grad);
  return segment;
}

/* ---- norm: one sum of squares per tensor; they are added in a fixed order by the norm segment */

enum { SQUARE_SUM_BLOCK = 4096 }; /* kernels.def, square_sum */

static int32_t build_norm(Draft *d, RegionId r) {
  int32_t segment = region_segment(d, r, "square_sum");
  for (ParamId p = 0; p < d->train->params.count; p++) {
    const Param *param = &d->train->params.at[p];
    if (param->region != r) continue;
    Record *record = param_record(d, segment, "square_sum", p);
    add_param_operand(d, segment, record, p, BASE_GRAD, ACCESS_READ);
    int64_t slot = d->params[p].index * dtype_bytes(DTYPE_F64);
    int64_t slots = d->state[r].param_count * dtype_bytes(DTYPE_F64);
    record_operand(record, segment_base(d, segment, BASE_PARTIALS, r, slots), slot,
                   dtype_bytes(DTYPE_F64), DTYPE_F64, ACCESS_WRITE);
    int64_t work = dtype_bytes(DTYPE_F64) * (1 + param->elements / SQUARE_SUM_BLOCK);
    record_operand(record, segment_base(d, segment, BASE_SCRATCH, NO_ID, work), 0, work, DTYPE_F64,
                   ACCESS_WRITE);
  }
  return segment;
}

int32_t clip_segment_build(Draft *d) {
  int32_t segment = segment_add(d, "clip");
  int64_t bytes = d->partial_count * dtype_bytes(DTYPE_F64);
  Record *record = segment_record(d, segment, RECORD_KERNEL, "grad_norm");
  record->direction = DIRECTION_UPDATE;
  record->dims[record->dim_count++] = d->partial_count;
  record->attrs[record->attr_count++] = d->job->optimizer.clip;
  record_operand(record, segment_base(d, segment, BASE_PARTIALS, NO_ID, bytes), 0, bytes, DTYPE_F64,
                 ACCESS_READ);
  return segment;
}

int32_t control_segment_build(Draft *d, const char *name) {
  if (d->derived.dp == 1) return NO_ID;
  int32_t segment = segment_add(d, name);
  Record *record = add_all_reduce(d, segment, "loss, weights and requests", DIRECTION_CONTROL);
  int64_t size = REDUCE_SLOTS * dtype_bytes(DTYPE_F64);
  int32_t base = segment_base(d, segment, BASE_CONTROL, NO_ID, (int64_t)sizeof(Control));
  record_operand(record, base, (int64_t)offsetof(Control, reduce), size, DTYPE_F64, ACCESS_UPDATE);
  return segment;
}

/* ---- update */

static void update_param(Draft *d, int32_t segment, ParamId p) {
  bool adamw = d->job->optimizer.head == CHOICE_ADAMW;
  const char *const kernels[2][2] = {{"sgd", "sgd_master"}, {"adamw", "adamw_master"}};
  Record *record = param_record(d, segment, kernels[adamw][d->has_master], p);
  double decay = d->train->params.at[p].decay ? d->job->optimizer.weight_decay : 0;
  const double adamw_attrs[] = {d->job->optimizer.beta1, d->job->optimizer.beta2,
                                d->job->optimizer.eps, decay};
  const double sgd_attrs[] = {d->job->optimizer.momentum, decay};
  record->attr_count = adamw ? 4 : 2;
  for (int32_t i = 0; i < record->attr_count; i++)
    record->attrs[i] = adamw ? adamw_attrs[i] : sgd_attrs[i];
  add_param_operand(d, segment, record, p, BASE_GRAD, ACCESS_READ);
  add_param_operand(d, segment, record, p, BASE_PARAM,
                    d->has_master ? ACCESS_WRITE : ACCESS_UPDATE);
  add_param_operand(d, segment, record, p, BASE_MOMENT1, ACCESS_UPDATE);
  if (adamw) add_param_operand(d, segment, record, p, BASE_MOMENT2, ACCESS_UPDATE);
  if (d->has_master) add_param_operand(d, segment, record, p, BASE_MASTER, ACCESS_UPDATE);
}

static int32_t build_update(Draft *d, RegionId r) {
  int32_t segment = region_segment(d, r, "update");
  for (ParamId p = 0; p < d->train->params.count; p++)
    if (d->train->params.at[p].region == r) update_param(d, segment, p);
  return segment;
}

int32_t load_segment_build(Draft *d, const Graph *g, const char *name) {
  int32_t segment = segment_add(d, name);
  Record *record = segment_record(d, segment, RECORD_LOAD, "load");
  int32_t base = segment_base(d, segment, BASE_DATA, NO_ID, d->sample_bytes);
  for (int32_t i = 0; i < g->inputs.count; i++) {
    ValueId v = g->inputs.at[i].value;
    record_operand(record, base, d->input_offsets[i], value_bytes(g, v), graph_value(g, v)->dtype,
                   ACCESS_WRITE);
  }
  return segment;
}

void update_segments_build(Draft *d) {
  for (RegionId r = 0; r < d->train->regions.count; r++) {
    if (d->state[r].param_count == 0) continue;
    d->train_parts[r].init = build_init(d, r);
    if (d->derived.dp > 1) d->train_parts[r].reduce = build_reduce(d, r);
    d->train_parts[r].norm = build_norm(d, r);
    d->train_parts[r].update = build_update(d, r);
  }
}
