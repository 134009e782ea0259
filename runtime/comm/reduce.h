/* reduce.h -- element-wise reduction of several members' arrays, in member order. */
#ifndef LOCKSTEP_REDUCE_H
#define LOCKSTEP_REDUCE_H

#include <stdint.h>

#include "kernels/threads/threads.h"
#include "runtime/comm/comm.h"

/* y[i] = x[0][first + i] op x[1][first + i] op ... for i below elements.count; y may be where one
 * of the x is read. */
void reduce_range(void *y, const void *const *x, int32_t members, int64_t first,
                  CommElements elements, ReduceOp reduce);

/* The same on a team of threads, when there is enough to do; `threads` may be NULL. */
void reduce_parallel(Threads *threads, void *y, const void *const *x, int32_t members,
                     int64_t first, CommElements elements, ReduceOp reduce);

/* The number of tasks of a reduction of this many elements; and a function that runs the tasks. */
int32_t reduce_tasks(const Threads *threads, int64_t elements);
void reduce_run(Threads *threads, int32_t tasks, ThreadsTask *task, void *context);

#endif
