/* client.c -- fences always collect data: without it Slurm's fences are not barriers when a job has
 * fewer nodes than its tree is wide. */
#include "runtime/pmix/client.h"

#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/process/deadline.h"

enum { WHO_BYTES = CLIENT_NODE_BYTES + 32 };

bool client_is_launched(void) {
  return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL;
}

static const char *who(const Client *client, char text[WHO_BYTES]) {
  (void)snprintf(text, WHO_BYTES, "rank %d on %s", client->rank, client->node);
  return text;
}

static bool good(const Client *client, pmix_status_t result, const char *call, Status *status) {
  char me[WHO_BYTES];
  if (result == PMIX_SUCCESS) return true;
  return status_fail(status, STATUS_WORLD, "%s: %s: %s", who(client, me), call,
                     PMIx_Error_string(result));
}

static pmix_proc_t process_of(const Client *client, pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, client->nspace, rank);
  return process;
}

/* Messages name the rank by the launcher's variable until the server has told it. */
static void guess_identity(Client *client) {
  const char *rank = getenv("PMIX_RANK");
  client->rank = rank ? (int32_t)strtol(rank, NULL, 10) : -1;
  if (gethostname(client->node, sizeof client->node - 1) != 0) strcpy(client->node, "?");
}

/* In tests several nodes may be one host, so the launcher's name of the node counts. */
static void read_node(Client *client) {
  pmix_proc_t own = process_of(client, (pmix_rank_t)client->rank);
  pmix_value_t *value = NULL;
  if (PMIx_Get(&own, PMIX_HOSTNAME, NULL, 0, &value) != PMIX_SUCCESS) return;
  if (value->type == PMIX_STRING)
    (void)snprintf(client->node, sizeof client->node, "%s", value->data.string);
  PMIX_VALUE_RELEASE(value);
}

static bool read_size(Client *client, Status *status) {
  pmix_proc_t all = process_of(client, PMIX_RANK_WILDCARD);
  pmix_value_t *value = NULL;
  if (!good(client, PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "PMIx_Get of the job's size",
            status))
    return false;
  client->rank_count = (int32_t)value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return true;
}

bool client_open(Client *client, Status *status) {
  char me[WHO_BYTES];
  pmix_proc_t own;
  *client = (Client){0};
  guess_identity(client);
  Deadline *deadline =
      deadline_begin(who(client, me), "PMIx_Init", DEADLINE_START_S, deadline_of_others);
  pmix_status_t result = PMIx_Init(&own, NULL, 0);
  deadline_end(deadline);
  if (!good(client, result, "PMIx_Init", status)) return false;
  client->is_open = true;
  client->rank = (int32_t)own.rank;
  (void)snprintf(client->nspace, sizeof client->nspace, "%s", own.nspace);
  read_node(client);
  return read_size(client, status);
}

bool client_barrier(Client *client, Status *status) {
  char me[WHO_BYTES];
  bool collect = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  Deadline *deadline =
      deadline_begin(who(client, me), "PMIx_Fence", DEADLINE_START_S, deadline_of_others);
  pmix_status_t result = PMIx_Fence(NULL, 0, &info, 1);
  deadline_end(deadline);
  return good(client, result, "PMIx_Fence", status);
}

static bool show(Client *client, const char *key, const void *own, size_t size_bytes,
                 Status *status) {
  pmix_byte_object_t bytes = {.bytes = (char *)(uintptr_t)own, .size = size_bytes};
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, &bytes, PMIX_BYTE_OBJECT);
  bool shown = good(client, PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put", status) &&
               good(client, PMIx_Commit(), "PMIx_Commit", status);
  PMIX_VALUE_DESTRUCT(&value);
  return shown;
}

static bool see(Client *client, const char *key, int32_t rank, void *to, size_t size_bytes,
                Status *status) {
  char me[WHO_BYTES];
  pmix_proc_t peer = process_of(client, (pmix_rank_t)rank);
  pmix_value_t *value = NULL;
  if (!good(client, PMIx_Get(&peer, key, NULL, 0, &value), "PMIx_Get", status)) return false;
  bool fits = value->type == PMIX_BYTE_OBJECT && value->data.bo.size == size_bytes;
  if (fits) memcpy(to, value->data.bo.bytes, size_bytes);
  PMIX_VALUE_RELEASE(value);
  return fits || status_fail(status, STATUS_USER,
                             "%s: rank %d speaks another version of lockstep-rank: every node "
                             "needs the same",
                             who(client, me), rank);
}

bool client_exchange(Client *client, const char *key, const void *own, void *all, size_t size_bytes,
                     Status *status) {
  char me[WHO_BYTES];
  if (!show(client, key, own, size_bytes, status) || !client_barrier(client, status)) return false;
  Deadline *deadline =
      deadline_begin(who(client, me), "PMIx_Get", DEADLINE_START_S, deadline_of_others);
  bool seen = true;
  for (int32_t rank = 0; rank < client->rank_count && seen; rank++)
    seen = see(client, key, rank, (char *)all + (size_t)rank * size_bytes, size_bytes, status);
  deadline_end(deadline);
  return seen;
}

void client_close(Client *client) {
  char me[WHO_BYTES];
  if (!client->is_open) return;
  Deadline *deadline =
      deadline_begin(who(client, me), "PMIx_Finalize", DEADLINE_START_S, deadline_of_others);
  (void)PMIx_Finalize(NULL, 0);
  deadline_end(deadline);
  client->is_open = false;
}
