#include "compiler/show/explain/words.h"

#include <stdlib.h>

#include "compiler/job/pipelines/pipeline.h"

bool buffer_alive(const PlanBuffer *buffer, uint32_t program, uint32_t call) {
  if (buffer->program == PLAN_NONE) return true;
  return buffer->program == program && buffer->first_call <= call && call <= buffer->last_call;
}

static void find_program(const Plan *plan, TierPeak *peak) {
  peak->program = plan_program(plan, peak->class, plan_purpose(plan));
  peak->index = (uint32_t)(peak->program - plan->programs);
}

static uint32_t fullest_call(const Plan *plan, const TierPeak *peak, Tier tier) {
  uint32_t calls = peak->program->calls_count, fullest = 0;
  int64_t *change = calloc(calls + 2, sizeof *change), live = 0, most = -1;
  if (change == NULL) abort();
  for (uint32_t i = 0; i < peak->class->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[peak->class->buffers_first + i];
    if (buffer->program != peak->index || buffer->tier != tier) continue;
    change[buffer->first_call] += (int64_t)buffer->size_bytes;
    change[buffer->last_call + 1] -= (int64_t)buffer->size_bytes;
  }
  for (uint32_t call = 0; call < calls; call++) {
    live += change[call];
    if (live > most) {
      most = live;
      fullest = call;
    }
  }
  free(change);
  return fullest;
}

/* Codes and their scales in a frame, by the quantisers of the call that its life begins with. */
static int64_t codes_in(const Plan *plan, const TierPeak *peak, const PlanBuffer *buffer) {
  enum { CODES = 1, SCALES = 2 };
  const PlanCall *call = &plan->calls[peak->program->calls_first + buffer->first_call];
  const PlanSegment *segment = &plan->segments[call->segment];
  int64_t codes_bytes = 0;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    const PlanOperand *operand = &plan->operands[record->operands_first];
    if (record->operands_count <= SCALES || !dtype_is_fp8((DType)operand[CODES].dtype)) continue;
    for (int k = CODES; k <= SCALES; k++) {
      const PlanBinding *binding = &plan->bindings[call->bindings_first + operand[k].base];
      if (operand[k].access == ACCESS_WRITE && binding->offset == buffer->offset)
        codes_bytes += (int64_t)operand[k].size_bytes;
    }
  }
  return codes_bytes;
}

/* Codes have a row beside that of the activations, which they are then no part of. */
static void count_codes(const Plan *plan, TierPeak *peak, const PlanBuffer *buffer) {
  if (buffer->kind != BUFFER_ACTIVATION || buffer->program == PLAN_NONE) return;
  const int64_t codes_bytes = codes_in(plan, peak, buffer);
  peak->by_kind[BUFFER_ACTIVATION] -= codes_bytes;
  peak->passing[BUFFER_ACTIVATION] -= codes_bytes;
  peak->by_kind[ROW_CODES] += codes_bytes;
}

TierPeak find_peak_in(const Compiled *compiled, uint32_t class, Tier tier) {
  const Plan *plan = &compiled->plan;
  TierPeak peak = {.class = &plan->classes[class]};
  find_program(plan, &peak);
  peak.call = fullest_call(plan, &peak, tier);
  peak.recorded = &plan->peaks[peak.program->peaks_first + plan_tier(plan, tier)];
  peak.arena_bytes = (int64_t)plan_arena_bytes(plan, peak.class, tier);
  for (uint32_t i = 0; i < peak.class->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[peak.class->buffers_first + i];
    if (buffer->tier != tier || !buffer_alive(buffer, peak.index, peak.call)) continue;
    peak.by_kind[buffer->kind] += (int64_t)buffer->size_bytes;
    if (buffer->program != PLAN_NONE) peak.passing[buffer->kind] += (int64_t)buffer->size_bytes;
    peak.live_bytes += (int64_t)buffer->size_bytes;
    count_codes(plan, &peak, buffer);
  }
  return peak;
}

void put_line(FILE *out, const char *head, const char *text) {
  enum { TEXT = 9, NEXT_LINES = 28 };
  fprintf(out, "%-*s", TEXT, head);
  print_wrapped(out, text, TEXT, NEXT_LINES, SCREEN_COLUMNS);
}

char *count_text(const Compiled *compiled, int64_t n) {
  return format_count(compiled->draft->compile->arena, n);
}

char *bytes_text(const Compiled *compiled, int64_t n) {
  return format_bytes(compiled->draft->compile->arena, n);
}

const char *recompute_text(const Compiled *compiled) {
  Arena *arena = compiled->draft->compile->arena;
  if (compiled->recompute.choice == CHOICE_RECOMPUTE_NONE) return "none";
  if (compiled->recompute.choice == CHOICE_RECOMPUTE_SELECTIVE) return "selective";
  if (compiled->recompute.group_layers <= 1) return "every block";
  return arena_printf(arena, "groups of %lld block%s", (long long)compiled->recompute.group_layers,
                      plural(compiled->recompute.group_layers));
}

const char *pipeline_text(const Compiled *compiled) {
  if (compiled->derived.pp == 1) return "-";
  const PipeRule *rule = &pipe_rules[compiled->job->parallel.pipeline];
  if (rule->chunks > 0) return rule->word;
  return arena_printf(compiled->draft->compile->arena, "%s x%lld", rule->word,
                      (long long)compiled->derived.chunks);
}

const char *duration_text(const Compiled *compiled, double seconds) {
  Arena *arena = compiled->draft->compile->arena;
  if (seconds < 1) return format_seconds(arena, seconds);
  if (seconds < 120) return arena_printf(arena, "%.1f s", seconds);
  if (seconds < 7200) return arena_printf(arena, "%.0f minutes", seconds / 60);
  if (seconds < 48 * 3600) return arena_printf(arena, "%.1f hours", seconds / 3600);
  return arena_printf(arena, "%.1f days", seconds / 86400);
}

int64_t rank_count(const Compiled *compiled) {
  const Derived *d = &compiled->derived;
  return d->dp * d->tp * d->cp * d->pp;
}

double floor_seconds(const Compiled *compiled) {
  const Floor floor = floor_of(compiled->draft, &compiled->plan);
  return step_seconds(compiled) > 0 ? floor.seconds[floor.bound] : 0;
}

const char *floor_word(const Compiled *compiled) {
  static const char *const words[] = {[FLOOR_COMPUTE] = "compute",
                                      [FLOOR_MEMORY] = "memory",
                                      [FLOOR_INSIDE] = "inside",
                                      [FLOOR_NETWORK] = "network"};
  return words[floor_of(compiled->draft, &compiled->plan).bound];
}

double step_seconds(const Compiled *compiled) {
  int64_t longest_ns = 0;
  for (uint32_t i = 0; i < compiled->plan.classes_count; i++) {
    int64_t class_ns = find_peak(compiled, i).program->predicted_ns;
    if (class_ns > longest_ns) longest_ns = class_ns;
  }
  return (double)longest_ns * 1e-9;
}
