/* events.h -- the communications of a class with other classes, in the order in which it runs them.
 *
 * Between ranks of one class a communication needs no partner that is not at the same place of the
 * same list: all of a class run the same records. So only what crosses classes is listed, and only
 * loops that communicate across classes are run to their end. */
#ifndef LOCKSTEP_PROVE_EVENTS_H
#define LOCKSTEP_PROVE_EVENTS_H

#include "compiler/prove/walk.h"

/* One operand of an exchange that goes to, or comes from, another class. */
typedef struct Transfer {
  uint32_t peer; /* class */
  bool is_send, done;
  uint32_t dtype, operand;
  uint64_t bytes;
  PlanPost post; /* what the call says that it is */
} Transfer;

typedef struct Event {
  uint32_t comm, kind, lane, dtype, meaning;
  uint64_t bytes[2];
  int32_t layer, microbatch;
  uint32_t position, record; /* where it stands, for people */
  uint32_t transfer_first, transfer_count;
} Event;

typedef struct Sequence {
  Event *events;
  Transfer *transfers;
  uint32_t count, capacity, transfer_count, transfer_capacity;
  uint32_t head; /* of the simulation */
  const PlanProgram *program;
} Sequence;

/* Of the program of `kind`; without events where the class has none. Findings say what is wrong
 * with a communication by itself. False: out of memory, or too many. */
bool sequence_collect(View *view, ProgramKind kind, Sequence *sequence);
void sequence_close(Sequence *sequence);

/* Do some ranks of classes a and b stand in one group of the communicator? */
bool classes_share(const Plan *plan, uint32_t a, uint32_t b, uint32_t comm);

/* The class `distance` further along the only axis of the communicator; PLAN_NONE: ranks of the
 * class do not all come to the same one. */
uint32_t class_at_distance(const Plan *plan, uint32_t class, uint32_t comm, int64_t distance);

/* timeline.c: runs all classes against each other. `group` numbers, by comm and class, classes that
 * come together. */
void timeline_run(const Plan *plan, ProveReport *report, ProgramKind kind, Sequence *sequences,
                  const uint32_t *group);

/* "classes[1] stage 1: call 3 record 2: exchange of h, 512 bytes" */
enum { EVENT_TEXT_BYTES = 160 };
void event_describe(const Plan *plan, const Sequence *sequence, uint32_t class, uint32_t at,
                    char text[EVENT_TEXT_BYTES]);

#endif
