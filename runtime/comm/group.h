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

/* What one member sends in the exchange that it is in. */
typedef struct GroupBoard {
  GroupPost post[COMM_POSTS_MAX];
  int32_t count;
  int32_t open; /* not done */
} GroupBoard;

/* A link as slow as a test wants: whoever copies sleeps for what it copies. */
typedef struct CommDelay {
  double byte_ns;
  double message_ns;
} CommDelay;

typedef struct Group {
  Barrier barrier;
  int32_t count;
  const void **x; /* of each member, published between two meetings */
  void **y;
  bool *in_place;
  _Atomic int64_t *sent_bytes; /* of each member: what others have copied of its memory */
  const CommDelay *delay;
  pthread_mutex_t lock; /* of the board */
  pthread_cond_t moved;
  bool is_broken;
  GroupBoard *board; /* of each member */
} Group;

/* `spins` as of a barrier; `delay` lives as long as the group. False: out of memory; the group is
 * closed all the same. */
bool group_open(Group *group, int32_t count, int32_t spins, const CommDelay *delay);
void group_close(Group *group);

/* Makes every present and future call return false. */
void group_break(Group *group);

/* `member` has copied so many bytes of member `from`, and has not met it since. A member's own
 * bytes do not travel: nothing is counted when the two are one. */
void group_copied(Group *group, int32_t member, int32_t from, int64_t size_bytes);

/* What has been copied of the member since it last asked. */
int64_t group_take_sent(Group *group, int32_t member);

/* As CommOps.exchange, for `member`. */
bool group_exchange(Group *group, int32_t member, const CommPost *post, int32_t count);

#endif
