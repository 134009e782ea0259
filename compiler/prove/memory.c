/* memory.c -- the ledger against itself, against every access, and against the recorded peaks.
 *
 * One sweep over the calls of a program keeps the live buffers by address: they never overlap, so a
 * new buffer meets the next one or none, and an access is found in one. */
#include <stdlib.h>

#include "compiler/prove/intervals.h"
#include "compiler/prove/walk.h"
#include "runtime/plan/plan_text.h"

typedef struct Sweep {
  const View *view;
  const PlanProgram *program;
  bool first_program; /* persistent buffers are compared with each other once */
  uint8_t *use;       /* by buffer of the class: bits of BaseUse */
  Intervals live;     /* their numbers are those of buffers */
  struct {
    uint64_t live_bytes, most_bytes, peak_bytes;
  } tier[Tier_COUNT];
} Sweep;

static uint64_t rounded(uint64_t bytes) {
  return (bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
}

static void report_shared(const Sweep *s, uint32_t index, const Interval *met) {
  const Plan *plan = s->view->plan;
  const PlanBuffer *buffer = &plan->buffers[index], *other = &plan->buffers[met->number];
  unsigned long long from = buffer->offset;
  if (met->first > buffer_address(buffer)) from += met->first - buffer_address(buffer);
  prove_finding(s->view, NULL, -1, "memory",
                "buffers[%u] %.40s (calls %u to %u) and buffers[%u] %.40s (calls %u to %u) "
                "share bytes from %llu on",
                index, plan_string(plan, buffer->name), buffer->first_call, buffer->last_call,
                met->number, plan_string(plan, other->name), other->first_call, other->last_call,
                from);
}

static bool begin_life(Sweep *s, uint32_t index) {
  const PlanBuffer *buffer = &s->view->plan->buffers[index];
  uint64_t first = buffer_address(buffer), end = first + buffer->size_bytes;
  uint64_t peak_bytes = buffer->offset + buffer->size_bytes; /* plan_check: within the arena */
  s->tier[buffer->tier].live_bytes += rounded(buffer->size_bytes);
  if (peak_bytes > s->tier[buffer->tier].peak_bytes) s->tier[buffer->tier].peak_bytes = peak_bytes;
  const Interval *other = intervals_find(&s->live, first);
  if (other == NULL || other->first >= end || first == end)
    return intervals_put(&s->live, (Interval){first, end, index});
  if (s->first_program || buffer->program != PLAN_NONE) report_shared(s, index, other);
  return true;
}

static void end_life(Sweep *s, uint32_t index) {
  const PlanBuffer *buffer = &s->view->plan->buffers[index];
  s->tier[buffer->tier].live_bytes -= rounded(buffer->size_bytes);
  const Interval *life = intervals_find(&s->live, buffer_address(buffer));
  if (life != NULL && life->number == index) intervals_remove(&s->live, life->first);
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
      uint64_t at = walk_base(walk, index);
      if (!any || at + operand->offset < *first) *first = at + operand->offset;
      if (!any || at + operand_end(view->plan, operand) > *end)
        *end = at + operand_end(view->plan, operand);
      if (!any) *record_at = r;
      any = true;
    }
  }
  return any;
}

/* The live buffer that holds these bytes; PLAN_NONE: none does. */
static uint32_t holder_of(const Sweep *s, uint64_t first, uint64_t end) {
  const Interval *live = intervals_find(&s->live, first);
  return live != NULL && live->first <= first && end <= live->end ? live->number : PLAN_NONE;
}

/* A whole base in one live buffer is the usual case and needs no look at the records. */
static uint32_t locate(const Sweep *s, const Walk *walk, uint32_t index) {
  const PlanBase *base = &s->view->plan->bases[walk->segment->bases_first + index];
  uint64_t first = walk_base(walk, index), end = first + base->size_bytes;
  uint32_t record = 0, buffer = holder_of(s, first, end);
  if (s->view->plan->bindings[walk->call->bindings_first + index].by != PLAN_NONE)
    prove_finding(s->view, walk, -1, "memory", "base %.40s stands elsewhere on other ranks",
                  plan_string(s->view->plan, base->name));
  if (buffer != PLAN_NONE || !reach(walk, index, &first, &end, &record)) return buffer;
  buffer = holder_of(s, first, end);
  if (buffer == PLAN_NONE)
    prove_finding(s->view, walk, record, "memory",
                  "bytes [%llu..%llu) of base %.40s are no part of one buffer that is live",
                  (unsigned long long)first, (unsigned long long)end,
                  plan_string(s->view->plan, base->name));
  return buffer;
}

