/* calls.c -- init, train_step, eval_step and snapshot of every pipeline stage: what runs in which
 * order.
 */
#include "compiler/draft/calls/calls.h"

#include <assert.h>
#include <string.h>

#include "compiler/draft/calls/program.h"
#include "compiler/draft/calls/stage_segments.h"
#include "compiler/draft/calls/updates.h"
#include "compiler/draft/launches.h"
#include "compiler/draft/roles.h"

/* ---- exchanges between stages */

/* Exchanges whose transfers have the same directions, distances and bytes share a segment. */
typedef struct ExchangeKind {
  int64_t transfers[TRANSFERS_MAX][3];
  int32_t count, segment;
} ExchangeKind;

typedef struct Flights {
  Calls *t;
  InFlight **at; /* by local chunk and micro-batch; NULL: not begun */
  int32_t microbatches;
  VEC(ExchangeKind) kinds;
} Flights;

static InFlight *flight_of(const Flights *flights, int32_t chunk, int32_t microbatch) {
  InFlight **flight = &flights->at[chunk * flights->microbatches + microbatch];
  calls_chunk(flights->t, draft_chunk(flights->t->draft, flights->t->stage->number, chunk));
  if (*flight == NULL) *flight = flight_new(flights->t);
  return *flight;
}

/* There are few kinds of exchanges, but thousands of exchanges: each name is printed once. */
static int32_t exchange_segment(Flights *flights, const Transfer *transfers, int32_t count,
                                const int32_t *buffers) {
  const Buffer *buffer = flights->t->stage->buffers.at;
  ExchangeKind kind = {.count = count};
  for (int32_t i = 0; i < count; i++) {
    kind.transfers[i][0] = transfers[i].is_send + 2 * transfers[i].is_gradient;
    kind.transfers[i][1] = transfers[i].distance;
    kind.transfers[i][2] = buffer[buffers[i]].size_bytes;
  }
  for (int32_t i = 0; i < flights->kinds.count; i++) {
    const ExchangeKind *other = &flights->kinds.at[i];
    if (other->count == count &&
        memcmp(other->transfers, kind.transfers, sizeof kind.transfers) == 0)
      return other->segment;
  }
  kind.segment =
      exchange_segment_build(flights->t->draft, flights->t->stage, transfers, count, buffers);
  VEC_PUSH(flights->t->draft->compile->arena, &flights->kinds, kind);
  return kind.segment;
}

static void exchange(Flights *flights, const Transfer *transfers, int32_t count) {
  Calls *t = flights->t;
  int32_t buffers[TRANSFERS_MAX];
  PlanPost *posts = ARENA_ARRAY(t->draft->compile->arena, PlanPost, count);
  assert(count <= TRANSFERS_MAX);
  for (int32_t i = 0; i < count; i++) {
    const Transfer *transfer = &transfers[i];
    InFlight *flight = flight_of(flights, transfer->chunk, transfer->microbatch);
    int32_t chunk = draft_chunk(t->draft, t->stage->number, transfer->chunk);
    bool at_end = transfer->is_send != transfer->is_gradient;
    buffers[i] = calls_carry(t, flight, chunk, transfer->is_gradient, at_end);
    posts[i] =
        (PlanPost){.kind = transfer->is_gradient ? BUFFER_GRAD_ACTIVATION : BUFFER_ACTIVATION,
                   .depth = (uint32_t)t->draft->chunk_first[at_end ? chunk + 1 : chunk],
                   .microbatch = (uint32_t)transfer->microbatch};
  }
  calls_exchange(t, exchange_segment(flights, transfers, count, buffers), buffers, posts, count);
}

/* ---- train */

/* A chunk whose successor is on the same stage needs no transfer: both flights share one buffer. */
static void hand_over(const Flights *flights, const PipeStep *step) {
  const Draft *d = flights->t->draft;
  int32_t stage = flights->t->stage->number, here = draft_chunk(d, stage, step->chunk);
  int32_t from = step->action == PIPE_FORWARD ? here - 1 : here + 1;
  if (step->action == PIPE_WEIGHT || from < 0 || from == d->chunk_count ||
      draft_stage(d, from) != stage)
    return;
  int32_t layers = d->chunk_first[from + 1] - d->chunk_first[from];
  const InFlight *source = flight_of(flights, from / d->stage_count, step->microbatch);
  InFlight *flight = flight_of(flights, step->chunk, step->microbatch);
  if (step->action == PIPE_FORWARD)
    flight->carry[0] = source->carry[layers];
  else
    flight->d_carry[d->chunk_first[here + 1] - d->chunk_first[here]] = source->d_carry[0];
}

