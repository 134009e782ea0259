/* replay_graph.h -- runs of a program as one graph: captured once, and from then on replayed by one
 * call of the host. What was captured is what would have been issued, so the numbers are the same.
 */
#ifndef LOCKSTEP_REPLAY_GRAPH_H
#define LOCKSTEP_REPLAY_GRAPH_H

#include "runtime/replay.h"

/* More would be captured than drivers have been seen to take: such a program is issued. */
enum { REPLAY_GRAPH_NODES_MAX = 1 << 14 };

/* Issues the program's calls. */
typedef bool ReplayIssue(void *walker, Status *status);

/* Whether this run of the program is to be a graph: it is asked for, what the program reads stands
 * at the same addresses in every run, nobody looks at records, and it is not the first run, which
 * lets libraries make what they make when they are first called. */
bool replay_graph_fits(const Replay *replay, const PlanProgram *program);

/* In place of `issue`: a graph of it, made at the first call. All queues are done with what they
 * had, and the main lane's goes on when all of it is done. False: as of any issue. */
bool replay_graph_run(Replay *replay, const PlanProgram *program, ReplayIssue *issue, void *walker,
                      Status *status);

/* Before the device is closed. */
void replay_graph_free(Replay *replay);

#endif