/* What packs has its buffers to itself, for types do not see what it writes there. */
static void check_use(const Sweep *s, const Walk *walk, uint32_t index, uint32_t buffer) {
  const Plan *plan = s->view->plan;
  uint32_t base = walk->segment->bases_first + index;
  if (buffer == PLAN_NONE) return;
  uint8_t *use = &s->use[buffer - s->view->class->buffers_first], before = *use;
  *use |= s->view->base_use[base];
  if (*use != before && *use == (BASE_PACKS | BASE_HOLDS))
    prove_finding(s->view, walk, -1, "memory", "base %.40s: packed pieces and values share %.40s",
                  plan_string(plan, plan->bases[base].name),
                  plan_string(plan, plan->buffers[buffer].name));
}

/* Each call once: lifetimes are stated by position. */
static bool sweep_calls(Sweep *s, const BufferOrder *births, const BufferOrder *deaths,
                        Ledger *ledger) {
  Walk walk = walk_begin(s->view, s->program, WALK_ONCE);
  uint32_t base_count = 0;
  while (walk_next(&walk)) {
    for (uint32_t i = births->first[walk.position]; i < births->first[walk.position + 1]; i++)
      if (!begin_life(s, births->buffer[i])) return false;
    for (int32_t tier = 0; tier < Tier_COUNT; tier++)
      if (s->tier[tier].live_bytes > s->tier[tier].most_bytes)
        s->tier[tier].most_bytes = s->tier[tier].live_bytes;
    ledger->base_first[walk.position] = base_count;
    for (uint32_t i = 0; i < walk.segment->bases_count; i++) {
      ledger->buffer_of[base_count] = locate(s, &walk, i);
      check_use(s, &walk, i, ledger->buffer_of[base_count++]);
    }
    for (uint32_t i = deaths->first[walk.position]; i < deaths->first[walk.position + 1]; i++)
      end_life(s, deaths->buffer[i]);
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
  Walk where = walk_begin(s->view, s->program, WALK_ONCE);
  for (uint32_t tier = 0; tier < s->view->plan->tiers_count; tier++)
    check_peak(s, &where, tier);
}

static bool sweep(Sweep *s, const BufferOrder *births, const BufferOrder *deaths, Ledger *ledger) {
  const PlanClass *class = s->view->class;
  bool done = true;
  for (uint32_t i = class->buffers_first; i < class->buffers_first + class->buffers_count; i++)
    if (s->view->plan->buffers[i].program == PLAN_NONE) done = done && begin_life(s, i);
  return done && sweep_calls(s, births, deaths, ledger);
}

static bool sweep_program(View *view, const PlanProgram *program, bool is_first, uint8_t *use) {
  Sweep s = {.view = view, .program = program, .first_program = is_first, .use = use};
  size_t bases = 0;
  for (uint32_t i = 0; i < program->calls_count; i++)
    bases += view->plan->calls[program->calls_first + i].bindings_count;
  Ledger *ledger = &view->ledger[program->kind];
  *ledger = (Ledger){prove_array(view, program->calls_count, sizeof(uint32_t)),
                     prove_array(view, bases, sizeof(uint32_t))};
  BufferOrder births = order_buffers(view, program, true);
  BufferOrder deaths = order_buffers(view, program, false);
  bool ready = ledger->base_first && ledger->buffer_of && births.buffer && deaths.buffer;
  ready = ready && sweep(&s, &births, &deaths, ledger);
  if (ready)
    check_peaks(&s);
  else
    prove_finding(view, NULL, -1, "memory", "out of memory while proving");
  intervals_free(&s.live);
  free(births.buffer), free(deaths.buffer);
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
  uint8_t *use = prove_array(view, view->class->buffers_count, sizeof *use);
  bool ready = use != NULL;
  check_holders(view);
  for (uint32_t i = 0; i < view->class->programs_count && use != NULL; i++)
    ready =
        sweep_program(view, &view->plan->programs[view->class->programs_first + i], i == 0, use) &&
        ready;
  free(use);
  return ready;
}

void view_close(View *view) {
  for (int kind = 0; kind < ProgramKind_COUNT; kind++) {
    free(view->ledger[kind].base_first);
    free(view->ledger[kind].buffer_of);
    view->ledger[kind] = (Ledger){0};
  }
}
