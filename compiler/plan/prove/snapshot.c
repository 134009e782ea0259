/* snapshot.c -- a snapshot has all state of a class, and nothing changes while it is copied.
 *
 * Its program only copies, on one lane, from state into a buffer that no other program touches. It
 * runs beside steps and evaluations, so each record of these that writes copied bytes must come
 * after the copy: its lane has waited for the copy, or for a later one. Lanes are looked at one by
 * one; what a lane would know from another one is not counted. */
#include <string.h>

#include "compiler/plan/prove/intervals.h"
#include "compiler/plan/prove/walk.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_text.h"

typedef struct Snapshot {
  const View *view;
  const PlanProgram *program;
  uint32_t *order_first; /* by call: copies before it */
  uint32_t count;        /* copies */
  /* bytes that the copies read, by number in list order; bytes that they write */
  Intervals from, to;
  uint64_t first, end;            /* of the class's buffer for snapshots */
  bool *is_written;               /* by base: a record of its segment writes there */
  bool *is_noted;                 /* by segment: is_written is known */
  uint32_t known[PLAN_LANES_MAX]; /* copies that the lane knows to be over */
} Snapshot;

/* ---- the copies */

/* The part of the set that the bytes meet, or NULL. */
static const Interval *met_by(const Intervals *set, uint64_t first, uint64_t end) {
  const Interval *met = intervals_find(set, first);
  return met != NULL && met->first < end ? met : NULL;
}

static void add_copy(Snapshot *s, const Walk *walk, uint32_t index, uint32_t lane) {
  const Plan *plan = s->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  const PlanOperand *read = record_operand(plan, record, 0),
                    *written = record_operand(plan, record, 1);
  if (record->kind != RECORD_COPY || record->lane != lane || record->when_all != 0 ||
      record->when_none != 0 || read->access != ACCESS_READ || read->by != PLAN_NONE ||
      written->by != PLAN_NONE) {
    prove_finding(s->view, walk, index, "snapshot",
                  "it is no copy that always runs, on the lane of the others, alike on all ranks");
    return;
  }
  const uint64_t bytes = read->size_bytes, from = walk_base(walk, read->base) + read->offset;
  const uint64_t to = walk_base(walk, written->base) + written->offset;
  if (met_by(&s->from, from, from + bytes) != NULL)
    prove_finding(s->view, walk, index, "snapshot", "it copies bytes that another one copies");
  if (to < s->first || to + bytes > s->end || met_by(&s->to, to, to + bytes) != NULL)
    prove_finding(s->view, walk, index, "snapshot",
                  "it writes over another copy, or outside the buffer of the snapshot");
  intervals_put(s->view->arena, &s->from, (Interval){from, from + bytes, s->count});
  intervals_put(s->view->arena, &s->to, (Interval){to, to + bytes, s->count});
  s->count++;
}

static void find_copies(Snapshot *s) {
  Walk walk = walk_begin(s->view, s->program, WALK_ONCE);
  uint32_t lane = PLAN_NONE;
  s->order_first = ARENA_ARRAY(s->view->arena, uint32_t, s->program->calls_count + 1);
  if (s->program->loops_count > 0)
    prove_finding(s->view, NULL, -1, "snapshot", "the snapshot has a loop");
  while (walk_next(&walk)) {
    s->order_first[walk.position] = s->count;
    for (uint32_t i = 0; i < walk.segment->records_count; i++) {
      if (lane == PLAN_NONE) lane = walk_record(&walk, i)->lane;
      add_copy(s, &walk, i, lane);
    }
  }
}

/* ---- everything that a checkpoint has is copied */

static bool is_state(uint32_t kind) {
  return kind == BUFFER_PARAM || kind == BUFFER_MASTER || kind == BUFFER_MOMENT1 ||
         kind == BUFFER_MOMENT2 || kind == BUFFER_MOMENT1_MAX || kind == BUFFER_MOMENT2_MAX ||
         kind == BUFFER_COMPENSATION;
}

