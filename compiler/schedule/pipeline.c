/* pipeline.c -- who computes what in which order, and when stages exchange.
 *
 * Three steps: every stage's order, by one rule for all schedules; the tick of every step when each
 * runs as soon as its input is there; the exchanges, which follow from the ticks. */
#include "compiler/schedule/pipeline.h"

#include <assert.h>
#include <stdlib.h>

typedef struct Maker {
  Arena *arena;
  Pipeline *pipeline;
  int64_t *end[PIPE_ACTION_COUNT]; /* by model chunk * microbatches + micro-batch; -1: not yet */
} Maker;

static int32_t model_chunks(const PipeShape *shape) {
  return shape->stages * shape->chunks;
}

static bool is_split(const PipeShape *shape) {
  return shape->kind == PIPE_ZB_H1;
}

static int64_t cost_of(const PipeShape *shape, PipeAction action) {
  const PipeCosts *costs = &shape->costs;
  if (action == PIPE_FORWARD) return costs->forward;
  if (action == PIPE_WEIGHT) return costs->weight;
  return is_split(shape) ? costs->backward : costs->backward + costs->weight;
}

/* ---- when a step's input is there */

static int64_t *end_of(const Maker *m, PipeAction action, int32_t model_chunk, int32_t microbatch) {
  return &m->end[action][(int64_t)model_chunk * m->pipeline->shape.microbatches + microbatch];
}

/* The tick at which the step can start; -1: what it needs has no end yet. */
static int64_t input_tick(const Maker *m, int32_t stage, const PipeStep *step) {
  const PipeShape *shape = &m->pipeline->shape;
  int32_t here = step->chunk * shape->stages + stage, k = step->microbatch;
  if (step->action == PIPE_FORWARD) return here == 0 ? 0 : *end_of(m, PIPE_FORWARD, here - 1, k);
  if (step->action == PIPE_WEIGHT) return *end_of(m, PIPE_BACKWARD, here, k);
  int64_t own = *end_of(m, PIPE_FORWARD, here, k);
  if (own < 0 || here == model_chunks(shape) - 1) return own;
  int64_t gradient = *end_of(m, PIPE_BACKWARD, here + 1, k);
  return gradient < 0 || gradient > own ? gradient : own;
}

/* ---- orders: so many forwards ahead, then forward and backward in turn
 *
 * zb-h1 is 1f1b whose stage i computes the weight gradients of a micro-batch after the input
 * gradients of the i-th micro-batch behind it: (p-i) + i = p micro-batches are kept on every stage,
 * and what is put off fills the end, when no forwards are left. */

static int32_t forwards_ahead(const PipeShape *shape, int32_t stage) {
  int32_t all = shape->microbatches * shape->chunks, left = shape->stages - stage - 1;
  int32_t ahead = shape->kind == PIPE_GPIPE         ? all
                  : shape->kind == PIPE_INTERLEAVED ? 2 * left + (shape->chunks - 1) * shape->stages
                                                    : left;
  return ahead < all ? ahead : all;
}

/* The k-th forward or backward of a stage: `stages` micro-batches through each chunk in turn. */
static PipeStep kth_step(const PipeShape *shape, PipeAction action, int32_t k) {
  int32_t group = shape->stages * shape->chunks;
  int32_t chunk = shape->chunks == 1 ? 0 : k % group / shape->stages;
  int32_t microbatch = shape->chunks == 1 ? k : k / group * shape->stages + k % shape->stages;
  if (action == PIPE_BACKWARD) chunk = shape->chunks - 1 - chunk;
  return (PipeStep){action, chunk, microbatch, 0};
}

static void order_steps(const PipeShape *shape, int32_t stage, PipeStage *out) {
  int32_t all = shape->microbatches * shape->chunks, ahead = forwards_ahead(shape, stage);
  for (int32_t k = 0; k < all + ahead; k++) {
    if (k < all) out->steps[out->step_count++] = kth_step(shape, PIPE_FORWARD, k);
    if (k < ahead) continue;
    out->steps[out->step_count++] = kth_step(shape, PIPE_BACKWARD, k - ahead);
    if (is_split(shape) && k - ahead >= stage)
      out->steps[out->step_count++] = kth_step(shape, PIPE_WEIGHT, k - ahead - stage);
  }
  for (int32_t k = stage < all ? all - stage : 0; is_split(shape) && k < all; k++)
    out->steps[out->step_count++] = kth_step(shape, PIPE_WEIGHT, k);
}

