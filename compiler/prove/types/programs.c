/* programs.c -- the calls of a program in order; loops by induction. */
#include "compiler/prove/types/programs.h"

#include <stdlib.h>
#include <string.h>

static bool flags_fit(const Typing *t) {
  int64_t microbatch = t->walk.microbatch;
  uint32_t flags = t->walk.call->flags;
  if (microbatch < 0) return (flags & (CALL_FIRST_MICROBATCH | CALL_LAST_MICROBATCH)) == 0;
  return ((flags & CALL_FIRST_MICROBATCH) != 0) == (microbatch == 0) &&
         ((flags & CALL_LAST_MICROBATCH) != 0) == (microbatch == t->microbatches - 1) &&
         microbatch < t->microbatches;
}

/* A buffer whose life begins holds nothing. */
static void begin_lives(const Typing *t, const BufferOrder *births, Held *held) {
  for (uint32_t i = births->first[t->walk.position]; i < births->first[t->walk.position + 1]; i++) {
    uint32_t buffer = births->buffer[i] - t->view->class->buffers_first;
    for (uint32_t k = t->cells.first[buffer]; k < t->cells.first[buffer + 1]; k++)
      held[k] = (Held){0};
  }
}

static void run_one(Typing *t, Effects *effects, const BufferOrder *births, uint32_t position,
                    int64_t added, Held *held) {
  Walk *walk = &t->walk;
  walk->position = position;
  walk->call = &t->plan->calls[walk->program->calls_first + position];
  walk->segment = &t->plan->segments[walk->call->segment];
  int64_t number = walk->call->microbatch < 0 ? -1 : walk->call->microbatch + added;
  walk->microbatch = (int32_t)number;
  t->added = added;
  begin_lives(t, births, held);
  if (!flags_fit(t))
    refuse(t, "its flags are not those of micro-batch %d of %lld", walk->microbatch,
           (long long)t->microbatches);
  else
    run_call(t, effects, held);
}

static void run_body(Typing *t, Effects *effects, const BufferOrder *births, const PlanLoop *loop,
                     uint32_t iteration, Held *held) {
  t->walk.iteration = iteration > 0;
  for (uint32_t i = 0; i < loop->call_count && !t->refused; i++)
    run_one(t, effects, births, loop->first_call + i, (int64_t)iteration * loop->microbatch_stride,
            held);
}

/* Whether an iteration left what the one before had left, its micro-batches counted on. */
static bool moved_on(const Held *before, const Held *after, uint32_t count, uint32_t stride) {
  for (uint32_t i = 0; i < count; i++)
    if (before[i].content != after[i].content || before[i].layer != after[i].layer ||
        (after[i].content != 0 && after[i].microbatch != before[i].microbatch &&
         after[i].microbatch != before[i].microbatch + (int32_t)stride))
      return false;
  return true;
}

/* What the iterations left out would do: the same again, of later micro-batches. */
static void skip_iterations(Held *before, Held *held, uint32_t count, uint32_t left) {
  for (uint32_t i = 0; i < count; i++)
    held[i].microbatch += (held[i].microbatch - before[i].microbatch) * (int32_t)left;
}

static void run_loop(Typing *t, Effects *effects, const BufferOrder *births, const PlanLoop *loop,
                     Held *held) {
  uint32_t count = t->cells.count;
  Held *before = prove_array(t->view, count, sizeof *before);
  for (uint32_t i = 0; i < loop->times && before != NULL && !t->refused; i++) {
    memcpy(before, held, count * sizeof *before);
    run_body(t, effects, births, loop, i, held);
    if (i == 0 || i + 1 == loop->times || !moved_on(before, held, count, loop->microbatch_stride))
      continue;
    skip_iterations(before, held, count, loop->times - i - 1);
    break;
  }
  t->walk.iteration = 0;
  free(before);
}

void run_program(Typing *t, Effects *effects, const PlanProgram *program, Held *held) {
  BufferOrder births = order_buffers(t->view, program, true);
  t->walk = (Walk){.view = t->view, .program = program};
  t->made = 0;
  uint32_t next = 0;
  for (uint32_t i = 0; i < program->calls_count && births.buffer != NULL && !t->refused;) {
    const PlanLoop *loop = &t->plan->loops[program->loops_first + next];
    if (next < program->loops_count && loop->first_call == i) {
      run_loop(t, effects, &births, loop, held);
      i += loop->call_count;
      next++;
    } else {
      run_one(t, effects, &births, i++, 0, held);
    }
  }
  t->walk.call = NULL;
  free(births.buffer);
}
