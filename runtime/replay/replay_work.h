/* replay_work.h -- runs one work of a queue: a kernel, a communication or a copy. Private to
 * replay. */
#ifndef LOCKSTEP_REPLAY_WORK_H
#define LOCKSTEP_REPLAY_WORK_H

#include "runtime/replay/replay.h"

/* Runs the record of the work, or that record and the one fused with it. */
WorkRun replay_run_record;

/* Runs the records of a launch: operand[0] is its ReplayLaunch. */
WorkRun replay_run_launch;

#endif
