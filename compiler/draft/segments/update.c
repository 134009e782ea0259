/* update.c -- the code of a step outside the model: initial values, norm, update, load.
 *
 * One update segment for each block of parameters; a call runs it for one layer. Every parameter
 * tensor has separate records, so padding between tensors never enters a sum or an update. A rank
 * updates its own piece of a sharded tensor. */
#include <string.h>

#include "compiler/draft/segments/block.h"
#include "compiler/draft/segments/segments.h"
#include "kernels/contract/contract.h"
#include "runtime/plan/control.h"

static Record *param_record(Draft *d, int32_t segment, KernelId kernel, Purpose purpose,
                            ParamId p) {
  Record *record = segment_kernel(d, segment, kernel, purpose);
  record_param(d, record, p);
  record->path = d->train->params.at[p].name;
  record->direction = DIRECTION_UPDATE;
  return record;
}

/* ---- states in host memory */

/* Copies the rank's own elements of a parameter, its gradient or its master between tiers. */
static void copy_own(Draft *d, int32_t segment, ParamId p, Lane lane, BaseRole from, BaseRole to) {
  Record *record = segment_record(d, segment, RECORD_COPY, NULL, PURPOSE_OFFLOAD);
  record_param(d, record, p);
  record->path = d->train->params.at[p].name;
  record->direction = DIRECTION_UPDATE;
  record->lane = lane;
  own_operand(d, segment, record, p, from, ACCESS_READ);
  own_operand(d, segment, record, p, to, ACCESS_WRITE);
}

/* Copies a layer's persistent bytes, with padding, from one base to another. */
static void pass_layer(Draft *d, int32_t segment, int32_t b, RecordKind kind, Lane lane,
                       BaseRole from, BaseRole to, int64_t bytes) {
  Record *record = segment_record(d, segment, kind, NULL, PURPOSE_OFFLOAD);
  record->path = d->blocks.at[b].name;
  record->direction = DIRECTION_UPDATE;
  record->lane = lane;
  const BaseRole roles[] = {from, to};
  for (int32_t i = 0; i < 2; i++)
    record_operand(record, segment_base(d, segment, roles[i], b, bytes), 0, bytes, DTYPE_U8,
                   i == 0 ? ACCESS_READ : ACCESS_WRITE);
}

static void copy_layer(Draft *d, int32_t segment, int32_t b, Lane lane, BaseRole from,
                       BaseRole to) {
  const Block *block = &d->blocks.at[b];
  pass_layer(d, segment, b, RECORD_COPY, lane, from, to,
             block_stride_bytes(d, block, stored_role(d, block)));
}

/* The states of a layer, from their file to host memory or back, and weights that are in it. An
 * update that makes weights from masters does not read them. */
static int32_t build_file(Draft *d, int32_t b, bool reads) {
  const Block *block = &d->blocks.at[b];
  int32_t segment = block_segment(d, b, reads ? WORD_READ : WORD_WRITE);
  for (BaseRole role = BASE_MASTER; role <= BASE_STATE_LAST; role++) {
    const BaseRole in_file = BASE_FILE_STATE + role - BASE_MASTER;
    if (role_persists(d, block, role))
      pass_layer(d, segment, b, reads ? RECORD_READ : RECORD_WRITE, LANE_FILE,
                 reads ? in_file : role, reads ? role : in_file,
                 tier_stride_bytes(d, block, role, TIER_FILE));
  }
  if (d->weights_in_files && block_is_far(d, block) && !(reads && d->truth == TRUTH_MASTER))
    pass_layer(d, segment, b, reads ? RECORD_READ : RECORD_WRITE, LANE_FILE,
               reads ? BASE_FILE_PARAM : BASE_FAR_PARAM, reads ? BASE_FAR_PARAM : BASE_FILE_PARAM,
               tier_stride_bytes(d, block, stored_role(d, block), TIER_FILE));
  return segment;
}

/* The same from host memory to the device, and back, where updates run there. */
static int32_t build_stream(Draft *d, int32_t b, bool comes) {
  const Block *block = &d->blocks.at[b];
  int32_t segment = block_segment(d, b, comes ? WORD_STATES_IN : WORD_STATES_OUT);
  for (BaseRole role = BASE_MASTER; role <= BASE_STATE_LAST; role++) {
    const BaseRole far = BASE_FILE_STATE + role - BASE_MASTER;
    if (role_persists(d, block, role))
      pass_layer(d, segment, b, RECORD_COPY, comes ? LANE_H2D : LANE_D2H, comes ? far : role,
                 comes ? role : far, block_stride_bytes(d, block, role));
  }
  return segment;
}

