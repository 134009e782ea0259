/* failure.h -- what is left of a run that failed: failure.json, a flight record of each rank that
 * could still write one, and lines on a screen. First the cause; ranks that ended because of it are
 * its echoes. */
#ifndef LOCKSTEP_WATCH_FAILURE_H
#define LOCKSTEP_WATCH_FAILURE_H

#include "runtime/status.h"
#include "runtime/watch/judge.h"

enum { FAILURE_TEXT_BYTES = 1024 };

typedef struct Failure {
  const Plan *plan;
  const Mesh *mesh;
  const RankView *view;    /* of every rank */
  const char *const *node; /* name of the node of every rank */
  Verdict verdict;
  int64_t now_ms;                /* of the views' clock */
  const Status *error;           /* of LOSS_ERROR: what the rank said */
  char text[FAILURE_TEXT_BYTES]; /* the cause in one sentence: failure_describe */
  int32_t waits;                 /* a rank that waits for the lost one; -1: none does */
  int32_t code;                  /* of the run */
} Failure;

/* Whether the run's folder is this run's to write a report into: another run may have it, or a
 * finished one be there. */
bool failure_is_written(const Failure *failure);

/* Fills what stands below `error`. */
void failure_describe(Failure *failure);

/* failure.json in the run's folder: the old one stays, or the whole new one is there. */
void failure_write(const Failure *failure);

/* On stderr: the cause, where each rank was, and what to do next. */
void failure_screen(const Failure *failure);

/* flight.RANK.json in the run's folder: the newest records of every lane. */
void failure_write_flight(const Plan *plan, int32_t rank, const Flight *flight);

/* All of it, of a run whose ranks are threads of this process; its caller says the error. `flight`
 * is of every rank. */
void failure_of_threads(const Plan *plan, const Mesh *mesh, const Flight *flight, int32_t rank,
                        const Status *error);

/* By the launcher of processes, when all have ended because this rank did and none of them could
 * write since `since_s` (of the epoch): file and screen. `error` is what is known. */
void failure_of_launcher(const Plan *plan, const Mesh *mesh, Verdict verdict, const Status *error,
                         int64_t since_s);

/* Removes these files of an earlier start. */
void failure_clear(const Plan *plan);

#endif
