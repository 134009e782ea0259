/* bind.h -- threads put on processors, and their memory near them, through hwloc. Best effort:
 * placement is speed, not meaning. */
#ifndef LOCKSTEP_BIND_H
#define LOCKSTEP_BIND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Lets the thread run on this processor only, as the system counts them. False: the system does not
 * let it, and the thread stays where it is. */
bool bind_thread(pthread_t thread, int32_t core);

/* Pages that the calling thread, and threads that it starts from now on, are the first to use lie
 * in the NUMA nodes of these processors, as long as there is room. False: the system places them.
 */
bool bind_memory(const int32_t *core, int32_t count);

#endif