/* Copies a layer's gradients, padding included, before or after the layer's backward. */
static int32_t build_grads_pass(Draft *d, int32_t b, bool arrives) {
  const BaseRole here = grad_role(&d->blocks.at[b]);
  int32_t segment = block_segment(d, b, arrives ? WORD_GRADS_IN : WORD_GRADS_BACK);
  pass_layer(d, segment, b, RECORD_COPY, arrives ? LANE_H2D : LANE_D2H,
             arrives ? BASE_FAR_GRAD : here, arrives ? here : BASE_FAR_GRAD,
             block_bytes(d, &d->blocks.at[b], here));
  return segment;
}

static int32_t build_bring(Draft *d, int32_t b) {
  const Block *block = &d->blocks.at[b];
  const BaseRole stored = stored_role(d, block);
  int32_t segment = block_segment(d, b, WORD_BRING);
  if (d->weights_in_files)
    pass_layer(d, segment, b, RECORD_READ, LANE_FILE, BASE_FILE_PARAM, BASE_CAME_PARAM,
               tier_stride_bytes(d, block, stored, TIER_FILE));
  copy_layer(d, segment, b, LANE_H2D, d->weights_in_files ? BASE_CAME_PARAM : BASE_FAR_PARAM,
             stored);
  return segment;
}

/* ---- initial values */

static const KernelId init_kernels[] = {KERNEL_init_normal, KERNEL_init_uniform,
                                        KERNEL_init_constant};

/* The elements of the whole tensor that a rank has, in the form that the init kernels expect
 * (kernels.def). */
typedef struct InitCut {
  int64_t inner, stride, all_elements;
  int64_t first[MESH_AXES]; /* by axis: elements from member to member */
} InitCut;

static InitCut cut_of(const Graph *g, const Param *param) {
  InitCut cut = {.inner = param->elements, .stride = param->elements, .all_elements = 1};
  int64_t after = 1;
  for (int32_t i = param->dim_count - 1; i >= 0; i--) {
    DimId part = param->dims[i], whole = part;
    for (; g->dims.at[whole].is_part; whole = g->dims.at[whole].whole)
      cut.first[g->dims.at[whole].mesh] = g->dims.at[whole].size * after;
    int64_t size = g->dims.at[whole].size, real = g->dims.at[whole].real_size;
    if (whole != part) {
      cut.inner = g->dims.at[part].size * after;
      cut.stride = size * after;
    }
    cut.all_elements *= real > 0 ? real : size;
    after *= size;
  }
  return cut;
}

/* The numbers of the rank's elements in the whole tensor, as kernels.def has them for initial
 * values. */
static void add_element_numbers(Draft *d, Record *record, ParamId p, bool own_piece) {
  const ParamPlace *at = &d->params[p];
  InitCut cut = cut_of(d->train, &d->train->params.at[p]);
  const int32_t attr = record->attr_count;
  record_dim(record, own_piece ? at->piece : at->elements);
  record_dim(record, at->elements);
  record_dim(record, cut.inner);
  record_dim(record, cut.stride);
  record_dim(record, cut.all_elements);
  record_attr(record, 0);
  record_attr(record, 0);
  if (own_piece) record_vary(record, attr, mesh_used(&d->mesh, ZERO_AXES), (double)at->piece);
  for (MeshAxis axis = MESH_REPLICATE; axis < MESH_AXES; axis++)
    record_vary(record, attr + 1, mesh_used(&d->mesh, MESH_BIT(axis)), (double)cut.first[axis]);
}

/* Layers draw different numbers: the layer is mixed into the key when the record runs. */
static void add_init_numbers(Draft *d, Record *record, ParamId p, bool own_piece) {
  const Param *param = &d->train->params.at[p];
  record_attr(record, param->init_a);
  record_attr(record, param->init == INIT_CONSTANT ? 0 : param->init_b);
  add_element_numbers(d, record, p, own_piece);
}

