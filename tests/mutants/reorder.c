#include "tests/mutants/reorder.h"

#include <stdio.h>
#include <string.h>

#include "kernels/contract/contract.h"
#include "kernels/math/philox.h"
#include "runtime/plan/control.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/plan/plan_text.h"

enum { EDGES_MOST = 64 }; /* of one record, in any plan tried here */

typedef struct Order {
  PlanBuilder *b;
  uint64_t seed, draws;
  char *text;
} Order;

static uint32_t below(Order *o, uint32_t limit) {
  uint32_t word[4];
  philox4(o->seed, 0, o->draws++, word);
  return limit == 0 ? 0 : word[0] % limit;
}

static const char *name_of(const Order *o, const PlanRecord *record) {
  return record->kind == RECORD_KERNEL ? o->b->strings + o->b->kernels[record->kernel].name
                                       : RecordKind_names[record->kind];
}

/* ---- bytes */

typedef struct Bytes {
  uint64_t first, end;
} Bytes;

static uint32_t members_of(const Order *o, uint32_t comm) {
  Plan plan = build_view(o->b);
  return plan_comm_size(&plan, comm);
}

static Bytes over_members(const Order *o, Bytes bytes, int64_t stride, uint32_t by) {
  if (by == PLAN_NONE) return bytes;
  int64_t way = stride * ((int64_t)members_of(o, by) - 1);
  if (way > 0)
    bytes.end += (uint64_t)way;
  else
    bytes.first -= (uint64_t)-way;
  return bytes;
}

/* The bytes that an operand touches in a call, on all ranks together. */
static Bytes bytes_of(const Order *o, const PlanCall *call, const PlanOperand *operand) {
  const PlanBinding *binding = &o->b->bindings[call->bindings_first + operand->base];
  Bytes bytes = {binding->offset + operand->offset,
                 binding->offset + operand->offset + operand->size_bytes};
  bytes = over_members(o, bytes, operand->member_stride, operand->by);
  return over_members(o, bytes, binding->member_stride, binding->by);
}

static bool meet(Bytes a, Bytes c) {
  return a.first < c.end && c.first < a.end;
}

static bool records_meet(const Order *o, const PlanCall *call, const PlanRecord *x,
                         const PlanCall *other, const PlanRecord *y) {
  for (uint32_t i = 0; i < x->operands_count; i++) {
    const PlanOperand *a = &o->b->operands[x->operands_first + i];
    Bytes bytes = bytes_of(o, call, a);
    for (uint32_t k = 0; k < y->operands_count; k++) {
      const PlanOperand *c = &o->b->operands[y->operands_first + k];
      if ((a->access != ACCESS_READ || c->access != ACCESS_READ) &&
          meet(bytes, bytes_of(o, other, c)))
        return true;
    }
  }
  return false;
}

/* Slots of the control block that a record uses. */
typedef struct Slots {
  uint32_t used, written; /* by number of the plan */
} Slots;

static Slots slots_of(const Order *o, const PlanRecord *record) {
  Slots slots = {0, 0};
  for (uint32_t i = 0; i < record->controls_count; i++) {
    const PlanControl *control = &o->b->controls[record->controls_first + i];
    slots.used |= 1u << control->slot;
    if (control->access != ACCESS_READ) slots.written |= 1u << control->slot;
  }
  return slots;
}

static bool slots_meet(const Order *o, Slots slots, const PlanCall *call,
                       const PlanRecord *record) {
  for (uint32_t slot = 0; slot < o->b->slots_count; slot++) {
    uint64_t first = (uint64_t)*build_count(o->b, JOB_control_offset) + o->b->slots[slot].offset;
    Bytes bytes = {first, first + CONTROL_SLOT_BYTES};
    for (uint32_t i = 0; (slots.used >> slot & 1u) && i < record->operands_count; i++) {
      const PlanOperand *operand = &o->b->operands[record->operands_first + i];
      bool writes = operand->access != ACCESS_READ || (slots.written >> slot & 1u);
      if (writes && meet(bytes, bytes_of(o, call, operand))) return true;
    }
  }
  return false;
}

static bool control_meets(const Order *o, const PlanCall *call, const PlanRecord *x,
                          const PlanCall *other, const PlanRecord *y) {
  Slots a = slots_of(o, x), b = slots_of(o, y);
  return (a.written & b.used) != 0 || (a.used & b.written) != 0 || slots_meet(o, a, other, y) ||
         slots_meet(o, b, call, x);
}

static bool may_swap(const Order *o, const PlanCall *call, const PlanRecord *x,
                     const PlanCall *other, const PlanRecord *y) {
  if (control_meets(o, call, x, other, y)) return false;
  return !(plan_is_communication(x) && plan_is_communication(y)) &&
         !(x->kind == RECORD_LOAD && y->kind == RECORD_LOAD) && !records_meet(o, call, x, other, y);
}

