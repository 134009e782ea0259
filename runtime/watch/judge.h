/* judge.h -- from what ranks have shown of themselves, whether one of them is lost, and which.
 *
 * A pure function: clocks and sockets are the caller's. */
#ifndef LOCKSTEP_WATCH_JUDGE_H
#define LOCKSTEP_WATCH_JUDGE_H

#include "runtime/mesh.h"
#include "runtime/watch/flight.h"

enum { JUDGE_SILENT_MS = 3000, JUDGE_STUCK_LEAST_MS = 3000, JUDGE_STUCK_STEPS = 5 };

typedef enum Loss {
  LOSS_NONE,
  LOSS_ERROR,  /* it failed, and has said why */
  LOSS_DEAD,   /* its connection ended without a word */
  LOSS_SILENT, /* it says nothing any more: stopped, or its node is gone */
  LOSS_STUCK   /* it speaks, and does not get on with what others wait for */
} Loss;

/* Of one rank. Times are the watching rank's, in ms; 0: it has not come to that. */
typedef struct RankView {
  bool has_come;
  bool has_left;  /* in good order */
  int32_t failed; /* 1: the first that has said that it failed, and so on; 0: it has not */
  int64_t closed_ms;
  int64_t heard_ms;
  int64_t moved_ms; /* when what it does last changed */
  Beat beat;        /* the newest */
} RankView;

typedef struct Verdict {
  Loss loss;
  int32_t rank;
} Verdict;

/* The first that is lost. */
Verdict judge(const Plan *plan, const Mesh *mesh, const RankView *view, int64_t now_ms);

/* Whether `rank`, which is dead or silent, is lost with its whole node: all ranks there are, at
 * least two, and there are other nodes. `node` is a name for each rank. */
bool judge_node_is_lost(const RankView *view, const char *const *node, int32_t rank_count,
                        int32_t rank, int64_t now_ms);

/* The lane on which a rank is in a communication, and which; PLAN_LANES_MAX: it is in none. */
uint32_t judge_waiting(const Plan *plan, const Beat *beat);

/* Whether `rank` has come to the communication that `other` is in on `lane`, of which it is a
 * member; and whether it is one. */
bool judge_has_arrived(const RankView *view, int32_t other, uint32_t lane, int32_t rank);
bool judge_is_member(const Plan *plan, const Mesh *mesh, const RankView *view, int32_t other,
                     uint32_t lane, int32_t rank);

#endif
