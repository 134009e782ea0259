#include "runtime/plan/plan_control.h"

#include <string.h>

#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"
#include "runtime/plan/plan_why.h"

typedef struct KnownSlot {
  PlanSlot slot;
  const char *unit;
} KnownSlot;

static const KnownSlot known[CONTROL_SLOT_COUNT] = {
#define CONTROL_SLOT(of_kind, of_type, by, reduced, name, of_unit)                                 \
  [CONTROL_##name] = {{.kind = SLOT_##of_kind,                                                     \
                       .type = SLOT_##of_type,                                                     \
                       .writer = SLOT_BY_##by,                                                     \
                       .reduce = SLOT_##reduced},                                                  \
                      of_unit},
    CONTROL_SLOTS(CONTROL_SLOT)
#undef CONTROL_SLOT
};

PlanSlot plan_slot_known(ControlSlot slot) {
  return known[slot].slot;
}

const char *plan_slot_unit(ControlSlot slot) {
  return known[slot].unit;
}

const PlanSlot *plan_slot(const Plan *plan, ControlSlot slot) {
  for (uint32_t i = 0; i < plan->slots_count; i++)
    if (strcmp(plan_string(plan, plan->slots[i].name), control_name(slot)) == 0)
      return &plan->slots[i];
  return NULL;
}

uint64_t plan_slot_mask(const Plan *plan) {
  uint64_t mask = 0;
  for (ControlSlot i = 0; i < CONTROL_SLOT_COUNT; i++)
    if (plan_slot(plan, i) != NULL) mask |= CONTROL_BIT(i);
  return mask;
}

PlanSlots plan_slots(const Plan *plan) {
  PlanSlots slots;
  for (ControlSlot i = 0; i < CONTROL_SLOT_COUNT; i++)
    slots.at[i] = plan_slot(plan, i);
  return slots;
}

static void widen(PlanBytes *bytes, const PlanSlot *slot) {
  if (bytes->end == 0) bytes->first = slot->offset;
  bytes->end = slot->offset + CONTROL_SLOT_BYTES;
}

PlanBytes plan_slots_of_kinds(const Plan *plan, SlotKind first, SlotKind last) {
  PlanBytes bytes = {0};
  for (uint32_t i = 0; i < plan->slots_count; i++)
    if (plan->slots[i].kind >= (uint32_t)first && plan->slots[i].kind <= (uint32_t)last)
      widen(&bytes, &plan->slots[i]);
  return bytes;
}

static PlanBytes slots_reduced(const Plan *plan, SlotReduce reduce) {
  PlanBytes bytes = {0};
  for (uint32_t i = 0; i < plan->slots_count; i++)
    if (plan->slots[i].reduce == (uint32_t)reduce) widen(&bytes, &plan->slots[i]);
  return bytes;
}

PlanBytes plan_slots_summed(const Plan *plan) {
  return slots_reduced(plan, SLOT_SUM);
}

PlanBytes plan_slots_counted(const Plan *plan) {
  return slots_reduced(plan, SLOT_SUM_FIRST);
}

static bool is_drawn(const Plan *plan, const PlanSlot *slot) {
  return strncmp(plan_string(plan, slot->name), PLAN_DRAWN_PREFIX, sizeof PLAN_DRAWN_PREFIX - 1) ==
         0;
}

int32_t plan_losses_held(const Plan *plan) {
  int32_t count = 1;
  while (count < LOSSES_MAX && plan_slot(plan, control_loss(count)) != NULL)
    count++;
  return count;
}

uint64_t plan_loss_bytes(const Plan *plan) {
  uint64_t count = 2 * (uint64_t)plan_losses_held(plan);
  for (uint32_t i = 0; i < plan->slots_count; i++)
    count += is_drawn(plan, &plan->slots[i]);
  return count * CONTROL_SLOT_BYTES;
}

static bool is_of_kinds(const PlanSlot *slot, SlotKind first, SlotKind last) {
  return slot != NULL && slot->kind >= (uint32_t)first && slot->kind <= (uint32_t)last;
}

void plan_control_store(const PlanSlots *slots, SlotKind first, SlotKind last, const Control *from,
                        void *block) {
  Control values = *from;
  for (ControlSlot i = 0; i < CONTROL_SLOT_COUNT; i++) {
    const PlanSlot *slot = slots->at[i];
    if (is_of_kinds(slot, first, last))
      memcpy((uint8_t *)block + slot->offset, control_value(&values, i), CONTROL_SLOT_BYTES);
  }
}

void plan_control_load(const PlanSlots *slots, SlotKind first, SlotKind last, const void *block,
                       Control *to) {
  for (ControlSlot i = 0; i < CONTROL_SLOT_COUNT; i++) {
    const PlanSlot *slot = slots->at[i];
    if (is_of_kinds(slot, first, last))
      memcpy(control_value(to, i), (const uint8_t *)block + slot->offset, CONTROL_SLOT_BYTES);
  }
}

/* ---- plan_check */

static ControlSlot known_as(const char *name) {
  ControlSlot slot = 0;
  while (slot < CONTROL_SLOT_COUNT && strcmp(control_name(slot), name) != 0)
    slot++;
  return slot;
}

