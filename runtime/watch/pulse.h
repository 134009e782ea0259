/* pulse.h -- whether a process that shows no progress gets the processors it waits for, by what
 * Linux counts of its threads. A process that is stopped, gone or asleep waits for none. */
#ifndef LOCKSTEP_WATCH_PULSE_H
#define LOCKSTEP_WATCH_PULSE_H

#include <stdbool.h>
#include <stdint.h>

/* Begins with zeros, when the process shows progress. */
typedef struct Pulse {
  int64_t asked_ms; /* 0: not asked yet */
  int64_t ran_ns, waited_ns;
  int64_t starved_ms; /* of the time since it was first asked, without the processors it needed */
} Pulse;

/* Asks once more; `folder` is that of the process in /proc, and `skip` a thread that does not count
 * (0: all do). */
void pulse_ask(Pulse *pulse, const char *folder, int32_t skip, int64_t now_ms);

/* The load of this machine: processes that run or want to, averaged over a minute, and its
 * processors. */
typedef struct Load {
  float average;
  int32_t processors;
} Load;
Load load_now(void);

/* Where processes are numbered alike: 0 if it is not known. */
uint64_t pulse_machine(void);

#endif
