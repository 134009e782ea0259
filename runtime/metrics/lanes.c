#include "runtime/metrics/lanes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/observe/steplog.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_segment.h"

enum { LINE_BYTES = 240 };

/* The work of a step on each lane, by the plan. */
typedef struct Planned {
  double predicted_ns[PLAN_LANES_MAX];
  double bytes[PLAN_LANES_MAX], grown_bytes[PLAN_LANES_MAX];
  bool is_used[PLAN_LANES_MAX];
} Planned;

static void add_record(const Plan *plan, const PlanSegment *segment, const PlanRecord *record,
                       double times, Planned *to) {
  const PlanOperand *operand = &plan->operands[record->operands_first];
  to->is_used[record->lane] = true;
  to->predicted_ns[record->lane] += times * (double)record->predicted_ns;
  if (!plan_is_copy(record)) return;
  const double bytes = times * (double)operand->size_bytes;
  to->bytes[record->lane] += bytes;
  if (plan_segment_kind(plan, segment) == SEGMENT_KEPT) to->grown_bytes[record->lane] += bytes;
}

static bool plan_lanes(const Plan *plan, const PlanProgram *program, Planned *to, Status *status) {
  int64_t *times = calloc(plan->records_count + 1, sizeof *times);
  *to = (Planned){0};
  if (times == NULL || !steplog_count(plan, program, times, status)) {
    free(times);
    return status_fail(status, STATUS_WORLD, "not enough memory to compare lanes");
  }
  for (uint32_t s = 0; s < plan->segments_count; s++)
    for (uint32_t i = 0; i < plan->segments[s].records_count; i++) {
      const uint32_t r = plan->segments[s].records_first + i;
      if (times[r] > 0)
        add_record(plan, &plan->segments[s], &plan->records[r], (double)times[r], to);
    }
  free(times);
  return true;
}

/* Computing and what forward keeps grow with the tokens of a micro-batch, the rest does not. */
static double more_tokens(const LaneFacts *lane, double compute_ms) {
  const double fixed_ms = lane->busy_ms * (1 - lane->grows);
  const double left_ms = compute_ms - lane->busy_ms * lane->grows;
  if (compute_ms <= 0 || left_ms <= 0) return 0;
  return fixed_ms <= left_ms ? 1 : ceil(fixed_ms / left_ms);
}

/* Reports a disk that takes twice the predicted time while a tenth of the step waits for it. */
static void judge_disk(const Plan *plan, OffloadFacts *facts) {
  static const double late = 2, waits = 0.1;
  const uint32_t tier = plan_tier(plan, TIER_FILE);
  if (tier == PLAN_NONE) return;
  facts->disk = plan_string(plan, plan->tiers[tier].path);
  for (int32_t i = 0; i < facts->count; i++) {
    const LaneFacts *lane = &facts->lane[i];
    if (strcmp(lane->name, "file") != 0) continue;
    facts->disk_ms = lane->busy_ms, facts->disk_predicted_ms = lane->predicted_ms;
    facts->disk_is_slow = lane->predicted_ms > 0 && lane->busy_ms > late * lane->predicted_ms &&
                          facts->compute_ms > 0 &&
                          facts->step_ms - facts->compute_ms > waits * facts->step_ms;
  }
}

bool offload_facts(const Plan *plan, const PlanProgram *program, const LaneTimesOf *times,
                   OffloadFacts *facts, Status *status) {
  Planned planned;
  const double steps_ns = 1e6 * (double)(times->steps > 0 ? times->steps : 1);
  *facts = (OffloadFacts){.rank = times->rank};
  if (program == NULL || times->steps == 0) return true;
  if (!plan_lanes(plan, program, &planned, status)) return false;
  for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
    if (!plan_is_offload_lane(plan, lane) || !planned.is_used[lane]) continue;
    if (times->busy_ns[lane] == 0) continue; /* copies of GPUs are not timed */
    LaneFacts *to = &facts->lane[facts->count];
    *to =
        (LaneFacts){plan_lane_name(plan, lane), (double)times->busy_ns[lane] / steps_ns,
                    planned.predicted_ns[lane] * 1e-6,
                    planned.bytes[lane] > 0 ? planned.grown_bytes[lane] / planned.bytes[lane] : 0};
    if (to->busy_ms > facts->lane[facts->longest].busy_ms) facts->longest = facts->count;
    facts->count++;
  }
  if (facts->count == 0) return true;
  facts->step_ms = (double)times->steps_ns / steps_ns;
  facts->step_predicted_ms = (double)program->predicted_ns * 1e-6;
  facts->shares_cores = job_target(plan) == TARGET_CPU;
  facts->tokens = (double)job_batch_samples(plan) * (double)job_sample_tokens(plan);
  if (!times->computes) return true;
  facts->compute_ms = (double)times->busy_ns[plan_main_lane(plan)] / steps_ns;
  facts->more_tokens = more_tokens(&facts->lane[facts->longest], facts->compute_ms);
  judge_disk(plan, facts);
  return true;
}