/* ---- ticks */

/* Runs steps of a stage until one has to wait; the number run. */
static int32_t advance(Maker *m, int32_t stage, int32_t *next, int64_t *free_tick) {
  PipeStage *out = &m->pipeline->stages[stage];
  int32_t first = *next;
  for (; *next < out->step_count; ++*next) {
    PipeStep *step = &out->steps[*next];
    int64_t tick = input_tick(m, stage, step);
    if (tick < 0) break;
    step->tick = tick > *free_tick ? tick : *free_tick;
    *free_tick = step->tick + cost_of(&m->pipeline->shape, step->action);
    int32_t model_chunk = step->chunk * m->pipeline->shape.stages + stage;
    *end_of(m, step->action, model_chunk, step->microbatch) = *free_tick;
  }
  return *next - first;
}

static void find_ticks(Maker *m) {
  const PipeShape *shape = &m->pipeline->shape;
  int32_t *next = ARENA_ARRAY(m->arena, int32_t, shape->stages);
  int64_t *free_tick = ARENA_ARRAY(m->arena, int64_t, shape->stages);
  int64_t left = 0, busy = 0, span = 0;
  for (int32_t stage = 0; stage < shape->stages; stage++)
    left += m->pipeline->stages[stage].step_count;
  while (left > 0) {
    int64_t before = left;
    for (int32_t stage = 0; stage < shape->stages; stage++)
      left -= advance(m, stage, &next[stage], &free_tick[stage]);
    assert(left < before); /* else the orders wait for each other */
  }
  for (int32_t stage = 0; stage < shape->stages; stage++)
    if (free_tick[stage] > span) span = free_tick[stage];
  for (int32_t i = 0; i < m->pipeline->stages[0].step_count; i++)
    busy += cost_of(shape, m->pipeline->stages[0].steps[i].action);
  m->pipeline->span_ticks = span;
  m->pipeline->bubble_ticks = span - busy;
}

static void count_in_flight(PipeStage *stage, bool split) {
  int32_t in_flight = 0, kept = 0;
  for (int32_t i = 0; i < stage->step_count; i++) {
    PipeAction action = stage->steps[i].action;
    if (action == PIPE_FORWARD) in_flight++, kept++;
    if (in_flight > stage->in_flight) stage->in_flight = in_flight;
    if (kept > stage->kept) stage->kept = kept;
    if (action == PIPE_BACKWARD) in_flight--;
    if (action == (split ? PIPE_WEIGHT : PIPE_BACKWARD)) kept--;
  }
}

/* ---- exchanges */

typedef struct Posted {
  int64_t tick;
  PipeTransfer transfer;
} Posted;

typedef struct PostedList {
  VEC(Posted) list;
} PostedList;

/* By tick; within one exchange the send stands first, then activation, then gradient. */
static int compare_posted(const void *left, const void *right) {
  const Posted *a = left, *b = right;
  if (a->tick != b->tick) return a->tick < b->tick ? -1 : 1;
  if (a->transfer.is_send != b->transfer.is_send) return a->transfer.is_send ? -1 : 1;
  return (int)a->transfer.is_gradient - (int)b->transfer.is_gradient;
}

/* Both ends of what the step makes for another stage. */
static void post_output(const Maker *m, PostedList *posted, int32_t stage, const PipeStep *step) {
  const PipeShape *shape = &m->pipeline->shape;
  int32_t way = step->action == PIPE_FORWARD ? 1 : -1;
  int32_t from = step->chunk * shape->stages + stage, to = from + way;
  if (step->action == PIPE_WEIGHT || to < 0 || to >= model_chunks(shape)) return;
  PipeTransfer send = {.is_send = true,
                       .is_gradient = way < 0,
                       .distance = way,
                       .chunk = step->chunk,
                       .peer_chunk = to / shape->stages,
                       .microbatch = step->microbatch};
  PipeTransfer receive = send;
  receive.is_send = false;
  receive.distance = -way;
  receive.chunk = send.peer_chunk;
  receive.peer_chunk = send.chunk;
  int64_t tick = *end_of(m, step->action, from, step->microbatch);
  VEC_PUSH(m->arena, &posted[stage].list, (Posted){tick, send});
  VEC_PUSH(m->arena, &posted[to % shape->stages].list, (Posted){tick, receive});
}

