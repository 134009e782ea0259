/* workers.h -- independent pieces of work on several threads. */
#ifndef LOCKSTEP_WORKERS_H
#define LOCKSTEP_WORKERS_H

#include <stdint.h>

/* Calls work(state, thread, i) once for each i below `count`; `thread` is below `threads`. Returns
 * when all calls have. */
typedef void Work(void *state, int32_t thread, int32_t i);
void workers_run(int32_t threads, int32_t count, Work *work, void *state);

/* As many threads as there are processors that this process may use. */
int32_t workers_available(void);

#endif
