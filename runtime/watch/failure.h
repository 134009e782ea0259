/* failure.h -- the report of a failed run: failure.json, a flight record of each rank that could
 * still write one, and a screen. The cause comes first; ranks that ended because of it are its
 * echoes. */
#ifndef LOCKSTEP_WATCH_FAILURE_H
#define LOCKSTEP_WATCH_FAILURE_H

#include "runtime/process/status.h"
#include "runtime/watch/judge.h"

enum { FAILURE_TEXT_BYTES = 1024 };

typedef struct Failure {
  const Plan *plan;
  const Mesh *mesh;
  const RankView *view;    /* of every rank */
  const char *const *node; /* name of the node of every rank */
  Verdict verdict;
  int64_t now_ms;                /* of the views' clock */
  const Status *error;           /* for LOSS_ERROR: the rank's error */
  char text[FAILURE_TEXT_BYTES]; /* the cause in one sentence: failure_describe */
  int32_t waits;                 /* a rank that waits for the lost one, or -1 */
  int32_t code;                  /* of the run */
} Failure;

/* True if this run may write a report into its folder: another run may be using it, or a finished
 * run may be there. */
bool failure_is_written(const Failure *failure);

/* Fills in the fields after `error`. */
void failure_describe(Failure *failure);

/* Writes failure.json in the run's folder, completely or not at all. */
void failure_write(const Failure *failure);

/* Prints to stderr that a rank is starved, and that the run continues. */
void failure_note_starved(const Failure *failure);

/* Prints to stderr: the cause, where each rank was, and what to do next. */
void failure_screen(const Failure *failure);

/* Writes flight.RANK.json in the run's folder: the newest records of every lane. */
void failure_write_flight(const Plan *plan, int32_t rank, const Flight *flight);

/* The whole report, for a run whose ranks are threads of this process; the caller prints the error.
 * `flight` is that of every rank. */
void failure_of_threads(const Plan *plan, const Mesh *mesh, const Flight *flight, int32_t rank,
                        const Status *error);

/* For the launcher of processes, when all have ended because of this rank and none of them has
 * written a report since `since_s` (of the epoch): file and screen. `error` is what is known. */
void failure_of_launcher(const Plan *plan, const Mesh *mesh, Verdict verdict, const Status *error,
                         int64_t since_s);

/* Removes these files of an earlier start. */
void failure_clear(const Plan *plan);

#endif
