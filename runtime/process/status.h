/* status.h -- the reason of a failure, in one line, and who has to repair it: the user, the site or
 * us.
 *
 * Functions that can fail return bool and take a Status; false means that it is filled. */
#ifndef LOCKSTEP_STATUS_H
#define LOCKSTEP_STATUS_H

#include <stdbool.h>
#include <stdint.h>

/* The process's exit codes. */
enum {
  STATUS_DONE = 0,
  STATUS_USER = 1,         /* the job, its files or the command line must change */
  STATUS_WORLD = 2,        /* disk, memory, peers: a retry may help */
  STATUS_OURS = 3,         /* a defect of this program or of the compiler that made the plan */
  STATUS_NOTHING_LEFT = 4, /* the run had already reached its last step: nothing was trained */
  STATUS_STOPPED = 5, /* stopped as asked, state saved: the same command continues from there */
  STATUS_ECHO = 6,    /* ended because another rank did, whose error says why */
  STATUS_SIGNAL = 128 /* and the signal's number: it ended the process at once, as asked */
};

enum { STATUS_TEXT_BYTES = 1536 };

typedef struct Status {
  int32_t code;
  char text[STATUS_TEXT_BYTES];
} Status;

/* Fills `status` and returns false, so that a check is one line: return status_fail(...). */
bool status_fail(Status *status, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
