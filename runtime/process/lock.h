/* lock.h -- one run at a time writes into a folder.
 *
 * FOLDER/lock names the process, its host and since when. The lock is held by the kernel, on
 * network file systems by the server, so it ends with its holder, however that ends. If a mount has
 * no locks, or only locks within a host, the file decides: a holder on this host is looked up, one
 * on another host is trusted. The file stays when the lock is released, and is then empty. */
#ifndef LOCKSTEP_LOCK_H
#define LOCKSTEP_LOCK_H

#include <stdbool.h>

enum { LOCK_WHY_BYTES = 512 };

typedef enum LockResult { LOCK_TAKEN, LOCK_HELD, LOCK_FAILED } LockResult;

typedef struct Lock {
  int descriptor; /* -1: holds nothing */
} Lock;

/* Takes the lock of an existing folder. On failure `why` is one line: LOCK_HELD names the holder,
 * LOCK_FAILED says what the system refused. The lock belongs to the process: the lock survives
 * exec, and a process that holds it can take it again. */
LockResult lock_take(Lock *lock, const char *folder, char why[LOCK_WHY_BYTES]);

/* Does nothing if the lock is not held. */
void lock_give_back(Lock *lock);

/* ---- used where locks do not reach other hosts; declared for tests */

/* True if `record`, the text of a lock file, names a run that may be alive, seen from `host`. */
bool lock_holder_lives(const char *record, const char *host);

/* True if the mount of `folder`, an absolute path, in the table `mounts` (/proc/self/mounts) keeps
 * locks to this host. */
bool lock_is_of_host(const char *mounts, const char *folder);

#endif
