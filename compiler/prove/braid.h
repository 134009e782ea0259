/* braid.h -- the lanes of one segment, as calls of equal flags run it: what its records know of
 * each other, and what they touch that others may meet. Private to compiler/prove.
 *
 * Worked out once for all calls, because only the places of bases and what lanes know when they
 * come to the call differ from call to call. */
#ifndef LOCKSTEP_PROVE_BRAID_H
#define LOCKSTEP_PROVE_BRAID_H

#include "compiler/prove/walk.h"

/* How far every lane has come, for certain, when a record starts (vector clocks, Mattern 1988). */
typedef struct Clock {
  uint32_t number[PLAN_LANES_MAX]; /* of each lane's records of this call; 0: none of them */
  uint32_t entries; /* lanes: what they knew when they came to the call is known, too */
  bool runs;
} Clock;

/* Of no base: control slots, and communicators, which are touched like bytes. */
enum { BASE_NONE = UINT32_MAX };

typedef struct Touch {
  uint64_t first, end; /* from the base; with BASE_NONE from the arena's beginning */
  uint32_t base;
  uint32_t record, number; /* number: in its lane and call, from 1 */
  uint32_t entries;        /* of the record's clock */
  bool write;
} Touch;

typedef struct Touches {
  Touch *at;
  uint32_t count, capacity;
} Touches;

typedef struct Braid {
  uint32_t segment, flags;
  uint64_t rank;  /* that it is seen from; 0: all ranks see the same */
  uint32_t lanes; /* mask: that have records here */
  uint32_t count[PLAN_LANES_MAX];
  Clock *clock; /* by record */
  /* By lane: all touches; those that no earlier one of the lane stands for, when what came before
   * the call is asked for; those that no later one stands for, when what comes after it asks; and
   * one for each base, around all of them. */
  Touches all[PLAN_LANES_MAX], early[PLAN_LANES_MAX], late[PLAN_LANES_MAX], around[PLAN_LANES_MAX];
  bool proven; /* its lanes do not race among themselves, where bases do not meet */
  struct Braid *next;
} Braid;

/* All that were made. */
struct Braids {
  Braid **of_segment;
  bool *moves; /* by segment: what it reaches depends on the rank */
};

/* Where communicators stand, as if behind every arena. */
static const uint64_t comm_space = UINT64_MAX / 2;

Braids *braids_open(const View *view); /* NULL, and a finding: out of memory */
void braids_close(const Plan *plan, Braids *braids);

/* Of the call that the walk is at; NULL: out of memory. */
Braid *braid_of(Braids *braids, const Walk *walk);

#endif
