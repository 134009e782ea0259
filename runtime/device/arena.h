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

/* How to allocate memory that this process does not map itself; zeroed. */
typedef struct ArenaMap {
  bool (*map)(Tier tier, size_t size_bytes, void **at, Status *status);
  void (*unmap)(Tier tier, void *at);
} ArenaMap;

/* One for each kind of memory that the plan uses; on a processor all of them are host memory.
 */
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
