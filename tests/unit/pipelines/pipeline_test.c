/* Pipeline schedules: bubbles and activations in flight as the papers say, every micro-batch once,
 * and exchanges that cannot deadlock.   LINK: pipelines base */
#include <stdlib.h>

#include "compiler/job/pipelines/pipeline.h"
#include "tests/unit/check.h"

static PipeShape shape_of(PipeKind kind, int32_t stages, int32_t chunks, int32_t microbatches) {
  return (PipeShape){kind, stages, chunks, microbatches, {1, 1, pipe_rules[kind].is_split}};
}

static int64_t bubble(PipeShape shape, PipeCosts costs) {
  Arena *arena = arena_new();
  shape.costs = costs;
  int64_t ticks = pipeline_make(arena, shape)->bubble_ticks;
  arena_free(arena);
  return ticks;
}

static const PipeCosts costs_tried[] = {{1, 1, 1}, {2, 2, 2}, {1, 2, 1}, {2, 3, 1}, {10, 14, 10}};
enum { COSTS_TRIED = sizeof costs_tried / sizeof *costs_tried };

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static void check_bubbles(int32_t p, int32_t m) {
  for (int i = 0; i < COSTS_TRIED; i++) {
    PipeCosts c = costs_tried[i];
    int64_t whole = (p - 1) * (c.forward + c.backward + c.weight);
    CHECK_INT(bubble(shape_of(PIPE_GPIPE, p, 1, m), c), whole);
    CHECK_INT(bubble(shape_of(PIPE_1F1B, p, 1, m), c), whole);
    CHECK_INT(bubble(shape_of(PIPE_ZB_H1, p, 1, m), c),
              (p - 1) * (c.forward + c.backward - c.weight));
    for (int32_t v = 2; v <= 4; v *= 2) { /* costs of a chunk: 1/v of the stage's */
      PipeCosts stage = {c.forward * v, c.backward * v, c.weight * v};
      int64_t wanted = (p - 1) * (stage.forward + stage.backward + stage.weight) / v;
      CHECK_INT(bubble(shape_of(PIPE_INTERLEAVED, p, v, m), c), wanted);
    }
    if (m >= 2 * p - 1) /* costs of one of a stage's two chunks; F is at most B */
      CHECK_INT(bubble(shape_of(PIPE_ZB_V, p, 2, m), c),
                (p - 1) * most(c.backward, 2 * (c.backward - c.weight)));
  }
}

static int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

static void check_in_flight(int32_t p, int32_t m) {
  Arena *arena = arena_new();
  const Pipeline *gpipe = pipeline_make(arena, shape_of(PIPE_GPIPE, p, 1, m));
  const Pipeline *one = pipeline_make(arena, shape_of(PIPE_1F1B, p, 1, m));
  const Pipeline *zero = pipeline_make(arena, shape_of(PIPE_ZB_H1, p, 1, m));
  for (int32_t i = 0; i < p; i++) {
    CHECK_INT(gpipe->stages[i].in_flight, m);
    CHECK_INT(one->stages[i].in_flight, least(m, p - i));
    CHECK_INT(one->stages[i].kept, least(m, p - i));
    CHECK_INT(zero->stages[i].in_flight, least(m, p - i));
    CHECK_INT(zero->stages[i].kept, least(m, p)); /* p M_B, on every stage */
  }
  for (int32_t v = 2; m % p == 0 && v <= 4; v *= 2) {
    const Pipeline *many = pipeline_make(arena, shape_of(PIPE_INTERLEAVED, p, v, m));
    for (int32_t i = 0; i < p; i++)
      CHECK_INT(many->stages[i].in_flight, least(m * v, 2 * (p - i - 1) + (v - 1) * p + 1));
  }
  for (int32_t i = 0; m >= 2 * p - 1 && i < p; i++) /* as much on every stage as 1f1b's first has */
    CHECK_INT(pipeline_make(arena, shape_of(PIPE_ZB_V, p, 2, m))->stages[i].kept, 2 * p);
  arena_free(arena);
}

