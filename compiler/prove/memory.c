/* memory.c -- the ledger against itself, against every access, and against the recorded peaks.
 *
 * One sweep over the calls of a program keeps the live buffers sorted by offset: they never
 * overlap, so neighbours are all that a new buffer is compared with, and an access is found by
 * bisection. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/sorted.h"
#include "compiler/prove/walk.h"
#include "runtime/plan/plan_text.h"

typedef struct Live {
  uint64_t first, end;
  uint32_t buffer;
} Live;

typedef struct Sweep {
  const View *view;
  const PlanProgram *program;
  uint32_t program_index;
  bool first_program; /* persistent buffers are compared with each other once */
  Sorted live;        /* of Live, by offset, disjoint */
  struct {
    uint64_t live_bytes, most_bytes, peak_bytes;
  } tier[Tier_COUNT];
  BufferOrder births, deaths;
} Sweep;

static const SortedKind live_kind = SORTED_KIND(Live, end);

static uint64_t rounded(uint64_t bytes) {
  return (bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
}

/* The first live buffer that ends after `offset`. */
static uint32_t find_after(const Sweep *s, uint64_t offset) {
  return sorted_find(&live_kind, &s->live, offset + 1);
}

/* NULL behind the last one. */
static const Live *live_at(const Sweep *s, uint32_t index) {
  return index < s->live.count ? sorted_at(&live_kind, &s->live, index) : NULL;
}

static bool is_persistent(const Sweep *s, uint32_t buffer) {
  return s->view->plan->buffers[buffer].program == PLAN_NONE;
}

static bool begin_life(Sweep *s, uint32_t index) {
  const Plan *plan = s->view->plan;
  const PlanBuffer *buffer = &plan->buffers[index];
  uint64_t first = buffer_address(buffer), end = first + buffer->size_bytes;
  uint64_t peak_bytes = buffer->offset + buffer->size_bytes; /* plan_check: within the arena */
  s->tier[buffer->tier].live_bytes += rounded(buffer->size_bytes);
  if (peak_bytes > s->tier[buffer->tier].peak_bytes) s->tier[buffer->tier].peak_bytes = peak_bytes;
  if (buffer->size_bytes == 0) return true;
  uint32_t at = find_after(s, first);
  const Live *other = live_at(s, at);
  if (other != NULL && other->first < end) {
    uint64_t from = buffer->offset + (other->first > first ? other->first - first : 0);
    if (s->first_program || !is_persistent(s, index))
      prove_finding(s->view, NULL, -1, "memory",
                    "buffers[%u] %.40s (calls %u to %u) and buffers[%u] %.40s (calls %u to %u) "
                    "share bytes from %llu on",
                    index, plan_string(plan, buffer->name), buffer->first_call, buffer->last_call,
                    other->buffer, plan_string(plan, plan->buffers[other->buffer].name),
                    plan->buffers[other->buffer].first_call, plan->buffers[other->buffer].last_call,
                    (unsigned long long)from);
    return true; /* not listed: the list stays disjoint */
  }
  const Live life = {first, end, index};
  return sorted_replace(&live_kind, &s->live, at, 0, &life, 1);
}

static void end_life(Sweep *s, uint32_t index) {
  const PlanBuffer *buffer = &s->view->plan->buffers[index];
  s->tier[buffer->tier].live_bytes -= rounded(buffer->size_bytes);
  uint32_t at = find_after(s, buffer_address(buffer));
  const Live *life = live_at(s, at);
  if (buffer->size_bytes == 0 || life == NULL || life->buffer != index) return;
  sorted_replace(&live_kind, &s->live, at, 1, NULL, 0);
}

/* What the running records of a call reach through base `index`; false: nothing. */
static bool reach(const Walk *walk, uint32_t index, uint64_t *first, uint64_t *end,
                  uint32_t *record_at) {
  const View *view = walk->view;
  bool any = false;
  for (uint32_t r = 0; r < walk->segment->records_count; r++) {
    const PlanRecord *record = walk_record(walk, r);
    if (!walk_runs(walk, record)) continue;
    for (uint32_t i = 0; i < record->operands_count; i++) {
      const PlanOperand *operand = &view->plan->operands[record->operands_first + i];
      if (operand->base != index || operand->size_bytes == 0) continue;
      uint64_t offset = walk_base(walk, index) + view_operand(view, operand);
      if (!any || offset < *first) *first = offset;
      if (!any || offset + operand->size_bytes > *end) *end = offset + operand->size_bytes;
      if (!any) *record_at = r;
      any = true;
    }
  }
  return any;
}

/* A whole base in one live buffer is the usual case and needs no look at the records. */
static uint32_t locate(const Sweep *s, const Walk *walk, uint32_t index) {
  const Plan *plan = s->view->plan;
  uint64_t first = walk_base(walk, index);
  uint64_t end = first + plan->bases[walk->segment->bases_first + index].size_bytes;
  uint32_t record = 0;
  const Live *live = live_at(s, find_after(s, first));
  if (live != NULL && live->first <= first && end <= live->end) return live->buffer;
  if (!reach(walk, index, &first, &end, &record)) return PLAN_NONE;
  live = live_at(s, find_after(s, first));
  if (live != NULL && live->first <= first && end <= live->end) return live->buffer;
  const char *name = plan_string(plan, plan->bases[walk->segment->bases_first + index].name);
  prove_finding(s->view, walk, record, "memory",
                "bytes [%llu..%llu) of base %.40s are no part of one buffer that is live",
                (unsigned long long)first, (unsigned long long)end, name);
  return PLAN_NONE;
}

static bool sweep_calls(Sweep *s, Ledger *ledger) {
  /* Positions, not iterations: lifetimes are stated by position. */
  PlanProgram straight = *s->program;
  straight.loops_count = 0;
  Walk walk = walk_begin(s->view, &straight);
  uint32_t base_count = 0;
  while (walk_next(&walk)) {
    for (uint32_t i = s->births.first[walk.position]; i < s->births.first[walk.position + 1]; i++)
      if (!begin_life(s, s->births.buffer[i])) return false;
    for (int32_t tier = 0; tier < Tier_COUNT; tier++)
      if (s->tier[tier].live_bytes > s->tier[tier].most_bytes)
        s->tier[tier].most_bytes = s->tier[tier].live_bytes;
    ledger->base_first[walk.position] = base_count;
    for (uint32_t i = 0; i < walk.segment->bases_count; i++)
      ledger->buffer_of[base_count++] = locate(s, &walk, i);
    for (uint32_t i = s->deaths.first[walk.position]; i < s->deaths.first[walk.position + 1]; i++)
      end_life(s, s->deaths.buffer[i]);
  }
  return true;
}

static void check_peak(const Sweep *s, const Walk *where, uint32_t tier) {
  const Plan *plan = s->view->plan;
  uint32_t kind = plan->tiers[tier].kind;
  const PlanPeak *recorded = &plan->peaks[s->program->peaks_first + tier];
  uint64_t arena_bytes = plan->arenas[s->view->class->arenas_first + tier].size_bytes;
  uint64_t peak_bytes = s->tier[kind].peak_bytes, most_bytes = s->tier[kind].most_bytes;
  if (s->tier[kind].live_bytes > most_bytes) most_bytes = s->tier[kind].live_bytes;
  if (rounded(peak_bytes) > rounded(arena_bytes))
    prove_finding(s->view, where, -1, "memory", "peak %llu bytes, but the %s arena has %llu",
                  (unsigned long long)peak_bytes, Tier_names[kind],
                  (unsigned long long)arena_bytes);
  if (rounded(recorded->peak_bytes) != rounded(peak_bytes))
    prove_finding(s->view, where, -1, "memory", "peak is %llu bytes, recorded %llu",
                  (unsigned long long)peak_bytes, (unsigned long long)recorded->peak_bytes);
  if (rounded(recorded->live_bytes) != most_bytes)
    prove_finding(s->view, where, -1, "memory", "most bytes live at once are %llu, recorded %llu",
                  (unsigned long long)most_bytes, (unsigned long long)recorded->live_bytes);
}

static void check_peaks(const Sweep *s) {
  Walk where = walk_begin(s->view, s->program);
  for (uint32_t tier = 0; tier < s->view->plan->tiers_count; tier++)
    check_peak(s, &where, tier);
}

static bool sweep_program(View *view, uint32_t program_index) {
  const Plan *plan = view->plan;
  const PlanClass *class = view->class;
  Sweep s = {.view = view,
             .program = &plan->programs[program_index],
             .program_index = program_index,
             .first_program = program_index == class->programs_first};
  size_t calls = s.program->calls_count, buffers = class->buffers_count, bases = 0;
  for (uint32_t i = 0; i < calls; i++)
    bases += plan->calls[s.program->calls_first + i].bindings_count;
  Ledger *ledger = &view->ledger[s.program->kind];
  *ledger = (Ledger){prove_array(view, calls, sizeof(uint32_t)),
                     prove_array(view, bases, sizeof(uint32_t))};
  s.births = order_buffers(view, s.program, true);
  s.deaths = order_buffers(view, s.program, false);
  bool ready = ledger->base_first && ledger->buffer_of && s.births.buffer && s.deaths.buffer;
  if (ready) {
    bool swept = true;
    for (uint32_t i = 0; i < buffers && swept; i++)
      if (is_persistent(&s, class->buffers_first + i))
        swept = begin_life(&s, class->buffers_first + i);
    ready = swept && sweep_calls(&s, ledger);
    if (ready)
      check_peaks(&s);
    else
      prove_finding(view, NULL, -1, "memory", "out of memory while proving");
  }
  sorted_free(&s.live);
  free(s.births.buffer), free(s.deaths.buffer);
  return ready;
}

/* What the runtime reads and writes by itself lies in a persistent buffer. */
static void check_holder(const View *view, uint64_t first, uint64_t size_bytes, const char *what) {
  for (uint32_t i = 0; i < view->class->buffers_count; i++) {
    const PlanBuffer *buffer = &view->plan->buffers[view->class->buffers_first + i];
    if (buffer->program == PLAN_NONE && buffer_address(buffer) <= first &&
        first + size_bytes <= buffer_address(buffer) + buffer->size_bytes)
      return;
  }
  prove_finding(view, NULL, -1, "memory", "no persistent buffer holds %s", what);
}

static void check_holders(const View *view) {
  const PlanJob *job = view->plan->jobs;
  uint64_t host = plan_address(job->staging_tier, 0), device = plan_address(TIER_DEVICE, 0);
  uint64_t step_bytes = job->sample_bytes * (uint64_t)job->accumulation;
  check_holder(view, device + job->control_offset, job->control_bytes, "the control block");
  check_holder(view, host + job->control_ring_offset,
               2 * job->control_bytes * (uint64_t)job->control_depth, "the ring of control");
  check_holder(view, host + job->staging_offset, step_bytes * (uint64_t)job->prefetch_steps,
               "the staging ring");
  check_holder(view, device + job->samples_offset, step_bytes, "the samples of a step");
}

bool prove_memory(View *view) {
  bool ready = true;
  check_holders(view);
  for (uint32_t i = 0; i < view->class->programs_count; i++)
    ready = sweep_program(view, view->class->programs_first + i) && ready;
  return ready;
}

void view_close(View *view) {
  for (int kind = 0; kind < ProgramKind_COUNT; kind++) {
    free(view->ledger[kind].base_first);
    free(view->ledger[kind].buffer_of);
    view->ledger[kind] = (Ledger){0};
  }
}
