/* pipeline.c -- when stages work and exchange if each takes its steps in the order of orders.c.
 *
 * The orders are simulated twice: with transfers that never wait, which gives the bubble as papers
 * define it, and with transfers that wait for both ends, which gives the exchanges. */
#include "compiler/job/pipelines/pipeline.h"

#include <assert.h>

#include "compiler/job/pipelines/orders.h"

/* ---- rules */

enum { SAID = 0, LOOPED = 0, FOLDED = 1, WHOLE = 0, SPLIT = 1 };

#define PIPELINE(ID, word, chunks, way, backward, order)                                           \
  [PIPE_##ID] = {word, chunks, way == FOLDED, backward == SPLIT},
const PipeRule pipe_rules[PIPE_KIND_COUNT] = {
#include "compiler/job/pipelines/pipelines.def"
};
#undef PIPELINE

#define PIPELINE(ID, word, chunks, way, backward, order) " " word
const char pipe_words_after_blanks[] =
#include "compiler/job/pipelines/pipelines.def"
    ;
#undef PIPELINE

#define PIPELINE(ID, word, chunks, way, backward, order) [PIPE_##ID] = order,
static PipeOrder *const pipe_orders[PIPE_KIND_COUNT] = {
#include "compiler/job/pipelines/pipelines.def"
};
#undef PIPELINE

int32_t pipeline_stage_of(PipeKind kind, int32_t stages, int32_t chunk) {
  bool is_back = pipe_rules[kind].is_folded && chunk / stages % 2 == 1;
  return is_back ? stages - 1 - chunk % stages : chunk % stages;
}

int32_t pipeline_chunk_of(PipeKind kind, int32_t stages, int32_t stage, int32_t k) {
  bool is_back = pipe_rules[kind].is_folded && k % 2 == 1;
  return k * stages + (is_back ? stages - 1 - stage : stage);
}

int32_t pipeline_distance(PipeKind kind, int32_t stages, int32_t from, int32_t to) {
  if (!pipe_rules[kind].is_folded) return to > from ? 1 : -1;
  return pipeline_stage_of(kind, stages, to) - pipeline_stage_of(kind, stages, from);
}

int32_t pipeline_group(PipeKind kind, int32_t stages) {
  return pipe_rules[kind].chunks == SAID ? stages : 1;
}

int32_t pipeline_least(PipeKind kind, int32_t stages) {
  return pipe_rules[kind].is_folded ? 2 * stages - 1 : 1;
}

static int32_t model_chunks(const PipeShape *shape) {
  return shape->stages * shape->chunks;
}

static bool is_split(const PipeShape *shape) {
  return pipe_rules[shape->kind].is_split;
}

static int64_t cost_of(const PipeShape *shape, PipeAction action) {
  const PipeCosts *costs = &shape->costs;
  if (action == PIPE_FORWARD) return costs->forward;
  if (action == PIPE_WEIGHT) return costs->weight;
  return is_split(shape) ? costs->backward : costs->backward + costs->weight;
}

const PipeCosts pipe_costs_even = {1, 1, 1};

/* ---- simulation */

typedef struct StageWorker {
  int32_t next; /* the next step; the previous one runs until busy_until */
  int64_t busy_until;
  bool has_output; /* the step before made something that another stage has not received yet */
} StageWorker;

typedef struct OrderSimulation {
  Arena *arena;
  Pipeline *pipeline;
  StageWorker *workers;        /* by stage */
  bool *is_there[PIPE_WEIGHT]; /* the activation or gradient that (model chunk, micro-batch) needs
                                  has arrived */
  bool meets;                  /* a transfer waits until its receiver is between two steps */
  int64_t now;
} OrderSimulation;

/* True if the model chunk's forward (backward) has what the chunk before (after) it makes. */
static bool *input_of(const OrderSimulation *s, PipeAction action, int32_t model_chunk, int32_t k) {
  return &s->is_there[action][(int64_t)model_chunk * s->pipeline->shape.microbatches + k];
}

static bool may_start(const OrderSimulation *s, int32_t stage, const PipeStep *step) {
  const PipeShape *shape = &s->pipeline->shape;
  int32_t here = pipeline_chunk_of(shape->kind, shape->stages, stage, step->chunk);
  int32_t source = step->action == PIPE_FORWARD ? here - 1 : here + 1;
  if (step->action == PIPE_WEIGHT || source < 0 || source == model_chunks(shape)) return true;
  return *input_of(s, step->action, here, step->microbatch);
}

/* The model chunk that needs the result of a step, or -1. */
static int32_t target_chunk(const PipeShape *shape, int32_t stage, const PipeStep *step) {
  int32_t here = pipeline_chunk_of(shape->kind, shape->stages, stage, step->chunk);
  int32_t target = step->action == PIPE_FORWARD ? here + 1 : here - 1;
  return step->action == PIPE_WEIGHT || target == model_chunks(shape) ? -1 : target;
}

/* Adds a transfer to the stage's exchange of this tick, which is created for the first one. */
static void post(const OrderSimulation *s, int32_t stage, PipeTransfer transfer) {
  PipeStage *out = &s->pipeline->stages[stage];
  int32_t last = out->exchanges.count - 1;
  if (last < 0 || out->exchanges.at[last].tick != s->now)
    VEC_PUSH(s->arena, &out->exchanges,
             (PipeExchange){s->now, s->workers[stage].next, out->transfers.count, 0});
  out->exchanges.at[out->exchanges.count - 1].transfer_count++;
  VEC_PUSH(s->arena, &out->transfers, transfer);
}

static void post_both(const OrderSimulation *s, int32_t stage, const PipeStep *step,
                      int32_t target) {
  const PipeShape *shape = &s->pipeline->shape;
  int32_t stages = shape->stages;
  int32_t here = pipeline_chunk_of(shape->kind, stages, stage, step->chunk);
  PipeTransfer send = {.is_send = true,
                       .is_gradient = step->action == PIPE_BACKWARD,
                       .distance = pipeline_distance(shape->kind, stages, here, target),
                       .chunk = step->chunk,
                       .peer_chunk = target / stages,
                       .microbatch = step->microbatch};
  PipeTransfer receive = send;
  receive.is_send = false;
  receive.distance = -send.distance;
  receive.chunk = send.peer_chunk;
  receive.peer_chunk = send.chunk;
  post(s, stage, send);
  post(s, pipeline_stage_of(shape->kind, stages, target), receive);
}

/* Hands over the result of the stage's last step if the step has finished and the receiver is free.
 */
static void hand_over(OrderSimulation *s, int32_t stage) {
  StageWorker *w = &s->workers[stage];
  if (!w->has_output || w->busy_until > s->now) return;
  const PipeShape *shape = &s->pipeline->shape;
  const PipeStep *step = &s->pipeline->stages[stage].steps[w->next - 1];
  int32_t target = target_chunk(shape, stage, step);
  int32_t receiver = pipeline_stage_of(shape->kind, shape->stages, target);
  if (s->meets && s->workers[receiver].busy_until > s->now) return;
  if (s->meets && receiver != stage) post_both(s, stage, step, target);
  *input_of(s, step->action, target, step->microbatch) = true;
  w->has_output = false;
}

static void start_next(OrderSimulation *s, int32_t stage) {
  StageWorker *w = &s->workers[stage];
  PipeStage *out = &s->pipeline->stages[stage];
  if (w->busy_until > s->now || w->has_output || w->next == out->step_count) return;
  PipeStep *step = &out->steps[w->next];
  if (!may_start(s, stage, step)) return;
  step->tick = s->now;
  w->next++;
  w->busy_until = s->now + cost_of(&s->pipeline->shape, step->action);
  w->has_output = target_chunk(&s->pipeline->shape, stage, step) >= 0;
}

/* Runs every stage's steps as early as possible. Returns the tick at which the last one ends. */
static int64_t simulate(Arena *arena, Pipeline *pipeline, bool meets) {
  const PipeShape *shape = &pipeline->shape;
  OrderSimulation s = {.arena = arena, .pipeline = pipeline, .meets = meets};
  s.workers = ARENA_ARRAY(arena, StageWorker, shape->stages);
  for (int action = 0; action < PIPE_WEIGHT; action++)
    s.is_there[action] = ARENA_ARRAY(arena, bool, model_chunks(shape) * shape->microbatches);
  for (int64_t next = 0; next < INT64_MAX;) {
    s.now = next;
    next = INT64_MAX;
    for (int32_t stage = 0; stage < shape->stages; stage++)
      hand_over(&s, stage);
    for (int32_t stage = 0; stage < shape->stages; stage++) {
      start_next(&s, stage);
      int64_t until = s.workers[stage].busy_until;
      if (until > s.now && until < next) next = until;
    }
  }
  for (int32_t stage = 0; stage < shape->stages; stage++)
    assert(s.workers[stage].next == pipeline->stages[stage].step_count);
  return s.now;
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

/* ---- entry points */

static void check_shape(const PipeShape *shape) {
  assert(shape->stages >= 1 && shape->chunks >= 1 && shape->microbatches >= 1);
  assert(pipe_rules[shape->kind].chunks == SAID || shape->chunks == pipe_rules[shape->kind].chunks);
  assert(shape->microbatches % pipeline_group(shape->kind, shape->stages) == 0);
  assert(shape->microbatches >= pipeline_least(shape->kind, shape->stages));
  assert(shape->costs.forward >= 1 && shape->costs.backward >= 1);
  assert(shape->costs.weight >= (is_split(shape) ? 1 : 0));
}

Pipeline *pipeline_make(Arena *arena, PipeShape shape) {
  check_shape(&shape);
  Pipeline *pipeline = ARENA_NEW(arena, Pipeline);
  pipeline->shape = shape;
  pipeline->stages = ARENA_ARRAY(arena, PipeStage, shape.stages);
  int64_t most = (int64_t)shape.chunks * shape.microbatches * PIPE_ACTION_COUNT, busy = 0;
  for (int32_t i = 0; i < shape.stages; i++) {
    PipeStage *stage = &pipeline->stages[i];
    stage->steps = ARENA_ARRAY(arena, PipeStep, most);
    pipe_orders[shape.kind](&shape, i, stage);
    count_in_flight(stage, is_split(&shape));
  }
  for (int32_t i = 0; i < pipeline->stages[0].step_count; i++)
    busy += cost_of(&shape, pipeline->stages[0].steps[i].action);
  pipeline->span_ticks = simulate(arena, pipeline, false);
  pipeline->bubble_ticks = pipeline->span_ticks - busy;
  pipeline->meeting_ticks = simulate(arena, pipeline, true);
  return pipeline;
}

double pipeline_bubble_share(const Pipeline *pipeline) {
  return (double)pipeline->bubble_ticks / (double)pipeline->span_ticks;
}

/* With this many micro-batches the bubble has reached its full length. */
static int32_t enough_microbatches(const PipeShape *shape) {
  int32_t least = pipeline_least(shape->kind, shape->stages);
  return least > shape->stages ? least : shape->stages;
}

/* Idle ticks of at most `microbatches`; they do not grow once there are enough. */
static int64_t idle_ticks(PipeShape shape, int32_t microbatches) {
  Arena *arena = arena_new();
  int32_t enough = enough_microbatches(&shape);
  shape.microbatches = microbatches < enough ? microbatches : enough;
  int64_t ticks = pipeline_make(arena, shape)->bubble_ticks;
  arena_free(arena);
  return ticks;
}

/* A stage's work for one micro-batch. */
static int64_t microbatch_ticks(const PipeShape *shape) {
  const PipeCosts *costs = &shape->costs;
  return shape->chunks * (costs->forward + costs->backward + costs->weight);
}

double pipeline_idle_share(const PipeShape *shape) {
  double idle = (double)idle_ticks(*shape, shape->microbatches);
  return idle / (idle + (double)(microbatch_ticks(shape) * shape->microbatches));
}

int64_t pipeline_microbatches_for(const PipeShape *shape, double share) {
  assert(share > 0 && share <= 1);
  double idle = (double)idle_ticks(*shape, INT32_MAX);
  double exact = idle * (1 - share) / (share * (double)microbatch_ticks(shape));
  int64_t count = (int64_t)(exact - 1e-9 * exact); /* 4 (p-1) for 20 %, not one more by rounding */
  if ((double)count < exact - 1e-9 * exact) count++;
  int64_t least = pipeline_least(shape->kind, shape->stages);
  if (count < least) count = least;
  return round_up(count, pipeline_group(shape->kind, shape->stages));
}
