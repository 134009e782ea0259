/* memory.c -- checks the ledger of buffers against itself, against every base, and against the
 * recorded peaks.
 *
 * One sweep over the calls of a program keeps, by address, which buffer had each byte last: a new
 * buffer takes over the bytes it covers, none of which may be live, and every base must lie in a
 * buffer that is. */
#include "compiler/plan/prove/intervals.h"
#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"

typedef struct Sweep {
  const View *view;
  const PlanProgram *program;
  bool first_program; /* persistent buffers are compared with each other only once */
  uint32_t call;      /* the position of the current call */
  Intervals owners;   /* numbers: indices of buffers */
} Sweep;

static uint64_t rounded(uint64_t bytes) {
  return (bytes + PLAN_ALIGN_BYTES - 1) / PLAN_ALIGN_BYTES * PLAN_ALIGN_BYTES;
}

static bool is_live(const Sweep *s, uint32_t index) {
  const PlanBuffer *buffer = &s->view->plan->buffers[index];
  return buffer->program == PLAN_NONE || s->call <= buffer->last_call;
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

static void begin_life(Sweep *s, uint32_t index) {
  const PlanBuffer *buffer = &s->view->plan->buffers[index];
  uint64_t first = buffer_address(buffer), end = first + buffer->size_bytes;
  const Interval *met = intervals_find(&s->owners, first);
  while (met != NULL && met->first < end && !is_live(s, met->number))
    met = intervals_find(&s->owners, met->end);
  if (met == NULL || met->first >= end || first == end)
    intervals_put(s->view->arena, &s->owners, (Interval){first, end, index});
  else if (s->first_program || buffer->program != PLAN_NONE)
    report_shared(s, index, met);
}

/* The live buffer that the base lies in: on every rank the same. */
static uint32_t locate(const Sweep *s, const Walk *walk, uint32_t index) {
  const Plan *plan = s->view->plan;
  const PlanBase *base = &plan->bases[walk->segment->bases_first + index];
  const uint64_t first = walk_base(walk, index), end = first + base->size_bytes;
  const Interval *owner = intervals_find(&s->owners, first);
  const char *name = plan_string(plan, base->name);
  const PlanBinding *binding = &plan->bindings[walk->call->bindings_first + index];
  if (binding->by != PLAN_NONE) /* plan_check has shown that its records can access its tier */
    prove_finding(s->view, walk, -1, "memory", "base %.40s has another address on other ranks",
                  name);
  if (owner != NULL && owner->first <= first && first < end && end <= owner->end &&
      is_live(s, owner->number))
    return owner->number;
  prove_finding(s->view, walk, -1, "memory", "base %.40s is no part of one buffer that is live",
                name);
  return PLAN_NONE;
}

/* Visits each call once: lifetimes are given by position. */
static void sweep_calls(Sweep *s, Ledger *ledger) {
  Walk walk = walk_begin(s->view, s->program, WALK_ONCE);
  uint32_t base_count = 0;
  while (walk_next(&walk)) {
    s->call = walk.position;
    for (uint32_t i = ledger->birth_first[s->call]; i < ledger->birth_first[s->call + 1]; i++)
      begin_life(s, ledger->born[i]);
    ledger->base_first[s->call] = base_count;
    for (uint32_t i = 0; i < walk.segment->bases_count; i++)
      ledger->buffer_of[base_count++] = locate(s, &walk, i);
  }
}

/* ---- peaks */

/* The peak of a program's buffers and the persistent ones in a tier: the highest byte, and the most
 * bytes live at once. `change` has a zero for each call, and one more. */
static PlanPeak need(const View *view, uint32_t program, uint32_t tier, int64_t *change) {
  const PlanClass *class = view->class;
  const PlanBuffer *buffer = &view->plan->buffers[class->buffers_first];
  PlanPeak peak = {0};
  for (const PlanBuffer *end = buffer + class->buffers_count; buffer < end; buffer++) {
    bool lasts = buffer->program == PLAN_NONE;
    if (buffer->tier != tier || (!lasts && buffer->program != program)) continue;
    uint64_t top = buffer->offset + buffer->size_bytes; /* plan_check: within the arena */
    if (top > peak.peak_bytes) peak.peak_bytes = top;
    change[lasts ? 0 : buffer->first_call] += (int64_t)rounded(buffer->size_bytes);
    if (!lasts) change[buffer->last_call + 1] -= (int64_t)rounded(buffer->size_bytes);
  }
  int64_t live_bytes = 0;
  for (uint32_t call = 0; call <= view->plan->programs[program].calls_count; call++) {
    live_bytes += change[call], change[call] = 0;
    if (live_bytes > (int64_t)peak.live_bytes) peak.live_bytes = (uint64_t)live_bytes;
  }
  return peak;
}

static void check_peaks(const View *view, const PlanProgram *program) {
  const Plan *plan = view->plan;
  Walk where = walk_begin(view, program, WALK_ONCE);
  int64_t *change = ARENA_ARRAY(view->arena, int64_t, program->calls_count + 1u);
  for (uint32_t tier = 0; tier < plan->tiers_count; tier++) {
    const PlanPeak *recorded = &plan->peaks[program->peaks_first + tier];
    PlanPeak is = need(view, (uint32_t)(program - plan->programs), plan->tiers[tier].kind, change);
    if (rounded(recorded->peak_bytes) != rounded(is.peak_bytes))
      prove_finding(view, &where, -1, "memory", "peak is %llu bytes, recorded %llu",
                    (unsigned long long)is.peak_bytes, (unsigned long long)recorded->peak_bytes);
    if (rounded(recorded->live_bytes) != is.live_bytes)
      prove_finding(view, &where, -1, "memory", "most bytes live at once are %llu, recorded %llu",
                    (unsigned long long)is.live_bytes, (unsigned long long)recorded->live_bytes);
  }
}

/* ---- programs */

/* A counting sort: the `end` of each call moves from where its births begin to where they end. */
static void open_ledger(const View *view, const PlanProgram *program, Ledger *ledger) {
  const PlanClass *class = view->class;
  const PlanBuffer *buffers = view->plan->buffers;
  uint32_t first = class->buffers_first, count = class->buffers_count;
  uint32_t index = (uint32_t)(program - view->plan->programs), calls = program->calls_count;
  size_t bases = 0;
  for (uint32_t i = 0; i < calls; i++)
    bases += view->plan->calls[program->calls_first + i].bindings_count;
  ledger->base_first = ARENA_ARRAY(view->arena, uint32_t, calls);
  ledger->birth_first = ARENA_ARRAY(view->arena, uint32_t, calls + 2);
  ledger->buffer_of = ARENA_ARRAY(view->arena, uint32_t, bases);
  ledger->born = ARENA_ARRAY(view->arena, uint32_t, count);
  uint32_t *end = ledger->birth_first + 1;
  for (uint32_t i = first; i < first + count; i++)
    if (buffers[i].program == index) end[buffers[i].first_call + 1]++;
  for (uint32_t call = 0; call < calls; call++)
    end[call + 1] += end[call];
  for (uint32_t i = first; i < first + count; i++)
    if (buffers[i].program == index) ledger->born[end[buffers[i].first_call]++] = i;
}

static void sweep_program(View *view, const PlanProgram *program, bool is_first) {
  const PlanClass *class = view->class;
  Sweep s = {.view = view, .program = program, .first_program = is_first};
  Ledger *ledger = &view->ledger[program->kind];
  open_ledger(view, program, ledger);
  for (uint32_t i = class->buffers_first; i < class->buffers_first + class->buffers_count; i++)
    if (view->plan->buffers[i].program == PLAN_NONE) begin_life(&s, i);
  sweep_calls(&s, ledger);
}

/* Bytes that the runtime itself reads and writes are a persistent buffer of that kind: no record
 * writes there, and no other buffer overlaps it. */
static void check_holder(const View *view, uint64_t first, uint64_t size_bytes, BufferKind kind,
                         const char *what) {
  for (uint32_t i = 0; i < view->class->buffers_count; i++) {
    const PlanBuffer *buffer = &view->plan->buffers[view->class->buffers_first + i];
    if (buffer->program == PLAN_NONE && buffer->kind == (uint32_t)kind &&
        buffer_address(buffer) == first && buffer->size_bytes == size_bytes)
      return;
  }
  prove_finding(view, NULL, -1, "memory", "no persistent buffer holds %s and nothing else", what);
}

static void check_holders(const View *view) {
  uint64_t host = plan_address(job_staging_tier(view->plan), 0),
           device = plan_address(TIER_DEVICE, 0);
  uint64_t step_bytes = job_sample_bytes(view->plan) * (uint64_t)job_accumulation(view->plan);
  check_holder(view, device + job_control_offset(view->plan), job_control_bytes(view->plan),
               BUFFER_CONTROL, "the control block");
  check_holder(view, host + job_control_ring_offset(view->plan),
               2 * job_control_bytes(view->plan) * (uint64_t)job_control_depth(view->plan),
               BUFFER_CONTROL, "the ring of control");
  check_holder(view, host + job_staging_offset(view->plan),
               step_bytes * (uint64_t)job_prefetch_steps(view->plan), BUFFER_DATA,
               "the staging ring");
  if (job_staging_tier(view->plan) !=
      TIER_DEVICE) /* plan_check: else it is read where it is staged */
    check_holder(view, device + job_samples_offset(view->plan), step_bytes, BUFFER_DATA,
                 "the samples of a step");
}

/* A rank allots as much as its programs need, and no more. */
static void check_arenas(const View *view) {
  const Plan *plan = view->plan;
  for (uint32_t tier = 0; tier < plan->tiers_count; tier++) {
    uint64_t most = 0, has = plan->arenas[view->class->arenas_first + tier].size_bytes;
    for (uint32_t i = 0; i < view->class->programs_count; i++) {
      const PlanProgram *program = &plan->programs[view->class->programs_first + i];
      const uint64_t peak_bytes = plan->peaks[program->peaks_first + tier].peak_bytes;
      if (peak_bytes > most) most = peak_bytes;
    }
    if (rounded(has) != rounded(most) && plan->regions_count > 0)
      prove_finding(view, NULL, -1, "memory", "the arena has %llu bytes, programs need %llu",
                    (unsigned long long)has, (unsigned long long)most);
  }
}

void prove_memory(View *view) {
  check_holders(view);
  check_arenas(view);
  for (uint32_t i = 0; i < view->class->programs_count; i++) {
    const PlanProgram *program = &view->plan->programs[view->class->programs_first + i];
    sweep_program(view, program, i == 0);
    check_peaks(view, program);
  }
}
