/* offload.c -- tensors in host memory, and the time that copies to and from it cost a step. */
#include "compiler/plan/simulate/simulate.h"
#include "compiler/show/explain/words.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_segment.h"

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

/* Predicts the step of the plan with `times` as many tokens in each micro-batch: computing and
 * what forward keeps grow, weights, gradients and states do not. `offloads`: else copies and
 * updates on the host take no time. */
static int64_t scaled_ns(Arena *arena, const Plan *plan, int64_t times, bool offloads) {
  Plan scaled = *plan;
  PlanRecord *records = ARENA_ARRAY(arena, PlanRecord, plan->records_count);
  const LaneTimes *lanes;
  uint32_t class;
  for (uint32_t s = 0; s < plan->segments_count; s++) {
    const bool is_kept = plan_segment_kind(plan, &plan->segments[s]) == SEGMENT_KEPT;
    for (uint32_t i = 0; i < plan->segments[s].records_count; i++) {
      const uint32_t r = plan->segments[s].records_first + i;
      const PlanRecord *record = &plan->records[r];
      const bool grows =
          is_kept || (record->purpose != PURPOSE_UPDATE && !plan_is_offload(plan, record));
      records[r] = *record;
      if (grows) records[r].predicted_ns = record->predicted_ns * times;
      if (!offloads && plan_is_offload(plan, record)) records[r].predicted_ns = 0;
    }
  }
  scaled.records = records;
  return longest(arena, &scaled, &lanes, &class);
}

/* The fewest tokens of a step, by doubling, of which less than a hundredth is exposed. */
static double hidden_tokens(const Compiled *compiled) {
  enum { TIMES_MOST = 64 };
  Arena *arena = compiled->draft->compile->arena;
  const double tokens =
      (double)compiled->derived.batch_samples * (double)compiled->derived.sample_tokens;
  for (int64_t times = 1; times <= TIMES_MOST; times *= 2) {
    const int64_t with = scaled_ns(arena, &compiled->plan, times, true);
    const int64_t without = scaled_ns(arena, &compiled->plan, times, false);
    if ((double)(with - without) < 0.01 * (double)with) return (double)times * tokens;
  }
  return 0;
}

static bool has_copies(const Plan *plan) {
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan_is_offload(plan, &plan->records[i])) return true;
  return false;
}

int64_t offload_exposed_ns(const Compiled *compiled) {
  Arena *arena = compiled->draft->compile->arena;
  const LaneTimes *times;
  uint32_t class;
  if (!has_copies(&compiled->plan)) return 0;
  return longest(arena, &compiled->plan, &times, &class) -
         scaled_ns(arena, &compiled->plan, 1, false);
}

OffloadTimes offload_times(const Compiled *compiled) {
  Arena *arena = compiled->draft->compile->arena;
  const Plan *plan = &compiled->plan;
  OffloadTimes out = {0};
  const LaneTimes *times;
  uint32_t class;
  if (!draft_offloads(compiled->draft)) return out;
  out.span_ns = longest(arena, plan, &times, &class);
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    out.busy_ns[lane] = times[class].busy_ns[lane];
    if (out.busy_ns[lane] > out.busy_ns[out.bound]) out.bound = lane;
  }
  add_copied(plan, find_peak(compiled, class).program, out.copied_bytes);
  out.exposed_ns = out.span_ns - scaled_ns(arena, plan, 1, false);
  out.hidden_tokens = hidden_tokens(compiled);
  return out;
}

/* Prints on which side updates of states in host memory run, and why. */
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

/* Says how many tokens a step would hide the copies; 0: no number that was tried does. */
static const char *hidden_text(const Compiled *compiled, double tokens) {
  const double now =
      (double)compiled->derived.batch_samples * (double)compiled->derived.sample_tokens;
  if (tokens == 0) return "64 times the tokens a micro-batch would not hide it";
  if (tokens <= now) return "all is hidden";
  return arena_printf(compiled->draft->compile->arena,
                      "hidden with %.0f times the tokens a micro-batch, %s a step", tokens / now,
                      count_text(compiled, (int64_t)tokens));
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
  const Cluster *cluster = &compiled->cluster;
  if (cluster->link_share < 1 && cluster->host_link_bytes_per_s > 0)
    put_line(out, "",
             arena_printf(arena, "PCIe switches are shared: a device has %.0f %% of its link",
                          100 * cluster->link_share));
  put_line(out, "",
           arena_printf(arena, "lane %s works longest; %s", plan_lane_name(plan, times.bound),
                        hidden_text(compiled, times.hidden_tokens)));
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
  fprintf(out, "\"longest_lane\":\"%s\",\"hidden_tokens\":%.0f,\"lanes\":[",
          plan_lane_name(plan, times.bound), times.hidden_tokens);
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    if (times.copied_bytes[lane] == 0 && !plan_is_host_lane(plan, lane)) continue;
    fprintf(out, "%s{\"lane\":\"%s\",\"copied_bytes\":%.0f,\"busy_ns\":%lld}", comma,
            plan_lane_name(plan, lane), times.copied_bytes[lane], (long long)times.busy_ns[lane]);
    comma = ",";
  }
  fprintf(out, "]},\n ");
}
