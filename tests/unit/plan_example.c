/* plan_example.c -- the example plan of plan_builder.h.
 *
 * x0 = embedding(ids); x(l+1) = x(l) W(l)^T; loss = (x(L) - target)^2; AdamW with global clipping.
 */
#include <string.h>

#include "runtime/plan/control.h"
#include "tests/unit/plan_builder.h"

enum { ROWS = 8, WIDTH = 16, VOCAB = 32, VECTOR_BYTES = ROWS * WIDTH * 4 };
enum { LAYER_ELEMENTS = WIDTH * WIDTH, TABLE_ELEMENTS = VOCAB * WIDTH, PREFETCH = 2 };
/* Slots that ranks add up. */
enum {
  SUM_BYTES = (CONTROL_checkpoint + 1 - CONTROL_loss - 2 * (LOSSES_MAX - 1)) * CONTROL_SLOT_BYTES
};
enum { WORK_BYTES = 8 }; /* of sums of fewer elements than are added up at once */

/* Where everything lies. The arena is control, staging, then per state kind the table and the
 * layers, then what a program uses for a while. */
typedef struct Places {
  uint64_t control, control_ring, staging, partials, table[4], layer[4], transient, end;
} Places;

typedef struct Example {
  PlanBuilder *b;
  ExampleOptions options;
  Places at;
  uint32_t segment; /* being written */
  uint32_t program_first_call, program;
  uint32_t init, begin, forward, loss, loss_eval, backward, finish, reduce, norm, clip, update;
  uint32_t init_table, norm_table, update_table;
  uint32_t comm;
} Example;

