/* members.c -- which ranks of a class stand for all of them.
 *
 * Ranks of a class differ only in where operands lie, and there only by their numbers in the
 * communicators that bindings and operands name: offset + member * stride. Over its members an
 * operand moves along a row of equal steps. So
 *
 * - a buffer that holds the first and the last place of a row holds all of them: buffers are
 *   intervals, and memory.c sees to it that both lie in the same one;
 * - two operands that move alike keep their distance on every rank;
 * - an operand that stays where it is either covers the whole row, or misses it, or begins or ends
 *   inside it. The first two are the same for all members. In the third case, as where a tensor
 *   ends and its padding begins, members differ from the first to the second and before the last,
 *   which is why these are looked at; what begins and ends between two members further in is not.
 *
 * Looked at, then, are the first rank, the last one, and for each communicator the ranks that are
 * its second and its last member and the first of everything else: a number of ranks that does not
 * depend on how many there are. */
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/hash.h"
#include "compiler/prove/walk.h"

static void mark(bool *used, uint32_t comm) {
  if (comm != PLAN_NONE) used[comm] = true;
}

static void mark_segment(const Plan *plan, const PlanSegment *segment, bool *used) {
  for (uint32_t r = 0; r < segment->records_count; r++) {
    const PlanRecord *record = &plan->records[segment->records_first + r];
    for (uint32_t i = 0; i < record->operands_count; i++)
      mark(used, plan->operands[record->operands_first + i].by);
  }
}

/* Communicators by whose members the offsets of the class differ. */
static void mark_used(const View *view, bool *used, bool *seen) {
  const Plan *plan = view->plan;
  for (uint32_t p = 0; p < view->class->programs_count; p++) {
    const PlanProgram *program = &plan->programs[view->class->programs_first + p];
    for (uint32_t c = 0; c < program->calls_count; c++) {
      const PlanCall *call = &plan->calls[program->calls_first + c];
      for (uint32_t i = 0; i < call->bindings_count; i++)
        mark(used, plan->bindings[call->bindings_first + i].by);
      if (!seen[call->segment]) mark_segment(plan, &plan->segments[call->segment], used);
      seen[call->segment] = true;
    }
  }
}

static const PlanBound *bounds_of(const View *view) {
  return view->plan->bounds + view->class->bounds_first;
}

static void go_first(View *view) {
  for (uint32_t axis = 0; axis < view->plan->axes_count; axis++)
    view->coordinate[axis] = bounds_of(view)[axis].first;
}

static void go_last(View *view, uint32_t mask) {
  for (uint32_t axis = 0; axis < view->plan->axes_count; axis++)
    if (mask >> axis & 1) view->coordinate[axis] = bounds_of(view)[axis].end - 1;
}

/* One step along the innermost axis of the mask on which the class has more than one rank. */
static void go_second(View *view, uint32_t mask) {
  for (uint32_t axis = view->plan->axes_count; axis-- > 0;) {
    if ((mask >> axis & 1) == 0 || bounds_of(view)[axis].end - bounds_of(view)[axis].first < 2)
      continue;
    view->coordinate[axis]++;
    return;
  }
}

static void add(const View *view, Members *members) {
  const size_t row = sizeof view->coordinate;
  for (uint32_t i = 0; i < members->count; i++)
    if (memcmp(members->coordinates[i], view->coordinate, row) == 0) return;
  memcpy(members->coordinates[members->count++], view->coordinate, row); /* there is room for all */
}

static void fill(View *view, const bool *used, Members *members) {
  uint32_t all = 0;
  go_first(view);
  add(view, members);
  for (uint32_t comm = 0; comm < view->plan->comms_count; comm++) {
    if (!used[comm]) continue;
    uint32_t mask = view->plan->comms[comm].axes_mask;
    all |= mask;
    go_first(view), go_second(view, mask), add(view, members);
    go_first(view), go_last(view, mask), add(view, members);
  }
  go_first(view), go_last(view, all), add(view, members);
}

Members members_of(const View *view) {
  View at = *view;
  Members members = {0};
  bool *used = prove_array(view, view->plan->comms_count, sizeof *used);
  bool *seen = prove_array(view, view->plan->segments_count, sizeof *seen);
  members.coordinates =
      prove_array(view, 2 * (size_t)view->plan->comms_count + 2, sizeof *members.coordinates);
  if (used != NULL && seen != NULL && members.coordinates != NULL) {
    mark_used(view, used, seen);
    fill(&at, used, &members);
  }
  free(used), free(seen);
  return members;
}

void view_from(View *view, const uint32_t *coordinate) {
  memcpy(view->coordinate, coordinate, sizeof view->coordinate);
  view->rank = 1;
  for (uint32_t comm = 0; comm < view->plan->comms_count; comm++)
    view->rank = hash_mix(view->rank, (uint64_t)view_member(view, comm));
}
