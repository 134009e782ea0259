/* plan_control.h -- the control slots of a plan, by the names that the runtime knows (control.h).
 */
#ifndef LOCKSTEP_PLAN_CONTROL_SLOTS_H
#define LOCKSTEP_PLAN_CONTROL_SLOTS_H

#include "runtime/plan/control.h"
#include "runtime/plan/plan.h"

/* The properties of the slot; offset and strings are 0. */
PlanSlot plan_slot_known(ControlSlot slot);
const char *plan_slot_unit(ControlSlot slot);

/* NULL: the plan has no such slot. */
const PlanSlot *plan_slot(const Plan *plan, ControlSlot slot);

/* CONTROL_BITs of the slots that the plan has. */
uint64_t plan_slot_mask(const Plan *plan);

/* Bytes of the control block. */
typedef struct PlanBytes {
  uint64_t first, end;
} PlanBytes;

/* The bytes from the first slot of a kind in [first, last] to the last one; empty if there is none.
 */
PlanBytes plan_slots_of_kinds(const Plan *plan, SlotKind first, SlotKind last);
PlanBytes plan_slots_summed(const Plan *plan);
PlanBytes plan_slots_counted(const Plan *plan); /* before the first micro-batch */
/* The number of losses that the plan has slots for. */
int32_t plan_losses_held(const Plan *plan);
/* The losses, each with its weight; of a sampled model the two numbers of each sample. */
uint64_t plan_loss_bytes(const Plan *plan);

/* The plan's slots by the numbers that this program has for them; NULL: the plan does not have it.
 */
typedef struct PlanSlots {
  const PlanSlot *at[CONTROL_SLOT_COUNT];
} PlanSlots;

PlanSlots plan_slots(const Plan *plan);

/* Copies the plan's slots of kinds in [first, last] between the host's values and a block. */
void plan_control_store(const PlanSlots *slots, SlotKind first, SlotKind last, const Control *from,
                        void *block);
void plan_control_load(const PlanSlots *slots, SlotKind first, SlotKind last, const void *block,
                       Control *to);

#endif