/* The first stage has both ends of the model and never waits; the others wait for the first forward
 * to come and for the last gradient to go, a chunk's tick for each stage on the way. */
static void check_folded(int32_t p, int32_t m) {
  Arena *arena = arena_new();
  PipeShape shape = shape_of(PIPE_ZB_V, p, 2, m);
  const Pipeline *pipeline = pipeline_make(arena, shape);
  CHECK_INT(pipeline->span_ticks, 6 * m + p - 1);
  for (int32_t i = 0; i < p; i++) {
    const PipeStep *first = &pipeline->stages[i].steps[0];
    CHECK_INT(first->tick, i);
    CHECK_INT(pipeline_stage_of(PIPE_ZB_V, p, i), i);
    CHECK_INT(pipeline_stage_of(PIPE_ZB_V, p, p + i), p - 1 - i);
    for (int32_t k = 0; k < 2; k++)
      CHECK_INT(pipeline_stage_of(PIPE_ZB_V, p, pipeline_chunk_of(PIPE_ZB_V, p, i, k)), i);
  }
  arena_free(arena);
}

/* The time that waiting for receivers adds to the span: 0 where F = B = W and chunks are whole. */
static void check_meetings(int32_t p, int32_t m) {
  static const PipeKind kinds[] = {PIPE_GPIPE, PIPE_1F1B, PIPE_ZB_H1};
  Arena *arena = arena_new();
  for (int i = 0; i < 3; i++) {
    PipeShape shape = shape_of(kinds[i], p, 1, m);
    shape.costs = (PipeCosts){1, 1, 1};
    const Pipeline *pipeline = pipeline_make(arena, shape);
    CHECK_INT(pipeline->meeting_ticks, pipeline->span_ticks);
  }
  PipeShape shape = shape_of(PIPE_INTERLEAVED, p, 2, m);
  shape.costs = (PipeCosts){1, 1, 1};
  const Pipeline *pipeline = pipeline_make(arena, shape);
  CHECK(pipeline->meeting_ticks >= pipeline->span_ticks);
  CHECK(pipeline->meeting_ticks <= pipeline->span_ticks + p / 2);
  arena_free(arena);
}

static double share(PipeKind kind, int32_t p, int32_t m) {
  Arena *arena = arena_new();
  const PipeShape shape = shape_of(kind, p, 1, m);
  double idle = pipeline_bubble_share(pipeline_make(arena, shape));
  CHECK_NEAR(pipeline_idle_share(&shape), idle, 1e-12);
  arena_free(arena);
  return idle;
}

/* ---- a stage as its steps and exchanges in order */

static PipeTransfer mirrored(const Pipeline *pipeline, int32_t stage, PipeTransfer t,
                             int32_t *peer) {
  int32_t p = pipeline->shape.stages;
  *peer = (stage + t.distance + p) % p;
  PipeTransfer other = t;
  other.is_send = !t.is_send;
  other.distance = -t.distance;
  other.chunk = t.peer_chunk;
  other.peer_chunk = t.chunk;
  return other;
}

static bool same_transfer(PipeTransfer a, PipeTransfer b) {
  return a.is_send == b.is_send && a.is_gradient == b.is_gradient && a.distance == b.distance &&
         a.chunk == b.chunk && a.peer_chunk == b.peer_chunk && a.microbatch == b.microbatch;
}

/* The exchange of a stage that holds a transfer; -1 unless there is exactly one. */
static int32_t exchange_with(const PipeStage *stage, PipeTransfer t) {
  int32_t found = -1, count = 0;
  for (int32_t e = 0; e < stage->exchanges.count; e++) {
    const PipeExchange *exchange = &stage->exchanges.at[e];
    for (int32_t i = 0; i < exchange->transfer_count; i++)
      if (same_transfer(stage->transfers.at[exchange->transfer_first + i], t)) found = e, count++;
  }
  return count == 1 ? found : -1;
}

