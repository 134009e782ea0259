/* nccl_stand_in.h -- NCCL for tests without GPUs: ranks are threads, memory is the host's, and a
 * call is done when its group ends. It is stricter than the library: members of a communicator make
 * the same calls with equal counts, kinds, reductions and roots, sends meet receives of their size,
 * operands in place lie where the library wants them, a communicator that is under way takes no
 * call, and neither does an aborted one. Every call on a communicator leaves it under way, and may
 * return success all the same: only async_error tells when it is over. A split returns success as
 * that of NCCL 2.28.9 does, with a NULL handle, until all members have asked for it; one ends only
 * when no graph holds its calls, and those of a rank are aborted together. Whoever breaks this gets
 * an error, as do its peers. */
#ifndef LOCKSTEP_TESTS_NCCL_STAND_IN_H
#define LOCKSTEP_TESTS_NCCL_STAND_IN_H

#include "runtime/comm/nccl_api.h"

const NcclApi *nccl_stand_in(void);

/* Whoever waits in a group gets an error, as after an abort. */
void nccl_stand_in_break(void);

/* From then on: the rank's call that many from now (1 is the next, of any communicator) neither
 * ends nor says why; only async_error does, as where a network fails. Ranks are those of the
 * communicator. 0: none. */
void nccl_stand_in_fail(int rank, int call);

/* From then on a split fails at the member of that number, and at the others never ends: an abort
 * has to. NONE fails; or it NEVER_ENDS at any. */
enum { SPLIT_NONE = -1, SPLIT_NEVER_ENDS = -2 };
void nccl_stand_in_fail_split(int rank);

/* Communicators that were split from another one, of all ranks, since the last call. */
int nccl_stand_in_splits(void);

/* Communicators that were told of memory, since the last call. */
int nccl_stand_in_held(void);

/* The calling thread has so many graphs more (or fewer) that hold calls of its communicators. The
 * library's finalize and abort would wait until they are gone. */
void nccl_stand_in_graphs(int more);

/* How often the contract was broken, since the last call. */
int nccl_stand_in_wrongs(void);

/* Communicators that are open now, of all ranks. */
int nccl_stand_in_open(void);

#endif