/* The first copies from host memory that a backward step waits for start before the step in front
 * of it. */
static void return_early(const Flights *flights, const PipeStep *next) {
  Calls *t = flights->t;
  if (next->action != PIPE_BACKWARD || !t->draft->offloads_frames) return;
  t->flight = flight_of(flights, next->chunk, next->microbatch);
  frames_return(t, t->end, t->end, next->microbatch,
                (next->microbatch == 0 ? CALL_FIRST_MICROBATCH : 0) |
                    (next->microbatch == flights->microbatches - 1 ? CALL_LAST_MICROBATCH : 0));
}

/* Samples that an earlier chunk of the micro-batch has loaded on this stage are used by later
 * chunks, too. */
static void share_data(const Flights *flights, const PipeStep *step) {
  InFlight *flight = flight_of(flights, step->chunk, step->microbatch);
  for (int32_t k = 0; k < step->chunk && flight->data == NO_ID; k++)
    flight->data = flight_of(flights, k, step->microbatch)->data;
}

static void run_step(const Flights *flights, const PipeStep *step) {
  uint32_t flags = (step->microbatch == 0 ? CALL_FIRST_MICROBATCH : 0) |
                   (step->microbatch == flights->microbatches - 1 ? CALL_LAST_MICROBATCH : 0);
  Calls *t = flights->t;
  hand_over(flights, step);
  share_data(flights, step);
  t->flight = flight_of(flights, step->chunk, step->microbatch);
  switch (step->action) {
  case PIPE_FORWARD: calls_forward(t, step->microbatch, flags); break;
  case PIPE_BACKWARD: calls_backward(t, step->microbatch, flags); break;
  default: calls_weight(t, step->microbatch, flags); break;
  }
}

static void run_exchange(Flights *flights, const PipeStage *plan, const PipeExchange *set) {
  Transfer transfers[TRANSFERS_MAX];
  assert(set->transfer_count <= TRANSFERS_MAX);
  for (int32_t i = 0; i < set->transfer_count; i++) {
    const PipeTransfer *from = &plan->transfers.at[set->transfer_first + i];
    transfers[i] =
        (Transfer){from->is_send, from->is_gradient, from->distance, from->chunk, from->microbatch};
  }
  exchange(flights, transfers, set->transfer_count);
}

static void pipeline_microbatches(Calls *t, const Pipeline *pipeline) {
  Draft *d = t->draft;
  const PipeStage *plan = &pipeline->stages[t->stage->number];
  int32_t chunks = draft_chunks(d), m = (int32_t)d->derived.accumulation;
  Flights flights = {
      .t = t, .at = ARENA_ARRAY(d->compile->arena, InFlight *, chunks * m + 1), .microbatches = m};
  int32_t next = 0;
  for (int32_t s = 0; s <= plan->step_count; s++) {
    for (; next < plan->exchanges.count && plan->exchanges.at[next].steps_before == s; next++)
      run_exchange(&flights, plan, &plan->exchanges.at[next]);
    if (s + 1 < plan->step_count) return_early(&flights, &plan->steps[s + 1]);
    if (s < plan->step_count) run_step(&flights, &plan->steps[s]);
  }
}

static void one_microbatch(Calls *t, int32_t microbatch, uint32_t flags) {
  flight_clear(t, t->flight);
  calls_forward(t, microbatch, flags);
  if (t->graph->training) calls_backward(t, microbatch, flags);
}

/* Without a pipeline micro-batches run one after another: the first, the middle ones (one loop),
 * the last. */