/* ---- records */

static bool waits_for(const Order *o, const PlanRecord *record, uint32_t other) {
  for (uint32_t i = 0; i < record->after_count; i++)
    if (o->b->edges[record->after_first + i].record == other) return true;
  return false;
}

/* The new place of what was at `index`; on one lane the later of the two ends both. */
static uint32_t moved(uint32_t index, uint32_t first, bool same_lane) {
  if (index != first && index != first + 1) return index;
  return same_lane || index == first ? first + 1 : first;
}

static void move_edges(const Order *o, const PlanRecord *record, uint32_t first, bool same_lane) {
  for (uint32_t i = 0; i < record->after_count; i++) {
    PlanEdge *edge = &o->b->edges[record->after_first + i];
    edge->record = moved(edge->record, first, same_lane);
  }
}

/* Waits of every program whose calls have the segment. */
static void move_waits(Order *o, uint32_t segment, uint32_t first, bool same_lane) {
  for (uint32_t p = 0; p < o->b->programs_count; p++) {
    const PlanProgram *program = &o->b->programs[p];
    for (uint32_t c = 0; c < program->calls_count; c++) {
      const PlanCall *call = &o->b->calls[program->calls_first + c];
      for (uint32_t w = 0; w < call->waits_count; w++) {
        PlanWait *wait = &o->b->waits[call->waits_first + w];
        const Plan plan = build_view(o->b);
        const PlanProgram *other = plan_awaited(&plan, &plan.programs[p], wait);
        if (o->b->calls[other->calls_first + wait->call].segment == segment)
          wait->record = moved(wait->record, first, same_lane);
      }
    }
  }
}

static bool records_are_free(const Order *o, uint32_t segment, const PlanRecord *x,
                             const PlanRecord *y) {
  for (uint32_t c = 0; c < o->b->calls_count; c++) {
    const PlanCall *call = &o->b->calls[c];
    if (call->segment == segment && !may_swap(o, call, x, call, y)) return false;
  }
  return true;
}

/* The ranges of edges stay in order: what was y's comes first now. On one lane y also waits for
 * what x waited for, since x kept it back. */
static void swap_with_edges(const Order *o, PlanRecord *x, PlanRecord *y, bool same_lane) {
  PlanRecord early = *y, late = *x;
  uint32_t index = (uint32_t)(x - o->b->records), count = x->after_count;
  uint32_t edges[EDGES_MOST];
  for (uint32_t i = 0; i < count && i < EDGES_MOST; i++)
    edges[i] = o->b->edges[x->after_first + i].record;
  *x = early, *y = late;
  y->after_count = 0;
  for (uint32_t i = 0; i < count && i < EDGES_MOST; i++) {
    build_edge(o->b, index + 1, edges[i]);
    if (same_lane && !waits_for(o, &o->b->records[index], edges[i]))
      build_edge(o->b, index, edges[i]);
  }
}

static bool swap_records(Order *o) {
  uint32_t number = o->b->calls[below(o, o->b->calls_count)].segment;
  const PlanSegment *segment = &o->b->segments[number];
  if (segment->records_count < 2) return false;
  uint32_t first = below(o, segment->records_count - 1);
  PlanRecord *records = &o->b->records[segment->records_first], *x = &records[first], *y = x + 1;
  bool same_lane = x->lane == y->lane;
  if (same_lane && (x->when_all != y->when_all || x->when_none != y->when_none)) return false;
  if (waits_for(o, y, first) || !records_are_free(o, number, x, y)) return false;
  swap_with_edges(o, x, y, same_lane);
  for (uint32_t i = 0; i < segment->records_count; i++)
    records[i].fuses = 0; /* records that followed another may not do so any more */
  for (uint32_t i = first + 2; i < segment->records_count; i++)
    move_edges(o, &records[i], first, same_lane);
  move_waits(o, number, first, same_lane);
  (void)snprintf(o->text, REORDER_TEXT_BYTES, "records %u and %u (%s, %s) of %s",
                 segment->records_first + first, segment->records_first + first + 1, name_of(o, x),
                 name_of(o, y), o->b->strings + segment->name);
  return true;
}

/* ---- calls */

static const PlanRecord *record_at(const Order *o, const PlanCall *call, uint32_t index) {
  return &o->b->records[o->b->segments[call->segment].records_first + index];
}

static uint32_t record_count(const Order *o, const PlanCall *call) {
  return o->b->segments[call->segment].records_count;
}

/* Nothing to wait for and nobody who waits: order across lanes does not go through it. And no other
 * calls of its batch. */
