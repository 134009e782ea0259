/* caches.h -- the caches of this machine's processors, as Linux describes them. `root` is put
 * before /sys; it is "" except in tests. */
#ifndef LOCKSTEP_PROCESS_CACHES_H
#define LOCKSTEP_PROCESS_CACHES_H

#include <stdint.h>

/* The size of the last-level caches of all processors together. 0: Linux does not tell. */
int64_t caches_bytes(const char *root);

#endif