static void serial_microbatches(Calls *t) {
  Program *program = &t->stage->programs[t->kind];
  int32_t count = (int32_t)t->draft->derived.accumulation;
  calls_chunk(t, 0);
  t->flight = flight_new(t);
  if (count == 1) {
    one_microbatch(t, 0, CALL_FIRST_MICROBATCH | CALL_LAST_MICROBATCH);
    return;
  }
  one_microbatch(t, 0, CALL_FIRST_MICROBATCH);
  if (count > 2) {
    int32_t first = calls_here(t);
    one_microbatch(t, 1, 0);
    if (count > 3)
      VEC_PUSH(t->draft->compile->arena, &program->loops,
               (Loop){first, calls_here(t) - first, count - 2, 1});
  }
  one_microbatch(t, count - 1, CALL_LAST_MICROBATCH);
}

typedef int32_t SegmentOf(const Block *block);
static int32_t update_of(const Block *block) {
  return block->update;
}
static int32_t init_of(const Block *block) {
  return block->init;
}
/* Gathers replicated parameters, of which each rank has initialised or updated a piece. */
static int32_t gather_of(const Block *block) {
  return block->gather;
}

/* One call for every layer of the stage, or for those whose states are on the device. */
static void each_layer(Calls *t, bool all, SegmentOf *segment_of) {
  for (int32_t b = 0; b < t->draft->blocks.count; b++)
    for (int64_t l = 0; l < t->draft->blocks.at[b].layers; l++) {
      const StageBlock *held = &t->stage->blocks[b];
      if (held->position[l] >= 0 && (all || held->position[l] < held->host_first))
        calls_add(t, segment_of(&t->draft->blocks.at[b]), b, l);
    }
}

/* Squares are computed in the order in which reductions finish, so that only the last one is waited
 * for. */
static void each_norm(Calls *t) {
  for (int32_t b = t->draft->blocks.count - 1; b >= 0; b--) {
    const StageBlock *held = &t->stage->blocks[b];
    for (int64_t l = t->draft->blocks.at[b].layers - 1; held->in_norm && l >= 0; l--)
      if (held->position[l] >= 0 && !passing_is_far(t, b, l))
        calls_add(t, t->draft->blocks.at[b].norm, b, l);
  }
}

/* The two stages that hold a tied parameter sum its gradients on both. */
static void join_tied(Calls *t) {
  for (int32_t b = 0; b < t->draft->blocks.count; b++) {
    if (t->stage->blocks[b].held == 0 || t->draft->blocks.at[b].join[0] == NO_ID) continue;
    calls_add(t, t->draft->blocks.at[b].join[t->stage->number > 0], b, 0);
  }
}

/* ---- calls that one launch runs */

/* Extends the live range of these calls' own buffers over the whole launch. */
static void add_launch(Calls *t, KernelLaunch launch) {
  int32_t last = launch.first_call + launch.call_count - 1;
  for (int32_t i = 0; i < t->stage->buffers.count; i++) {
    Buffer *buffer = &t->stage->buffers.at[i];
    if (buffer->program != t->kind || buffer->first_call < launch.first_call ||
        buffer->first_call > last)
      continue;
    buffer->first_call = launch.first_call;
    if (buffer->last_call < last) buffer->last_call = last;
  }
  VEC_PUSH(t->draft->compile->arena, &t->stage->programs[t->kind].launches, launch);
}

/* Makes launches of the calls [first, end), no two of which touch the same tensor. */
static void run_batch(Calls *t, int32_t first, int32_t end) {
  const Call *calls = t->stage->programs[t->kind].calls.at;
  KernelLaunch launch = {first, 0};
  int64_t took_ns = 0;
  for (int32_t i = first; i < end && tensors_run_batch(t->draft); i++) {
    launch.call_count++;
    took_ns += t->draft->segments.at[calls[i].segment].compute_ns;
    if (took_ns < LAUNCH_NS && i + 1 < end) continue;
    add_launch(t, launch);
    launch = (KernelLaunch){i + 1, 0};
    took_ns = 0;
  }
}