static uint64_t aligned(uint64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

static const PlanRecord plain = {.node = PLAN_NONE,
                                 .value = PLAN_NONE,
                                 .comm = PLAN_NONE,
                                 .meaning = PLAN_NONE,
                                 .kernel = PLAN_NONE};

static uint32_t open_segment(Example *e, const char *name) {
  PlanSegment segment = {.bases_first = e->b->bases_count,
                         .records_first = e->b->records_count,
                         .name = build_string(e->b, name)};
  e->segment = build_segments(e->b, segment);
  return e->segment;
}

static uint32_t base(Example *e, const char *name, BufferKind kind, uint64_t size_bytes) {
  build_bases(e->b, (PlanBase){size_bytes, kind, build_string(e->b, name)});
  return e->b->segments[e->segment].bases_count++;
}

/* Appends a record; operands follow with operand(). */
static PlanRecord *record(Example *e, PlanRecord what, const char *path) {
  what.operands_first = e->b->operands_count;
  what.dims_first = e->b->ints_count;
  what.attrs_first = e->b->reals_count;
  what.path = build_string(e->b, path);
  uint32_t index = build_records(e->b, what);
  e->b->segments[e->segment].records_count++;
  return &e->b->records[index];
}

static PlanRecord *kernel(Example *e, const char *name, const char *path) {
  PlanRecord what = plain;
  uint32_t text = build_string(e->b, name);
  for (what.kernel = 0; what.kernel < e->b->kernels_count; what.kernel++)
    if (e->b->kernels[what.kernel].name == text) break;
  if (what.kernel == e->b->kernels_count) build_kernels(e->b, (PlanKernel){text});
  PlanRecord *made = record(e, what, path);
  build_record_controls(e->b, e->b->records_count - 1);
  return made;
}

static void operand(Example *e, uint32_t base_index, uint64_t offset, uint64_t size_bytes,
                    DType dtype, Access access) {
  build_operands(e->b, (PlanOperand){offset, size_bytes, 0, PLAN_NONE, base_index, dtype, access,
                                     PLAN_NONE, PLAN_NONE});
  e->b->records[e->b->records_count - 1].operands_count++;
}

static void dim(Example *e, int64_t size) {
  build_ints(e->b, size);
  e->b->records[e->b->records_count - 1].dims_count++;
}

static void attr(Example *e, double value) {
  build_reals(e->b, value);
  e->b->records[e->b->records_count - 1].attrs_count++;
}

static void write_init(Example *e, const char *name, const char *path, uint64_t elements,
                       uint32_t *segment) {
  static const BufferKind kinds[3] = {BUFFER_PARAM, BUFFER_MOMENT1, BUFFER_MOMENT2};
  static const char *const names[3] = {"param", "m", "v"};
  *segment = open_segment(e, name);
  for (int i = 0; i < 3; i++) {
    uint32_t to = base(e, names[i], kinds[i], elements * 4);
    kernel(e, i == 0 ? "init_normal" : "init_constant", path)->key = 7;
    operand(e, to, 0, elements * 4, DTYPE_F32, ACCESS_WRITE);
    for (int k = 0; k < 5; k++)
      dim(e, (int64_t)elements);
    attr(e, 0);
    attr(e, i == 0 ? 0.02 : 0);
    attr(e, 0);
    attr(e, 0);
  }
}

static void write_forward(Example *e) {
  e->begin = open_segment(e, "begin");
  uint32_t data = base(e, "data", BUFFER_DATA, ROWS * 4 + VECTOR_BYTES);
  uint32_t table = base(e, "table", BUFFER_PARAM, TABLE_ELEMENTS * 4);
  uint32_t x = base(e, "x", BUFFER_ACTIVATION, VECTOR_BYTES);
  PlanRecord load = plain;
  load.kind = RECORD_LOAD;
  record(e, load, "load");
  operand(e, data, 0, ROWS * 4, DTYPE_I32, ACCESS_WRITE);
  operand(e, data, ROWS * 4, VECTOR_BYTES, DTYPE_F32, ACCESS_WRITE);
  kernel(e, "embedding", "wte");
  operand(e, table, 0, TABLE_ELEMENTS * 4, DTYPE_F32, ACCESS_READ);
  operand(e, data, 0, ROWS * 4, DTYPE_I32, ACCESS_READ);
  operand(e, x, 0, VECTOR_BYTES, DTYPE_F32, ACCESS_WRITE);
  dim(e, ROWS), dim(e, WIDTH), dim(e, VOCAB);
  attr(e, 0);

  e->forward = open_segment(e, "layer forward");
  x = base(e, "x", BUFFER_ACTIVATION, VECTOR_BYTES);
  uint32_t w = base(e, "w", BUFFER_PARAM, LAYER_ELEMENTS * 4);
  uint32_t y = base(e, "y", BUFFER_ACTIVATION, VECTOR_BYTES);
  kernel(e, "linear", "h.*.w");
  operand(e, x, 0, VECTOR_BYTES, DTYPE_F32, ACCESS_READ);
  operand(e, w, 0, LAYER_ELEMENTS * 4, DTYPE_F32, ACCESS_READ);
  operand(e, y, 0, VECTOR_BYTES, DTYPE_F32, ACCESS_WRITE);
  dim(e, ROWS), dim(e, WIDTH), dim(e, WIDTH), dim(e, 0);
}

static void write_loss(Example *e, bool train) {
  *(train ? &e->loss : &e->loss_eval) = open_segment(e, train ? "loss" : "loss eval");
  uint32_t y = base(e, "y", BUFFER_ACTIVATION, VECTOR_BYTES);
  uint32_t data = base(e, "data", BUFFER_DATA, ROWS * 4 + VECTOR_BYTES);
  uint32_t control = base(e, "control", BUFFER_CONTROL, BUILT_CONTROL_BYTES);
  uint32_t work = base(e, "work", BUFFER_WORKSPACE, 256);
  uint32_t d_y = train ? base(e, "d_y", BUFFER_GRAD_ACTIVATION, VECTOR_BYTES) : 0;
  kernel(e, train ? "mse_train" : "mse", "loss")->accumulate = 1;
  operand(e, y, 0, VECTOR_BYTES, DTYPE_F32, ACCESS_READ);
  operand(e, data, ROWS * 4, VECTOR_BYTES, DTYPE_F32, ACCESS_READ);
  operand(e, control, offsetof(Control, loss), 16, DTYPE_F64, ACCESS_UPDATE);
  if (train) operand(e, d_y, 0, VECTOR_BYTES, DTYPE_F32, ACCESS_WRITE);
  operand(e, work, 0, WORK_BYTES, DTYPE_F64, ACCESS_WRITE);
  dim(e, ROWS * WIDTH);
  if (train) attr(e, 0.25);
}

/* A gradient is assigned by the first micro-batch and added to by the others: two records. */
static void write_gradient(Example *e, const char *name, const char *path, uint32_t from,
                           uint32_t with, uint32_t into, uint64_t with_bytes, uint64_t elements) {
  bool into_table = with_bytes == ROWS * 4;
  for (uint32_t accumulate = 0; accumulate < 2; accumulate++) {
    PlanRecord *gradient = kernel(e, name, path);
    gradient->accumulate = accumulate;
    *(accumulate ? &gradient->when_none : &gradient->when_all) = CALL_FIRST_MICROBATCH;
    operand(e, from, 0, VECTOR_BYTES, DTYPE_F32, ACCESS_READ);
    operand(e, with, 0, with_bytes, into_table ? DTYPE_I32 : DTYPE_F32, ACCESS_READ);
    operand(e, into, 0, elements * 4, DTYPE_F32, accumulate ? ACCESS_UPDATE : ACCESS_WRITE);
    dim(e, ROWS), dim(e, WIDTH);
    if (into_table)
      dim(e, VOCAB), attr(e, 0);
    else
      dim(e, WIDTH), dim(e, 0);
  }
}

static void write_all_reduce(Example *e, uint32_t what, uint64_t size_bytes, DType dtype,
                             PlanRecord like, const char *meaning) {
  if (e->options.replicas == 1) return;
  PlanMeaning about = {REDUCE_SUM, DIRECTION_BACKWARD, build_layout(e->b, 1), build_layout(e->b, 0),
                       build_string(e->b, meaning)};
  like.kind = RECORD_ALL_REDUCE;
  like.lane = LANE_DP;
  like.comm = e->comm;
  like.meaning = build_meanings(e->b, about);
  record(e, like, meaning);
  if (like.when_all == CALL_LAST_MICROBATCH) { /* the gradient is complete */
    build_edge(e->b, e->b->records_count - 1, 0);
    build_edge(e->b, e->b->records_count - 1, 1);
  }
  operand(e, what, 0, size_bytes, dtype, ACCESS_UPDATE);
}

static void write_backward(Example *e) {
  e->backward = open_segment(e, "layer backward");
  uint32_t d_y = base(e, "d_y", BUFFER_GRAD_ACTIVATION, VECTOR_BYTES);
  uint32_t x = base(e, "x", BUFFER_ACTIVATION, VECTOR_BYTES);
  uint32_t w = base(e, "w", BUFFER_PARAM, LAYER_ELEMENTS * 4);
  uint32_t d_w = base(e, "d_w", BUFFER_GRAD, LAYER_ELEMENTS * 4);
  uint32_t d_x = base(e, "d_x", BUFFER_GRAD_ACTIVATION, VECTOR_BYTES);
  write_gradient(e, "linear_dw", "h.*.w", x, d_y, d_w, VECTOR_BYTES, LAYER_ELEMENTS);
  PlanRecord last = plain;
  last.when_all = CALL_LAST_MICROBATCH;
  write_all_reduce(e, d_w, LAYER_ELEMENTS * 4, DTYPE_F32, last, "h.* gradients");
  kernel(e, "linear_dx", "h.*.w");
  operand(e, d_y, 0, VECTOR_BYTES, DTYPE_F32, ACCESS_READ);
  operand(e, w, 0, LAYER_ELEMENTS * 4, DTYPE_F32, ACCESS_READ);
  operand(e, d_x, 0, VECTOR_BYTES, DTYPE_F32, ACCESS_WRITE);
  dim(e, ROWS), dim(e, WIDTH), dim(e, WIDTH), dim(e, 0);

  e->finish = open_segment(e, "table backward");
  d_x = base(e, "d_x", BUFFER_GRAD_ACTIVATION, VECTOR_BYTES);
  uint32_t data = base(e, "data", BUFFER_DATA, ROWS * 4 + VECTOR_BYTES);
  uint32_t d_table = base(e, "d_table", BUFFER_GRAD, TABLE_ELEMENTS * 4);
  write_gradient(e, "embedding_backward", "wte", d_x, data, d_table, ROWS * 4, TABLE_ELEMENTS);
  write_all_reduce(e, d_table, TABLE_ELEMENTS * 4, DTYPE_F32, last, "wte gradients");
}

static void write_norm(Example *e, const char *name, const char *path, uint64_t elements,
                       uint32_t *segment) {
  *segment = open_segment(e, name);
  uint32_t grad = base(e, "grad", BUFFER_GRAD, elements * 4);
  uint32_t partial = base(e, "partial", BUFFER_WORKSPACE, 8);
  uint32_t work = base(e, "work", BUFFER_WORKSPACE, 256);
  kernel(e, "square_sum", path);
  operand(e, grad, 0, elements * 4, DTYPE_F32, ACCESS_READ);
  operand(e, partial, 0, 8, DTYPE_F64, ACCESS_WRITE);
  operand(e, work, 0, WORK_BYTES, DTYPE_F64, ACCESS_WRITE);
  dim(e, (int64_t)elements);
}

/* A matrix that is whole on every rank. */
static uint32_t matrix(Example *e, int64_t rows, int64_t columns) {
  PlanBuilder *b = e->b;
  for (uint32_t i = 0; i < b->layouts_count; i++)
    if (b->layouts[i].dims_count == 2 && b->layout_dims[b->layouts[i].dims_first].size == rows)
      return i;
  PlanLayout layout = {.owed = REDUCE_SUM, .dims_first = b->layout_dims_count, .dims_count = 2};
  const int64_t size[2] = {rows, columns};
  for (int i = 0; i < 2; i++)
    build_layout_dims(b, (PlanLayoutDim){.size = size[i],
                                         .real_size = size[i],
                                         .name = build_string(b, i == 0 ? "rows" : "width")});
  return build_layouts(b, layout);
}

static void write_update(Example *e, const char *name, const char *path, uint64_t elements,
                         uint32_t *segment) {
  static const BufferKind kinds[4] = {BUFFER_GRAD, BUFFER_PARAM, BUFFER_MOMENT1, BUFFER_MOMENT2};
  static const char *const names[4] = {"grad", "param", "m", "v"};
  *segment = open_segment(e, name);
  for (int i = 0; i < 4; i++)
    base(e, names[i], kinds[i], elements * 4);
  kernel(e, "adamw", path);
  for (uint32_t i = 0; i < 4; i++)
    operand(e, i, 0, elements * 4, DTYPE_F32, i == 0 ? ACCESS_READ : ACCESS_UPDATE);
  for (int i = 0; i < 5; i++)
    dim(e, (int64_t)elements);
  dim(e, 0); /* no codes */
  attr(e, 0.9), attr(e, 0.95), attr(e, 1e-8), attr(e, 0.1), attr(e, 0), attr(e, 0);
}

static void write_segments(Example *e) {
  write_init(e, "init layer", "h.*.w", LAYER_ELEMENTS, &e->init);
  write_init(e, "init table", "wte", TABLE_ELEMENTS, &e->init_table);
  write_forward(e);
  write_loss(e, true);
  write_loss(e, false);
  write_backward(e);
  e->reduce = open_segment(e, "reduce control");
  uint32_t control = base(e, "control", BUFFER_CONTROL, BUILT_CONTROL_BYTES);
  write_all_reduce(e, control, SUM_BYTES, DTYPE_F64, plain, "loss, count, requests");
  if (e->options.replicas > 1)
    e->b->operands[e->b->operands_count - 1].offset = offsetof(Control, loss);
  write_norm(e, "norm layer", "h.*.w", LAYER_ELEMENTS, &e->norm);
  write_norm(e, "norm table", "wte", TABLE_ELEMENTS, &e->norm_table);
  e->clip = open_segment(e, "clip");
  uint64_t partial_bytes = (e->options.layers + 1) * 8;
  uint32_t partials = base(e, "partials", BUFFER_WORKSPACE, partial_bytes);
  kernel(e, "grad_norm", "clip");
  operand(e, partials, 0, partial_bytes, DTYPE_F64, ACCESS_READ);
  dim(e, (int64_t)e->options.layers + 1);
  attr(e, 1.0);
  write_update(e, "update layer", "h.*.w", LAYER_ELEMENTS, &e->update);
  write_update(e, "update table", "wte", TABLE_ELEMENTS, &e->update_table);
}

/* Appends a call that binds the given arena offsets in the order of the segment's bases. */
static uint32_t call(Example *e, uint32_t segment, int32_t layer, int32_t microbatch,
                     const uint64_t *offsets) {
  PlanCall what = {.segment = segment,
                   .layer = layer,
                   .microbatch = microbatch,
                   .bindings_first = e->b->bindings_count,
                   .waits_first = e->b->waits_count,
                   .bindings_count = e->b->segments[segment].bases_count};
  if (microbatch == 0) what.flags |= CALL_FIRST_MICROBATCH;
  if (microbatch == (int32_t)e->options.accumulation - 1) what.flags |= CALL_LAST_MICROBATCH;
  if (layer == 0) what.flags |= CALL_FIRST_LAYER;
  if (layer == (int32_t)e->options.layers - 1) what.flags |= CALL_LAST_LAYER;
  for (uint32_t i = 0; i < what.bindings_count; i++)
    build_bindings(e->b, (PlanBinding){offsets[i], 0, PLAN_NONE, TIER_DEVICE});
  return build_calls(e->b, what) - e->program_first_call;
}
#define CALL(e, segment, layer, microbatch, ...)                                                   \
  call(e, segment, layer, microbatch, (const uint64_t[]){__VA_ARGS__})

static void wait_for(Example *e, Lane lane, uint32_t earlier_call, uint32_t earlier_record) {
  if (e->options.replicas == 1) return;
  build_waits(
      e->b, (PlanWait){lane, earlier_call, earlier_record, 0, e->b->programs[e->program].kind, 0});
  e->b->calls[e->b->calls_count - 1].waits_count++;
}

static void buffer(Example *e, const char *name, BufferKind kind, int32_t layer, uint64_t offset,
                   uint64_t size_bytes, uint32_t first_call, uint32_t last_call) {
  PlanBuffer what = {.offset = offset,
                     .size_bytes = size_bytes,
                     .program = e->program,
                     .first_call = first_call,
                     .last_call = last_call,
                     .layer = layer,
                     .kind = kind,
                     .tier = TIER_DEVICE,
                     .name = build_string(e->b, name)};
  build_buffers(e->b, what);
}

static void open_program(Example *e, ProgramKind kind) {
  PlanProgram program = {
      .calls_first = e->b->calls_count, .loops_first = e->b->loops_count, .kind = kind};
  e->program = build_programs(e->b, program);
  e->program_first_call = e->b->calls_count;
}

static void close_program(Example *e) {
  PlanProgram *program = &e->b->programs[e->program];
  program->calls_count = e->b->calls_count - program->calls_first;
  program->loops_count = e->b->loops_count - program->loops_first;
}

static uint64_t layer_at(const Example *e, int kind, uint32_t layer) {
  return e->at.layer[kind] + layer * aligned(LAYER_ELEMENTS * 4);
}

/* Transient places: data, work, two gradients in turn, then the activations. */
static uint64_t spot(const Example *e, uint32_t index) {
  return e->at.transient + index * aligned(VECTOR_BYTES + ROWS * 4);
}

/* The calls of one micro-batch, and the ledger rows of what they use. */
static void write_microbatch(Example *e, int32_t number, bool train) {
  uint32_t layers = e->options.layers;
  uint32_t first = CALL(e, e->begin, -1, number, spot(e, 0), e->at.table[1], spot(e, 4)),
           at = first;
  for (uint32_t l = 0; l < layers; l++)
    at = CALL(e, e->forward, (int32_t)l, number, spot(e, 4 + l), layer_at(e, 1, l), spot(e, 5 + l));
  uint32_t loss = at + 1, last = loss;
  if (train) {
    CALL(e, e->loss, -1, number, spot(e, 4 + layers), spot(e, 0), e->at.control, spot(e, 1),
         spot(e, 2 + layers % 2));
    for (uint32_t l = layers; l-- > 0;) {
      last = CALL(e, e->backward, (int32_t)l, number, spot(e, 2 + (l + 1) % 2), spot(e, 4 + l),
                  layer_at(e, 1, l), layer_at(e, 0, l), spot(e, 2 + l % 2));
      buffer(e, "d_x", BUFFER_GRAD_ACTIVATION, (int32_t)l, spot(e, 2 + l % 2), VECTOR_BYTES, last,
             last + 1);
    }
    buffer(e, "d_y", BUFFER_GRAD_ACTIVATION, -1, spot(e, 2 + layers % 2), VECTOR_BYTES, loss,
           loss + 1);
    last = CALL(e, e->finish, -1, number, spot(e, 2), spot(e, 0), e->at.table[0]);
  } else {
    CALL(e, e->loss_eval, -1, number, spot(e, 4 + layers), spot(e, 0), e->at.control, spot(e, 1));
  }
  buffer(e, "data", BUFFER_DATA, -1, spot(e, 0), ROWS * 4 + VECTOR_BYTES, first, last);
  buffer(e, "work", BUFFER_WORKSPACE, -1, spot(e, 1), 256, loss, loss);
  for (uint32_t l = 0; l <= layers; l++)
    buffer(e, "x", BUFFER_ACTIVATION, (int32_t)l, spot(e, 4 + l), VECTOR_BYTES, first + l,
           !train        ? first + l + 1
           : l == layers ? loss
                         : loss + layers - l);
}

/* After the micro-batches: norms (each after the last all-reduce of its gradient), clipping,
 * updates. */
static void write_step_end(Example *e, uint32_t last_first_call, uint32_t loss_call) {
  uint32_t layers = e->options.layers;
  uint32_t reduce = 0;
  if (e->options.replicas > 1) {
    reduce = CALL(e, e->reduce, -1, -1, e->at.control);
    wait_for(e, LANE_DP, loss_call, 0);
  }
  uint32_t first = e->b->calls_count - e->program_first_call;
  for (uint32_t l = 0; l < layers; l++) {
    CALL(e, e->norm, (int32_t)l, -1, layer_at(e, 0, l), e->at.partials + l * 8, spot(e, 1));
    wait_for(e, LANE_COMPUTE, last_first_call + 1 + layers + (layers - l), 2);
  }
  uint32_t last =
      CALL(e, e->norm_table, -1, -1, e->at.table[0], e->at.partials + layers * 8, spot(e, 1));
  wait_for(e, LANE_COMPUTE, last_first_call + 2 + 2 * layers, 2);
  buffer(e, "work", BUFFER_WORKSPACE, -1, spot(e, 1), 256, first, last);
  buffer(e, "partials", BUFFER_WORKSPACE, -1, e->at.partials, (layers + 1) * 8, first, last + 1);
  CALL(e, e->clip, -1, -1, e->at.partials);
  wait_for(e, LANE_COMPUTE, reduce, 0);
  for (uint32_t l = 0; l < layers; l++)
    CALL(e, e->update, (int32_t)l, -1, layer_at(e, 0, l), layer_at(e, 1, l), layer_at(e, 2, l),
         layer_at(e, 3, l));
  CALL(e, e->update_table, -1, -1, e->at.table[0], e->at.table[1], e->at.table[2], e->at.table[3]);
}

static void write_programs(Example *e) {
  uint32_t layers = e->options.layers, accumulation = e->options.accumulation;
  open_program(e, PROGRAM_INIT);
  for (uint32_t l = 0; l < layers; l++)
    CALL(e, e->init, (int32_t)l, -1, layer_at(e, 1, l), layer_at(e, 2, l), layer_at(e, 3, l));
  CALL(e, e->init_table, -1, -1, e->at.table[1], e->at.table[2], e->at.table[3]);
  close_program(e);

  open_program(e, PROGRAM_TRAIN_STEP);
  uint32_t calls_each = 3 + 2 * layers, microbatches = accumulation;
  if (e->options.loop) {
    microbatches = 3; /* first, one body for those between, last */
    build_loops(e->b, (PlanLoop){calls_each, calls_each, accumulation - 2, 1});
  }
  for (uint32_t m = 0; m < microbatches; m++)
    write_microbatch(e, (int32_t)(m == 2 && e->options.loop ? accumulation - 1 : m), true);
  uint32_t last = (microbatches - 1) * calls_each;
  write_step_end(e, last, last + layers + 1);
  close_program(e);

  open_program(e, PROGRAM_EVAL_STEP);
  ExampleOptions options = e->options;
  e->options.accumulation = 1;
  write_microbatch(e, 0, false);
  if (options.replicas > 1) {
    CALL(e, e->reduce, -1, -1, e->at.control);
    wait_for(e, LANE_DP, layers + 1, 0);
  }
  close_program(e);
  e->options = options;
}

static uint64_t ring_bytes(const Example *e) {
  return (64 + VECTOR_BYTES) * e->options.accumulation * PREFETCH;
}

static void write_state(Example *e) {
  static const BufferKind kinds[4] = {BUFFER_GRAD, BUFFER_PARAM, BUFFER_MOMENT1, BUFFER_MOMENT2};
  static const char *const names[4] = {"gradients", "parameters", "m", "v"};
  e->program = PLAN_NONE;
  buffer(e, "control", BUFFER_CONTROL, -1, e->at.control, BUILT_CONTROL_BYTES, 0, 0);
  buffer(e, "control in and out", BUFFER_CONTROL, -1, e->at.control_ring, 2 * BUILT_CONTROL_BYTES,
         0, 0);
  buffer(e, "staging", BUFFER_DATA, -1, e->at.staging, ring_bytes(e), 0, 0);
  uint64_t stride = aligned(LAYER_ELEMENTS * 4);
  for (int k = 0; k < 4; k++) {
    uint64_t first = e->at.table[k], end = layer_at(e, k, e->options.layers);
    buffer(e, names[k], kinds[k], -1, first, end - first, 0, 0);
    PlanTensor table = {.offset = first,
                        .layout = matrix(e, VOCAB, WIDTH),
                        .value = PLAN_NONE,
                        .storage = PLAN_NONE,
                        .size_bytes = TABLE_ELEMENTS * 4,
                        .elements = TABLE_ELEMENTS,
                        .layer_first = -1,
                        .layer_count = 1,
                        .kind = kinds[k],
                        .dtype = DTYPE_F32,
                        .dims_first = e->b->ints_count,
                        .dims_count = 2,
                        .name = build_string(e->b, "wte")};
    build_ints(e->b, VOCAB), build_ints(e->b, WIDTH);
    build_tensors(e->b, table);
    PlanTensor layer = {.offset = e->at.layer[k],
                        .storage = PLAN_NONE,
                        .size_bytes = LAYER_ELEMENTS * 4,
                        .layer_stride = stride,
                        .elements = LAYER_ELEMENTS,
                        .layer_first = 0,
                        .layer_count = e->options.layers,
                        .kind = kinds[k],
                        .dtype = DTYPE_F32,
                        .decay = 1,
                        .layout = matrix(e, WIDTH, WIDTH),
                        .value = PLAN_NONE,
                        .dims_first = e->b->ints_count,
                        .dims_count = 2,
                        .name = build_string(e->b, "h.*.w")};
    build_ints(e->b, WIDTH), build_ints(e->b, WIDTH);
    build_tensors(e->b, layer);
  }
}

static void write_class(Example *e, uint32_t index) {
  PlanBuilder *b = e->b;
  uint32_t replicas = e->options.replicas, classes = e->options.classes;
  PlanClass class = {.arenas_first = build_arenas(b, (PlanArena){e->at.end}),
                     .arenas_count = 1,
                     .bounds_first = b->bounds_count,
                     .bounds_count = 1,
                     .programs_first = b->programs_count,
                     .programs_count = 3,
                     .buffers_first = b->buffers_count,
                     .tensors_first = b->tensors_count,
                     .name = build_string(b, "replicas")};
  PlanBound bound = {replicas * index / classes, replicas * (index + 1) / classes};
  class.rank_count = bound.end - bound.first;
  build_bounds(b, bound);
  write_state(e);
  write_programs(e);
  class.buffers_count = b->buffers_count - class.buffers_first;
  class.tensors_count = b->tensors_count - class.tensors_first;
  build_classes(b, class);
}

static void write_job(Example *e) {
  PlanBuilder *b = e->b;
  uint32_t none = build_string(b, "");
  BuildJob job = {.seed = 1,
                  .steps = 10,
                  .microbatch_samples = ROWS,
                  .batch_samples = (int64_t)ROWS * e->options.accumulation * e->options.replicas,
                  .accumulation = e->options.accumulation,
                  .prefetch_steps = PREFETCH,
                  .control_depth = 1,
                  .control_bytes = BUILT_CONTROL_BYTES,
                  .lr = 1e-3,
                  .lr_floor = 0.1,
                  .threads = 1,
                  .vocab = VOCAB,
                  .sample_bytes = 64 + VECTOR_BYTES,
                  .control_offset = e->at.control,
                  .control_ring_offset = e->at.control_ring,
                  .staging_offset = e->at.staging,
                  .samples_offset = e->at.staging,
                  .device = "cpu",
                  .name = "example",
                  .model = "linear stack",
                  .run_dir = "runs/example",
                  .loss = "mse",
                  .precision = "fp32"};
  build_job(b, job);
  build_device(b);
  b->slots_count =
      build_slot(b, CONTROL_targets); /* the last slot: every target of the example counts */
  build_inputs(b, (PlanInput){1, DTYPE_I32, INPUT_TOKENS, build_string(b, "ids"), none, 0, 0});
  build_inputs(b,
               (PlanInput){WIDTH, DTYPE_F32, INPUT_TARGETS, build_string(b, "target"), none, 0, 0});
  build_axes(b, build_axis_named(b, "dp", e->options.replicas));
}

void build_example(PlanBuilder *builder, ExampleOptions options) {
  Example example = {.b = builder, .options = options}, *e = &example;
  uint64_t stride = aligned(LAYER_ELEMENTS * 4), at = aligned(BUILT_CONTROL_BYTES);
  e->at.control_ring = at;
  e->at.staging = at += aligned(2 * BUILT_CONTROL_BYTES);
  at = aligned(at + ring_bytes(e));
  for (int k = 0; k < 4; k++) {
    e->at.table[k] = at;
    e->at.layer[k] = at + aligned(TABLE_ELEMENTS * 4);
    at = e->at.layer[k] + options.layers * stride;
  }
  e->at.partials = at;
  e->at.transient = at + aligned((options.layers + 1) * 8);
  e->at.end = spot(e, 5 + options.layers);
  write_job(e);
  if (options.replicas > 1)
    e->comm = build_comms(builder, (PlanComm){1, build_string(builder, "dp")});
  write_segments(e);
  for (uint32_t c = 0; c < options.classes; c++)
    write_class(e, c);
  build_one_node(builder, 0, 0);
  build_peaks_of_programs(builder);
}
