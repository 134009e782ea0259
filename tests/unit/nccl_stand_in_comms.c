#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/nccl_stand_in_inside.h"

enum { SPINS = 100, UNDER_WAY_MAX = 3 };

pthread_mutex_t nccl_lock = PTHREAD_MUTEX_INITIALIZER;
static Meeting *meetings;
static atomic_int held_count;
static atomic_int ids, open_handles;
static atomic_int splits, failing_split = SPLIT_NONE;
static atomic_int wrongs;
static _Thread_local int graphs;
static NcclHandle *aborted; /* kept, as a thread may be about to call */
int nccl_stand_in_held(void) {
  return atomic_exchange(&held_count, 0);
}

int nccl_stand_in_open(void) {
  return atomic_load(&open_handles);
}

void nccl_stand_in_break(void) {
  pthread_mutex_lock(&nccl_lock);
  for (Meeting *meeting = meetings; meeting != NULL; meeting = meeting->next)
    barrier_break(&meeting->barrier);
  pthread_mutex_unlock(&nccl_lock);
}

int nccl_stand_in_splits(void) {
  return atomic_exchange(&splits, 0);
}

void nccl_stand_in_fail_split(int rank) {
  atomic_store(&failing_split, rank);
}

void nccl_stand_in_graphs(int more) {
  graphs += more;
}

int nccl_stand_in_wrongs(void) {
  return atomic_exchange(&wrongs, 0);
}

int nccl_wrong(const char *why) {
  printf("NCCL's contract: %s\n", why);
  atomic_fetch_add(&wrongs, 1);
  return INVALID_USAGE;
}

/* ---- communicators */

int nccl_busy(NcclHandle *comm) {
  comm->random = comm->random * 1664525u + 1013904223u;
  comm->under_way = 1 + (int)(comm->random >> 16) % UNDER_WAY_MAX;
  return comm->random >> 24 & 1 ? NCCL_UNDER_WAY : NCCL_DONE;
}

int nccl_get_version(int *version) {
  *version = 22800;
  return NCCL_DONE;
}

int nccl_get_unique_id(NcclId *id) {
  *id = (NcclId){{0}};
  (void)snprintf(id->internal, sizeof id->internal, "%d of process %d",
                 atomic_fetch_add(&ids, 1) + 1, (int)getpid());
  return NCCL_DONE;
}

/* Members of another process would be waited for in vain. */
static bool is_of_this_process(const NcclId *id) {
  int number, process;
  return sscanf(id->internal, "%d of process %d", &number, &process) == 2 && process == getpid();
}

static Meeting *meeting_of(const NcclId *id, int ranks) {
  Meeting *meeting = meetings;
  while (meeting != NULL && memcmp(&meeting->id, id, sizeof *id) != 0)
    meeting = meeting->next;
  if (meeting != NULL) return meeting;
  meeting = calloc(1, sizeof *meeting);
  meeting->id = *id;
  meeting->ranks = ranks;
  meeting->ops = calloc((size_t)ranks, sizeof *meeting->ops);
  meeting->op_count = calloc((size_t)ranks, sizeof *meeting->op_count);
  barrier_open(&meeting->barrier, ranks, SPINS);
  meeting->next = meetings;
  return meetings = meeting;
}

static Split *split_of(Meeting *meeting, int number) {
  Split *split = meeting->splits;
  while (split != NULL && split->number != number)
    split = split->next;
  if (split != NULL) return split;
  split = calloc(1, sizeof *split);
  *split = (Split){.next = meeting->splits, .number = number};
  split->color = calloc((size_t)meeting->ranks, sizeof *split->color);
  split->key = calloc((size_t)meeting->ranks, sizeof *split->key);
  return meeting->splits = split;
}

static void free_split(Meeting *meeting, Split *split) {
  Split **at = &meeting->splits;
  while (*at != split)
    at = &(*at)->next;
  *at = split->next;
  free(split->color);
  free(split->key);
  free(split);
}

static void leave_meeting(Meeting *meeting) {
  pthread_mutex_lock(&nccl_lock);
  Meeting **at = &meetings;
  if (--meeting->present == 0) {
    while (*at != meeting)
      at = &(*at)->next;
    *at = meeting->next;
    while (meeting->splits != NULL)
      free_split(meeting, meeting->splits);
    free(meeting->ops);
    free(meeting->op_count);
    free(meeting);
  }
  pthread_mutex_unlock(&nccl_lock);
  atomic_fetch_sub(&open_handles, 1);
}

static NcclHandle *join_meeting(Meeting *meeting, int rank) {
  NcclHandle *comm = calloc(1, sizeof *comm);
  *comm = (NcclHandle){.meeting = meeting, .rank = rank, .random = (uint32_t)rank + 1};
  meeting->present++;
  atomic_fetch_add(&open_handles, 1);
  return comm;
}

int nccl_init_rank(NcclHandle **comm, int ranks, int rank, int id_count, NcclId *id,
                   NcclConfig *config) {
  *comm = NULL;
  for (int i = 0; i < id_count; i++)
    if (id[i].internal[0] == '\0') return nccl_wrong("an id that nobody made");
  if (config->magic != (unsigned)NCCL_CONFIG_MAGIC || config->blocking != 0)
    return nccl_wrong("a configuration that is none, or blocks");
  if (!is_of_this_process(&id[0])) {
    fputs("the stand-in for NCCL joins threads of one process: leave out --processes\n", stderr);
    return INVALID_USAGE;
  }
  pthread_mutex_lock(&nccl_lock);
  Meeting *meeting = meeting_of(&id[0], ranks);
  *comm = join_meeting(meeting, rank);
  pthread_mutex_unlock(&nccl_lock);
  if (meeting->ranks != ranks) return nccl_wrong("members count different ranks");
  if (!barrier_wait(&meeting->barrier)) return NCCL_REMOTE_ERROR;
  return nccl_busy(*comm);
}