static void init_param(Draft *d, int32_t segment, ParamId p, bool on_host) {
  const Param *param = &d->train->params.at[p];
  const Block *block = &d->blocks.at[d->params[p].block];
  Record *record = param_record(d, segment, init_kernels[param->init], PURPOSE_INIT, p);
  add_init_numbers(d, record, p, block->shards_state);
  record->random = true;
  BaseRole stored = stored_role(d, block);
  const bool has_copy = d->truth == TRUTH_MASTER;
  const BaseRole master = on_host ? BASE_DRAWN : BASE_MASTER;
  own_operand(d, segment, record, p, has_copy ? master : stored, ACCESS_WRITE);
  if (!has_copy) return;
  record = param_record(d, segment, KERNEL_cast, PURPOSE_INIT, p);
  record_dim(record, own_elements(d, p));
  own_operand(d, segment, record, p, master, ACCESS_READ);
  own_operand(d, segment, record, p, stored, ACCESS_WRITE);
  if (on_host) copy_own(d, segment, p, LANE_D2H, BASE_DRAWN, BASE_MASTER);
}

/* Covers whole layers with their padding: collectives move the padding, so it must be initialised.
 */
static void zero_block(Draft *d, int32_t segment, int32_t b, BaseRole role, Lane lane) {
  int64_t bytes = block_stride_bytes(d, &d->blocks.at[b], role);
  DType dtype = role_dtype(d, &d->blocks.at[b], role);
  Record *record = clear_record(d, segment, bytes / dtype_bytes(dtype));
  int32_t base = segment_base(d, segment, role, b, bytes);
  record_operand(record, base, 0, bytes, dtype, ACCESS_WRITE);
  record->lane = lane;
}

static int32_t build_init(Draft *d, int32_t b, bool on_host) {
  const Block *block = &d->blocks.at[b];
  const Lane lane = on_host ? LANE_HOST : LANE_COMPUTE; /* of states */
  int32_t segment = block_segment(d, b, on_host ? WORD_INIT_HOST : WORD_INIT);
  if (d->truth == TRUTH_KAHAN) zero_block(d, segment, b, BASE_COMPENSATION, lane);
  if (d->truth == TRUTH_MASTER || d->truth == TRUTH_SPLIT)
    zero_block(d, segment, b, BASE_MASTER, lane);
  zero_block(d, segment, b, stored_role(d, block), LANE_COMPUTE);
  for (int32_t i = 0; i < block->params.count; i++)
    init_param(d, segment, d->blocks.at[b].params.at[i], on_host);
  if (on_host && block_is_far(d, block))
    copy_layer(d, segment, b, LANE_D2H, stored_role(d, block), BASE_FAR_PARAM);
  if (!d->trains) return segment;
  if (on_host && block_grads_pass(d, block))
    zero_block(d, segment, b, BASE_FAR_GRAD, LANE_HOST);
  else
    zero_block(d, segment, b, grad_role(block), LANE_COMPUTE);
  zero_block(d, segment, b, BASE_MOMENT1, lane);
  if (d->has_moment2) zero_block(d, segment, b, BASE_MOMENT2, lane);
  if (block->has_codes) zero_block(d, segment, b, BASE_MOMENT1_MAX, lane);
  if (block->has_codes && d->has_moment2) zero_block(d, segment, b, BASE_MOMENT2_MAX, lane);
  return segment;
}

/* ---- norm: one sum of squares for each tensor; calls/ sums those of a stage */

/* Each record has its own scratch, because records of one launch run at the same time. */
static int32_t build_norm(Draft *d, int32_t b) {
  const int64_t f64 = dtype_bytes(DTYPE_F64);
  int64_t scratch = 0;
  int32_t segment = block_segment(d, b, WORD_SQUARE_SUM);
  for (int32_t i = 0; i < d->blocks.at[b].params.count; i++) {
    ParamId p = d->blocks.at[b].params.at[i];
    const ParamPlace *at = &d->params[p];
    Record *record = param_record(d, segment, KERNEL_square_sum, PURPOSE_NORM, p);
    record_dim(record, own_elements(d, p));
    own_operand(d, segment, record, p, own_grad(d, b), ACCESS_READ);
    int64_t slots = d->blocks.at[b].partials[at->norm_group] * f64;
    int32_t base = partials_base(d, segment, b, at->norm_group, slots);
    record_operand(record, base, at->partial * f64, f64, DTYPE_F64, ACCESS_WRITE);
    const uint32_t dtypes[] = {d->train->grad_dtype, DTYPE_F64};
    WorkspaceUse use = {(KernelTarget)d->cluster->target, record->dims, dtypes, d->train->threads,
                        false};
    int64_t work = contract_workspace_bytes(contract_of(KERNEL_square_sum), &use);
    int32_t scratch_base = segment_base(d, segment, BASE_SCRATCH, NO_ID, scratch + work);
    record_operand(record, scratch_base, scratch, work, DTYPE_F64, ACCESS_WRITE);
    if (tensors_run_batch(d)) scratch += round_up(work, f64);
  }
  return segment;
}

