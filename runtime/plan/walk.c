/* walk.c -- the order of calls; loops are few, do not nest, and are listed in order. */
#include "runtime/plan/walk.h"

#include "runtime/plan/plan_loops.h"

bool walk_calls(const Plan *plan, const PlanProgram *program, WalkVisit *visit, void *context,
                Status *status) {
  Position at = {.program = program};
  for (uint32_t first = 0; first < program->calls_count; first = at.end) {
    at.loop = plan_loop_of(plan, program, first);
    at.end = first + (at.loop ? at.loop->call_count : 1);
    uint32_t times = at.loop ? at.loop->times : 1;
    for (at.iteration = 0; at.iteration < times; at.iteration++)
      for (at.call_number = first; at.call_number < at.end; at.call_number++, at.running++) {
        at.call = &plan->calls[program->calls_first + at.call_number];
        int64_t grown = at.loop ? (int64_t)at.iteration * at.loop->microbatch_stride : 0;
        at.microbatch = at.call->microbatch + grown;
        if (!visit(context, &at, status)) return false;
      }
  }
  return true;
}

/* The running number of its first run. */
static uint64_t running_of(const Plan *plan, const PlanProgram *program, uint32_t call) {
  uint64_t running = call;
  for (uint32_t i = 0; i < program->loops_count; i++) {
    const PlanLoop *loop = &plan->loops[program->loops_first + i];
    if (loop->first_call + loop->call_count <= call)
      running += (uint64_t)(loop->times - 1) * loop->call_count;
  }
  return running;
}

/* A call of an earlier loop means its last iteration. */
bool walk_awaited(const Plan *plan, const Position *at, const PlanWait *wait, uint64_t *running) {
  const PlanLoop *loop = plan_loop_of(plan, at->program, wait->call);
  uint32_t iteration = loop ? loop->times - 1 : 0;
  if (loop && loop == at->loop) {
    if (wait->iteration_back > at->iteration) return false;
    iteration = at->iteration - wait->iteration_back;
  }
  *running = running_of(plan, at->program, wait->call);
  if (loop) *running += (uint64_t)iteration * loop->call_count;
  return true;
}

uint64_t walk_last(const Plan *plan, const PlanProgram *program, uint32_t call) {
  const PlanLoop *loop = plan_loop_of(plan, program, call);
  uint64_t running = running_of(plan, program, call);
  return loop ? running + (uint64_t)(loop->times - 1) * loop->call_count : running;
}
