#include "compiler/draft/cost/communicators.h"

#include "compiler/draft/cost/demand.h"
#include "compiler/plan/simulate/price.h"
#include "runtime/plan/plan_place.h"

#define MIB ((int64_t)1 << 20)

/* Channels: inside a node those of GPUs on NVSwitches, which have most; between nodes NCCL
 * stops doubling at 16. Members send to each other over more of them inside a node, and over
 * buffers that all peers share between nodes (16 steps of 128 KiB a channel, each way). */
enum { CHANNELS_IN_NODE = 24, CHANNELS_BETWEEN = 16, PAIR_CHANNELS_IN_NODE = 32 };
enum { RECEIVES_MIB = 10, SENDS_MIB = 2, SHARED_MIB = 2 };
/* Peers in a tree: a parent and a child, and between nodes one more child. */
enum { TREE_IN_NODE = 2, TREE_BETWEEN = 3 };

enum { PEERS_MOST = 16 };

typedef struct Peers {
  int64_t distance[PEERS_MOST];
  uint32_t count;
} Peers;

static void add_peer(Peers *peers, int64_t distance) {
  for (uint32_t i = 0; i < peers->count; i++)
    if (peers->distance[i] == distance) return;
  if (distance != 0 && peers->count < PEERS_MOST) peers->distance[peers->count++] = distance;
}

/* The peers of all exchanges of a class; several exchanges may name one peer. */
typedef struct Exchanges {
  Peers to, from;
} Exchanges;

static void add_exchange(Exchanges *exchanges, const Plan *plan, const PlanRecord *record) {
  int64_t size = plan_comm_size(plan, record->comm);
  for (uint32_t i = 0; i < record->operands_count; i++) {
    int64_t distance = plan->ints[record->dims_first + i] % size;
    bool is_sent = plan->operands[record->operands_first + i].access == ACCESS_READ;
    add_peer(is_sent ? &exchanges->to : &exchanges->from, (distance + size) % size);
  }
}

static void add_use(Communicator *use, Exchanges *exchanges, const Plan *plan,
                    const PlanRecord *record) {
  use->sums |= record->kind == RECORD_ALL_REDUCE;
  use->gathers |= record->kind == RECORD_ALL_GATHER || record->kind == RECORD_REDUCE_SCATTER;
  if (record->kind == RECORD_EXCHANGE) add_exchange(exchanges, plan, record);
  if (record->kind == RECORD_ALL_TO_ALL) use->sends = use->receives = use->ranks - 1;
}

int64_t communicator_bytes(const Communicator *use) {
  int64_t connection = RECEIVES_MIB + SENDS_MIB;
  int64_t channels = use->is_in_node ? CHANNELS_IN_NODE : CHANNELS_BETWEEN, mib = 0;
  if (use->gathers || use->sums) mib += channels * connection;
  if (use->sums) mib += channels * connection * (use->is_in_node ? TREE_IN_NODE : TREE_BETWEEN);
  if (use->is_in_node)
    mib += PAIR_CHANNELS_IN_NODE * (use->receives * (int64_t)RECEIVES_MIB + use->sends * SENDS_MIB);
  else if (use->sends + use->receives > 0)
    mib += channels * 2 * SHARED_MIB;
  return mib * MIB;
}

/* The number of the class's first rank; classes are ranges along the axes. */
static uint32_t first_rank(const Plan *plan, uint32_t class) {
  uint32_t rank = 0;
  for (uint32_t axis = 0; axis < plan->axes_count; axis++)
    rank = plan_rank_along(plan, rank, axis,
                           plan->bounds[plan->classes[class].bounds_first + axis].first);
  return rank;
}

/* True if all members of its group are on the node of `rank`. */
static bool is_in_node(const Plan *plan, uint32_t comm, uint32_t rank) {
  uint32_t node = plan_place(plan, rank).node, size = plan_comm_size(plan, comm);
  for (uint32_t member = 0; member < size; member++) {
    uint32_t other = rank, left = member;
    for (uint32_t axis = 0; axis < plan->axes_count; axis++) {
      if ((plan->comms[comm].axes_mask >> axis & 1u) == 0) continue;
      other = plan_rank_along(plan, other, axis, left % plan->axes[axis].size);
      left /= plan->axes[axis].size;
    }
    if (plan_place(plan, other).node != node) return false;
  }
  return true;
}

static void count_all(Arena *arena, const Plan *plan, const PlanClass *class, int64_t *times) {
  for (uint32_t i = 0; i < class->programs_count; i++)
    count_records(arena, plan, &plan->programs[class->programs_first + i], times);
}

static Communicator look_at(const Plan *plan, uint32_t comm, uint32_t lane, uint32_t rank,
                            const int64_t *times) {
  Communicator use = {.comm = comm,
                      .lane = lane,
                      .ranks = plan_comm_size(plan, comm),
                      .is_in_node = is_in_node(plan, comm, rank)};
  Exchanges exchanges = {0};
  for (uint32_t i = 0; i < plan->records_count; i++) {
    const PlanRecord *record = &plan->records[i];
    if (times[i] > 0 && plan_is_communication(record) && record->comm == comm &&
        record->lane == lane)
      add_use(&use, &exchanges, plan, record);
  }
  if (use.sends == 0) use.sends = exchanges.to.count;
  if (use.receives == 0) use.receives = exchanges.from.count;
  use.size_bytes = communicator_bytes(&use);
  return use;
}

Communicators communicators_of(Arena *arena, const Plan *plan, uint32_t class) {
  int64_t *times = ARENA_ARRAY(arena, int64_t, plan->records_count + 1), size_bytes = 0;
  VEC(Communicator) all = {0};
  uint32_t rank = first_rank(plan, class);
  count_all(arena, plan, &plan->classes[class], times);
  for (uint32_t comm = 0; comm < plan->comms_count; comm++)
    for (uint32_t lane = 0; lane < plan->lanes_count; lane++) {
      if ((plan_comm_lanes(plan, comm) >> lane & 1u) == 0) continue;
      VEC_PUSH(arena, &all, look_at(plan, comm, lane, rank, times));
      size_bytes += all.at[all.count - 1].size_bytes;
    }
  return (Communicators){all.at, all.count, size_bytes};
}