/* An exchange stands after the steps that begin before its tick: a step never waits for more than
 * its own input, and one under way is not interrupted. */
static void group_transfers(const Maker *m, PipeStage *stage, PostedList *posted) {
  if (posted->list.count == 0) return;
  qsort(posted->list.at, (size_t)posted->list.count, sizeof *posted->list.at, compare_posted);
  int32_t steps_before = 0;
  for (int32_t i = 0; i < posted->list.count; i++) {
    int64_t tick = posted->list.at[i].tick;
    while (steps_before < stage->step_count && stage->steps[steps_before].tick < tick)
      steps_before++;
    if (i == 0 || posted->list.at[i - 1].tick != tick)
      VEC_PUSH(m->arena, &stage->exchanges, (PipeExchange){tick, steps_before, i, 0});
    stage->exchanges.at[stage->exchanges.count - 1].transfer_count++;
    VEC_PUSH(m->arena, &stage->transfers, posted->list.at[i].transfer);
  }
}

static void make_exchanges(Maker *m) {
  const PipeShape *shape = &m->pipeline->shape;
  if (shape->stages == 1) return; /* chunks of one stage hand over where they are */
  PostedList *posted = ARENA_ARRAY(m->arena, PostedList, shape->stages);
  for (int32_t i = 0; i < shape->stages; i++)
    for (int32_t k = 0; k < m->pipeline->stages[i].step_count; k++)
      post_output(m, posted, i, &m->pipeline->stages[i].steps[k]);
  for (int32_t i = 0; i < shape->stages; i++)
    group_transfers(m, &m->pipeline->stages[i], &posted[i]);
}

/* ---- the door */

static void check_shape(const PipeShape *shape) {
  assert(shape->stages >= 1 && shape->chunks >= 1 && shape->microbatches >= 1);
  assert(shape->chunks == 1 || shape->kind == PIPE_INTERLEAVED);
  assert(shape->kind != PIPE_INTERLEAVED || shape->microbatches % shape->stages == 0);
  assert(shape->costs.forward >= 1 && shape->costs.backward >= 1);
  assert(shape->costs.weight >= (is_split(shape) ? 1 : 0));
}

Pipeline *pipeline_make(Arena *arena, PipeShape shape) {
  check_shape(&shape);
  Pipeline *pipeline = ARENA_NEW(arena, Pipeline);
  pipeline->shape = shape;
  pipeline->stages = ARENA_ARRAY(arena, PipeStage, shape.stages);
  Maker m = {.arena = arena, .pipeline = pipeline};
  int64_t steps = (int64_t)shape.chunks * shape.microbatches;
  for (int action = 0; action < PIPE_ACTION_COUNT; action++) {
    m.end[action] = ARENA_ARRAY(arena, int64_t, steps * shape.stages);
    for (int64_t i = 0; i < steps * shape.stages; i++)
      m.end[action][i] = -1;
  }
  for (int32_t i = 0; i < shape.stages; i++)
    pipeline->stages[i].steps = ARENA_ARRAY(arena, PipeStep, steps * PIPE_ACTION_COUNT);
  for (int32_t i = 0; i < shape.stages; i++)
    order_steps(&shape, i, &pipeline->stages[i]);
  find_ticks(&m);
  make_exchanges(&m);
  for (int32_t i = 0; i < shape.stages; i++)
    count_in_flight(&pipeline->stages[i], is_split(&shape));
  return pipeline;
}

const char *pipeline_kind_name(PipeKind kind) {
  static const char *const names[PIPE_KIND_COUNT] = {"gpipe", "1f1b", "interleaved", "zb-h1"};
  return names[kind];
}

double pipeline_bubble_share(const Pipeline *pipeline) {
  return (double)pipeline->bubble_ticks / (double)pipeline->span_ticks;
}

int64_t pipeline_microbatches_for(int32_t stages, int32_t chunks, double share) {
  assert(share > 0 && share <= 1);
  double exact = (double)(stages - 1) * (1 - share) / (share * chunks);
  int64_t count = (int64_t)(exact - 1e-9 * exact); /* 4 (p-1) for 20 %, not one more by rounding */
  if ((double)count < exact - 1e-9 * exact) count++;
  if (count < 1) count = 1;
  return chunks > 1 ? round_up(count, stages) : count;
}
