/* nccl_stand_in_inside.h -- what the two files of NCCL's stand-in share: communicators are made and
 * ended in nccl_stand_in_comms.c, calls and groups of them in nccl_stand_in.c. */
#ifndef LOCKSTEP_TESTS_NCCL_STAND_IN_INSIDE_H
#define LOCKSTEP_TESTS_NCCL_STAND_IN_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/comm/barrier.h"
#include "tests/unit/nccl_stand_in.h"

enum { SYSTEM_ERROR = 2, INTERNAL_ERROR = 3, INVALID_USAGE = 5, LOOK_AGAIN_NS = 50000 };

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

/* One split of a communicator: what each member has said so far. */
typedef struct Split {
  struct Split *next;
  int number; /* of the communicator's splits */
  int said, taken;
  int *color, *key; /* of each member */
} Split;

/* Where the members of a communicator meet. */
typedef struct Meeting {
  struct Meeting *next;
  NcclId id;
  Barrier barrier;
  int ranks, present;
  const Op **ops; /* of each member */
  int *op_count;
  Post *posts; /* that wait, in the order in which they came */
  Split *splits;
  atomic_int error;
} Meeting;

struct NcclHandle {
  Meeting *meeting;
  int rank;
  atomic_int under_way; /* times that async_error still says so */
  atomic_int failure;   /* what it says instead */
  bool is_finalized;
  int split_count;
  NcclHandle **part; /* where the split under way leaves the new communicator; NULL: none is */
  const void *held;  /* memory that it was told of */
  void **holding;    /* where async_error leaves the handle of that memory; NULL: it has */
  atomic_bool is_aborted;
  int inside;       /* a thread that is in a group: it plays the part of what runs on a GPU */
  NcclHandle *next; /* of the aborted ones */
  uint32_t random;
};

/* Guards everything here that several threads write. */
extern pthread_mutex_t nccl_lock;

/* Says so, and what the library returns. */
int nccl_wrong(const char *why);

/* Makes the communicator busy until async_error has been asked often enough. Returns what the call
 * that did so returns: success or under way, by chance. */
int nccl_busy(NcclHandle *comm);

/* The calling thread has begun a group. */
bool nccl_in_group(void);

int nccl_get_version(int *version);
int nccl_get_unique_id(NcclId *id);
int nccl_init_rank(NcclHandle **comm, int ranks, int rank, int id_count, NcclId *id,
                   NcclConfig *config);
int nccl_split(NcclHandle *comm, int color, int key, NcclHandle **part, NcclConfig *config);
int nccl_hold(NcclHandle *comm, void *at, size_t size_bytes, void **held);
int nccl_let_go(NcclHandle *comm, void *held);
int nccl_finalize(NcclHandle *comm);
int nccl_destroy(NcclHandle *comm);
int nccl_abort(NcclHandle *comm);
int nccl_async_error(NcclHandle *comm, int *error);

#endif