static bool has_layer(const PlanTensor *tensor, int32_t layer) {
  return layer < 0 ? tensor->layer_first < 0
                   : layer >= tensor->layer_first && tensor->layer_first >= 0 &&
                         layer - tensor->layer_first < (int32_t)tensor->layer_count;
}

/* True if an earlier class has the value, and saves it: a tied weight. */
static bool is_saved_before(const View *view, const PlanTensor *tensor, int32_t layer) {
  for (const PlanTensor *other = view->plan->tensors;
       other < view->plan->tensors + view->class->tensors_first; other++)
    if (other->name == tensor->name && other->kind == tensor->kind && has_layer(other, layer))
      return true;
  return false;
}

/* True if it is the rounded master. */
static bool is_rounded(const View *view, const PlanTensor *tensor, int32_t layer) {
  const PlanClass *class = view->class;
  for (uint32_t i = 0; i < class->tensors_count && tensor->kind == BUFFER_PARAM; i++) {
    const PlanTensor *other = &view->plan->tensors[class->tensors_first + i];
    if (other->kind == BUFFER_MASTER && other->dtype != DTYPE_I16 && other->name == tensor->name &&
        has_layer(other, layer))
      return true;
  }
  return false;
}

/* Reasons why a layer needs no copy are looked for only where none is found: each is a search of
 * all tensors. */
static void check_tensor(const Snapshot *s, const PlanTensor *tensor) {
  for (uint32_t i = 0; i < tensor->layer_count; i++) {
    const uint64_t first = plan_address(tensor->tier, tensor->offset + i * tensor->layer_stride);
    const int32_t layer = tensor->layer_first < 0 ? -1 : tensor->layer_first + (int32_t)i;
    const Interval *copied = intervals_find(&s->from, first);
    if (copied != NULL && copied->first <= first && first + tensor->size_bytes <= copied->end)
      continue;
    if (is_rounded(s->view, tensor, layer) || is_saved_before(s->view, tensor, layer)) continue;
    prove_finding(s->view, NULL, -1, "snapshot", "no copy has all of %s of %.60s, layer %d",
                  BufferKind_names[tensor->kind], plan_string(s->view->plan, tensor->name), layer);
    return;
  }
}

static void check_tensors(const Snapshot *s) {
  const View *view = s->view;
  for (uint32_t i = 0; i < view->class->tensors_count; i++) {
    const PlanTensor *tensor = &view->plan->tensors[view->class->tensors_first + i];
    if (is_state(tensor->kind)) check_tensor(s, tensor);
  }
}

/* ---- programs beside it */

/* A wait holds before the first record of the call on its lane. */
static void join_waits(Snapshot *s, const Walk *walk, uint32_t lane) {
  for (uint32_t i = 0; i < walk->call->waits_count; i++) {
    const PlanWait *wait = &s->view->plan->waits[walk->call->waits_first + i];
    if (wait->lane != lane || wait->program != PROGRAM_SNAPSHOT) continue;
    const uint32_t over = s->order_first[wait->call] + wait->record + 1;
    if (over > s->known[lane]) s->known[lane] = over;
  }
}

static void check_operand(const Snapshot *s, const Walk *walk, uint32_t index,
                          const PlanOperand *operand) {
  const uint32_t lane = walk_record(walk, index)->lane;
  const uint64_t base = walk_base(walk, operand->base), first = base + operand->offset;
  const uint64_t end = base + operand_end(s->view->plan, operand);
  const Interval *met = NULL;
  if (first < s->end && s->first < end)
    prove_finding(s->view, walk, index, "snapshot", "it touches the buffer of the snapshot");
  for (uint64_t next = first; operand->access != ACCESS_READ && next < end; next = met->end) {
    met = met_by(&s->from, next, end);
    if (met == NULL) return;
    if (met->number < s->known[lane]) continue;
    prove_finding(s->view, walk, index, "ordering",
                  "writes bytes [%llu..%llu) that a snapshot may not have copied yet",
                  (unsigned long long)met->first, (unsigned long long)met->end);
    return;
  }
}

