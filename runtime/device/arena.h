/* arena.h -- a rank's memory: one mapping, made before the first step, as large as the plan says.
 */
#ifndef LOCKSTEP_ARENA_H
#define LOCKSTEP_ARENA_H

#include <stddef.h>

#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

typedef struct Arena {
  uint8_t *base; /* aligned to 2 MiB */
  size_t size_bytes;
  void *mapped;
  size_t mapped_bytes;
} Arena;

/* Zeroed and touched by the calling thread, so that its pages are on the thread's NUMA node and no
 * step has a page fault. */
bool arena_open(Arena *arena, size_t size_bytes, Status *status);

/* Also zero, but no page is mapped before it is used, and none is huge, so that arena_touched_bytes
 * can tell what was used. Slower. */
bool arena_open_untouched(Arena *arena, size_t size_bytes, Status *status);

/* Bytes in all pages that are mapped, including the rest of the mapping outside the arena. */
size_t arena_touched_bytes(const Arena *arena);

void arena_close(Arena *arena);

/* Memory of a device, and how it reaches the host's. */
typedef struct ArenaMap {
  bool (*map)(size_t size_bytes, void **at, Status *status); /* the device's, zeroed */
  void (*unmap)(void *at);
  /* Locks the pages of an arena of the host, after its first touch, so that the device copies from
   * and to them beside other work. */
  bool (*pin)(void *at, size_t size_bytes, Status *status);
  void (*unpin)(void *at, size_t size_bytes);
} ArenaMap;

/* Memory of the device, or of the host and pinned. `of` NULL: a processor, whose tiers are both
 * host memory. */
bool arena_open_for(Arena *arena, Tier tier, size_t size_bytes, const ArenaMap *of, Status *status);
void arena_close_for(Arena *arena, Tier tier, const ArenaMap *of);

/* One for each kind of memory that the plan uses; on a processor all of them are host memory. */
typedef struct Arenas {
  Arena tier[Tier_COUNT];
  uint8_t *base[Tier_COUNT]; /* NULL: the plan does not use the tier */
  ArenaMap of;               /* map NULL: a processor's */
} Arenas;

/* `of` NULL: host memory; with `untouched` as by arena_open_untouched. */
bool arenas_open(Arenas *arenas, const Plan *plan, const PlanClass *class, const ArenaMap *of,
                 bool untouched, Status *status);
void arenas_close(Arenas *arenas);

/* Bytes that this process may still allocate, according to the system and its control group; 0 if
 * unknown. */
size_t arena_available_bytes(void);

#endif
