/* clocks.h -- the lanes of one segment, for all calls with the same flags: which records each
 * record knows to be finished, and which bytes it touches. Private to compiler/prove.
 *
 * Computed once for all calls: from call to call only the addresses of bases differ, and what each
 * lane knows when it enters the call. */
#ifndef LOCKSTEP_PROVE_CLOCKS_H
#define LOCKSTEP_PROVE_CLOCKS_H

#include "compiler/prove/walk.h"

/* How far every lane has come, for certain, when a record starts (vector clocks, Mattern 1988). */
typedef struct Clock {
  uint32_t number[PLAN_LANES_MAX]; /* how many of each lane's records in this call are finished */
  uint32_t entries; /* mask of lanes: what they knew on entering the call is known, too */
  bool runs;
} Clock;

/* Touches without a base: control slots, and communicators, which are treated like bytes. */
enum { BASE_NONE = UINT32_MAX };

typedef struct Touch {
  uint64_t first, end; /* from the base; with BASE_NONE from the start of the arena */
  uint32_t base;
  uint32_t record, number; /* number: from 1 in its lane and call; once placed, in the program */
  uint32_t before;         /* the previous one kept with the same hash, counted from 1 */
  uint32_t entries;        /* of the record's clock */
  uint32_t position;       /* once placed: of the call */
  bool write;
} Touch;

typedef struct Touches {
  Touch *at; /* a part of Clocks.touch */
  uint32_t count;
} Touches;

typedef struct Clocks {
  uint32_t flags;
  uint32_t lanes;                 /* mask: that have records here */
  uint32_t count[PLAN_LANES_MAX]; /* of records */
  uint32_t last[PLAN_LANES_MAX];  /* the lane's last record, which knows most */
  Clock *clock;                   /* by record */
  Touch *touch;
  /* By lane: all touches; `early`, without those that an earlier one of the lane covers, to compare
   * with what came before the call; and `late`, in reverse order, without those that a later one
   * covers, to compare with what comes after it. */
  Touches all[PLAN_LANES_MAX], early[PLAN_LANES_MAX], late[PLAN_LANES_MAX];
  bool proven; /* its lanes do not race with each other as long as bases do not overlap */
  struct Clocks *next;
} Clocks;

/* Addresses of communicators, beyond every arena. */
static const uint64_t comm_space = UINT64_MAX / 2;

/* For the call that the walk is at; cached by segment in `of_segment`. NULL: out of memory.
 * clocks_free frees those of one segment. */
Clocks *clocks_of(Clocks **of_segment, const Walk *walk);
void clocks_free(Clocks *first);

#endif
