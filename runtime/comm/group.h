/* group.h -- where the members of one sub-mesh meet: a barrier for collectives, a board of posts
 * for exchanges. */
#ifndef LOCKSTEP_GROUP_H
#define LOCKSTEP_GROUP_H

#include <pthread.h>

#include "runtime/comm/barrier.h"
#include "runtime/comm/comm.h"

typedef enum PostState { POST_OPEN, POST_TAKEN, POST_DONE } PostState;

typedef struct GroupPost {
  const void *at;
  int64_t size_bytes;
  int32_t to;
  PostState state;
} GroupPost;

/* The messages that one member sends in its current exchange. */
typedef struct GroupBoard {
  GroupPost post[COMM_POSTS_MAX];
  int32_t count;
  int32_t open; /* not done */
} GroupBoard;

/* A link as slow as a test wants: the copying thread sleeps for the bytes it copies. */
typedef struct CommDelay {
  double byte_ns;
  double message_ns;
} CommDelay;

typedef struct Group {
  Barrier barrier;
  int32_t count;
  const void **x; /* by member, published between two barriers */
  void **y;
  bool *in_place;
  _Atomic int64_t *sent_bytes; /* by member: how much of its memory others have copied */
  const CommDelay *delay;
  pthread_mutex_t lock; /* of the board */
  pthread_cond_t moved;
  bool is_broken;
  GroupBoard *board; /* of each member */
} Group;

/* `spins` as for a barrier; `delay` must live as long as the group. False: out of memory; the group
 * must be closed even then. */
bool group_open(Group *group, int32_t count, int32_t spins, const CommDelay *delay);
void group_close(Group *group);

/* Makes every present and future call return false. */
void group_break(Group *group);

/* Counts bytes that `member` has copied from member `from` since their last barrier. Nothing is
 * counted if they are the same member. */
void group_copied(Group *group, int32_t member, int32_t from, int64_t size_bytes);

/* How much has been copied from the member since its last call. */
int64_t group_take_sent(Group *group, int32_t member);

/* As CommOps.exchange, for `member`. */
bool group_exchange(Group *group, int32_t member, const CommPost *post, int32_t count);

#endif
