#include "runtime/device/cuda/join.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_LEAST = 1024 };

/* The array with room for one more, or NULL. */
static void *grown(void *array, size_t count, size_t *room, size_t element_bytes) {
  if (count < *room) return array;
  const size_t larger = *room > 0 ? 2 * *room : ROOM_LEAST;
  void *more = realloc(array, larger * element_bytes);
  if (more != NULL) *room = larger;
  return more;
}

/* True if `array` has room for one more; otherwise the join is short. */
#define HAS_ROOM(join, array)                                                                      \
  has_room(join, (void **)&(join)->array, (join)->array##_count, &(join)->array##_room,            \
           sizeof *(join)->array)

static bool has_room(Join *join, void **array, size_t count, size_t *room, size_t element_bytes) {
  void *more = grown(*array, count, room, element_bytes);
  if (more != NULL) *array = more;
  join->is_short |= more == NULL;
  return more != NULL;
}

void join_name(Join *join, uint32_t correlation, uint64_t external) {
  if (HAS_ROOM(join, names)) join->names[join->names_count++] = (JoinName){external, correlation};
}

/* CUPTI gives 0 where the GPU had no room for a time. */
void join_activity(Join *join, const JoinActivity *activity) {
  join->is_short |= activity->start_ns <= 0 || activity->end_ns < activity->start_ns;
  if (HAS_ROOM(join, activities)) join->activities[join->activities_count++] = *activity;
}

/* ---- nodes: their ids ascend, nearly always */

/* The index of the first node whose id is not below this one. */
static size_t node_at(const Join *join, uint64_t id) {
  size_t low = 0, high = join->nodes_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (join->nodes[middle].id < id)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static const JoinNode *find_node(const Join *join, uint64_t id) {
  const size_t at = node_at(join, id);
  return at < join->nodes_count && join->nodes[at].id == id ? &join->nodes[at] : NULL;
}

void join_node(Join *join, uint64_t id, uint64_t number) {
  const size_t at = node_at(join, id);
  if (at < join->nodes_count && join->nodes[at].id == id) {
    join->nodes[at].number = number;
    return;
  }
  if (!HAS_ROOM(join, nodes)) return;
  memmove(join->nodes + at + 1, join->nodes + at, (join->nodes_count++ - at) * sizeof *join->nodes);
  join->nodes[at] = (JoinNode){id, number};
}

void join_copied_node(Join *join, uint64_t id, uint64_t original) {
  const JoinNode *node = find_node(join, original);
  if (node != NULL) join_node(join, id, node->number);
}

/* ---- telling */

typedef struct WorkTime {
  uint64_t number;
  int64_t start_ns, end_ns;
} WorkTime;

static int by_correlation(const void *a, const void *b) {
  const JoinName *x = a, *y = b;
  return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static int by_number(const void *a, const void *b) {
  const WorkTime *x = a, *y = b;
  return (x->number > y->number) - (x->number < y->number);
}

/* False: it has no name yet, or is of another device. */
static bool number_of(const Join *join, const JoinActivity *activity, uint32_t device,
                      uint64_t *number) {
  const JoinName wanted = {.correlation = activity->correlation};
  const JoinName *name =
      bsearch(&wanted, join->names, join->names_count, sizeof *join->names, by_correlation);
  if (name == NULL || name->external >> JOIN_NUMBER_BITS != device + 1) return false;
  *number = name->external & (((uint64_t)1 << JOIN_NUMBER_BITS) - 1);
  if (activity->node == 0) return true;
  const JoinNode *node = find_node(join, activity->node);
  if (node != NULL) *number += node->number;
  return node != NULL;
}

/* Moves the activities of the device's works out of the join. Returns how many. */
static size_t take(Join *join, uint32_t device, WorkTime *times) {
  size_t taken = 0, kept = 0;
  for (size_t i = 0; i < join->activities_count; i++) {
    const JoinActivity activity = join->activities[i];
    if (number_of(join, &activity, device, &times[taken].number)) {
      times[taken].start_ns = activity.start_ns;
      times[taken++].end_ns = activity.end_ns;
    } else {
      join->activities[kept++] = activity;
    }
  }
  join->activities_count = kept;
  return taken;
}

size_t join_tell(Join *join, uint32_t device, DeviceHeard *heard, void *context) {
  WorkTime *times = malloc((join->activities_count + 1) * sizeof *times);
  size_t works = 0;
  join->is_short |= times == NULL;
  if (times == NULL) return 0;
  if (join->names_count > 0)
    qsort(join->names, join->names_count, sizeof *join->names, by_correlation);
  const size_t count = take(join, device, times);
  qsort(times, count, sizeof *times, by_number);
  for (size_t i = 0, next = 0; i < count; i = next, works++) {
    WorkTime work = times[i];
    for (next = i + 1; next < count && times[next].number == work.number; next++) {
      if (times[next].start_ns < work.start_ns) work.start_ns = times[next].start_ns;
      if (times[next].end_ns > work.end_ns) work.end_ns = times[next].end_ns;
    }
    heard(context, work.number, work.start_ns, work.end_ns);
  }
  free(times);
  return works;
}

void join_clear(Join *join) {
  join->names_count = join->activities_count = 0;
  join->is_short = false;
}

void join_free(Join *join) {
  free(join->names);
  free(join->nodes);
  free(join->activities);
  *join = (Join){0};
}
