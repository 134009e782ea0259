/* join.h -- which work each activity of a GPU belongs to, from the records that CUPTI delivers.
 *
 * A kernel, copy or clear has the correlation id of the call that launched it; another record gives
 * for that id the external id that its thread had then, which contains the work's number. The two
 * may arrive in any order and in different buffers. An activity of a graph has the id of the
 * graph's launch, and its node's: the node gives the number that the work had in the capture, the
 * launch how many are added to it. Nothing is joined by name. */
#ifndef LOCKSTEP_DEVICE_CUDA_JOIN_H
#define LOCKSTEP_DEVICE_CUDA_JOIN_H

#include "runtime/device/device.h"

/* External ids have the device in their high bits, because correlation ids are of the process. */
enum { JOIN_NUMBER_BITS = 56, JOIN_DEVICES_MAX = 64 };

static inline uint64_t join_external(uint32_t device, uint64_t number) {
  return (uint64_t)(device + 1) << JOIN_NUMBER_BITS | number;
}

typedef struct JoinName {
  uint64_t external;
  uint32_t correlation;
} JoinName;

typedef struct JoinNode {
  uint64_t id, number;
} JoinNode;

typedef struct JoinActivity {
  uint64_t node; /* 0: of no graph */
  int64_t start_ns, end_ns;
  uint32_t correlation;
} JoinActivity;

/* Zero is an empty one. */
typedef struct Join {
  JoinName *names;
  JoinNode *nodes; /* by id */
  JoinActivity *activities;
  size_t names_count, nodes_count, activities_count;
  size_t names_room, nodes_room, activities_room;
  bool is_short; /* of memory, or of times: the reported records are incomplete */
} Join;

void join_name(Join *join, uint32_t correlation, uint64_t external);
void join_activity(Join *join, const JoinActivity *activity);
/* A node of a graph, created while the work was captured; and its copy in an executable graph. */
void join_node(Join *join, uint64_t id, uint64_t number);
void join_copied_node(Join *join, uint64_t id, uint64_t original);

/* Tells of all works of the device that have activities, in the order of their numbers, each from
 * the start of its first activity to the end of its last; and forgets these activities. Returns how
 * many works. */
size_t join_tell(Join *join, uint32_t device, DeviceHeard *heard, void *context);

/* Forgets names and activities, but no nodes. */
void join_clear(Join *join);
void join_free(Join *join);

#endif