/* The host only sets and reads slots that it knows. */
static bool check_meaning(const Plan *plan, uint32_t index, char *why) {
  const PlanSlot *slot = &plan->slots[index];
  const char *name = plan_string(plan, slot->name);
  ControlSlot as = is_drawn(plan, slot) ? CONTROL_loss : known_as(name);
  if (as == CONTROL_SLOT_COUNT)
    return plan_refuse(why, "slots[%u]: nothing sets or reads a control value '%.40s'", index,
                       name);
  const PlanSlot *wanted = &known[as].slot;
  if (slot->kind != wanted->kind || slot->type != wanted->type || slot->writer != wanted->writer ||
      slot->reduce != wanted->reduce)
    return plan_refuse(why, "slots[%u] %s: %s %s by %s, %s; it is %s %s by %s, %s", index, name,
                       SlotKind_names[slot->kind], SlotType_names[slot->type],
                       SlotWriter_names[slot->writer], SlotReduce_names[slot->reduce],
                       SlotKind_names[wanted->kind], SlotType_names[wanted->type],
                       SlotWriter_names[wanted->writer], SlotReduce_names[wanted->reduce]);
  return true;
}

/* Slots are ordered by kind and do not overlap, so that one copy moves exactly the kinds that it is
 * for. */
static bool check_place(const Plan *plan, uint32_t index, char *why) {
  const PlanSlot *slot = &plan->slots[index], *before = index > 0 ? slot - 1 : NULL;
  uint64_t least = before != NULL ? before->offset + CONTROL_SLOT_BYTES : 0;
  uint64_t block = job_control_bytes(plan);
  const char *name = plan_string(plan, slot->name);
  if (slot->offset % CONTROL_SLOT_BYTES != 0 || slot->offset < least ||
      block < CONTROL_SLOT_BYTES || slot->offset > block - CONTROL_SLOT_BYTES)
    return plan_refuse(why, "slots[%u] %s: at %llu of %llu bytes, after %llu", index, name,
                       (unsigned long long)slot->offset, (unsigned long long)block,
                       (unsigned long long)least);
  if (before != NULL && before->kind > slot->kind)
    return plan_refuse(why, "slots[%u] %s: %s after %s", index, name, SlotKind_names[slot->kind],
                       SlotKind_names[before->kind]);
  for (uint32_t i = 0; i < index; i++)
    if (plan->slots[i].name == slot->name ||
        strcmp(plan_string(plan, plan->slots[i].name), name) == 0)
      return plan_refuse(why, "slots[%u] %s: a second one", index, name);
  return true;
}

/* The pairs of several losses follow one another. */
static bool check_losses(const Plan *plan, const PlanSlot *loss, char *why) {
  for (int32_t i = 2; i < 2 * LOSSES_MAX; i++) {
    const PlanSlot *slot = plan_slot(plan, (ControlSlot)((int32_t)CONTROL_loss + i));
    if (slot == NULL && i >= 2 * plan_losses_held(plan)) continue;
    if (slot != loss + i || slot->offset != loss->offset + (uint64_t)i * CONTROL_SLOT_BYTES)
      return plan_refuse(why, "slots: %s does not follow the losses before it",
                         control_name((ControlSlot)((int32_t)CONTROL_loss + i)));
  }
  return true;
}

/* Kernels write the loss and its weight, or what they draw, through one operand. */
static bool check_loss(const Plan *plan, char *why) {
  const PlanSlot *loss = plan_slot(plan, CONTROL_loss), *count = plan_slot(plan, CONTROL_count);
  if (loss == NULL || count == NULL || count != loss + 1 ||
      count->offset != loss->offset + CONTROL_SLOT_BYTES)
    return plan_refuse(why, "slots: loss and count are not adjacent");
  if (plan_losses_held(plan) > 1) return check_losses(plan, loss, why);
  const uint32_t drawn = (uint32_t)(plan_loss_bytes(plan) / CONTROL_SLOT_BYTES);
  const uint32_t first = (uint32_t)(loss - plan->slots);
  for (uint32_t i = 2; i < drawn; i++)
    if (first + i >= plan->slots_count || !is_drawn(plan, loss + i) ||
        loss[i].offset != loss->offset + i * CONTROL_SLOT_BYTES)
      return plan_refuse(why, "slots: what is drawn does not follow count");
  return true;
}

/* All slots that ranks sum at one time form one operand. */
static bool check_summed(const Plan *plan, SlotReduce reduce, char *why) {
  PlanBytes bytes = slots_reduced(plan, reduce);
  uint64_t at = bytes.first;
  for (uint32_t i = 0; i < plan->slots_count; i++)
    if (plan->slots[i].reduce == (uint32_t)reduce) {
      if (plan->slots[i].offset != at)
        return plan_refuse(why, "slots[%u]: sums are not adjacent", i);
      at += CONTROL_SLOT_BYTES;
    }
  return true;
}

static bool check_uses(const Plan *plan, char *why) {
  for (uint32_t i = 0; i < plan->controls_count; i++) {
    const PlanSlot *slot = &plan->slots[plan->controls[i].slot];
    if (slot->writer == SLOT_BY_HOST && plan->controls[i].access != ACCESS_READ)
      return plan_refuse(why, "controls[%u]: a kernel writes %s, which is the host's", i,
                         plan_string(plan, slot->name));
  }
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan->records[i].controls_count > 0 && plan->records[i].kind != RECORD_KERNEL)
      return plan_refuse(why, "records[%u]: only kernels have control slots", i);
  return true;
}

bool plan_check_control(const Plan *plan, char *why) {
  for (uint32_t i = 0; i < plan->slots_count; i++)
    if (!check_place(plan, i, why)) return false;
  for (uint32_t i = 0; i < plan->slots_count; i++)
    if (!check_meaning(plan, i, why)) return false;
  return check_loss(plan, why) && check_summed(plan, SLOT_SUM, why) &&
         check_summed(plan, SLOT_SUM_FIRST, why) && check_uses(plan, why);
}