static void build_train(Draft *d, Stage *stage, const Pipeline *pipeline) {
  Calls t;
  calls_open(&t, d, stage, PROGRAM_TRAIN_STEP);
  FarLayers far = updates_far(&t);
  updates_begin(&t, &far);
  calls_add(&t, t.ends->targets, NO_ID, -1);
  if (pipeline != NULL)
    pipeline_microbatches(&t, pipeline);
  else
    serial_microbatches(&t);
  join_tied(&t);
  updates_grads_follow(&t, &far);
  updates_come(&t, &far);
  int32_t norms = calls_here(&t);
  each_norm(&t);
  int32_t norms_end = calls_here(&t);
  calls_add(&t, clip_segment_build(d, stage), NO_ID, -1);
  calls_add(&t, t.ends->control, NO_ID, -1);
  calls_add(&t, t.ends->mirror, NO_ID, -1);
  int32_t updates = calls_here(&t);
  each_layer(&t, false, update_of);
  int32_t updates_end = calls_here(&t);
  updates_of_far(&t, &far);
  each_layer(&t, true, gather_of);
  int32_t moved = calls_here(&t);
  if (pipeline != NULL) calls_rotate(&t); /* calls before these may become a loop */
  moved -= calls_here(&t);
  run_batch(&t, norms - moved, norms_end - moved);
  run_batch(&t, updates - moved, updates_end - moved);
}

static void build_init(Draft *d, Stage *stage) {
  Calls t;
  calls_open(&t, d, stage, PROGRAM_INIT);
  each_layer(&t, false, init_of);
  const FarLayers far = updates_far(&t);
  for (int32_t i = 0; i < far.count; i++) {
    const Block *block = &d->blocks.at[far.at[i].block];
    calls_add(&t, block->host_init, far.at[i].block, far.at[i].layer);
    calls_add(&t, block->write, far.at[i].block, far.at[i].layer);
  }
  each_layer(&t, true, gather_of);
}

static int32_t distance(const Draft *d, int32_t from, int32_t to) {
  return pipeline_distance(draft_pipe_kind(d), d->stage_count, from, to);
}

/* Runs one micro-batch through all chunks, in the order of the model. */
static void build_pass(Draft *d, Stage *stage, ProgramKind kind) {
  Calls t;
  calls_open(&t, d, stage, kind);
  int32_t chunks = draft_chunks(d);
  Flights flights = {
      .t = &t, .at = ARENA_ARRAY(d->compile->arena, InFlight *, chunks + 1), .microbatches = 1};
  for (int32_t k = 0; k < chunks; k++) {
    int32_t chunk = draft_chunk(d, stage->number, k);
    int32_t before = chunk > 0 ? distance(d, chunk, chunk - 1) : 0;
    int32_t after = chunk < d->chunk_count - 1 ? distance(d, chunk, chunk + 1) : 0;
    if (before != 0) exchange(&flights, &(Transfer){false, false, before, k, 0}, 1);
    run_step(&flights, &(PipeStep){PIPE_FORWARD, k, 0, 0});
    if (after != 0) exchange(&flights, &(Transfer){true, false, after, k, 0}, 1);
  }
  calls_add(&t, t.ends->control, NO_ID, -1);
}

/* In the order of updates, so that the first copies are over when the first update comes. */
static void build_snapshot(Draft *d, Stage *stage) {
  Calls t;
  calls_open(&t, d, stage, PROGRAM_SNAPSHOT);
  for (int32_t b = 0; b < d->blocks.count; b++)
    for (int64_t l = 0; l < d->blocks.at[b].layers && stage_saves(d, stage, b); l++) {
      const StageBlock *held = &stage->blocks[b];
      const bool on_host = held->position[l] >= held->host_first;
      if (held->position[l] >= 0)
        calls_add(&t, on_host ? d->blocks.at[b].far_save : d->blocks.at[b].save, b, l);
    }
}

void calls_build_train(Draft *d, int32_t stage, const Pipeline *pipeline) {
  build_train(d, &d->stages[stage], pipeline);
}

void calls_build(Draft *d) {
  const Pipeline *pipeline = draft_pipeline(d);
  for (int32_t s = 0; s < d->stage_count; s++) {
    build_init(d, &d->stages[s]);
    if (d->trains) build_train(d, &d->stages[s], pipeline);
    if (d->eval != NULL) build_pass(d, &d->stages[s], d->eval->program);
    if (d->decode != NULL) build_pass(d, &d->stages[s], d->decode->program);
    if (d->stages[s].snapshot_buffer != NO_ID) build_snapshot(d, &d->stages[s]);
  }
}
