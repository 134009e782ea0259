/* client.h -- what a process asks of the PMIx server that started it (srun --mpi=pmix, or our own
 * launcher).
 *
 * Errors name this rank and its node. A call that does not return in time ends the process with
 * exit code 2: its peers may never arrive, and nothing else would report it. PMIx events are not
 * used: Slurm does not forward them, and kills the step when a client sends one. */
#ifndef LOCKSTEP_PMIX_CLIENT_H
#define LOCKSTEP_PMIX_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/process/status.h"

enum { CLIENT_NODE_BYTES = 256 };

typedef struct Client {
  int32_t rank;
  int32_t rank_count;
  char node[CLIENT_NODE_BYTES]; /* as the launcher names it */
  char nspace[256];             /* of the job */
  bool is_open;
} Client;

/* True if a PMIx server started this process. */
bool client_is_launched(void);

bool client_open(Client *client, Status *status);

/* Every rank publishes `size_bytes` under the same `key` and gets those of all, in rank order.
 * Returns when all have arrived. */
bool client_exchange(Client *client, const char *key, const void *own, void *all, size_t size_bytes,
                     Status *status);

/* Returns when all ranks have arrived. */
bool client_barrier(Client *client, Status *status);

/* Called by all ranks at a normal end. */
void client_close(Client *client);

#endif
