/* offload.c -- what lies in host memory, and what copies to and from it cost a step. */
#include "compiler/plan/simulate/simulate.h"
#include "compiler/show/explain/words.h"
#include "runtime/plan/plan_loops.h"

static bool is_offload(const Plan *plan, const PlanRecord *record) {
  return plan_is_copy(record) || plan_is_host_lane(plan, record->lane);
}

/* Bytes that a step of the class copies on each lane. */
static void add_copied(const Plan *plan, const PlanProgram *program, double bytes[PLAN_LANES_MAX]) {
  for (uint32_t i = 0; i < program->calls_count; i++) {
    const PlanCall *call = &plan->calls[program->calls_first + i];
    const PlanSegment *segment = &plan->segments[call->segment];
    const double times = plan_call_times(plan, program, i);
    for (uint32_t r = 0; r < segment->records_count; r++) {
      const PlanRecord *record = &plan->records[segment->records_first + r];
      if (plan_is_copy(record) && record->lane != plan_main_lane(plan) && plan_runs(call, record))
        bytes[record->lane] += times * (double)plan->operands[record->operands_first].size_bytes;
    }
  }
}

static int64_t longest(Arena *arena, const Plan *plan, const LaneTimes **times, uint32_t *class) {
  *times = simulate(arena, plan, PROGRAM_TRAIN_STEP);
  *class = 0;
  for (uint32_t c = 1; c < plan->classes_count; c++)
    if ((*times)[c].span_ns > (*times)[*class].span_ns) *class = c;
  return (*times)[*class].span_ns;
}

OffloadTimes offload_times(const Compiled *compiled) {
  Arena *arena = compiled->draft->compile->arena;
  const Plan *plan = &compiled->plan;
  OffloadTimes out = {0};
  const LaneTimes *times;
  uint32_t class, unused;
  if (!draft_offloads(compiled->draft)) return out;
  const int64_t span_ns = longest(arena, plan, &times, &class);
  Plan without = *plan;
  PlanRecord *records = ARENA_ARRAY(arena, PlanRecord, plan->records_count);
  for (uint32_t i = 0; i < plan->records_count; i++) {
    records[i] = plan->records[i];
    if (is_offload(plan, &records[i])) records[i].predicted_ns = 0;
  }
  without.records = records;
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++)
    out.busy_ns[lane] = times[class].busy_ns[lane];
  add_copied(plan, find_peak(compiled, class).program, out.copied_bytes);
  out.exposed_ns = span_ns - longest(arena, &without, &times, &unused);
  out.span_ns = span_ns;
  return out;
}

/* Where updates of states in host memory run, and why. */
static void explain_update(const Compiled *compiled, FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  const bool is_here = compiled->draft->updates_here;
  if (compiled->host_step_ns == 0) {
    if (is_here) put_line(out, "", "updates on the device, to which states stream: offload.update");
    return;
  }
  put_line(out, "",
           arena_printf(arena, "updates on the %s: a step of %s, %s with updates on the %s",
                        is_here ? "device" : "host",
                        duration_text(compiled, (double)(is_here ? compiled->device_step_ns
                                                                 : compiled->host_step_ns) *
                                                    1e-9),
                        duration_text(compiled, (double)(is_here ? compiled->host_step_ns
                                                                 : compiled->device_step_ns) *
                                                    1e-9),
                        is_here ? "host" : "device"));
}

/* True if a step runs anything on the lane. */
static bool is_used(const Plan *plan, const PlanProgram *program, uint32_t lane) {
  for (uint32_t i = 0; i < program->calls_count; i++) {
    const PlanCall *call = &plan->calls[program->calls_first + i];
    const PlanSegment *segment = &plan->segments[call->segment];
    for (uint32_t r = 0; r < segment->records_count; r++) {
      const PlanRecord *record = &plan->records[segment->records_first + r];
      if (record->lane == lane && plan_runs(call, record)) return true;
    }
  }
  return false;
}

void explain_offload(const Compiled *compiled, FILE *out) {
  Arena *arena = compiled->draft->compile->arena;
  const Plan *plan = &compiled->plan;
  const OffloadTimes times = offload_times(compiled);
  const char *text = "";
  int64_t known_ns = 0;
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    const bool is_copied = times.copied_bytes[lane] > 0;
    if (!is_copied &&
        (!plan_is_host_lane(plan, lane) || !is_used(plan, find_peak(compiled, 0).program, lane)))
      continue;
    known_ns += times.busy_ns[lane];
    text =
        arena_printf(arena, "%s%s%s", text, *text == '\0' ? "" : ", ", plan_lane_name(plan, lane));
    if (is_copied)
      text = arena_printf(arena, "%s %s", text,
                          bytes_text(compiled, (int64_t)times.copied_bytes[lane]));
    if (times.busy_ns[lane] > 0)
      text = arena_printf(arena, "%s in %s", text,
                          duration_text(compiled, (double)times.busy_ns[lane] * 1e-9));
  }
  if (*text == '\0') return;
  put_line(out, "offload", arena_printf(arena, "a step: %s", text));
  if (known_ns == 0) {
    explain_update(compiled, out);
    return;
  }
  put_line(out, "",
           arena_printf(arena, "%s of it exposed, %.0f %% of the step",
                        duration_text(compiled, (double)times.exposed_ns * 1e-9),
                        100 * (double)times.exposed_ns / (double)times.span_ns));
  explain_update(compiled, out);
}

void explain_offload_json(const Compiled *compiled, FILE *out) {
  const Plan *plan = &compiled->plan;
  const OffloadTimes times = offload_times(compiled);
  const char *comma = "";
  if (!draft_offloads(compiled->draft)) return;
  fprintf(out, "\"offload\":{\"exposed_ns\":%lld,\"update\":\"%s\",", (long long)times.exposed_ns,
          compiled->draft->updates_here ? "device" : "host");
  if (compiled->host_step_ns > 0)
    fprintf(out, "\"host_step_ns\":%lld,\"device_step_ns\":%lld,",
            (long long)compiled->host_step_ns, (long long)compiled->device_step_ns);
  fprintf(out, "\"lanes\":[");
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    if (times.copied_bytes[lane] == 0 && !plan_is_host_lane(plan, lane)) continue;
    fprintf(out, "%s{\"lane\":\"%s\",\"copied_bytes\":%.0f,\"busy_ns\":%lld}", comma,
            plan_lane_name(plan, lane), times.copied_bytes[lane], (long long)times.busy_ns[lane]);
    comma = ",";
  }
  fprintf(out, "]},\n ");
}
