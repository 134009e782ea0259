/* server.h -- a PMIx server inside this process, for ranks on one node. */
#ifndef LOCKSTEP_LAUNCH_SERVER_H
#define LOCKSTEP_LAUNCH_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/launch/folders.h"
#include "runtime/process/status.h"

typedef struct Server {
  int32_t rank_count;
  char files[FOLDERS_PATH_BYTES];    /* PMIx's and MPI's, removed at the end */
  char segments[FOLDERS_PATH_BYTES]; /* MPI's shared memory, removed at the end */
  bool is_open;
} Server;

/* Called once in a process. Removes first the files that an earlier, killed launcher has left. */
bool server_open(Server *server, int32_t rank_count, Status *status);

/* `in_order`: all ranks have left. If some were killed while they joined, the library has been seen
 * to wait forever for their unfinished requests. Its files are removed in any case. */
void server_close(Server *server, bool in_order);

/* The environment of a rank's process; the caller frees it with server_environment_free. NULL:
 * `status` says why. */
char **server_environment(Server *server, int32_t rank, Status *status);
void server_environment_free(char **environment);

/* The exit code that a rank has asked the job to end with; 0: none has. */
int32_t server_abort_code(void);
/* The rank that asked for it. */
int32_t server_abort_rank(void);

#endif
