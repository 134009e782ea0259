#include "tests/unit/nccl_stand_in.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/comm/barrier.h"
#include "runtime/comm/reduce.h"

enum { OPS_MAX = 4096, UNDER_WAY_MAX = 3, SPINS = 100, LOOK_AGAIN_NS = 50000 };
enum { SYSTEM_ERROR = 2, INTERNAL_ERROR = 3, INVALID_USAGE = 5 };

typedef enum Kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, SEND, RECEIVE } Kind;

typedef struct Op {
  Kind kind;
  const void *x;
  void *y;
  size_t count;
  int dtype, reduce, other; /* other: the root, or the peer */
  void *result;             /* until everyone has read */
} Op;

/* A send or a receive that waits for its other half. */
typedef struct Post {
  struct Post *next;
  Op *op;
  int from, to;
  bool is_done;
} Post;

/* Where the members of a communicator meet. */
typedef struct Meeting {
  struct Meeting *next;
  NcclId id;
  Barrier barrier;
  int ranks, present;
  const Op **ops; /* of each member */
  int *op_count;
  Post *posts; /* that wait, in the order in which they came */
  atomic_int error;
} Meeting;

struct NcclHandle {
  Meeting *meeting;
  int rank;
  atomic_int under_way; /* times that async_error still says so */
  atomic_int failure;   /* what it says instead */
  bool is_finalized;
  const void *held; /* memory that it was told of */
  atomic_bool is_aborted;
  int inside;       /* a thread that is in a group: it plays the part of what runs on a GPU */
  NcclHandle *next; /* of the aborted ones */
  uint32_t random;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Meeting *meetings;
static atomic_int held_count;
static atomic_int ids, open_handles, failing_rank, failing_call;
static NcclHandle *aborted; /* kept, as a thread may be about to call */
static _Thread_local int depth;
static _Thread_local NcclHandle *grouped;
static _Thread_local Op *queued;
static _Thread_local int queued_count;

int nccl_stand_in_held(void) {
  return atomic_exchange(&held_count, 0);
}

int nccl_stand_in_open(void) {
  return atomic_load(&open_handles);
}

void nccl_stand_in_break(void) {
  pthread_mutex_lock(&lock);
  for (Meeting *meeting = meetings; meeting != NULL; meeting = meeting->next)
    barrier_break(&meeting->barrier);
  pthread_mutex_unlock(&lock);
}

void nccl_stand_in_fail(int rank, int call) {
  atomic_store(&failing_rank, rank);
  atomic_store(&failing_call, call);
}

static size_t bytes_of(int dtype) {
  return dtype == NCCL_UINT8 ? 1 : dtype == NCCL_BFLOAT16 ? 2 : dtype == NCCL_FLOAT64 ? 8 : 4;
}

static DType dtype_of(int dtype) {
  return dtype == NCCL_BFLOAT16  ? DTYPE_BF16
         : dtype == NCCL_FLOAT64 ? DTYPE_F64
         : dtype == NCCL_INT32   ? DTYPE_I32
                                 : DTYPE_F32;
}

static int wrong(const char *why) {
  printf("NCCL's contract: %s\n", why);
  return INVALID_USAGE;
}

/* ---- communicators */

static int get_version(int *version) {
  *version = 22800;
  return NCCL_DONE;
}

static int get_unique_id(NcclId *id) {
  *id = (NcclId){{0}};
  (void)snprintf(id->internal, sizeof id->internal, "%d", atomic_fetch_add(&ids, 1) + 1);
  return NCCL_DONE;
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

static void leave_meeting(Meeting *meeting) {
  pthread_mutex_lock(&lock);
  Meeting **at = &meetings;
  if (--meeting->present == 0) {
    while (*at != meeting)
      at = &(*at)->next;
    *at = meeting->next;
    free(meeting->ops);
    free(meeting->op_count);
    free(meeting);
  }
  pthread_mutex_unlock(&lock);
  atomic_fetch_sub(&open_handles, 1);
}

static int init_rank(NcclHandle **comm, int ranks, int rank, int id_count, NcclId *id,
                     NcclConfig *config) {
  *comm = NULL;
  for (int i = 0; i < id_count; i++)
    if (id[i].internal[0] == '\0') return wrong("an id that nobody made");
  if (config->magic != (unsigned)NCCL_CONFIG_MAGIC || config->blocking != 0)
    return wrong("a configuration that is none, or blocks");
  pthread_mutex_lock(&lock);
  Meeting *meeting = meeting_of(&id[0], ranks);
  meeting->present++;
  pthread_mutex_unlock(&lock);
  atomic_fetch_add(&open_handles, 1);
  *comm = calloc(1, sizeof **comm);
  **comm = (NcclHandle){.meeting = meeting, .rank = rank, .random = (uint32_t)rank + 1};
  if (meeting->ranks != ranks) return wrong("members count different ranks");
  return barrier_wait(&meeting->barrier) ? NCCL_DONE : NCCL_REMOTE_ERROR;
}

/* Once a communicator. A hostile build poisons what would be read here. */
static int hold(NcclHandle *comm, void *at, size_t size_bytes, void **held) {
  if (comm->held != NULL || at == NULL || size_bytes == 0)
    return wrong("memory held twice, or none");
  comm->held = at;
  *held = comm;
  atomic_fetch_add(&held_count, 1);
  return NCCL_DONE;
}

static int let_go(NcclHandle *comm, void *held) {
  if (held != comm || comm->held == NULL) return wrong("memory let go that was not held");
  comm->held = NULL;
  return NCCL_DONE;
}

static int finalize(NcclHandle *comm) {
  if (comm->held != NULL) return wrong("finalized while it holds memory");
  if (comm->under_way > 0 || comm->is_aborted) return wrong("finalized while under way");
  comm->is_finalized = true;
  return NCCL_DONE;
}

static int destroy(NcclHandle *comm) {
  bool was_finalized = comm->is_finalized;
  leave_meeting(comm->meeting);
  free(comm);
  return was_finalized ? NCCL_DONE : wrong("destroyed before it was finalized");
}

/* What hangs in a group ends first. */
static int abort_comm(NcclHandle *comm) {
  atomic_store(&comm->is_aborted, true);
  for (bool is_inside = true; is_inside;) {
    barrier_break(&comm->meeting->barrier);
    pthread_mutex_lock(&lock);
    is_inside = comm->inside > 0;
    pthread_mutex_unlock(&lock);
    if (is_inside) nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
  }
  leave_meeting(comm->meeting);
  pthread_mutex_lock(&lock);
  comm->next = aborted;
  aborted = comm;
  pthread_mutex_unlock(&lock);
  return NCCL_DONE;
}

static int async_error(NcclHandle *comm, int *error) {
  int left = atomic_load(&comm->under_way);
  *error = atomic_load(&comm->failure);
  if (*error != NCCL_DONE) return NCCL_DONE;
  *error = left > 0 ? NCCL_UNDER_WAY : NCCL_DONE;
  if (left > 0) atomic_compare_exchange_strong(&comm->under_way, &left, left - 1);
  return NCCL_DONE;
}

static const char *error_string(int error) {
  return error == INVALID_USAGE       ? "invalid usage"
         : error == SYSTEM_ERROR      ? "unhandled system error"
         : error == NCCL_REMOTE_ERROR ? "remote error"
                                      : "an error";
}

/* ---- what a group does */

static bool is_move(Kind kind) {
  return kind == SEND || kind == RECEIVE;
}

/* The i-th op of this member against its peers': all make the same calls in the same place. */
static int check_op(const NcclHandle *comm, int i) {
  const Meeting *meeting = comm->meeting;
  const Op *op = &meeting->ops[comm->rank][i];
  size_t share = op->count * bytes_of(op->dtype);
  if (is_move(op->kind)) return wrong("sends beside collectives in one group");
  for (int rank = 0; rank < meeting->ranks; rank++) {
    if (meeting->op_count[rank] != meeting->op_count[comm->rank])
      return wrong("members make different numbers of calls");
    const Op *other = &meeting->ops[rank][i];
    if (other->kind != op->kind || other->count != op->count || other->dtype != op->dtype ||
        other->reduce != op->reduce || other->other != op->other)
      return wrong("members make different calls");
  }
  const char *x = op->x, *y = op->y;
  size_t own = (size_t)comm->rank * share, all = (size_t)meeting->ranks * share;
  if (op->kind == ALL_GATHER && x < y + all && y < x + share && x != y + own)
    return wrong("an all-gather in place, from another place");
  if (op->kind == REDUCE_SCATTER && x < y + share && y < x + all && y != x + own)
    return wrong("a reduce-scatter in place, to another place");
  return NCCL_DONE;
}

static size_t result_bytes(const NcclHandle *comm, const Op *op) {
  size_t bytes = op->count * bytes_of(op->dtype);
  if (op->kind == REDUCE && op->other != comm->rank) return 0;
  return op->kind == ALL_GATHER ? bytes * (size_t)comm->meeting->ranks : bytes;
}

static void reduce_op(const NcclHandle *comm, int i, Op *op) {
  const Meeting *meeting = comm->meeting;
  const void *x[meeting->ranks];
  for (int rank = 0; rank < meeting->ranks; rank++)
    x[rank] = meeting->ops[rank][i].x;
  int64_t first = op->kind == REDUCE_SCATTER ? comm->rank * (int64_t)op->count : 0;
  reduce_range(op->result, x, meeting->ranks, first,
               (CommElements){(int64_t)op->count, dtype_of(op->dtype)},
               op->reduce == NCCL_MAX ? REDUCE_MAX : REDUCE_SUM);
}

/* Into memory of its own: peers may still read what stands at y. */
static void compute(const NcclHandle *comm, int i, Op *op) {
  const Meeting *meeting = comm->meeting;
  size_t bytes = op->count * bytes_of(op->dtype), all = result_bytes(comm, op);
  if (all == 0) return;
  op->result = malloc(all);
  switch (op->kind) {
  case ALL_REDUCE:
  case REDUCE_SCATTER:
  case REDUCE: reduce_op(comm, i, op); return;
  case ALL_GATHER:
    for (int rank = 0; rank < meeting->ranks; rank++)
      memcpy((char *)op->result + (size_t)rank * bytes, meeting->ops[rank][i].x, bytes);
    return;
  case BROADCAST: memcpy(op->result, meeting->ops[op->other][i].x, bytes); return;
  case SEND:
  case RECEIVE: return;
  }
}

static bool meet(NcclHandle *comm, int error) {
  int none = NCCL_DONE;
  if (error != NCCL_DONE) atomic_compare_exchange_strong(&comm->meeting->error, &none, error);
  return barrier_wait(&comm->meeting->barrier) && atomic_load(&comm->meeting->error) == NCCL_DONE;
}

/* Whether the group that begins now is the one that shall fail. */
static bool is_failing(const NcclHandle *comm) {
  return comm->rank == atomic_load(&failing_rank) && atomic_load(&failing_call) > 0 &&
         atomic_fetch_sub(&failing_call, 1) == 1;
}

/* Until it is aborted, as a kernel that waits for a peer that is gone. */
static int hang(NcclHandle *comm) {
  atomic_store(&comm->failure, SYSTEM_ERROR);
  while (!atomic_load(&comm->is_aborted))
    nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
  return NCCL_DONE;
}

/* ---- a group of sends and receives: two members meet, whatever the others do, and between two the
 * n-th send is the n-th receive */

static bool is_other_half(const Post *a, const Post *b) {
  return a->op->kind != b->op->kind && a->from == b->from && a->to == b->to;
}

/* Meets its other half, or waits for it. With the lock held. */
static int post_move(Meeting *meeting, Post *own) {
  Post **at = &meeting->posts;
  while (*at != NULL && !is_other_half(*at, own))
    at = &(*at)->next;
  Post *other = *at;
  if (other == NULL) {
    *at = own;
    return NCCL_DONE;
  }
  *at = other->next;
  const Op *send = own->op->kind == SEND ? own->op : other->op;
  Op *receive = own->op->kind == SEND ? other->op : own->op;
  if (send->count != receive->count || send->dtype != receive->dtype)
    return wrong("a send and a receive differ in size");
  size_t bytes = send->count * bytes_of(send->dtype);
  receive->result = malloc(bytes + 1);
  memcpy(receive->result, send->x, bytes);
  own->is_done = other->is_done = true;
  return NCCL_DONE;
}

static bool are_done(const Post *posts, int count) {
  pthread_mutex_lock(&lock);
  bool done = true;
  for (int i = 0; i < count; i++)
    done = done && posts[i].is_done;
  pthread_mutex_unlock(&lock);
  return done;
}

/* Those of one member. */
static void take_back(Meeting *meeting, const Post *posts, int count) {
  pthread_mutex_lock(&lock);
  for (Post **at = &meeting->posts; *at != NULL;) {
    if (*at >= posts && *at < posts + count)
      *at = (*at)->next;
    else
      at = &(*at)->next;
  }
  pthread_mutex_unlock(&lock);
}

static int run_moves(NcclHandle *comm, Op *ops, int count) {
  Meeting *meeting = comm->meeting;
  Post *posts = calloc((size_t)count, sizeof *posts);
  int error = NCCL_DONE;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < count && error == NCCL_DONE; i++) {
    bool is_sent = ops[i].kind == SEND;
    posts[i].op = &ops[i];
    posts[i].from = is_sent ? comm->rank : ops[i].other;
    posts[i].to = is_sent ? ops[i].other : comm->rank;
    error = post_move(meeting, &posts[i]);
  }
  pthread_mutex_unlock(&lock);
  while (error == NCCL_DONE && !are_done(posts, count)) {
    if (atomic_load(&comm->is_aborted) || atomic_load(&meeting->barrier.broken))
      error = NCCL_REMOTE_ERROR;
    nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
  }
  take_back(meeting, posts, count);
  /* Only when all have met: until then a peer may read what is overwritten here. */
  for (int i = 0; i < count; i++) {
    if (error == NCCL_DONE && ops[i].result != NULL)
      memcpy(ops[i].y, ops[i].result, ops[i].count * bytes_of(ops[i].dtype));
    free(ops[i].result);
  }
  free(posts);
  return error;
}

/* ---- a group of collectives */

static int run_ops(NcclHandle *comm, Op *ops, int count) {
  bool moves = count > 0;
  for (int i = 0; i < count; i++)
    moves = moves && is_move(ops[i].kind);
  if (moves) return run_moves(comm, ops, count);
  Meeting *meeting = comm->meeting;
  int error = NCCL_DONE;
  meeting->ops[comm->rank] = ops;
  meeting->op_count[comm->rank] = count;
  /* A faster one may have found an error by now, and yet all stay until all have looked: what they
   * look at is freed by its owner. */
  if (!barrier_wait(&meeting->barrier)) return NCCL_REMOTE_ERROR;
  for (int i = 0; i < count && error == NCCL_DONE; i++)
    error = check_op(comm, i);
  if (!meet(comm, error)) return error != NCCL_DONE ? error : NCCL_REMOTE_ERROR;
  for (int i = 0; i < count; i++)
    compute(comm, i, &ops[i]);
  bool all_read = meet(comm, NCCL_DONE);
  for (int i = 0; i < count; i++) {
    if (all_read && ops[i].result != NULL)
      memcpy(ops[i].y, ops[i].result, result_bytes(comm, &ops[i]));
    free(ops[i].result);
  }
  /* Nobody goes on to overwrite what a slower one still shows. */
  return all_read && meet(comm, NCCL_DONE) ? NCCL_DONE : NCCL_REMOTE_ERROR;
}

static int group_start(void) {
  if (depth++ > 0) return NCCL_DONE;
  grouped = NULL;
  queued_count = 0;
  queued = malloc(OPS_MAX * sizeof *queued);
  return queued != NULL ? NCCL_DONE : SYSTEM_ERROR;
}

/* Also of a communicator that is aborted by then: the caller leaves it either way. */
static bool enter(NcclHandle *comm) {
  pthread_mutex_lock(&lock);
  bool is_aborted = atomic_load(&comm->is_aborted);
  comm->inside++;
  pthread_mutex_unlock(&lock);
  return !is_aborted;
}

static void leave(NcclHandle *comm) {
  pthread_mutex_lock(&lock);
  comm->inside--;
  pthread_mutex_unlock(&lock);
}

/* Done, and now and then said to be under way for some looks more. */
static int group_end(void) {
  if (depth == 0) return wrong("a group ends that did not begin");
  if (--depth > 0) return NCCL_DONE;
  NcclHandle *comm = grouped;
  int result = comm == NULL       ? NCCL_DONE
               : !enter(comm)     ? NCCL_REMOTE_ERROR
               : is_failing(comm) ? hang(comm)
                                  : run_ops(comm, queued, queued_count);
  if (comm != NULL) leave(comm);
  free(queued);
  queued = NULL;
  if (comm == NULL || result != NCCL_DONE) return result;
  comm->random = comm->random * 1664525u + 1013904223u;
  comm->under_way = (int)(comm->random >> 16) % UNDER_WAY_MAX;
  return comm->under_way > 0 ? NCCL_UNDER_WAY : NCCL_DONE;
}

static int add(NcclHandle *comm, Op op) {
  if (comm == NULL) return wrong("no communicator");
  if (atomic_load(&comm->is_aborted)) return NCCL_REMOTE_ERROR;
  if (depth == 0) return wrong("a call outside of a group");
  if (comm->under_way > 0) return wrong("a call while the one before is under way");
  if (comm->is_finalized) return wrong("a call after the end");
  if (grouped != NULL && grouped != comm) return wrong("two communicators in one group");
  if (is_move(op.kind) && (op.other < 0 || op.other >= comm->meeting->ranks))
    return wrong("a peer that is not a member");
  if (queued_count == OPS_MAX) return INTERNAL_ERROR;
  grouped = comm;
  queued[queued_count++] = op;
  return NCCL_DONE;
}

static int all_reduce(const void *x, void *y, size_t count, int dtype, int reduce, NcclHandle *comm,
                      void *stream) {
  (void)stream;
  return add(comm, (Op){ALL_REDUCE, x, y, count, dtype, reduce, 0, NULL});
}

static int all_gather(const void *x, void *y, size_t share, int dtype, NcclHandle *comm,
                      void *stream) {
  (void)stream;
  return add(comm, (Op){ALL_GATHER, x, y, share, dtype, 0, 0, NULL});
}

static int reduce_scatter(const void *x, void *y, size_t share, int dtype, int reduce,
                          NcclHandle *comm, void *stream) {
  (void)stream;
  return add(comm, (Op){REDUCE_SCATTER, x, y, share, dtype, reduce, 0, NULL});
}

static int broadcast(const void *x, void *y, size_t count, int dtype, int root, NcclHandle *comm,
                     void *stream) {
  (void)stream;
  return add(comm, (Op){BROADCAST, x, y, count, dtype, 0, root, NULL});
}

static int reduce_to(const void *x, void *y, size_t count, int dtype, int reduce, int root,
                     NcclHandle *comm, void *stream) {
  (void)stream;
  return add(comm, (Op){REDUCE, x, y, count, dtype, reduce, root, NULL});
}

static int send_to(const void *x, size_t count, int dtype, int peer, NcclHandle *comm,
                   void *stream) {
  (void)stream;
  return add(comm, (Op){SEND, x, NULL, count, dtype, 0, peer, NULL});
}

static int receive_from(void *y, size_t count, int dtype, int peer, NcclHandle *comm,
                        void *stream) {
  (void)stream;
  return add(comm, (Op){RECEIVE, NULL, y, count, dtype, 0, peer, NULL});
}

const NcclApi *nccl_stand_in(void) {
  static const NcclApi api = {
      .get_version = get_version,
      .get_unique_id = get_unique_id,
      .init_rank = init_rank,
      .finalize = finalize,
      .destroy = destroy,
      .abort = abort_comm,
      .async_error = async_error,
      .error_string = error_string,
      .group_start = group_start,
      .group_end = group_end,
      .all_reduce = all_reduce,
      .all_gather = all_gather,
      .reduce_scatter = reduce_scatter,
      .broadcast = broadcast,
      .reduce = reduce_to,
      .send = send_to,
      .receive = receive_from,
      .hold = hold,
      .let_go = let_go,
  };
  return &api;
}
