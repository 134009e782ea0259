/* runner.h -- classes on their way through a program. Private to simulate.c and meet.c. */
#ifndef LOCKSTEP_COST_RUNNER_H
#define LOCKSTEP_COST_RUNNER_H

#include "compiler/plan/simulate/simulate.h"

/* A segment as calls of the same flags run it. */
typedef struct Profile {
  uint32_t flags;
  bool is_plain; /* one lane, no other class */
  uint32_t lane;
  int64_t total_ns;
  const PlanRecord *last; /* that runs */
  LaneParts parts;        /* on a plain one's lane */
  int64_t *ns;            /* by record: how long it takes */
  int64_t *end_ns;        /* by record: after the call's start; of a plain one */
  struct Profile *next;
} Profile;

/* One end of a transfer that has begun, and its number among those between the two classes. */
typedef struct Pending {
  uint32_t peer;
  int32_t number;
  bool is_send;
} Pending;

typedef struct Times {
  VEC(int64_t) at;
} Times;

/* A runner at the end of an iteration. */
typedef struct IterationEnd {
  int64_t free_ns[PLAN_LANES_MAX];
  int64_t *ready_ns; /* by wait of the loop's calls, in order */
  LaneTimes times;
} IterationEnd;

typedef struct Runner {
  const PlanProgram *program; /* NULL: the class has no program of this kind */
  const Profile *profile;     /* of its current call */
  uint32_t class_alike;       /* the first class whose links are the same */
  int32_t *coordinate;
  uint32_t call, record, iteration, loop; /* of the program, its segment; loop: next or current */
  uint32_t lanes_begun;                   /* of the call */
  int64_t free_ns[PLAN_LANES_MAX];        /* when the lane's last record was over */
  const PlanRecord *last[PLAN_LANES_MAX]; /* that record */
  int64_t *end_ns;                        /* by record of the call */
  int32_t *targets;                       /* by call: the first wait for one of its records */
  LaneTimes *times;
  int32_t runs_left;
  bool goes_on;      /* other lanes continue when the main one begins the next run */
  uint32_t main_end; /* plan_main_end */
  int64_t begun_ns;  /* of the current run, on the main lane */
  bool has_come;     /* to its current communication, at `start_ns` */
  bool has_met;      /* all members have come, at `met_ns` */
  int64_t start_ns, met_ns;
  VEC(Pending) pending;    /* of its current exchange */
  uint32_t lanes_iterated; /* those of this iteration */
  IterationEnd before;     /* the iteration before */
} Runner;

typedef struct Simulation {
  Arena *arena;
  const Plan *plan;
  uint32_t main_lane;
  const StretchSink *sink; /* NULL: nobody asks for the times of single calls */
  Runner *runners;
  Profile **profiles;      /* by class and segment; classes with equal links share them */
  bool *is_wide;           /* by comm: its members are of several classes */
  int64_t *ready_ns;       /* by wait: when the awaited record last ended */
  int64_t *own_ns;         /* by wait for its own call: the end that the next iteration waits for */
  int64_t *before_ns;      /* ready_ns when the current run began */
  int32_t *next_target;    /* by wait: the next one for the same call */
  uint32_t parted_mask;    /* lanes beside the main one that communicate */
  int32_t runs;            /* of the program, one after another; the last one counts */
  Times *sends, *receives; /* when each began, by class * classes + peer */
} Simulation;

static inline const PlanCall *current_call(const Simulation *s, const Runner *r) {
  return &s->plan->calls[r->program->calls_first + r->call];
}

static inline int64_t later(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* True if members of the communicator are of several classes. */
bool meet_is_wide(const Plan *plan, uint32_t comm);

/* The class has come to the exchange, at its start_ns: its transfers begin. */
void meet_exchange_begin(const Simulation *s, uint32_t class, const PlanRecord *record);

/* Sets has_met, and of a collective that of the other classes too, if all have come. */
void meet_others(const Simulation *s, uint32_t class, const PlanRecord *record);

#endif