static int32_t position(const PipeStage *stage, PipeAction action, int32_t chunk, int32_t k) {
  for (int32_t i = 0; i < stage->step_count; i++) {
    const PipeStep *step = &stage->steps[i];
    if (step->action == action && step->chunk == chunk && step->microbatch == k) return i;
  }
  return -1;
}

/* Every (chunk, micro-batch) once per action, gradients after activations, backward and weights in
 * the order of micro-batches: sums of gradients are then added in one order for all schedules. */
static void check_steps(const Pipeline *pipeline, int32_t stage) {
  const PipeShape *shape = &pipeline->shape;
  const PipeStage *s = &pipeline->stages[stage];
  bool split = pipe_rules[shape->kind].is_split;
  CHECK_INT(s->step_count, shape->chunks * shape->microbatches * (split ? 3 : 2));
  for (int32_t c = 0; c < shape->chunks; c++) {
    int32_t last[PIPE_ACTION_COUNT] = {-1, -1, -1};
    for (int32_t k = 0; k < shape->microbatches; k++) {
      int32_t before = -1;
      for (int action = 0; action < (split ? 3 : 2); action++) {
        int32_t at = position(s, (PipeAction)action, c, k);
        CHECK(at > before && at > last[action]);
        before = last[action] = at;
      }
    }
  }
}

/* A sent value was made by the step just before; a received one is needed by a later step; what
 * every step needs from elsewhere comes. */
static void check_transfers(const Pipeline *pipeline, int32_t stage) {
  const PipeShape *shape = &pipeline->shape;
  const PipeStage *s = &pipeline->stages[stage];
  int32_t sends = 0, receives = 0;
  for (int32_t e = 0; e < s->exchanges.count; e++) {
    const PipeExchange *exchange = &s->exchanges.at[e];
    int32_t next = exchange->steps_before;
    CHECK(exchange->transfer_count >= 1 && exchange->transfer_count <= 3);
    CHECK(e == 0 || s->exchanges.at[e - 1].tick < exchange->tick);
    CHECK(next == s->step_count || s->steps[next].tick >= exchange->tick);
    CHECK(next == 0 || s->steps[next - 1].tick < exchange->tick);
    CHECK(e == 0 || s->exchanges.at[e - 1].steps_before <= exchange->steps_before);
    for (int32_t i = 0; i < exchange->transfer_count; i++) {
      PipeTransfer t = s->transfers.at[exchange->transfer_first + i];
      int32_t at = position(s, t.is_gradient ? PIPE_BACKWARD : PIPE_FORWARD, t.chunk, t.microbatch);
      CHECK(t.is_send ? at == exchange->steps_before - 1 : at >= exchange->steps_before);
      int32_t way = pipe_rules[shape->kind].is_folded && t.chunk == 1 ? -1 : 1;
      CHECK_INT(t.distance, way * (t.is_send ? 1 : -1) * (t.is_gradient ? -1 : 1));
      int32_t peer;
      PipeTransfer other = mirrored(pipeline, stage, t, &peer);
      int32_t there = exchange_with(&pipeline->stages[peer], other);
      CHECK(there >= 0 && exchange_with(s, t) == e);
      if (there >= 0) CHECK_INT(pipeline->stages[peer].exchanges.at[there].tick, exchange->tick);
      *(t.is_send ? &sends : &receives) += 1;
    }
  }
  if (shape->stages == 1) return;
  /* The model's own ends; folded, both are on the first stage, and the last one's turn is too. */
  int32_t ends = (stage == 0) + (stage == shape->stages - 1);
  if (pipe_rules[shape->kind].is_folded) ends *= 2;
  int32_t wanted = shape->microbatches * (2 * shape->chunks - ends);
  CHECK_INT(sends, wanted);
  CHECK_INT(receives, wanted);
}

/* ---- replay: the k-th send of a pair of stages meets the k-th receive; an exchange is over when
 * all of its transfers have met */

enum { STAGES_MAX = 8 };

