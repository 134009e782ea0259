/* judge.h -- decides from the reports of ranks whether one of them is lost, and which one.
 *
 * A pure function: clocks and sockets are the caller's. */
#ifndef LOCKSTEP_WATCH_JUDGE_H
#define LOCKSTEP_WATCH_JUDGE_H

#include "runtime/plan/mesh.h"
#include "runtime/watch/flight.h"

/* JUDGE_STARVED_MS: a rank that waits for processors is waited for so much longer.
 * JUDGE_FILE_MS: a read or write of offload.path may take so long: a slow disk is no loss. */
enum {
  JUDGE_STARVED_MS = 60000,
  JUDGE_FILE_MS = 600000,
  JUDGE_SILENT_MS = 3000,
  JUDGE_STUCK_LEAST_MS = 3000,
  JUDGE_STUCK_STEPS = 5
};

typedef enum Loss {
  LOSS_NONE,
  LOSS_ERROR,  /* it failed and reported why */
  LOSS_DEAD,   /* its connection ended without a message */
  LOSS_SILENT, /* it no longer sends anything: stopped, or its node is lost */
  LOSS_STUCK,  /* the rank still sends reports, but does not finish the work that others wait for */
  LOSS_STARVED /* it gets too little of the processors, for JUDGE_STARVED_MS */
} Loss;

/* Facts about one rank. Times are those of the watching rank in ms; 0: it has not happened. */
typedef struct RankView {
  bool has_come;
  bool has_left;  /* normally */
  int32_t failed; /* 1: the first that reported a failure, and so on; 0: none */
  int64_t closed_ms;
  int64_t heard_ms;
  int64_t moved_ms;   /* when its current work last changed */
  int64_t starved_ms; /* since it was heard last: how long its process waited for a processor */
  Load load;          /* of its machine, if it was asked */
  Beat beat;          /* the newest */
} RankView;

typedef struct Verdict {
  Loss loss;
  int32_t rank;
} Verdict;

/* The rank that was lost first. Time in which a rank waited for a processor is no silence and no
 * standstill. */
Verdict judge(const Plan *plan, const Mesh *mesh, const RankView *view, int64_t now_ms);

/* The rank that `judge` would call silent or stuck if it had not waited for a processor. */
Verdict judge_starved(const Plan *plan, const Mesh *mesh, const RankView *view, int64_t now_ms);

/* True if the whole node of `rank`, which is dead or silent, is lost: all ranks of its node are
 * lost, these are at least two, and there are other nodes. `node` is the node name of each rank. */
bool judge_node_is_lost(const RankView *view, const char *const *node, int32_t rank_count,
                        int32_t rank, int64_t now_ms);

/* The lane on which a rank is in a communication, and that record; PLAN_LANES_MAX: none. */
uint32_t judge_waiting(const Plan *plan, const Beat *beat);

/* True if `rank` has reached the communication that `other` is in on `lane`, of which it must be a
 * member; and whether it is a member. */
bool judge_has_arrived(const RankView *view, int32_t other, uint32_t lane, int32_t rank);
bool judge_is_member(const Plan *plan, const Mesh *mesh, const RankView *view, int32_t other,
                     uint32_t lane, int32_t rank);

#endif
