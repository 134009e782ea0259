/* replay_graph.h -- runs a program in one CUDA graph: captured once, and from then on replayed by
 * one call of the host. The graph holds exactly what would have been issued, so results are the
 * same.
 */
#ifndef LOCKSTEP_REPLAY_GRAPH_H
#define LOCKSTEP_REPLAY_GRAPH_H

#include "runtime/replay/replay.h"

/* A program with more work than drivers are known to capture is issued instead. */
enum { REPLAY_GRAPH_NODES_MAX = 1 << 14 };

/* Issues the program's calls. */
typedef bool ReplayIssue(void *walker, Status *status);

/* True if this run of the program uses a graph: graphs are asked for, the program reads the same
 * addresses in every run, it is not too large on any rank, records are not being checked, and it is
 * not the first run, in which libraries set themselves up. */
bool replay_graph_fits(Replay *replay, const PlanProgram *program);

/* Used in place of `issue`: runs its graph, which is captured at the first call. The graph starts
 * when all queues are done, and the main lane continues when the graph is done. False as for any
 * issue; or the capture has failed on some rank, and ReplayGraph.why says why: then nothing was
 * issued, on no rank, and this and all later runs of the program are issued. */
bool replay_graph_run(Replay *replay, const PlanProgram *program, ReplayIssue *issue, void *walker,
                      Status *status);

/* The run of the program that has just returned false could not be captured, and is to be issued.
 */
bool replay_graph_gave_up(const Replay *replay, const PlanProgram *program);

/* Before the device is closed, and before NCCL is aborted, which waits until no graph has calls of
 * its communicators. A graph that is running ends first. */
void replay_graph_free(Replay *replay);

#endif
