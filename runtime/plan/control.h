/* control.h -- the numbers that change between steps: the control slots that this program knows.
 *
 * A plan's table `slots` says which of them it has and where each lies in the device's control
 * block, at job_control_offset. Records name the slots that their kernels use, and kernels get
 * their addresses. The host neither reads nor writes the block: one copy at the start of a
 * program's run brings the values that the host sets, one at the end takes the results, through a
 * ring in host memory at job_control_ring_offset. */
#ifndef LOCKSTEP_PLAN_CONTROL_H
#define LOCKSTEP_PLAN_CONTROL_H

#include <stdint.h>

enum { CONTROL_DEPTH_MAX = 2, CONTROL_SLOT_BYTES = 8, LOSSES_MAX = 8 };

/* S(kind, type, writer, reduce, name, unit), in order of kind. plan.h says what SLOT_<kind>,
 * SLOT_<type>, SLOT_BY_<writer> and SLOT_<reduce> mean. */
/* clang-format off */
/* A model with several losses has the sum and count of each one after the first, and the divisor of each. */
#define CONTROL_LOSS_PAIR(S, number) \
  S(IN_OUT, F64, KERNEL, SUM, loss_##number, "") \
  S(IN_OUT, F64, KERNEL, SUM, count_##number, "targets")
#define CONTROL_DIVISOR(S, number) S(IN, F64, HOST, SUM_FIRST, targets_##number, "targets")

#define CONTROL_SLOTS(S) \
  S(LASTING, I64, KERNEL, EQUAL, updates, "updates") /* updates made, including this step's once its norm is known: Adam's t */ \
  S(LASTING, F64, KERNEL, EQUAL, loss_scale, "") /* multiplies the slopes of losses: of the next step once its kernel has run. This slot and \
                                                    the next four only in plans with a loss scale */ \
  S(LASTING, I64, KERNEL, EQUAL, good_steps, "steps") /* in a row; -1: the first one does not count */ \
  S(LASTING, I64, KERNEL, EQUAL, hysteresis_left, "overflows") /* until one lowers the scale */ \
  S(LASTING, I64, KERNEL, EQUAL, skipped, "steps") /* that overflowed, since the first step */ \
  S(LASTING, I64, KERNEL, EQUAL, skipped_in_row, "steps") /* up to now */ \
  S(OUT, F64, KERNEL, EQUAL, grad_norm, "") /* global, before clipping */ \
  S(OUT, F64, KERNEL, EQUAL, clip_scale, "") /* multiplies every gradient inside the update; 1 when not clipped */ \
  S(OUT, I64, KERNEL, EQUAL, step_counts, "") /* 1: the norm is finite and the step has a target; 0: no update writes anything */ \
  S(IN_OUT, F64, KERNEL, SUM, loss, "") /* sum of losses over this rank's samples */ \
  S(IN_OUT, F64, KERNEL, SUM, count, "targets") /* with weight 1 */ \
  CONTROL_LOSS_PAIR(S, 1) CONTROL_LOSS_PAIR(S, 2) CONTROL_LOSS_PAIR(S, 3) CONTROL_LOSS_PAIR(S, 4) \
  CONTROL_LOSS_PAIR(S, 5) CONTROL_LOSS_PAIR(S, 6) CONTROL_LOSS_PAIR(S, 7) \
  S(IN_OUT, F64, HOST, SUM, stop, "ranks") /* ranks that were asked to stop after this step */ \
  S(IN_OUT, F64, HOST, SUM, checkpoint, "ranks") /* ranks that were asked to save after this step */ \
  S(IN_OUT, F64, HOST, SUM, parts_done, "parts") /* of the save under way, that were written since the step before; rank 0 counts one more for the \
                                                    name. This slot and the next only in plans with snapshots */ \
  S(IN_OUT, F64, HOST, SUM, parts_failed, "parts") /* that could not be */ \
  S(IN, F64, HOST, EQUAL, lr, "") /* of this step */ \
  S(IN, I64, HOST, EQUAL, step, "steps") /* 1 in the first step */ \
  S(IN, U64, HOST, EQUAL, seed, "") /* of the job */ \
  S(IN, I64, HOST, EQUAL, microbatch_samples, "samples") \
  S(IN, I64, HOST, EQUAL, padded_samples, "samples") /* this many samples at the end of this micro-batch do not count; 0 in training */ \
  S(IN, F64, HOST, SUM_FIRST, targets, "targets") /* of a step, that count, of all losses: the divisor, if there is one loss. Only in plans \
                                                     whose data may lack targets */ \
  CONTROL_DIVISOR(S, 0) CONTROL_DIVISOR(S, 1) CONTROL_DIVISOR(S, 2) CONTROL_DIVISOR(S, 3) \
  CONTROL_DIVISOR(S, 4) CONTROL_DIVISOR(S, 5) CONTROL_DIVISOR(S, 6) CONTROL_DIVISOR(S, 7)
/* clang-format on */

typedef enum ControlSlot {
#define CONTROL_SLOT(kind, type, writer, reduce, name, unit) CONTROL_##name,
  CONTROL_SLOTS(CONTROL_SLOT)
#undef CONTROL_SLOT
      CONTROL_SLOT_COUNT
} ControlSlot;
#define CONTROL_BIT(slot) (UINT64_C(1) << (slot))

/* The slots that only a plan with a loss scale has. */
#define CONTROL_SCALE_SLOTS                                                                        \
  (CONTROL_BIT(CONTROL_loss_scale) | CONTROL_BIT(CONTROL_good_steps) |                             \
   CONTROL_BIT(CONTROL_hysteresis_left) | CONTROL_BIT(CONTROL_skipped) |                           \
   CONTROL_BIT(CONTROL_skipped_in_row))

/* The slots that only a plan with snapshots has. */
#define CONTROL_SAVE_SLOTS (CONTROL_BIT(CONTROL_parts_done) | CONTROL_BIT(CONTROL_parts_failed))

/* The slots of loss `number`: its sum, which its count follows, and its divisor among `count`
 * losses.
 */
static inline ControlSlot control_loss(int32_t number) {
  return (ControlSlot)((int32_t)CONTROL_loss + 2 * number);
}
static inline ControlSlot control_divisor(int32_t number, int32_t count) {
  return count <= 1 ? CONTROL_targets : (ControlSlot)((int32_t)CONTROL_targets_0 + number);
}

/* The slots that plans with fewer losses than LOSSES_MAX lack. */
static inline uint64_t control_losses_lacking(int32_t count) {
  uint64_t slots = 0;
  for (int32_t i = count > 1 ? count : 1; i < LOSSES_MAX; i++)
    slots |= 3 * CONTROL_BIT(control_loss(i)) | CONTROL_BIT(CONTROL_targets_0 + i);
  return count > 1 ? slots : slots | CONTROL_BIT(CONTROL_targets_0);
}

#define CONTROL_TYPE_F64 double
#define CONTROL_TYPE_I64 int64_t
#define CONTROL_TYPE_U64 uint64_t

/* The values of all slots on the host. Their addresses on a device are given by the plan. */
typedef struct Control {
#define CONTROL_SLOT(kind, type, writer, reduce, name, unit) CONTROL_TYPE_##type name;
  CONTROL_SLOTS(CONTROL_SLOT)
#undef CONTROL_SLOT
} Control;

/* The offset of its value in a Control; its name. */
static inline void *control_value(Control *control, ControlSlot slot) {
  return (uint8_t *)control + CONTROL_SLOT_BYTES * (uint32_t)slot;
}
static inline const char *control_name(ControlSlot slot) {
  static const char *const names[CONTROL_SLOT_COUNT] = {
#define CONTROL_SLOT(kind, type, writer, reduce, name, unit) #name,
      CONTROL_SLOTS(CONTROL_SLOT)
#undef CONTROL_SLOT
  };
  return names[slot];
}
_Static_assert(sizeof(Control) == CONTROL_SLOT_BYTES * CONTROL_SLOT_COUNT, "all are of one size");

#endif
