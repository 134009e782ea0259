/* stragglers.h -- compares ranks: which one is slow, and in what. Ranks run in lockstep, so all
 * take the same time for a step; the slow one is the one that others wait for. */
#ifndef LOCKSTEP_OBSERVE_STRAGGLERS_H
#define LOCKSTEP_OBSERVE_STRAGGLERS_H

#include "runtime/observe/breakdown.h"
#include "runtime/process/text.h"

enum { STRAGGLER_PERCENT = 10, STRAGGLERS_SHOWN = 8 };

/* Times that a rank sends to the others; sums over `steps`. */
typedef struct RankTimes {
  char node[TRACE_NODE_BYTES];
  int64_t steps;
  Breakdown sum;
  Breakdown predicted; /* of one step; all 0: the plan has no rates of its device */
} RankTimes;

typedef struct RankOwn {
  int32_t rank;
  int64_t wait_ns;   /* for other ranks, in a step: how much longer its communications took than the
                        shortest time that a rank spent in them */
  int64_t own_ns;    /* the rest of the step */
  int64_t median_ns; /* of the own times of ranks that do the same work */
  bool is_slow;      /* more than STRAGGLER_PERCENT above the median of own times */
} RankOwn;

typedef struct Stragglers {
  const Plan *plan;
  const Mesh *mesh;
  int32_t count;
  RankTimes *times;
  int64_t *record_ns; /* [rank][record]; NULL: too many to be gathered */
  RankOwn *own;       /* slowest first */
} Stragglers;

bool stragglers_open(Stragglers *s, const Plan *plan, const Mesh *mesh);
void stragglers_close(Stragglers *s);

/* Call after `times` and `record_ns` have been filled. */
void stragglers_judge(Stragglers *s);

/* Prints where the time of a step went, and which ranks are slow. */
typedef void StragglersSay(void *context, const char *line);
void stragglers_tell(const Stragglers *s, StragglersSay *say, void *context);

/* ,"breakdown":{...},"ranks":[...] */
void stragglers_json(const Stragglers *s, Text *text);

#endif
