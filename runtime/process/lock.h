/* lock.h -- one run at a time writes into a folder.
 *
 * FOLDER/lock says who: process, host and since when. The kernel holds the lock itself, on
 * network file systems the server, so that it ends with its holder, however that ends. Where a
 * mount has no locks or keeps them to the host, what the file says decides: a holder on this host
 * is looked for, one on another host is believed. The file stays when the lock is given back, and
 * is empty then. */
#ifndef LOCKSTEP_LOCK_H
#define LOCKSTEP_LOCK_H

#include <stdbool.h>

enum { LOCK_WHY_BYTES = 512 };

typedef enum LockResult { LOCK_TAKEN, LOCK_HELD, LOCK_FAILED } LockResult;

typedef struct Lock {
  int descriptor; /* -1: holds nothing */
} Lock;

/* Takes the lock of a folder that exists. Else `why` is one line: LOCK_HELD names the holder,
 * LOCK_FAILED says what the system refused. The lock is the process's: it survives exec, and a
 * process that holds it can take it again. */
LockResult lock_take(Lock *lock, const char *folder, char why[LOCK_WHY_BYTES]);

/* Does nothing to a lock that holds nothing. */
void lock_give_back(Lock *lock);

/* ---- what decides where locks do not reach other hosts; declared for tests */

/* Whether `record`, the text of a lock file, speaks of a run that may be alive, asked on `host`. */
bool lock_holder_lives(const char *record, const char *host);

/* Whether the mount of `folder`, an absolute path, in the table `mounts` (/proc/self/mounts) keeps
 * locks to this host. */
bool lock_is_of_host(const char *mounts, const char *folder);

#endif
