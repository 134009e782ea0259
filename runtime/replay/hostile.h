/* hostile.h -- a build that makes memory mistakes visible: -DHOSTILE=ON.
 *
 * With the address sanitizer every arena byte outside the operands of the running record is
 * poisoned; with or without it a buffer is filled with 0xff bytes (NaN in every float type) when
 * its lifetime starts. Results must not change. In other builds everything here is empty.
 *
 * Both need to know which record runs: in this build all lanes of a rank run on one thread, in list
 * order, which is one of the orders that a plan's edges allow. */
#ifndef LOCKSTEP_HOSTILE_H
#define LOCKSTEP_HOSTILE_H

#include <stddef.h>

#include "runtime/plan/plan.h"

typedef struct Hostile {
  const Plan *plan;
  uint8_t *const *arena; /* by tier, of the setup */
  size_t arena_bytes[Tier_COUNT];
  uint8_t *mirror;   /* of control; NULL: none */
  uint8_t *snapshot; /* the buffer of snapshots; NULL: none */
  size_t snapshot_bytes;
  uint32_t *order; /* the class's buffers by program, then by first call */
  uint32_t count;
} Hostile;

#ifdef LOCKSTEP_HOSTILE
enum { HOSTILE_RUNS_ALONE = 1 };

/* Everything but control and samples becomes NaN, and poisoned. False when memory is short. */
bool hostile_start(Hostile *hostile, const Plan *plan, const PlanClass *class,
                   uint8_t *const *arena);
void hostile_stop(Hostile *hostile);

/* Before call `call` of `program`: buffers that begin here become NaN. In later iterations of a
 * loop [loop_first, loop_end), buffers that outlive the loop keep what earlier iterations left. */
void hostile_fill(const Hostile *hostile, uint32_t program, uint32_t call, bool again,
                  uint32_t loop_end);

void hostile_allow(const Hostile *hostile, void *at, size_t size_bytes);
void hostile_forbid(const Hostile *hostile, void *at, size_t size_bytes);
#else
enum { HOSTILE_RUNS_ALONE = 0 };

static inline bool hostile_start(Hostile *hostile, const Plan *plan, const PlanClass *class,
                                 uint8_t *const *arena) {
  (void)hostile, (void)plan, (void)class, (void)arena;
  return true;
}
static inline void hostile_stop(Hostile *hostile) {
  (void)hostile;
}
static inline void hostile_fill(const Hostile *hostile, uint32_t program, uint32_t call, bool again,
                                uint32_t loop_end) {
  (void)hostile, (void)program, (void)call, (void)again, (void)loop_end;
}
static inline void hostile_allow(const Hostile *hostile, void *at, size_t size_bytes) {
  (void)hostile, (void)at, (void)size_bytes;
}
static inline void hostile_forbid(const Hostile *hostile, void *at, size_t size_bytes) {
  (void)hostile, (void)at, (void)size_bytes;
}
#endif

#endif