static bool is_alone(const Order *o, const PlanProgram *program, uint32_t position) {
  const Plan plan = build_view(o->b);
  if (plan_launch_of(&plan, program, position) != NULL) return false;
  if (o->b->calls[program->calls_first + position].waits_count > 0) return false;
  for (uint32_t c = 0; c < program->calls_count; c++) {
    const PlanCall *call = &o->b->calls[program->calls_first + c];
    for (uint32_t w = 0; w < call->waits_count; w++)
      if (o->b->waits[call->waits_first + w].run_back == 0 &&
          o->b->waits[call->waits_first + w].call == position)
        return false;
  }
  const PlanCall *call = &o->b->calls[program->calls_first + position];
  for (uint32_t i = 0; i < record_count(o, call); i++)
    if (record_at(o, call, i)->lane != LANE_COMPUTE) return false;
  return true;
}

static bool calls_are_free(const Order *o, const PlanCall *x, const PlanCall *y) {
  for (uint32_t i = 0; i < record_count(o, x); i++)
    for (uint32_t k = 0; k < record_count(o, y); k++)
      if (!may_swap(o, x, record_at(o, x, i), y, record_at(o, y, k))) return false;
  return true;
}

static bool touches(const Order *o, const PlanCall *call, const PlanBuffer *buffer) {
  Bytes held = {buffer->offset, buffer->offset + buffer->size_bytes};
  for (uint32_t i = 0; i < record_count(o, call); i++) {
    const PlanRecord *record = record_at(o, call, i);
    for (uint32_t k = 0; k < record->operands_count; k++)
      if (meet(held, bytes_of(o, call, &o->b->operands[record->operands_first + k]))) return true;
  }
  return false;
}

/* Lives that began or ended with one of the two calls do so with that call still. */
static void move_lives(Order *o, uint32_t program, uint32_t first) {
  const PlanCall *x = &o->b->calls[o->b->programs[program].calls_first + first], *y = x + 1;
  for (uint32_t i = 0; i < o->b->buffers_count; i++) {
    PlanBuffer *buffer = &o->b->buffers[i];
    if (buffer->program != program) continue;
    bool by_x = touches(o, x, buffer), by_y = touches(o, y, buffer);
    if (buffer->first_call == first && !by_y)
      buffer->first_call = first + 1;
    else if (buffer->first_call == first + 1 && by_y)
      buffer->first_call = first;
    if (buffer->last_call == first && by_x)
      buffer->last_call = first + 1;
    else if (buffer->last_call == first + 1 && !by_x)
      buffer->last_call = first;
  }
}

/* Buffers that lived one after the other may not be in the same place now. */
static bool lives_are_apart(const Order *o, uint32_t program, uint32_t first) {
  for (uint32_t i = 0; i < o->b->buffers_count; i++)
    for (uint32_t k = 0; k < i; k++) {
      const PlanBuffer *a = &o->b->buffers[i], *c = &o->b->buffers[k];
      if (a->program != program || c->program != program) continue;
      if (a->last_call < first || c->last_call < first || a->first_call > first + 1 ||
          c->first_call > first + 1)
        continue;
      if (a->first_call <= c->last_call && c->first_call <= a->last_call &&
          meet((Bytes){a->offset, a->offset + a->size_bytes},
               (Bytes){c->offset, c->offset + c->size_bytes}))
        return false;
    }
  return true;
}

static bool swap_calls(Order *o) {
  uint32_t number = below(o, o->b->programs_count);
  const PlanProgram *program = &o->b->programs[number];
  if (program->calls_count < 2 || program->loops_count > 0) return false;
  uint32_t first = below(o, program->calls_count - 1);
  PlanCall *x = &o->b->calls[program->calls_first + first], *y = x + 1;
  if (!is_alone(o, program, first) || !is_alone(o, program, first + 1) || !calls_are_free(o, x, y))
    return false;
  move_lives(o, number, first);
  PlanCall z = *x;
  *x = *y, *y = z;
  if (!lives_are_apart(o, number, first)) return false;
  build_peaks_of_programs(o->b);
  (void)snprintf(o->text, REORDER_TEXT_BYTES, "calls %u and %u of program %u (%s, %s)", first,
                 first + 1, number, o->b->strings + o->b->segments[x->segment].name,
                 o->b->strings + o->b->segments[y->segment].name);
  return true;
}

bool plan_reorder(const Plan *good, uint64_t seed, ReorderKind kind, PlanBuilder *plan,
                  char text[REORDER_TEXT_BYTES]) {
  enum { TRIES = 200 };
  Order o = {plan, seed, 0, text};
  for (int i = 0; i < TRIES; i++) {
    build_copy(plan, good);
    if (kind == REORDER_RECORDS ? swap_records(&o) : swap_calls(&o)) return true;
    build_free(plan);
  }
  return false;
}
