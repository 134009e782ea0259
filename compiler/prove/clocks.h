/* clocks.h -- the lanes of one segment, as calls of equal flags run it: what its records know of
 * each other, and what they touch that others may meet. Private to compiler/prove.
 *
 * Worked out once for all calls, because only the places of bases and what lanes know when they
 * come to the call differ from call to call. */
#ifndef LOCKSTEP_PROVE_CLOCKS_H
#define LOCKSTEP_PROVE_CLOCKS_H

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
  uint32_t record, number; /* number: in its lane and call, from 1; once placed, in the program */
  uint32_t before;         /* kept before it, of the same hash; from 1 */
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
  /* By lane: all touches; those that no earlier one of the lane stands for, when what came before
   * the call is asked for; and, the last first, those that no later one stands for, when what
   * comes after it asks. */
  Touches all[PLAN_LANES_MAX], early[PLAN_LANES_MAX], late[PLAN_LANES_MAX];
  bool proven; /* its lanes do not race among themselves, where bases do not meet */
  struct Clocks *next;
} Clocks;

/* Where communicators stand, as if behind every arena. */
static const uint64_t comm_space = UINT64_MAX / 2;

/* Of the call that the walk is at: kept for others by its segment, in an array of all; NULL: out of
 * memory. clocks_free frees one segment's. */
Clocks *clocks_of(Clocks **of_segment, const Walk *walk);
void clocks_free(Clocks *first);

#endif
