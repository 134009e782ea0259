/* caches.h -- the caches of this machine's processors, as Linux describes them. `root` is put
 * before /sys; it is "" except in tests. */
#ifndef LOCKSTEP_PROCESS_CACHES_H
#define LOCKSTEP_PROCESS_CACHES_H

#include <stdint.h>

/* What the last-level caches of all processors hold together. 0: Linux does not say. */
int64_t caches_bytes(const char *root);

#endif