/* ---- update */

/* The setting of the job that an attr of an update kernel names. */
static double update_number(const Job *job, const char *name, bool decays) {
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"beta1", job->optimizer.beta1},
                 {"beta2", job->optimizer.beta2},
                 {"eps", job->optimizer.eps},
                 {"momentum", job->optimizer.momentum},
                 {"decay", decays ? job->optimizer.weight_decay : 0}};
  size_t i = 0;
  while (strcmp(numbers[i].name, name) != 0)
    i++;
  return numbers[i].value;
}

/* The role of an operand that an update kernel reads and writes. */
static BaseRole update_state(const char *operand) {
  static const struct {
    const char *name;
    BaseRole role;
  } states[] = {{"m", BASE_MOMENT1},
                {"v", BASE_MOMENT2},
                {"m_max", BASE_MOMENT1_MAX},
                {"v_max", BASE_MOMENT2_MAX},
                {"master", BASE_MASTER},
                {"low", BASE_MASTER},
                {"compensation", BASE_COMPENSATION}};
  size_t i = 0;
  while (strcmp(states[i].name, operand) != 0)
    i++;
  return states[i].role;
}

/* The state that an update reads and writes beside the gradient and the parameter is where it lies;
 * on the host the gradient has come before (build_grads_out), and the parameter returns after it,
 * unless it persists there. An update that does not make the parameter from its master needs the
 * parameter, too. */
static void update_param(Draft *d, int32_t segment, ParamId p, bool on_host) {
  enum { GRAD, PARAM, STATES, ELEMENT_NUMBERS = 2 };
  const bool makes_param = d->truth == TRUTH_MASTER;
  const bool is_far = on_host && block_is_far(d, &d->blocks.at[d->params[p].block]);
  const BaseRole stored = stored_role(d, &d->blocks.at[d->params[p].block]);
  const BaseRole param = is_far ? BASE_FAR_PARAM : on_host ? BASE_HOST_PARAM : stored;
  const BaseRole grad = own_grad(d, d->params[p].block);
  if (on_host && !is_far && !makes_param)
    copy_own(d, segment, p, LANE_D2H, stored, BASE_HOST_PARAM);
  const char *name =
      arena_printf(d->compile->arena, "%s%s", optimizer_rows[d->job->optimizer.head].name,
                   truth_suffixes[d->truth]);
  const KernelContract *kernel = contract_find(name);
  Record *record = param_record(d, segment, kernel->id, PURPOSE_UPDATE, p);
  int32_t b = d->params[p].block;
  const Block *block = &d->blocks.at[b];
  record->random = true;
  for (int32_t i = 0; i < kernel->attr_count - ELEMENT_NUMBERS; i++)
    record_attr(record, update_number(d->job, kernel->attrs[i].name, d->train->params.at[p].decay));
  add_element_numbers(d, record, p, block->shards_state);
  record_dim(record, block->has_codes ? (own_elements(d, p) + CODES_BLOCK - 1) / CODES_BLOCK : 0);
  const BaseRole far_grad = block_grads_pass(d, block) ? BASE_FAR_GRAD : BASE_HOST_GRAD;
  own_operand(d, segment, record, p, on_host ? far_grad : grad, ACCESS_READ);
  own_operand(d, segment, record, p, param, makes_param ? ACCESS_WRITE : ACCESS_UPDATE);
  for (int32_t i = STATES; i < kernel->operand_count; i++)
    if (block->has_codes || !kernel->operands[i].may_be_absent)
      own_operand(d, segment, record, p, update_state(kernel->operands[i].name), ACCESS_UPDATE);
  if (!on_host) return;
  record->lane = LANE_HOST;
  if (!is_far) copy_own(d, segment, p, LANE_H2D, BASE_HOST_PARAM, stored);
}

/* Gradients leave by themselves: as soon as they are complete, long before the update. */
static int32_t build_grads_out(Draft *d, int32_t b, BaseRole to) {
  int32_t segment = block_segment(d, b, WORD_GRADS_OUT);
  for (int32_t i = 0; i < d->blocks.at[b].params.count; i++)
    copy_own(d, segment, d->blocks.at[b].params.at[i], LANE_D2H, own_grad(d, b), to);
  return segment;
}

