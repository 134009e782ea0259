/* arena.c -- mmap, with huge pages where the system has them, and first touch; or neither, to
 * measure memory. */
#include "runtime/device/arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/device/files.h"
#include "runtime/plan/plan_job.h"
#include "runtime/plan/plan_text.h"
#include "runtime/process/cgroup.h"
#include "runtime/process/text.h"

static const size_t huge_page_bytes = (size_t)2 << 20;

static bool map(Arena *arena, size_t size_bytes, Status *status) {
  *arena = (Arena){.size_bytes = size_bytes};
  size_t mapped_bytes = size_bytes + huge_page_bytes;
  void *mapped = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    char size[QUANTITY_BYTES];
    const int error = errno;
    (void)status_fail(status, STATUS_WORLD, "cannot map an arena of %s: %s",
                      text_bytes(size, (double)size_bytes), strerror(error));
    return false;
  }
  arena->mapped = mapped;
  arena->mapped_bytes = mapped_bytes;
  arena->base = (uint8_t *)mapped + (huge_page_bytes - (uintptr_t)mapped % huge_page_bytes);
  return true;
}

/* First touch: the system hands out pages of zeros, which need not be written again. */
static void touch(const Arena *arena) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(arena->base, arena->size_bytes, MADV_POPULATE_WRITE) == 0) return;
#endif
  memset(arena->base, 0, arena->size_bytes); /* a system that does not know the advice */
}

bool arena_open(Arena *arena, size_t size_bytes, Status *status) {
  if (!map(arena, size_bytes, status)) return false;
  (void)madvise(arena->base, size_bytes, MADV_HUGEPAGE); /* advice: speed, not meaning */
  touch(arena);
  return true;
}

/* A kernel without huge pages refuses the advice, which does not matter. */
bool arena_open_untouched(Arena *arena, size_t size_bytes, Status *status) {
  if (!map(arena, size_bytes, status)) return false;
  (void)madvise(arena->mapped, arena->mapped_bytes, MADV_NOHUGEPAGE);
  return true;
}

size_t arena_touched_bytes(const Arena *arena) {
  unsigned char
      is_there[4096]; /* this many pages at a time, because nothing is allocated during a run */
  size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), touched_bytes = 0;
  for (size_t at = 0; at < arena->mapped_bytes; at += page_bytes * sizeof is_there) {
    size_t left = arena->mapped_bytes - at, size_bytes = page_bytes * sizeof is_there;
    if (size_bytes > left) size_bytes = left;
    if (mincore((uint8_t *)arena->mapped + at, size_bytes, is_there) != 0) break;
    for (size_t page = 0; page * page_bytes < size_bytes; page++)
      touched_bytes += (is_there[page] & 1u) * page_bytes;
  }
  return touched_bytes;
}

void arena_close(Arena *arena) {
  if (arena->mapped) munmap(arena->mapped, arena->mapped_bytes);
  *arena = (Arena){0};
}

static bool map_file(Arenas *arenas, const Plan *plan, size_t size_bytes, Status *status) {
  const char *directory = plan_string(plan, plan->tiers[plan_tier(plan, TIER_FILE)].path);
  Arena *arena = &arenas->tier[TIER_FILE];
  const PlanSetting *verify = plan_setting(plan, "offload.verify");
  const TierFileSetup setup = {directory, size_bytes, verify == NULL || verify->count != 0};
  if (!tier_file_open(&setup, &arena->base, status)) return false;
  arena->size_bytes = size_bytes;
  return true;
}

bool arena_open_for(Arena *arena, Tier tier, size_t size_bytes, const ArenaMap *of,
                    Status *status) {
  void *at = NULL;
  if (of == NULL) return arena_open(arena, size_bytes, status);
  if (tier == TIER_DEVICE) {
    if (!of->map(size_bytes, &at, status)) return false;
    *arena = (Arena){.base = at, .size_bytes = size_bytes};
    return true;
  }
  if (!arena_open(arena, size_bytes, status)) return false;
  if (of->pin(arena->base, size_bytes, status)) return true;
  arena_close(arena);
  return false;
}

void arena_close_for(Arena *arena, Tier tier, const ArenaMap *of) {
  if (arena->base == NULL) return;
  if (of != NULL && tier == TIER_DEVICE) {
    of->unmap(arena->base);
    *arena = (Arena){0};
    return;
  }
  if (of != NULL) of->unpin(arena->base, arena->size_bytes);
  arena_close(arena);
}

bool arenas_open(Arenas *arenas, const Plan *plan, const PlanClass *class, const ArenaMap *of,
                 bool untouched, Status *status) {
  *arenas = (Arenas){0};
  if (of != NULL) arenas->of = *of;
  for (Tier tier = 0; tier < Tier_COUNT; tier++) {
    uint64_t size_bytes = plan_arena_bytes(plan, class, tier);
    if (size_bytes == 0) continue;
    bool opened = tier == TIER_FILE ? map_file(arenas, plan, size_bytes, status)
                  : of == NULL && untouched
                      ? arena_open_untouched(&arenas->tier[tier], size_bytes, status)
                      : arena_open_for(&arenas->tier[tier], tier, size_bytes, of, status);
    if (!opened) {
      const Status why = *status;
      return tier == TIER_FILE || of != NULL
                 ? false
                 : status_fail(status, why.code, "%s memory: %s", Tier_names[tier], why.text);
    }
    arenas->base[tier] = arenas->tier[tier].base;
  }
  return true;
}

void arenas_close(Arenas *arenas) {
  for (Tier tier = 0; tier < Tier_COUNT; tier++)
    if (tier == TIER_FILE && arenas->base[tier] != NULL)
      tier_file_close(arenas->base[tier]);
    else if (tier != TIER_FILE)
      arena_close_for(&arenas->tier[tier], tier, arenas->of.map != NULL ? &arenas->of : NULL);
  *arenas = (Arenas){0};
}

static size_t machine_available_bytes(void) {
  static const char prefix[] = "MemAvailable:";
  FILE *file = fopen("/proc/meminfo", "r");
  if (!file) return 0;
  char line[128];
  size_t available = 0;
  while (available == 0 && fgets(line, sizeof line, file))
    if (strncmp(line, prefix, sizeof prefix - 1) == 0)
      available = strtoull(line + sizeof prefix - 1, NULL, 10) * 1024;
  fclose(file);
  return available;
}

size_t arena_available_bytes(void) {
  size_t available = machine_available_bytes();
  uint64_t group = cgroup_memory("").available_bytes;
  if (group == UINT64_MAX) return available;
  if (group == 0) return 1; /* known, and nothing */
  return available == 0 || group < available ? group : available;
}
