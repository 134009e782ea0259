#include "compiler/search/flow.h"

#include "compiler/draft/draft.h"

typedef struct FlowMaking {
  Arena *arena;
  const Pipeline *pipeline;
  Flow *flow;
  int32_t *bringer; /* by stage, gradient or not, chunk and micro-batch: the item that brings it */
  int32_t *at;      /* by stage: its exchange of the current tick */
  int32_t *next;    /* by tick, exchanges and steps apart: where the next item goes */
} FlowMaking;

static int32_t *bringer_of(const FlowMaking *m, int32_t stage, bool is_gradient, int32_t chunk,
                           int32_t microbatch) {
  const PipeShape *shape = &m->flow->shape;
  const int64_t row = ((int64_t)stage * 2 + is_gradient) * shape->chunks + chunk;
  return &m->bringer[row * shape->microbatches + microbatch];
}

static bool is_same_shape(const PipeShape *a, const PipeShape *b) {
  return a->kind == b->kind && a->stages == b->stages && a->chunks == b->chunks &&
         a->microbatches == b->microbatches && a->costs.forward == b->costs.forward &&
         a->costs.backward == b->costs.backward && a->costs.weight == b->costs.weight;
}

/* Exchanges of a tick are before its steps. */
static FlowItem *add_item(const FlowMaking *m, int64_t tick, bool is_step) {
  return &m->flow->items[m->next[2 * tick + is_step]++];
}

static void add_stage(FlowMaking *m, int32_t s) {
  const PipeStage *stage = &m->pipeline->stages[s];
  for (int32_t i = 0; i < stage->step_count; i++)
    *add_item(m, stage->steps[i].tick, true) = (FlowItem){.tick = stage->steps[i].tick,
                                                          .stage = s,
                                                          .chunk = stage->steps[i].chunk,
                                                          .microbatch = stage->steps[i].microbatch,
                                                          .input = NO_ID,
                                                          .action = (int8_t)stage->steps[i].action};
  for (int32_t i = 0; i < stage->exchanges.count; i++)
    *add_item(m, stage->exchanges.at[i].tick, false) =
        (FlowItem){.tick = stage->exchanges.at[i].tick,
                   .stage = s,
                   .chunk = i, /* its number, until it is joined */
                   .input = NO_ID,
                   .action = NO_ID};
}

static void count_items(FlowMaking *m) {
  const int64_t ticks = m->pipeline->meeting_ticks + 1;
  m->next = ARENA_ARRAY(m->arena, int32_t, 2 * ticks + 3);
  for (int32_t s = 0; s < m->flow->shape.stages; s++) {
    const PipeStage *stage = &m->pipeline->stages[s];
    for (int32_t i = 0; i < stage->step_count; i++)
      m->next[2 * stage->steps[i].tick + 2]++;
    for (int32_t i = 0; i < stage->exchanges.count; i++)
      m->next[2 * stage->exchanges.at[i].tick + 1]++;
  }
  for (int64_t i = 1; i < 2 * ticks + 3; i++)
    m->next[i] += m->next[i - 1];
}

static void join_exchange(const FlowMaking *m, int32_t number) {
  FlowItem *item = &m->flow->items[number];
  const PipeStage *stage = &m->pipeline->stages[item->stage];
  const PipeExchange *exchange = &stage->exchanges.at[item->chunk];
  const int32_t stages = m->flow->shape.stages;
  for (int32_t i = 0; i < exchange->transfer_count; i++) {
    const PipeTransfer *t = &stage->transfers.at[exchange->transfer_first + i];
    const int32_t peer = m->at[(item->stage + t->distance + stages) % stages];
    if (t->is_send)
      item->sends++;
    else
      item->receives++;
    if (item->peers < FLOW_PEERS) item->peer[item->peers++] = peer;
    if (!t->is_send) *bringer_of(m, item->stage, t->is_gradient, t->chunk, t->microbatch) = number;
  }
}

/* The exchanges of one tick meet each other. */
static void join_exchanges(FlowMaking *m) {
  const Flow *flow = m->flow;
  for (int32_t i = 0, next; i < flow->count; i = next) {
    for (next = i; next < flow->count && flow->items[next].tick == flow->items[i].tick &&
                   flow->items[next].action == NO_ID;
         next++)
      m->at[flow->items[next].stage] = next;
    for (int32_t k = i; k < next; k++)
      join_exchange(m, k);
    if (next == i) next++;
  }
}

static Flow *make_flow(Flows *flows, PipeShape shape) {
  Arena *scratch = arena_new();
  FlowMaking m = {.arena = scratch, .pipeline = pipeline_make(flows->arena, shape)};
  int64_t count = 0, rows = (int64_t)shape.stages * 2 * shape.chunks * shape.microbatches;
  for (int32_t s = 0; s < shape.stages; s++)
    count += m.pipeline->stages[s].step_count + m.pipeline->stages[s].exchanges.count;
  m.flow = ARENA_NEW(flows->arena, Flow);
  *m.flow = (Flow){.shape = shape,
                   .pipeline = m.pipeline,
                   .items = ARENA_ARRAY(flows->arena, FlowItem, count + 1)};
  m.bringer = ARENA_ARRAY(scratch, int32_t, rows + 1);
  m.at = ARENA_ARRAY(scratch, int32_t, shape.stages);
  for (int64_t i = 0; i < rows; i++)
    m.bringer[i] = NO_ID;
  count_items(&m);
  for (int32_t s = 0; s < shape.stages; s++)
    add_stage(&m, s);
  m.flow->count = (int32_t)count;
  join_exchanges(&m);
  for (int32_t i = 0; i < m.flow->count; i++) {
    FlowItem *item = &m.flow->items[i];
    if (item->action == PIPE_FORWARD || item->action == PIPE_BACKWARD)
      item->input = *bringer_of(&m, item->stage, item->action == PIPE_BACKWARD, item->chunk,
                                item->microbatch);
  }
  arena_free(scratch);
  return m.flow;
}

void flows_free(Flows *flows) {
  if (flows->arena != NULL) arena_free(flows->arena);
  *flows = (Flows){0};
}

const Flow *flow_of(Flows *flows, PipeShape shape) {
  enum { ITEMS_MOST = 1 << 20 };
  for (int32_t i = 0; i < flows->made.count; i++)
    if (is_same_shape(&flows->made.at[i]->shape, &shape)) return flows->made.at[i];
  if (flows->item_count > ITEMS_MOST) flows_free(flows);
  if (flows->arena == NULL) flows->arena = arena_new();
  const Flow *flow = make_flow(flows, shape);
  VEC_PUSH(flows->arena, &flows->made, flow);
  flows->item_count += flow->count;
  return flow;
}