static int32_t build_update(Draft *d, int32_t b, bool on_host) {
  const bool is_made = d->truth == TRUTH_MASTER; /* the file gets padding that was not read */
  int32_t segment = block_segment(d, b, on_host ? WORD_UPDATE_HOST : WORD_UPDATE);
  if (on_host && is_made && d->weights_in_files && block_is_far(d, &d->blocks.at[b]))
    zero_block(d, segment, b, BASE_FAR_PARAM, LANE_HOST);
  for (int32_t i = 0; i < d->blocks.at[b].params.count; i++)
    update_param(d, segment, d->blocks.at[b].params.at[i], on_host);
  return segment;
}

/* ---- loading a micro-batch; sums over ranks at the end of a step */

enum { INPUT_ALIGN_BYTES = 64 };

void inputs_layout(Draft *d) {
  const Graph *g = d->train;
  d->input_offsets = ARENA_ARRAY(d->compile->arena, int64_t, g->inputs.count);
  for (int32_t i = 0; i < g->inputs.count; i++) {
    d->input_offsets[i] = d->sample_bytes;
    d->sample_bytes += round_up(value_bytes(g, g->inputs.at[i].value), INPUT_ALIGN_BYTES);
  }
}

static int32_t build_load(Draft *d, const Graph *g, const char *name) {
  int32_t segment = segment_add(d, name);
  Record *record = segment_record(d, segment, RECORD_LOAD, "load", PURPOSE_LOAD);
  int32_t base = segment_base(d, segment, BASE_DATA, NO_ID, d->sample_bytes);
  for (int32_t i = 0; i < g->inputs.count; i++) {
    ValueId v = g->inputs.at[i].value;
    record_operand(record, base, d->input_offsets[i], value_bytes(g, v), graph_value(g, v)->dtype,
                   ACCESS_WRITE);
  }
  return segment;
}

/* Sums adjacent control slots over all ranks. NO_ID: there is one rank. */
static int32_t build_control(Draft *d, const char *name, const char *meaning, ControlSlot first,
                             ControlSlot last) {
  uint32_t all = mesh_used(&d->mesh, MESH_BIT(MESH_AXES) - 1);
  if (all == 0) return NO_ID;
  int32_t segment = segment_add(d, name);
  Record *record = collective(d, segment, RECORD_ALL_REDUCE, PURPOSE_CONTROL, all, meaning);
  record->direction = DIRECTION_CONTROL;
  int32_t base = segment_base(d, segment, BASE_CONTROL, NO_ID, draft_control_bytes(d));
  int64_t from = draft_slot_offset(d, first), end = draft_slot_offset(d, last) + CONTROL_SLOT_BYTES;
  record_operand(record, base, from, end - from, DTYPE_F64, ACCESS_UPDATE);
  return segment;
}

/* Kernels on the host read control from a copy in their memory. */
static int32_t build_mirror(Draft *d) {
  const int64_t bytes = draft_control_bytes(d);
  int32_t segment = segment_add(d, segment_words[WORD_MIRROR]);
  Record *record = segment_record(d, segment, RECORD_COPY, NULL, PURPOSE_OFFLOAD);
  record->direction = DIRECTION_CONTROL; /* on the lane that fills control for the next step */
  int32_t from = segment_base(d, segment, BASE_CONTROL, NO_ID, bytes);
  int32_t to = segment_base(d, segment, BASE_MIRROR, NO_ID, bytes);
  record_operand(record, from, 0, bytes, DTYPE_F64, ACCESS_READ);
  record_operand(record, to, 0, bytes, DTYPE_F64, ACCESS_WRITE);
  return segment;
}

static StepSegments build_step(Draft *d, const Graph *g) {
  const char *suffix = segment_suffix(g);
  const char *load = arena_printf(d->compile->arena, "%s%s", segment_words[WORD_LOAD], suffix);
  const char *control =
      arena_printf(d->compile->arena, "%s%s", segment_words[WORD_CONTROL], suffix);
  StepSegments ends = {.load = build_load(d, g, load), .targets = NO_ID, .mirror = NO_ID};
  if (g->training && d->offloads_state && !d->updates_here) ends.mirror = build_mirror(d);
  if (g->training && g->may_lack_targets)
    ends.targets =
        build_control(d, segment_words[WORD_TARGETS], "targets that count", CONTROL_targets,
                      g->losses_count == 1 ? CONTROL_targets
                                           : control_divisor(g->losses_count - 1, g->losses_count));
  ends.control = build_control(d, control, "loss, weights and requests", CONTROL_loss,
                               d->snapshots ? CONTROL_parts_failed : CONTROL_checkpoint);
  return ends;
}