typedef struct Replayed {
  const Pipeline *pipeline;
  int32_t step[STAGES_MAX], exchange[STAGES_MAX]; /* next ones */
  int64_t clock[STAGES_MAX];
  bool posted[STAGES_MAX];              /* its next exchange has begun */
  int32_t sent[STAGES_MAX][STAGES_MAX]; /* transfers begun so far, by from and to */
  int32_t received[STAGES_MAX][STAGES_MAX];
} Replayed;

static const PipeExchange *waiting_exchange(const Replayed *r, int32_t stage) {
  const PipeStage *s = &r->pipeline->stages[stage];
  if (r->exchange[stage] == s->exchanges.count) return NULL;
  const PipeExchange *exchange = &s->exchanges.at[r->exchange[stage]];
  return exchange->steps_before == r->step[stage] ? exchange : NULL;
}

static void post(Replayed *r, int32_t stage, const PipeExchange *exchange) {
  for (int32_t i = 0; i < exchange->transfer_count; i++) {
    PipeTransfer t = r->pipeline->stages[stage].transfers.at[exchange->transfer_first + i];
    int32_t peer;
    mirrored(r->pipeline, stage, t, &peer);
    if (t.is_send)
      r->sent[stage][peer]++;
    else
      r->received[peer][stage]++;
  }
  r->posted[stage] = true;
}

/* The number, among the transfers between two stages, of the one at `index` of the sender's or
 * receiver's list. */
static int32_t number_between(const Replayed *r, int32_t stage, int32_t index, int32_t *peer) {
  const PipeStage *s = &r->pipeline->stages[stage];
  mirrored(r->pipeline, stage, s->transfers.at[index], peer);
  int32_t number = 0;
  for (int32_t i = 0; i < index; i++) {
    int32_t other;
    mirrored(r->pipeline, stage, s->transfers.at[i], &other);
    number += other == *peer && s->transfers.at[i].is_send == s->transfers.at[index].is_send;
  }
  return number;
}

/* The n-th transfer from one stage to another, seen by the receiver. */
static PipeTransfer nth_receive(const Replayed *r, int32_t from, int32_t to, int32_t n) {
  const PipeStage *s = &r->pipeline->stages[to];
  for (int32_t i = 0; i < s->transfers.count; i++) {
    int32_t peer;
    mirrored(r->pipeline, to, s->transfers.at[i], &peer);
    if (!s->transfers.at[i].is_send && peer == from && n-- == 0) return s->transfers.at[i];
  }
  return (PipeTransfer){.distance = 0};
}

static bool has_met(const Replayed *r, int32_t stage, const PipeExchange *exchange) {
  for (int32_t i = 0; i < exchange->transfer_count; i++) {
    int32_t index = exchange->transfer_first + i, peer;
    bool is_send = r->pipeline->stages[stage].transfers.at[index].is_send;
    int32_t number = number_between(r, stage, index, &peer);
    if ((is_send ? r->received[stage][peer] : r->sent[peer][stage]) <= number) return false;
  }
  return true;
}

/* One thing a stage can do at random speed: begin or end an exchange, or run a step. */
static bool move(Replayed *r, int32_t stage) {
  const PipeExchange *exchange = waiting_exchange(r, stage);
  if (exchange != NULL) {
    if (!r->posted[stage]) {
      post(r, stage, exchange);
      return true;
    }
    if (!has_met(r, stage, exchange)) return false;
    r->exchange[stage]++;
    r->posted[stage] = false;
    return true;
  }
  if (r->step[stage] == r->pipeline->stages[stage].step_count) return false;
  r->step[stage]++;
  return true;
}

