/* group.h -- where the members of one sub-mesh meet: a barrier for collectives, a board of posts
 * for exchanges. */
#ifndef LOCKSTEP_GROUP_H
#define LOCKSTEP_GROUP_H

#include "runtime/comm/barrier.h"
#include "runtime/comm/comm.h"

typedef enum PostState { POST_OPEN, POST_TAKEN, POST_DONE } PostState;

typedef struct GroupPost {
  const void *at;
  int64_t size_bytes;
  int32_t to;
  PostState state;
} GroupPost;

/* What one member sends in the exchange that it is in. */
typedef struct GroupBoard {
  GroupPost post[COMM_POSTS_MAX];
  int32_t count;
  int32_t open; /* not done */
} GroupBoard;

typedef struct Group {
  Barrier barrier;
  int32_t count;
  const void **x; /* of each member, published between two meetings */
  void **y;
  bool *in_place;
  pthread_mutex_t lock; /* of the board */
  pthread_cond_t moved;
  bool is_broken;
  GroupBoard *board; /* of each member */
} Group;

/* `spins` as of a barrier. False: out of memory; the group is closed all the same. */
bool group_open(Group *group, int32_t count, int32_t spins);
void group_close(Group *group);

/* Makes every present and future call return false. */
void group_break(Group *group);

/* As CommOps.exchange, for `member`. */
bool group_exchange(Group *group, int32_t member, const CommPost *post, int32_t count);

#endif