void step_segments_build(Draft *d) {
  if (d->trains) d->train_ends = build_step(d, d->train);
  if (d->eval != NULL) d->eval_ends = build_step(d, d->eval);
  if (d->decode != NULL) d->decode_ends = build_step(d, d->decode);
}

/* ---- snapshots */

/* Copies a layer's state with its padding, role after role. */
static int32_t build_save(Draft *d, int32_t b, bool is_far) {
  const Block *block = &d->blocks.at[b];
  const int64_t saved_bytes = block_saved_bytes(d, block);
  int64_t to = 0;
  int32_t segment = block_segment(d, b, is_far ? WORD_SAVE_FAR : WORD_SAVE);
  for (BaseRole role = BASE_PARAM; role <= BASE_STATE_LAST; role++) {
    if (!role_is_saved(d, block, role)) continue;
    const int64_t bytes = block_stride_bytes(d, block, role);
    const DType dtype = role_dtype(d, block, role);
    const bool is_far_param = is_far && role == stored_role(d, block);
    const int32_t from = segment_base(d, segment, is_far_param ? BASE_FAR_PARAM : role, b, bytes);
    const int32_t snapshot = segment_base(d, segment, BASE_SNAPSHOT, NO_ID, saved_bytes);
    Record *record = segment_record(d, segment, RECORD_COPY, NULL, PURPOSE_SAVE);
    record->lane = LANE_SAVE;
    record_operand(record, from, 0, bytes, dtype, ACCESS_READ);
    record_operand(record, snapshot, to, bytes, dtype, ACCESS_WRITE);
    to += bytes;
  }
  return segment;
}

void block_segments_build(Draft *d) {
  for (int32_t b = 0; b < d->blocks.count; b++) {
    /* Some layers' states may be on the device, others' on the host. */
    const bool any_here =
        !d->offloads_state || d->moves.state_bytes != NULL || d->job->offload_part.value > 0;
    const bool on_host = d->offloads_state && !d->updates_here;
    int32_t init = any_here ? build_init(d, b, false) : NO_ID;
    int32_t host_init = d->offloads_state ? build_init(d, b, true) : NO_ID;
    int32_t norm = d->trains ? build_norm(d, b) : NO_ID;
    int32_t update = d->trains && (any_here || !on_host) ? build_update(d, b, false) : NO_ID;
    int32_t host_update = on_host ? build_update(d, b, true) : NO_ID;
    int32_t come = d->updates_here ? build_stream(d, b, true) : NO_ID;
    int32_t go = d->updates_here ? build_stream(d, b, false) : NO_ID;
    const bool passes = block_grads_pass(d, &d->blocks.at[b]);
    const bool several = passes && d->derived.accumulation > 1;
    int32_t grads_in = several ? build_grads_pass(d, b, true) : NO_ID;
    int32_t grads_back = several ? build_grads_pass(d, b, false) : NO_ID;
    int32_t grads_last = passes ? build_grads_out(d, b, BASE_FAR_GRAD) : NO_ID;
    int32_t grads_out = on_host && !passes ? build_grads_out(d, b, BASE_HOST_GRAD) : NO_ID;
    int32_t read = d->state_in_files ? build_file(d, b, true) : NO_ID;
    int32_t write = d->state_in_files ? build_file(d, b, false) : NO_ID;
    int32_t bring = block_is_far(d, &d->blocks.at[b]) ? build_bring(d, b) : NO_ID;
    reduce_segments_build(d, b);
    int32_t save = d->snapshots ? build_save(d, b, false) : NO_ID;
    int32_t far_save =
        d->snapshots && block_is_far(d, &d->blocks.at[b]) ? build_save(d, b, true) : save;
    Block *block = &d->blocks.at[b];
    block->save = save;
    block->far_save = far_save;
    block->init = init;
    block->host_init = host_init;
    block->norm = norm;
    block->update = update;
    block->host_update = host_update;
    block->come = come;
    block->go = go;
    block->bring = bring;
    block->grads_in = grads_in;
    block->grads_back = grads_back;
    block->grads_last = grads_last;
    block->grads_out = grads_out;
    block->read = read;
    block->write = write;
  }
}