static void note_writes(Snapshot *s, const PlanSegment *segment) {
  const Plan *plan = s->view->plan;
  for (uint32_t i = 0; i < segment->records_count; i++) {
    const PlanRecord *record = &plan->records[segment->records_first + i];
    for (uint32_t k = 0; k < record->operands_count; k++) {
      const PlanOperand *operand = record_operand(plan, record, k);
      if (operand->access != ACCESS_READ)
        s->is_written[segment->bases_first + operand->base] = true;
    }
  }
}

/* True if the call waits for a copy, if a base that it writes meets state that is copied, or if any
 * base meets the snapshot. Most calls do not: layers only read their parameters. */
static bool concerns(Snapshot *s, const Walk *walk) {
  const Plan *plan = s->view->plan;
  bool *is_noted = &s->is_noted[walk->call->segment];
  if (!*is_noted) note_writes(s, walk->segment);
  *is_noted = true;
  for (uint32_t i = 0; i < walk->call->waits_count; i++)
    if (plan->waits[walk->call->waits_first + i].program == PROGRAM_SNAPSHOT) return true;
  for (uint32_t i = 0; i < walk->segment->bases_count; i++) {
    const uint32_t base = walk->segment->bases_first + i;
    const uint64_t first = walk_base(walk, i), end = first + plan->bases[base].size_bytes;
    if (first < s->end && s->first < end) return true;
    if (s->is_written[base] && met_by(&s->from, first, end) != NULL) return true;
  }
  return false;
}

static void check_program(Snapshot *s, const PlanProgram *program) {
  Walk walk = walk_begin(s->view, program, WALK_ONCE);
  memset(s->known, 0, sizeof s->known);
  while (walk_next(&walk)) {
    if (!concerns(s, &walk)) continue;
    uint32_t begun = 0;
    for (uint32_t i = 0; i < walk.segment->records_count; i++) {
      const PlanRecord *record = walk_record(&walk, i);
      if (!walk_runs(&walk, record)) continue;
      if ((begun >> record->lane & 1u) == 0) join_waits(s, &walk, record->lane);
      begun |= 1u << record->lane;
      for (uint32_t k = 0; k < record->operands_count; k++)
        check_operand(s, &walk, i, record_operand(s->view->plan, record, k));
    }
  }
}

/* Finds the one buffer that snapshots are copied to. False: the class has no such buffer, or a
 * second one. */
static bool find_buffer(Snapshot *s) {
  const PlanClass *class = s->view->class;
  uint32_t count = 0;
  for (uint32_t i = 0; i < class->buffers_count; i++) {
    const PlanBuffer *buffer = &s->view->plan->buffers[class->buffers_first + i];
    if (buffer->kind != BUFFER_SNAPSHOT) continue;
    count++;
    s->first = buffer_address(buffer);
    s->end = s->first + buffer->size_bytes;
    if (buffer->program != PLAN_NONE) return false;
  }
  return count == 1;
}

void prove_snapshot(const View *view) {
  Snapshot s = {.view = view,
                .program = plan_program(view->plan, view->class, PROGRAM_SNAPSHOT),
                .is_written = ARENA_ARRAY(view->arena, bool, view->plan->bases_count + 1),
                .is_noted = ARENA_ARRAY(view->arena, bool, view->plan->segments_count + 1)};
  const uint64_t slots = plan_slot_mask(view->plan) & CONTROL_SAVE_SLOTS;
  if (s.program == NULL && slots == 0) return;
  if (slots != CONTROL_SAVE_SLOTS)
    prove_finding(view, NULL, -1, "snapshot", "ranks have no slots to tell each other of parts");
  if (s.program != NULL && !find_buffer(&s))
    prove_finding(view, NULL, -1, "snapshot", "it has no lasting buffer, or two");
  if (s.program != NULL) find_copies(&s);
  check_tensors(&s);
  for (uint32_t i = 0; i < view->class->programs_count && s.program != NULL; i++) {
    const PlanProgram *program = &view->plan->programs[view->class->programs_first + i];
    if (program->kind == PROGRAM_TRAIN_STEP || program->kind == PROGRAM_EVAL_STEP)
      check_program(&s, program);
  }
}
