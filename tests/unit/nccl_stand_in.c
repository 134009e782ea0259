#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/comm/reduce.h"
#include "tests/unit/nccl_stand_in_inside.h"

enum { OPS_MAX = 4096 };

static atomic_int failing_rank, failing_call;
static _Thread_local int depth;
static _Thread_local NcclHandle *grouped;
static _Thread_local Op *queued;
static _Thread_local int queued_count;

void nccl_stand_in_fail(int rank, int call) {
  atomic_store(&failing_rank, rank);
  atomic_store(&failing_call, call);
}

static size_t bytes_of(int dtype) {
  return dtype == NCCL_UINT8                               ? 1
         : dtype == NCCL_BFLOAT16 || dtype == NCCL_FLOAT16 ? 2
         : dtype == NCCL_FLOAT64                           ? 8
                                                           : 4;
}

static DType dtype_of(int dtype) {
  return dtype == NCCL_BFLOAT16  ? DTYPE_BF16
         : dtype == NCCL_FLOAT16 ? DTYPE_F16
         : dtype == NCCL_FLOAT64 ? DTYPE_F64
         : dtype == NCCL_INT32   ? DTYPE_I32
                                 : DTYPE_F32;
}

bool nccl_in_group(void) {
  return depth > 0;
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
  if (is_move(op->kind)) return nccl_wrong("sends beside collectives in one group");
  for (int rank = 0; rank < meeting->ranks; rank++) {
    if (meeting->op_count[rank] != meeting->op_count[comm->rank])
      return nccl_wrong("members make different numbers of calls");
    const Op *other = &meeting->ops[rank][i];
    if (other->kind != op->kind || other->count != op->count || other->dtype != op->dtype ||
        other->reduce != op->reduce || other->other != op->other)
      return nccl_wrong("members make different calls");
  }
  const char *x = op->x, *y = op->y;
  size_t own = (size_t)comm->rank * share, all = (size_t)meeting->ranks * share;
  if (op->kind == ALL_GATHER && x < y + all && y < x + share && x != y + own)
    return nccl_wrong("an all-gather in place, from another place");
  if (op->kind == REDUCE_SCATTER && x < y + share && y < x + all && y != x + own)
    return nccl_wrong("a reduce-scatter in place, to another place");
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

/* Into memory of its own: peers may still read what is at y. */
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

/* True if the group that begins now is the one that shall fail. */
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
    return nccl_wrong("a send and a receive differ in size");
  size_t bytes = send->count * bytes_of(send->dtype);
  receive->result = malloc(bytes + 1);
  memcpy(receive->result, send->x, bytes);
  own->is_done = other->is_done = true;
  return NCCL_DONE;
}

static bool are_done(const Post *posts, int count) {
  pthread_mutex_lock(&nccl_lock);
  bool done = true;
  for (int i = 0; i < count; i++)
    done = done && posts[i].is_done;
  pthread_mutex_unlock(&nccl_lock);
  return done;
}

/* Those of one member. */
static void take_back(Meeting *meeting, const Post *posts, int count) {
  pthread_mutex_lock(&nccl_lock);
  for (Post **at = &meeting->posts; *at != NULL;) {
    if (*at >= posts && *at < posts + count)
      *at = (*at)->next;
    else
      at = &(*at)->next;
  }
  pthread_mutex_unlock(&nccl_lock);
}

static int run_moves(NcclHandle *comm, Op *ops, int count) {
  Meeting *meeting = comm->meeting;
  Post *posts = calloc((size_t)count, sizeof *posts);
  int error = NCCL_DONE;
  pthread_mutex_lock(&nccl_lock);
  for (int i = 0; i < count && error == NCCL_DONE; i++) {
    bool is_sent = ops[i].kind == SEND;
    posts[i].op = &ops[i];
    posts[i].from = is_sent ? comm->rank : ops[i].other;
    posts[i].to = is_sent ? ops[i].other : comm->rank;
    error = post_move(meeting, &posts[i]);
  }
  pthread_mutex_unlock(&nccl_lock);
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
  pthread_mutex_lock(&nccl_lock);
  bool is_aborted = atomic_load(&comm->is_aborted);
  comm->inside++;
  pthread_mutex_unlock(&nccl_lock);
  return !is_aborted;
}

static void leave(NcclHandle *comm) {
  pthread_mutex_lock(&nccl_lock);
  comm->inside--;
  pthread_mutex_unlock(&nccl_lock);
}

/* Its work is done; async_error reports it as under way for some calls more. */
static int group_end(void) {
  if (depth == 0) return nccl_wrong("a group ends that did not begin");
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
  return nccl_busy(comm);
}

static int add(NcclHandle *comm, Op op) {
  if (comm == NULL) return nccl_wrong("no communicator");
  if (atomic_load(&comm->is_aborted)) return NCCL_REMOTE_ERROR;
  if (depth == 0) return nccl_wrong("a call outside of a group");
  if (comm->under_way > 0 || comm->part != NULL)
    return nccl_wrong("a call while the one before is under way");
  if (comm->is_finalized) return nccl_wrong("a call after the end");
  if (grouped != NULL && grouped != comm) return nccl_wrong("two communicators in one group");
  if (is_move(op.kind) && (op.other < 0 || op.other >= comm->meeting->ranks))
    return nccl_wrong("a peer that is not a member");
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
      .get_version = nccl_get_version,
      .get_unique_id = nccl_get_unique_id,
      .init_rank = nccl_init_rank,
      .finalize = nccl_finalize,
      .destroy = nccl_destroy,
      .abort = nccl_abort,
      .async_error = nccl_async_error,
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
      .split = nccl_split,
      .hold = nccl_hold,
      .let_go = nccl_let_go,
  };
  return &api;
}