/* ---- splits: a member says its color and key and goes on; its part is there once all have */

int nccl_split(NcclHandle *comm, int color, int key, NcclHandle **part, NcclConfig *config) {
  *part = NULL;
  if (config != NULL || color < 0)
    return nccl_wrong("a split by a color below 0, or with a config");
  if (atomic_load(&comm->is_aborted)) return NCCL_REMOTE_ERROR;
  if (comm->under_way > 0 || comm->part != NULL)
    return nccl_wrong("a split while the call before is under way");
  if (comm->is_finalized || nccl_in_group())
    return nccl_wrong("a split after the end, or in a group");
  if (comm->rank == atomic_load(&failing_split)) return SYSTEM_ERROR;
  pthread_mutex_lock(&nccl_lock);
  Split *split = split_of(comm->meeting, comm->split_count);
  split->color[comm->rank] = color;
  split->key[comm->rank] = key;
  split->said += atomic_load(&failing_split) != SPLIT_NEVER_ENDS;
  comm->part = part;
  pthread_mutex_unlock(&nccl_lock);
  return NCCL_DONE;
}

/* Members with this one's color are ordered by key, then by rank. */
static NcclHandle *take_part(const NcclHandle *comm, const Split *split) {
  int own = comm->rank, rank = 0, ranks = 1;
  NcclId id = {{0}};
  for (int i = 0; i < comm->meeting->ranks; i++) {
    if (i == own || split->color[i] != split->color[own]) continue;
    ranks++;
    rank += split->key[i] < split->key[own] || (split->key[i] == split->key[own] && i < own);
  }
  (void)snprintf(id.internal, sizeof id.internal, "%.90s/%d.%d", comm->meeting->id.internal,
                 split->number, split->color[own]);
  atomic_fetch_add(&splits, 1);
  return join_meeting(meeting_of(&id, ranks), rank);
}

/* True: it is still under way. */
static bool is_splitting(NcclHandle *comm) {
  pthread_mutex_lock(&nccl_lock);
  Split *split = comm->part != NULL ? split_of(comm->meeting, comm->split_count) : NULL;
  if (split != NULL && split->said == comm->meeting->ranks) {
    *comm->part = take_part(comm, split);
    (void)nccl_busy(*comm->part);
    comm->part = NULL;
    comm->split_count++;
    if (++split->taken == comm->meeting->ranks) free_split(comm->meeting, split);
  }
  bool is_under_way = comm->part != NULL;
  pthread_mutex_unlock(&nccl_lock);
  return is_under_way;
}

/* ---- memory, and the end of a communicator */

/* Once a communicator. A hostile build poisons what would be read here. */
int nccl_hold(NcclHandle *comm, void *at, size_t size_bytes, void **held) {
  if (comm->held != NULL || at == NULL || size_bytes == 0)
    return nccl_wrong("memory held twice, or none");
  if (comm->under_way > 0 || comm->part != NULL)
    return nccl_wrong("memory held while the call before is under way");
  comm->held = at;
  comm->holding = held;
  atomic_fetch_add(&held_count, 1);
  return nccl_busy(comm);
}

int nccl_let_go(NcclHandle *comm, void *held) {
  if (held != comm || comm->held == NULL) return nccl_wrong("memory let go that was not held");
  comm->held = NULL;
  return NCCL_DONE;
}

int nccl_finalize(NcclHandle *comm) {
  if (graphs > 0) return nccl_wrong("finalized while a graph holds its calls, which never ends");
  if (comm->held != NULL) return nccl_wrong("finalized while it holds memory");
  if (comm->under_way > 0 || comm->part != NULL || comm->is_aborted)
    return nccl_wrong("finalized while under way");
  comm->is_finalized = true;
  return nccl_busy(comm);
}

int nccl_destroy(NcclHandle *comm) {
  bool was_finalized = comm->is_finalized && comm->under_way == 0;
  leave_meeting(comm->meeting);
  free(comm);
  return was_finalized ? NCCL_DONE : nccl_wrong("destroyed before it was finalized");
}

/* Operations that hang in a group end first. */
int nccl_abort(NcclHandle *comm) {
  if (!nccl_in_group()) (void)nccl_wrong("aborted alone: another's kernel may run first");
  if (graphs > 0) (void)nccl_wrong("aborted while a graph holds its calls, which never ends");
  atomic_store(&comm->is_aborted, true);
  for (bool is_inside = true; is_inside;) {
    barrier_break(&comm->meeting->barrier);
    pthread_mutex_lock(&nccl_lock);
    is_inside = comm->inside > 0;
    pthread_mutex_unlock(&nccl_lock);
    if (is_inside) nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
  }
  leave_meeting(comm->meeting);
  pthread_mutex_lock(&nccl_lock);
  comm->next = aborted;
  aborted = comm;
  pthread_mutex_unlock(&nccl_lock);
  return NCCL_DONE;
}

int nccl_async_error(NcclHandle *comm, int *error) {
  int left = atomic_load(&comm->under_way);
  *error = atomic_load(&comm->failure);
  if (*error != NCCL_DONE) return NCCL_DONE;
  if (is_splitting(comm)) {
    *error = NCCL_UNDER_WAY;
    return NCCL_DONE;
  }
  *error = left > 0 ? NCCL_UNDER_WAY : NCCL_DONE;
  if (left == 0 && comm->holding != NULL) {
    *comm->holding = comm;
    comm->holding = NULL;
  }
  if (left > 0) atomic_compare_exchange_strong(&comm->under_way, &left, left - 1);
  return NCCL_DONE;
}
