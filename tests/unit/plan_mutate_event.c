/* plan_mutate_event.c -- mutants of what waits for what: between lanes by edges and waits, within a
 * lane by the order of its records. */
#include "tests/unit/plan_mutator.h"

static const char *lane_name(const Mutator *m, uint32_t lane) {
  return m->b->strings + m->b->lanes[lane].name;
}

/* ---- no event */

bool mutate_drop_edge(Mutator *m) {
  for (int tries = 0; tries < 200; tries++) {
    PlanRecord *record = pick_record(m);
    if (record == NULL) return false;
    if (record->after_count == 0) continue;
    PlanEdge *edges = &m->b->edges[record->after_first];
    uint32_t last = record->after_count - 1;
    edges[pick_below(m, last + 1)] = edges[last];
    record->after_count = last;
    return mutant_said(m, "an edge of record %u is dropped", NUMBER(m, records, record));
  }
  return false;
}

bool mutate_drop_wait(Mutator *m) {
  for (int tries = 0; tries < 200 && m->b->waits_count > 0; tries++) {
    PlanCall *call = pick_call(m);
    if (call == NULL || call->waits_count == 0) continue;
    call->waits_count = 0;
    return mutant_said(m, "the waits of call %u are dropped", NUMBER(m, calls, call));
  }
  return false;
}

/* ---- another event */

static PlanRecord *any_that_waits(Mutator *m) {
  for (int tries = 0; tries < 200; tries++) {
    PlanRecord *record = pick_record(m);
    if (record == NULL || record->after_count > 0) return record;
  }
  return NULL;
}

/* For an earlier record of that lane. */
static bool wait_for_another(Mutator *m) {
  const PlanRecord *record = any_that_waits(m);
  if (record == NULL) return false;
  const PlanSegment *segment = m->b->segments;
  while (NUMBER(m, records, record) - segment->records_first >= segment->records_count)
    segment++;
  PlanEdge *edge = &m->b->edges[record->after_first + pick_below(m, record->after_count)];
  const PlanRecord *records = &m->b->records[segment->records_first];
  for (uint32_t to = edge->record; to-- > 0;) {
    if (records[to].lane != records[edge->record].lane) continue;
    edge->record = to;
    return mutant_said(m, "record %u (%s) waits for record %u of its segment",
                       NUMBER(m, records, record), mutant_record_name(m, record), to);
  }
  return false;
}

static PlanCall *any_call_that_waits(Mutator *m) {
  for (int tries = 0; tries < 200 && m->b->waits_count > 0; tries++) {
    PlanCall *call = pick_call(m);
    if (call == NULL || call->waits_count > 0) return call;
  }
  return NULL;
}

static bool change_wait(Mutator *m) {
  const PlanCall *call = any_call_that_waits(m);
  if (call == NULL) return false;
  PlanWait *wait = &m->b->waits[call->waits_first + pick_below(m, call->waits_count)];
  switch (pick_below(m, 6)) {
  case 0: wait->lane = pick_below(m, m->b->lanes_count); break;
  case 1: wait->call -= wait->call > 0; break;
  case 2: wait->record -= wait->record > 0; break;
  case 3: wait->program = pick_below(m, ProgramKind_COUNT); break;
  case 4: wait->run_back ^= 1; break;
  default: wait->iteration_back ^= 1; break;
  }
  return mutant_said(m, "call %u (%s) lets %s wait for record %u of call %u",
                     NUMBER(m, calls, call), mutant_call_name(m, call), lane_name(m, wait->lane),
                     wait->record, wait->call);
}

static bool drop_one_wait(Mutator *m) {
  PlanCall *call = any_call_that_waits(m);
  if (call == NULL) return false;
  PlanWait *waits = &m->b->waits[call->waits_first];
  waits[pick_below(m, call->waits_count)] = waits[call->waits_count - 1];
  call->waits_count--;
  return mutant_said(m, "call %u (%s) has a wait less", NUMBER(m, calls, call),
                     mutant_call_name(m, call));
}

/* ---- another order */

static void swap_events(PlanRecord *x, PlanRecord *y) {
  uint32_t first = x->after_first, count = x->after_count;
  x->after_first = y->after_first, x->after_count = y->after_count;
  y->after_first = first, y->after_count = count;
}

/* Swaps the work of two records; their edges stay in place. */
static void swap_works(PlanRecord *x, PlanRecord *y) {
  PlanRecord z = *x;
  *x = *y, *y = z;
  swap_events(x, y);
}

static bool swap_in_lane(Mutator *m) {
  const PlanSegment *segment = pick_segment(m);
  if (segment == NULL || segment->records_count < 2) return false;
  PlanRecord *records = &m->b->records[segment->records_first];
  uint32_t i = pick_below(m, segment->records_count - 1), k = i + 1;
  while (k < segment->records_count && records[k].lane != records[i].lane)
    k++;
  if (k == segment->records_count) return false;
  swap_works(&records[i], &records[k]);
  return mutant_said(m, "records %u and %u (%s, %s) of lane %s change places",
                     NUMBER(m, records, &records[i]), NUMBER(m, records, &records[k]),
                     mutant_record_name(m, &records[k]), mutant_record_name(m, &records[i]),
                     lane_name(m, records[i].lane));
}

static uint32_t end_of_run(const PlanRecord *records, uint32_t first, uint32_t count) {
  uint32_t end = first + 1;
  while (end < count && records[end].lane == records[first].lane)
    end++;
  return end;
}

static void reverse(PlanRecord *records, uint32_t first, uint32_t end) {
  for (; first + 1 < end; first++, end--)
    swap_works(&records[first], &records[end - 1]);
}

/* All that one lane does in a row, and what the next one does then. */
static bool swap_groups(Mutator *m) {
  const PlanSegment *segment = pick_segment(m);
  if (segment == NULL || segment->records_count < 2) return false;
  PlanRecord *records = &m->b->records[segment->records_first];
  uint32_t first = 0, middle = end_of_run(records, 0, segment->records_count);
  uint32_t skip = pick_below(m, segment->records_count);
  while (middle < segment->records_count && skip-- > 0)
    first = middle, middle = end_of_run(records, middle, segment->records_count);
  if (middle == segment->records_count) return false;
  uint32_t end = end_of_run(records, middle, segment->records_count);
  reverse(records, first, middle), reverse(records, middle, end), reverse(records, first, end);
  return mutant_said(m, "records %u.. and %u.. of segment %s change places in groups",
                     segment->records_first + first, segment->records_first + middle,
                     m->b->strings + segment->name);
}

static bool change_lane(Mutator *m) {
  PlanRecord *record = pick_record(m);
  if (record == NULL) return false;
  uint32_t lane = pick_below(m, m->b->lanes_count);
  if (lane == record->lane) return false;
  record->lane = lane;
  return mutant_said(m, "record %u (%s of %s) is of lane %s", NUMBER(m, records, record),
                     mutant_record_name(m, record), m->b->strings + record->path,
                     lane_name(m, lane));
}

Mutate *const mutate_event_ways[] = {
    mutate_drop_edge, mutate_drop_wait, drop_one_wait, wait_for_another, change_wait,
    change_wait,      swap_in_lane,     swap_groups,   change_lane,      NULL};
