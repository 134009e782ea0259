/* orders.c -- the steps of one stage, in order, as each row of pipelines.def names it. */
#include "compiler/job/pipelines/orders.h"

/* ---- a number of forwards ahead, then forward and backward alternate
 *
 * zb-h1 is 1f1b in which stage i computes the weight gradients of a micro-batch after the input
 * gradients of the i-th micro-batch after it: (p-i) + i = p micro-batches are kept on every stage,
 * and the deferred work fills the end, when no forwards are left. */

static int32_t forwards_ahead(const PipeShape *shape, int32_t stage) {
  int32_t all = shape->microbatches * shape->chunks, left = shape->stages - stage - 1;
  int32_t ahead = shape->kind == PIPE_GPIPE         ? all
                  : shape->kind == PIPE_INTERLEAVED ? 2 * left + (shape->chunks - 1) * shape->stages
                                                    : left;
  return ahead < all ? ahead : all;
}

/* The k-th forward or backward of a stage: `stages` micro-batches go through one chunk, then
 * through the next. */
static PipeStep kth_step(const PipeShape *shape, PipeAction action, int32_t k) {
  int32_t group = shape->stages * shape->chunks;
  int32_t chunk = shape->chunks == 1 ? 0 : k % group / shape->stages;
  int32_t microbatch = shape->chunks == 1 ? k : k / group * shape->stages + k % shape->stages;
  if (action == PIPE_BACKWARD) chunk = shape->chunks - 1 - chunk;
  return (PipeStep){action, chunk, microbatch, 0};
}

void order_in_turn(const PipeShape *shape, int32_t stage, PipeStage *out) {
  int32_t all = shape->microbatches * shape->chunks, ahead = forwards_ahead(shape, stage);
  for (int32_t k = 0; k < all + ahead; k++) {
    if (k < all) out->steps[out->step_count++] = kth_step(shape, PIPE_FORWARD, k);
    if (k < ahead) continue;
    out->steps[out->step_count++] = kth_step(shape, PIPE_BACKWARD, k - ahead);
    if (pipe_rules[shape->kind].is_split && k - ahead >= stage)
      out->steps[out->step_count++] = kth_step(shape, PIPE_WEIGHT, k - ahead - stage);
  }
  for (int32_t k = stage < all ? all - stage : 0; pipe_rules[shape->kind].is_split && k < all; k++)
    out->steps[out->step_count++] = kth_step(shape, PIPE_WEIGHT, k);
}

/* ---- two chunks a stage, the second on the way back
 *
 * zb-v: the first stage has both ends of the model, and the last hands its first chunk's output to
 * its second in memory. A stage begins with as many forwards as reach the end and come back, runs
 * forward, backward and weight gradients of both chunks in turn, and lets weight gradients of the
 * last micro-batches wait for what other stages need. At no time do more than 2p chunks wait for
 * their weight gradients, on any stage: p micro-batches, as 1f1b has them on its first. If forward
 * and both parts of backward take equally long, a stage waits only for its first forward and its
 * last gradient. (arXiv:2401.10241, section 6.) */

typedef struct Turns {
  PipeStage *out;
  int32_t next[PIPE_ACTION_COUNT][2]; /* micro-batch, by chunk */
} Turns;

static void take(Turns *turns, PipeAction action, int32_t chunk) {
  turns->out->steps[turns->out->step_count++] =
      (PipeStep){action, chunk, turns->next[action][chunk]++, 0};
}

static void take_backward(Turns *turns, int32_t chunk) {
  take(turns, PIPE_BACKWARD, chunk);
  take(turns, PIPE_WEIGHT, chunk);
}

static void begin_folded(Turns *turns, int32_t stages, int32_t stage) {
  for (int32_t i = 0; i < 2 * (stages - stage) - 1; i++)
    take(turns, PIPE_FORWARD, 0);
  for (int32_t i = 0; i < stage; i++) {
    take(turns, PIPE_FORWARD, 1);
    take(turns, PIPE_FORWARD, 0);
  }
  for (int32_t i = stage; i < stages; i++) {
    take(turns, PIPE_FORWARD, 1);
    take_backward(turns, 1);
  }
}

static void end_folded(Turns *turns, int32_t stages, int32_t stage) {
  for (int32_t i = 0; i < stage; i++) {
    take(turns, PIPE_BACKWARD, 0);
    take(turns, PIPE_BACKWARD, 1);
  }
  for (int32_t i = stage; i < stages; i++)
    take_backward(turns, 0);
  for (int32_t chunk = 1; chunk >= 0; chunk--)
    while (turns->next[PIPE_WEIGHT][chunk] < turns->next[PIPE_BACKWARD][chunk])
      take(turns, PIPE_WEIGHT, chunk);
}

void order_folded(const PipeShape *shape, int32_t stage, PipeStage *out) {
  Turns turns = {.out = out};
  begin_folded(&turns, shape->stages, stage);
  while (turns.next[PIPE_FORWARD][1] < shape->microbatches) {
    if (turns.next[PIPE_FORWARD][0] < shape->microbatches) take(&turns, PIPE_FORWARD, 0);
    take_backward(&turns, 0);
    take(&turns, PIPE_FORWARD, 1);
    take_backward(&turns, 1);
  }
  end_folded(&turns, shape->stages, stage);
}
