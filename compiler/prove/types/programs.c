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
static void begin_lives(const Typing *t, const BufferOrder *births) {
  for (uint32_t i = births->first[t->walk.position]; i < births->first[t->walk.position + 1]; i++)
    t->held[cell_of_buffer(t->view, &t->cells, births->buffer[i])] = (Held){0};
}

static void run_one(Typing *t, const BufferOrder *births, uint32_t position, int64_t added) {
  Walk *walk = &t->walk;
  walk->position = position;
  walk->call = &t->plan->calls[walk->program->calls_first + position];
  walk->segment = &t->plan->segments[walk->call->segment];
  walk->microbatch = walk->call->microbatch < 0 ? -1 : (int32_t)(walk->call->microbatch + added);
  t->added = added;
  begin_lives(t, births);
  if (flags_fit(t))
    run_call(t);
  else
    refuse(t, "its flags are not those of micro-batch %d of %lld", walk->microbatch,
           (long long)t->microbatches);
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

/* Once an iteration has done what the one before did, those that are left would do the same again,
 * of later micro-batches. */
static void run_loop(Typing *t, const BufferOrder *births, const PlanLoop *loop) {
  const uint32_t count = t->cells.count;
  Held *before = prove_array(t->view, count, sizeof *before);
  for (uint32_t i = 0; i < loop->times && before != NULL && !t->refused; i++) {
    memcpy(before, t->held, count * sizeof *before);
    t->walk.iteration = i > 0;
    for (uint32_t k = 0; k < loop->call_count && !t->refused; k++)
      run_one(t, births, loop->first_call + k, (int64_t)i * loop->microbatch_stride);
    if (i == 0 || i + 1 == loop->times ||
        !moved_on(before, t->held, count, loop->microbatch_stride))
      continue;
    for (uint32_t cell = 0; cell < count; cell++)
      t->held[cell].microbatch +=
          (t->held[cell].microbatch - before[cell].microbatch) * (int32_t)(loop->times - i - 1);
    break;
  }
  t->refused = t->refused || before == NULL;
  t->walk.iteration = 0;
  free(before);
}

void run_program(Typing *t, const PlanProgram *program, Held *held) {
  BufferOrder births = order_buffers(t->view, program, true);
  t->walk = (Walk){.view = t->view, .program = program};
  t->held = held;
  t->made = 0;
  uint32_t next = 0;
  for (uint32_t i = 0; i < program->calls_count && births.buffer != NULL && !t->refused;) {
    const PlanLoop *loop = &t->plan->loops[program->loops_first + next];
    if (next < program->loops_count && loop->first_call == i) {
      run_loop(t, &births, loop);
      i += loop->call_count;
      next++;
    } else {
      run_one(t, &births, i++, 0);
    }
  }
  t->walk.call = NULL;
  free(births.buffer);
}
