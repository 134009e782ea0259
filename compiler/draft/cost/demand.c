#include "compiler/draft/cost/demand.h"

#include "runtime/plan/plan_loops.h"

enum { FLAG_SETS = 1 << CALL_FLAGS_BITS };

/* Calls of a segment with equal flags run the same records: they are counted first. */
void count_records(Arena *arena, const Plan *plan, const PlanProgram *program, int64_t *times) {
  int64_t *calls = ARENA_ARRAY(arena, int64_t, (size_t)plan->segments_count * FLAG_SETS + 1);
  for (uint32_t c = 0; c < program->calls_count; c++) {
    const PlanCall *call = &plan->calls[program->calls_first + c];
    calls[(size_t)call->segment * FLAG_SETS + call->flags] += plan_call_times(plan, program, c);
  }
  for (uint32_t s = 0; s < plan->segments_count; s++)
    for (uint32_t flags = 0; flags < FLAG_SETS; flags++) {
      int64_t repeated = calls[(size_t)s * FLAG_SETS + flags];
      const PlanSegment *segment = &plan->segments[s];
      for (uint32_t i = 0; repeated > 0 && i < segment->records_count; i++) {
        const PlanRecord *record = &plan->records[segment->records_first + i];
        if (plan_when(record->when_all, record->when_none, flags))
          times[segment->records_first + i] += repeated;
      }
    }
}

void demand_add(Demand *demand, const Traffic *traffic, int64_t times) {
  double n = (double)times;
  bool is_pairwise = traffic_is_pairwise(traffic);
  *(is_pairwise ? &demand->pair_bytes : &demand->ring_bytes) += n * traffic_bytes(traffic);
  demand->members = traffic->members;
  if (is_pairwise)
    demand->pair_messages += n * traffic_messages(traffic);
  else
    *(traffic->kind == RECORD_ALL_REDUCE ? &demand->sum_passes : &demand->ring_passes) +=
        n * traffic_passes(traffic);
}

Demands demands_of(Arena *arena, const Plan *plan) {
  VEC(Demand) all = {0};
  for (uint32_t class = 0; class < plan->classes_count; class ++) {
    const PlanProgram *program = plan_program(plan, &plan->classes[class], plan_purpose(plan));
    int64_t *times = ARENA_ARRAY(arena, int64_t, plan->records_count + 1);
    int32_t first = all.count;
    if (program != NULL) count_records(arena, plan, program, times);
    for (uint32_t r = 0; r < plan->records_count; r++) {
      const PlanRecord *record = &plan->records[r];
      if (times[r] == 0 || !plan_is_communication(record)) continue;
      uint32_t axes = plan->comms[record->comm].axes_mask;
      int32_t at = first;
      while (at < all.count && all.at[at].axes != axes)
        at++;
      if (at == all.count) VEC_PUSH(arena, &all, (Demand){.axes = axes, .stage = (int32_t) class});
      const Traffic traffic = traffic_of(plan, record);
      demand_add(&all.at[at], &traffic, times[r]);
    }
  }
  return (Demands){all.at, all.count, (int32_t)plan->classes_count};
}