/* ---- as text */

/* The time alone is no prediction of a lane that shares cores: that of the whole step is one. */
static size_t add_lane(const OffloadFacts *facts, const LaneFacts *lane, char *line, size_t used) {
  char predicted[48] = "";
  if (lane->predicted_ms > 0)
    (void)snprintf(predicted, sizeof predicted, " (%.3g %s)", lane->predicted_ms,
                   facts->shares_cores ? "alone" : "predicted");
  (void)snprintf(line + used, LINE_BYTES - used, "%s%s %.3g ms%s", used > 9 ? ", " : "", lane->name,
                 lane->busy_ms, predicted);
  return strlen(line);
}

void offload_tell(const OffloadFacts *facts, void (*say)(void *context, const char *line),
                  void *context) {
  enum { COLUMNS = 80 };
  char line[LINE_BYTES] = "offload  ", next[LINE_BYTES], tokens[QUANTITY_BYTES], step[96];
  if (facts->step_ms <= 0) return;
  size_t length = (size_t)snprintf(step, sizeof step, "%.3g ms", facts->step_ms);
  if (facts->step_predicted_ms > 0)
    (void)snprintf(step + length, sizeof step - length, " (%.3g predicted)",
                   facts->step_predicted_ms);
  for (int32_t i = 0; i < facts->count; i++) {
    memcpy(next, line, sizeof next);
    size_t used = add_lane(facts, &facts->lane[i], next, strlen(next));
    if (used > COLUMNS) {
      say(context, line);
      memcpy(next, "         ", 10);
      (void)add_lane(facts, &facts->lane[i], next, strlen(next));
    }
    memcpy(line, next, sizeof line);
  }
  say(context, line);
  const char *longest = facts->lane[facts->longest].name;
  if (facts->compute_ms <= 0) {
    (void)snprintf(line, sizeof line, "         a step takes %s; lane %s works longest", step,
                   longest);
    say(context, line);
    return;
  }
  const double idle_ms = facts->step_ms - facts->compute_ms;
  (void)snprintf(line, sizeof line,
                 "         of %s a step, kernels take %.3g ms, wait %.3g (%.0f %%)", step,
                 facts->compute_ms, idle_ms > 0 ? idle_ms : 0,
                 100 * (idle_ms > 0 ? idle_ms : 0) / facts->step_ms);
  say(context, line);
  (void)text_count(tokens, facts->more_tokens * facts->tokens);
  (void)text_squeeze(tokens);
  if (facts->more_tokens == 1)
    (void)snprintf(line, sizeof line, "         lane %s works longest, less than the kernels",
                   longest);
  else if (facts->more_tokens > 1)
    (void)snprintf(line, sizeof line,
                   "         lane %s works longest: as long as kernels of %s tokens a step",
                   longest, tokens);
  else
    (void)snprintf(line, sizeof line, "         lane %s works longest; more tokens do not hide it",
                   longest);
  say(context, line);
}

void offload_json(const OffloadFacts *facts, Text *text) {
  if (facts == NULL || facts->step_ms <= 0) {
    text_add(text, ",\"offload\":null");
    return;
  }
  text_add(text, ",\"offload\":{\"rank\":%d,\"step_ms\":%.6f", facts->rank, facts->step_ms);
  if (facts->step_predicted_ms > 0)
    text_add(text, ",\"step_predicted_ms\":%.6f", facts->step_predicted_ms);
  if (facts->compute_ms > 0)
    text_add(text, ",\"kernels_ms\":%.6f", facts->compute_ms);
  else
    text_add(text, ",\"kernels_ms\":null");
  text_add(text, ",\"longest_lane\":\"%s\",\"hidden_tokens\":%.0f,\"lanes\":[",
           facts->lane[facts->longest].name, facts->more_tokens * facts->tokens);
  for (int32_t i = 0; i < facts->count; i++)
    text_add(text, "%s{\"lane\":\"%s\",\"busy_ms\":%.6f,\"alone_ms\":%.6f}", i > 0 ? "," : "",
             facts->lane[i].name, facts->lane[i].busy_ms, facts->lane[i].predicted_ms);
  text_add(text, "]}");
}
