/* programs.c -- a program has only records that it may have: by their purpose, by the rows of
 * purposes.def; and so has a segment, by the rows of segments.def. Initial values read no samples,
 * an evaluation updates nothing. */
#include "compiler/plan/prove/records/rules.h"
#include "runtime/plan/plan_segment.h"
#include "runtime/plan/plan_text.h"

/* Masks, by Purpose. */
typedef struct Allowed {
  uint32_t programs, kinds, roles;
} Allowed;

#define IN(program)                              (1u << PROGRAM_##program)
#define KIND(kind)                               (1u << RECORD_##kind)
#define ROLE(role)                               (1u << ROLE_##role)
#define PURPOSE(purpose, programs, kinds, roles) [PURPOSE_##purpose] = {programs, kinds, roles},
static const Allowed allowed[Purpose_COUNT] = {
#include "compiler/plan/prove/records/purposes.def"
};

#define PURPOSE(...) +1
_Static_assert(0
#include "compiler/plan/prove/records/purposes.def"
                   == Purpose_COUNT,
               "each purpose has a row");

/* "init or train_step": the names of the bits. */
static const char *names_of(const View *view, uint32_t mask, const char *const *names) {
  enum { ROOM = 256 };
  char *text = arena_alloc(view->arena, ROOM);
  Line line = {text, ROOM, 0};
  EACH_BIT (bit, mask)
    line_add(&line, "%s%s", line.used > 0 ? " or " : "", names[bit]);
  return text;
}

/* The purposes that records of the program may have. */
static const char *purposes_of(const View *view, ProgramKind program) {
  uint32_t purposes = 0;
  for (uint32_t i = 0; i < Purpose_COUNT; i++)
    purposes |= (allowed[i].programs >> program & 1u) << i;
  return names_of(view, purposes, Purpose_names);
}

static void check_record(const Walk *walk, uint32_t index) {
  const View *view = walk->view;
  const PlanRecord *record = walk_record(walk, index);
  const Allowed *may = &allowed[record->purpose];
  const KernelContract *contract = contract_at(view, record);
  const ProgramKind program = (ProgramKind)walk->program->kind;
  const char *purpose = Purpose_names[record->purpose];
  if ((record->when_all & record->when_none) != 0) return; /* it never runs */
  if ((may->programs >> program & 1u) == 0)
    prove_finding(view, walk, index, "records", "expected a record for %s, found one for %s, of %s",
                  purposes_of(view, program), purpose,
                  names_of(view, may->programs, ProgramKind_names));
  else if ((may->kinds >> record->kind & 1u) == 0)
    prove_finding(view, walk, index, "records", "expected %s for %s, found %s",
                  names_of(view, may->kinds, RecordKind_names), purpose,
                  RecordKind_names[record->kind]);
  else if (contract != NULL && (may->roles >> contract->row->role & 1u) == 0)
    prove_finding(view, walk, index, "records", "found %s, which serves no record for %s",
                  contract->row->name, purpose);
}

/* NULL: the segment has a kind, and its records have purposes of that kind. */
static const char *segment_fault(const View *view, const PlanSegment *segment) {
  const SegmentKind kind = plan_segment_kind(view->plan, segment);
  if (kind == SEGMENT_UNKNOWN) return "its name ends in no word that says what it does";
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &view->plan->records[segment->records_first + i];
    if ((segment_purposes[kind] >> record->purpose & 1u) == 0)
      return arena_printf(view->arena, "expected records for %s, found one for %s",
                          names_of(view, segment_purposes[kind], Purpose_names),
                          Purpose_names[record->purpose]);
  }
  return NULL;
}

void prove_segments(const View *view) {
  const Plan *plan = view->plan;
  for (uint32_t i = 0; i < plan->segments_count && plan->regions_count > 0; i++) {
    const char *fault = segment_fault(view, &plan->segments[i]);
    if (fault != NULL)
      prove_finding(view, NULL, -1, "records", "segment %.60s: %s",
                    plan_string(plan, plan->segments[i].name), fault);
  }
}

/* A segment is looked at once for each kind of program that calls it. */
void prove_programs(const View *whole) {
  const Plan *plan = whole->plan;
  uint32_t *seen = ARENA_ARRAY(whole->arena, uint32_t, plan->segments_count);
  View view = *whole;
  for (uint32_t c = 0; c < plan->classes_count && plan->regions_count > 0; c++) {
    view.class = &plan->classes[c];
    for (uint32_t i = 0; i < view.class->programs_count; i++) {
      Walk walk = walk_begin(&view, &plan->programs[view.class->programs_first + i], WALK_ONCE);
      while (walk_next(&walk)) {
        uint32_t *kinds = &seen[walk.call->segment];
        if ((*kinds >> walk.program->kind & 1u) != 0) continue;
        *kinds |= 1u << walk.program->kind;
        for (uint32_t r = 0; r < walk.segment->records_count; r++)
          check_record(&walk, r);
      }
    }
  }
}