/* Stages take turns as `rand` has it: any durations are some order of turns. */
static void check_replay(const Pipeline *pipeline) {
  Replayed r = {.pipeline = pipeline};
  int32_t p = pipeline->shape.stages;
  for (bool moved = true; moved;) {
    moved = false;
    int32_t favourite = rand() % p;
    for (int32_t turns = rand() % 50; turns > 0 && move(&r, favourite); turns--)
      moved = true;
    for (int32_t i = 0; !moved && i < p; i++)
      moved = move(&r, (favourite + i) % p);
  }
  for (int32_t i = 0; i < p; i++) {
    CHECK_INT(r.step[i], pipeline->stages[i].step_count);
    CHECK_INT(r.exchange[i], pipeline->stages[i].exchanges.count);
    for (int32_t t = 0; t < pipeline->stages[i].transfers.count; t++) {
      if (!pipeline->stages[i].transfers.at[t].is_send) continue;
      int32_t peer, number = number_between(&r, i, t, &peer);
      PipeTransfer other = mirrored(pipeline, i, pipeline->stages[i].transfers.at[t], &peer);
      CHECK(same_transfer(other, nth_receive(&r, i, peer, number)));
    }
  }
}

static PipeShape random_shape(void) {
  PipeKind kind = (PipeKind)(rand() % PIPE_KIND_COUNT);
  int32_t p = 1 + rand() % STAGES_MAX, m = 1 + rand() % 12, v = 1;
  if (kind == PIPE_INTERLEAVED) {
    m = p * (1 + rand() % 3);
    v = 1 + rand() % 4;
  }
  if (kind == PIPE_ZB_V) {
    m += 2 * p - 2;
    v = 2;
  }
  PipeCosts costs = {1 + rand() % 5, 1 + rand() % 5, 1 + rand() % 5};
  return (PipeShape){kind, p, v, m, costs};
}

static void check_random(void) {
  Arena *arena = arena_new();
  PipeShape shape = random_shape();
  int before = check_failures;
  const Pipeline *pipeline = pipeline_make(arena, shape);
  for (int32_t stage = 0; stage < shape.stages; stage++) {
    check_steps(pipeline, stage);
    check_transfers(pipeline, stage);
  }
  check_replay(pipeline);
  if (check_failures > before)
    printf("  that was %s, %d stages, %d chunks, %d micro-batches, costs %d %d %d\n",
           pipe_rules[shape.kind].word, shape.stages, shape.chunks, shape.microbatches,
           (int)shape.costs.forward, (int)shape.costs.backward, (int)shape.costs.weight);
  arena_free(arena);
}

static void check_one_stage(void) {
  Arena *arena = arena_new();
  const Pipeline *pipeline = pipeline_make(arena, shape_of(PIPE_1F1B, 1, 1, 3));
  for (int32_t i = 0; i < 6; i++) {
    CHECK_INT(pipeline->stages[0].steps[i].action, i % 2 ? PIPE_BACKWARD : PIPE_FORWARD);
    CHECK_INT(pipeline->stages[0].steps[i].microbatch, i / 2);
  }
  CHECK_INT(pipeline->bubble_ticks, 0);
  CHECK_INT(pipeline->stages[0].exchanges.count, 0);
  arena_free(arena);
}

static int64_t enough(PipeKind kind, int32_t stages, int32_t chunks, double most) {
  return pipeline_microbatches_for(&(PipeShape){kind, stages, chunks, 1, {1, 1, 1}}, most);
}

static void check_enough(PipeKind kind, int32_t p) {
  static const PipeCosts costs[] = {{1, 1, 1}, {2, 3, 1}, {3, 4, 2}};
  static const double shares[] = {0.2, 0.1, 0.05};
  int32_t chunks = pipe_rules[kind].chunks == 1 ? 1 : 2;
  for (int i = 0; i < 9; i++) {
    Arena *arena = arena_new();
    PipeShape shape = {kind, p, chunks, 1, costs[i % 3]};
    shape.microbatches = (int32_t)pipeline_microbatches_for(&shape, shares[i / 3]);
    double idle = pipeline_bubble_share(pipeline_make(arena, shape));
    if (shape.microbatches >= p) /* with fewer zb-h1 has nothing to fill up with */
      CHECK(idle <= shares[i / 3] + 1e-9);
    CHECK_NEAR(pipeline_idle_share(&shape), idle, 1e-9);
    shape.microbatches -= pipeline_group(kind, p);
    if (shape.microbatches >= pipeline_least(kind, p))
      CHECK(pipeline_bubble_share(pipeline_make(arena, shape)) > shares[i / 3]);
    arena_free(arena);
  }
}

