/* arena.h -- a rank's memory: one mapping, made before the first step, as large as the plan says.
 */
#ifndef LOCKSTEP_ARENA_H
#define LOCKSTEP_ARENA_H

#include <stddef.h>

#include "runtime/plan/plan.h"
#include "runtime/status.h"

typedef struct Arena {
  uint8_t *base; /* aligned to 2 MiB */
  size_t size_bytes;
  void *mapped;
  size_t mapped_bytes;
} Arena;

/* Zeroed and touched by the calling thread, so that its pages lie near it and no step pays for a
 * page fault. */
bool arena_open(Arena *arena, size_t size_bytes, Status *status);

/* Zero as well, but no page is there before somebody uses it, and none is huge: arena_touched_bytes
 * then says what was used. Slower. */
bool arena_open_untouched(Arena *arena, size_t size_bytes, Status *status);

/* Bytes in all pages that are there, also of the mapping's rest outside the arena. */
size_t arena_touched_bytes(const Arena *arena);

void arena_close(Arena *arena);

/* Memory that is not this process's own to map: zeroed. */
typedef struct ArenaMap {
  bool (*map)(Tier tier, size_t size_bytes, void **at, Status *status);
  void (*unmap)(Tier tier, void *at);
} ArenaMap;

/* One for each kind of memory that the plan uses: on a processor that has one memory all are of it.
 */
typedef struct Arenas {
  Arena tier[Tier_COUNT];
  uint8_t *base[Tier_COUNT]; /* NULL: the plan has none there */
  ArenaMap of;               /* map NULL: a processor's */
} Arenas;

/* `of` NULL: memory of this processor; with `untouched` as arena_open_untouched. */
bool arenas_open(Arenas *arenas, const Plan *plan, const PlanClass *class, const ArenaMap *of,
                 bool untouched, Status *status);
void arenas_close(Arenas *arenas);

/* Bytes this process may still take, by the system's and the control group's account; 0 when
 * unknown. */
size_t arena_available_bytes(void);

#endif
