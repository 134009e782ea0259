/* hostile.c -- poison and NaN in arena bytes that no record may read. */
#include "runtime/replay/hostile.h"

#ifdef LOCKSTEP_HOSTILE

#include <stdlib.h>
#include <string.h>

#include "runtime/plan/control.h"
#include "runtime/plan/plan_job.h"

#ifdef __SANITIZE_ADDRESS__
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

static const int nan_byte = 0xff;

/* qsort has no context argument; buffers of one class are sorted by a key that is stored beside the
 * index. */
typedef struct Start {
  uint64_t key;
  uint32_t index;
} Start;

static int compare_starts(const void *a, const void *b) {
  const Start *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->index < y->index ? -1 : x->index > y->index;
}

static uint64_t start_key(uint32_t program, uint32_t call) {
  return (uint64_t)program << 32 | call;
}

enum { SHARED_PARTS = 6 };

/* Memory shared with the host is never poisoned: its threads write while records run. The mirror of
 * control is read by kernels as slots, not as an operand. */
static void shared_parts(const Hostile *hostile, uint8_t *first[SHARED_PARTS],
                         size_t size_bytes[SHARED_PARTS]) {
  size_t step_bytes = (size_t)job_accumulation(hostile->plan) * job_sample_bytes(hostile->plan);
  uint8_t *device = hostile->arena[TIER_DEVICE],
          *host = hostile->arena[job_staging_tier(hostile->plan)];
  first[0] = device + job_control_offset(hostile->plan);
  size_bytes[0] = job_control_bytes(hostile->plan);
  first[1] = device + job_samples_offset(hostile->plan);
  size_bytes[1] = step_bytes;
  first[2] = host + job_control_ring_offset(hostile->plan);
  size_bytes[2] = 2 * job_control_bytes(hostile->plan) * (size_t)job_control_depth(hostile->plan);
  first[3] = host + job_staging_offset(hostile->plan);
  size_bytes[3] = step_bytes * (size_t)job_prefetch_steps(hostile->plan);
  first[4] = hostile->mirror;
  size_bytes[4] = hostile->mirror == NULL ? 0 : job_control_bytes(hostile->plan);
  first[5] = hostile->snapshot; /* a thread writes it to a file */
  size_bytes[5] = hostile->snapshot_bytes;
}

/* Poisons the bytes between the shared parts, from part `part` on. */
static void poison_from(const Hostile *hostile, uint8_t *at, uint8_t *end, int32_t part) {
  uint8_t *first[SHARED_PARTS];
  size_t size_bytes[SHARED_PARTS];
  shared_parts(hostile, first, size_bytes);
  for (; part < SHARED_PARTS && at < end; part++) {
    uint8_t *open = first[part], *after = open + size_bytes[part];
    if (after <= at || open >= end) continue;
    if (open > at) poison_from(hostile, at, open, part + 1);
    at = after;
  }
  if (at < end) ASAN_POISON_MEMORY_REGION(at, (size_t)(end - at));
}

static void poison(const Hostile *hostile, void *at, size_t size_bytes) {
  poison_from(hostile, at, (uint8_t *)at + size_bytes, 0);
}

bool hostile_start(Hostile *hostile, const Plan *plan, const PlanClass *class,
                   uint8_t *const *arena) {
  const PlanBuffer *mirror = plan_control_mirror(plan, class);
  *hostile = (Hostile){.plan = plan, .arena = arena};
  if (mirror != NULL) hostile->mirror = arena[TIER_HOST] + mirror->offset;
  for (uint32_t i = 0; i < class->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[class->buffers_first + i];
    if (buffer->kind != BUFFER_SNAPSHOT) continue;
    hostile->snapshot = arena[buffer->tier] + buffer->offset;
    hostile->snapshot_bytes = buffer->size_bytes;
  }
  Start *starts = calloc(class->buffers_count + 1, sizeof *starts);
  hostile->order = calloc(class->buffers_count + 1, sizeof *hostile->order);
  if (!starts || !hostile->order) {
    free(starts);
    return false;
  }
  for (uint32_t i = 0; i < class->buffers_count; i++) {
    const PlanBuffer *buffer = &plan->buffers[class->buffers_first + i];
    starts[i] = (Start){start_key(buffer->program, buffer->first_call), class->buffers_first + i};
  }
  qsort(starts, class->buffers_count, sizeof *starts, compare_starts);
  for (uint32_t i = 0; i < class->buffers_count; i++)
    hostile->order[i] = starts[i].index;
  hostile->count = class->buffers_count;
  free(starts);
  for (Tier tier = 0; tier < Tier_COUNT; tier++) {
    hostile->arena_bytes[tier] = plan_arena_bytes(plan, class, tier);
    if (tier == TIER_FILE) hostile->arena_bytes[tier] = 0; /* no memory that anybody touches */
    if (hostile->arena_bytes[tier] == 0) continue;
    memset(arena[tier], nan_byte, hostile->arena_bytes[tier]);
    poison(hostile, arena[tier], hostile->arena_bytes[tier]);
  }
  return true;
}

void hostile_stop(Hostile *hostile) {
  for (Tier tier = 0; tier < Tier_COUNT; tier++)
    if (hostile->arena_bytes[tier] > 0)
      ASAN_UNPOISON_MEMORY_REGION(hostile->arena[tier], hostile->arena_bytes[tier]);
  free(hostile->order);
  *hostile = (Hostile){0};
}

/* The first buffer in order whose start is not before `key`. */
static uint32_t find_start(const Hostile *hostile, uint64_t key) {
  uint32_t low = 0, high = hostile->count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    const PlanBuffer *buffer = &hostile->plan->buffers[hostile->order[middle]];
    if (start_key(buffer->program, buffer->first_call) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void hostile_fill(const Hostile *hostile, uint32_t program, uint32_t call, bool again,
                  uint32_t loop_end) {
  for (uint32_t i = find_start(hostile, start_key(program, call)); i < hostile->count; i++) {
    const PlanBuffer *buffer = &hostile->plan->buffers[hostile->order[i]];
    if (buffer->program != program || buffer->first_call != call) return;
    if (again && buffer->last_call >= loop_end) continue;
    size_t arena_bytes = hostile->arena_bytes[buffer->tier];
    if (buffer->offset > arena_bytes || buffer->size_bytes > arena_bytes - buffer->offset) continue;
    uint8_t *at = hostile->arena[buffer->tier] + buffer->offset;
    ASAN_UNPOISON_MEMORY_REGION(at, buffer->size_bytes);
    memset(at, nan_byte, buffer->size_bytes);
    poison(hostile, at, buffer->size_bytes);
  }
}

void hostile_allow(const Hostile *hostile, void *at, size_t size_bytes) {
  (void)hostile;
  ASAN_UNPOISON_MEMORY_REGION(at, size_bytes);
}

/* Addresses of a mapped file are not poisoned: hostile_stop does not know them, so later mappings
 * at the same addresses would stay poisoned. */
void hostile_forbid(const Hostile *hostile, void *at, size_t size_bytes) {
  for (Tier tier = 0; tier < Tier_COUNT; tier++)
    if ((uintptr_t)at - (uintptr_t)hostile->arena[tier] < hostile->arena_bytes[tier])
      poison(hostile, at, size_bytes);
}

#endif