int main(void) {
  TEST("the bubble is (p-1)(F+B), a v-th of it, (p-1)(F+B-W), or (p-1) max(B, 2(B-W)) / 2")
  for (int32_t p = 2; p <= 8; p *= 2)
    for (int32_t m = p; m <= 4 * p; m *= 2)
      check_bubbles(p, m);
  TEST("in flight: m, min(m, p-i), 2(p-i-1)+(v-1)p+1 chunks; zb-h1 keeps at most p")
  for (int32_t p = 2; p <= 8; p *= 2)
    for (int32_t m = 1; m <= 4 * p; m++)
      check_in_flight(p, m);
  TEST("folded: idle only for the first forward to come and the last gradient to go")
  for (int32_t p = 2; p <= 16; p *= 2)
    for (int32_t m = 2 * p - 1; m <= 4 * p; m++)
      check_folded(p, m);
  TEST("senders that wait for receivers hardly lengthen the step")
  for (int32_t p = 2; p <= 8; p *= 2)
    for (int32_t m = p; m <= 4 * p; m *= 2)
      check_meetings(p, m);
  TEST("shares of 4 stages: 75 %, 37.5 %, 9.1 %; a naive pipeline uses 25 %") {
    for (int kind = PIPE_GPIPE; kind <= PIPE_1F1B; kind++) {
      CHECK_NEAR(share((PipeKind)kind, 4, 1), 0.75, 1e-12);
      CHECK_NEAR(share((PipeKind)kind, 4, 5), 0.375, 1e-12);
      CHECK_NEAR(share((PipeKind)kind, 4, 30), 0.0909, 1e-4);
    }
    CHECK_NEAR(1 - share(PIPE_GPIPE, 4, 1), 0.25, 1e-12);
  }
  TEST("micro-batches for a bubble of 20, 10 and 6 %") {
    CHECK_INT(enough(PIPE_1F1B, 8, 1, 0.20), 28);
    CHECK_INT(enough(PIPE_GPIPE, 4, 1, 0.20), 12); /* 4 (p-1) */
    CHECK_INT(enough(PIPE_1F1B, 8, 1, 0.10), 63);
    CHECK_INT(enough(PIPE_1F1B, 4, 1, 0.10), 27);
    CHECK_INT(enough(PIPE_1F1B, 8, 1, 7.0 / 119), 112);
    CHECK_INT(enough(PIPE_1F1B, 8, 1, 0.06), 110);
    CHECK_NEAR(share(PIPE_1F1B, 8, 112), 0.06, 0.005);
    CHECK_INT(enough(PIPE_INTERLEAVED, 8, 2, 0.20), 16); /* 14 would do, but 8 must divide */
    CHECK_INT(enough(PIPE_1F1B, 1, 1, 0.10), 1);
    CHECK_INT(enough(PIPE_ZB_H1, 4, 1, 0.10), 9); /* a third */
    CHECK_INT(enough(PIPE_ZB_V, 4, 2, 0.10), 7);  /* 2 p - 1: with fewer there is no order */
    CHECK_INT(enough(PIPE_ZB_V, 4, 2, 0.05), 10); /* a sixth of 1f1b's 57 */
  }
  TEST("so many are enough, and the next fewer are not")
  for (int kind = 0; kind < PIPE_KIND_COUNT; kind++)
    for (int32_t p = 2; p <= 8; p++)
      check_enough((PipeKind)kind, p);
  TEST("one stage computes forward and backward in turn and exchanges nothing")
  check_one_stage();
  TEST("every micro-batch once, every transfer twice, and no deadlock at any speeds") {
    srand(1);
    for (int i = 0; i < 400; i++)
      check_random();
  }
  CHECK_DONE();
}
