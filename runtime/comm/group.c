/* group.c -- an exchange posts all sends before it waits for a receive, so members cannot deadlock
 * in any order of arrival.
 *
 * Receivers copy. A member leaves when everything it sent has been received, so all its posts
 * belong to one exchange and the oldest open one is received next. */
#include "runtime/comm/group.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool group_open(Group *group, int32_t count, int32_t spins, const CommDelay *delay) {
  group->count = count;
  group->delay = delay;
  group->board = calloc((size_t)count, sizeof *group->board);
  group->x = calloc((size_t)count, sizeof *group->x);
  group->y = calloc((size_t)count, sizeof *group->y);
  group->in_place = calloc((size_t)count, sizeof *group->in_place);
  group->sent_bytes = calloc((size_t)count, sizeof *group->sent_bytes);
  barrier_open(&group->barrier, count, spins);
  pthread_mutex_init(&group->lock, NULL);
  pthread_cond_init(&group->moved, NULL);
  return group->board && group->x && group->y && group->in_place && group->sent_bytes;
}

void group_close(Group *group) {
  if (group->count == 0) return; /* it was never opened */
  pthread_cond_destroy(&group->moved);
  pthread_mutex_destroy(&group->lock);
  free(group->board);
  free(group->x);
  free(group->y);
  free(group->in_place);
  free(group->sent_bytes);
}

void group_break(Group *group) {
  barrier_break(&group->barrier);
  pthread_mutex_lock(&group->lock);
  group->is_broken = true;
  pthread_cond_broadcast(&group->moved);
  pthread_mutex_unlock(&group->lock);
}

void group_copied(Group *group, int32_t member, int32_t from, int64_t size_bytes) {
  if (from == member) return;
  atomic_fetch_add(&group->sent_bytes[from], size_bytes);
  double wait_ns = group->delay->message_ns + (double)size_bytes * group->delay->byte_ns;
  if (wait_ns < 1) return;
  struct timespec left = {(time_t)(wait_ns / 1e9), (long)fmod(wait_ns, 1e9)};
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    continue;
}

int64_t group_take_sent(Group *group, int32_t member) {
  return atomic_exchange(&group->sent_bytes[member], 0);
}

static int32_t peer(const Group *group, int32_t member, int64_t distance) {
  int64_t at = (member + distance % group->count) % group->count;
  return (int32_t)(at < 0 ? at + group->count : at);
}

static void post_sends(Group *group, int32_t member, const CommPost *post, int32_t count) {
  GroupBoard *board = &group->board[member];
  board->count = 0;
  for (int32_t i = 0; i < count; i++)
    if (post[i].is_sent)
      board->post[board->count++] = (GroupPost){post[i].at, post[i].size_bytes,
                                                peer(group, member, post[i].distance), POST_OPEN};
  board->open = board->count;
  if (board->count > 0) pthread_cond_broadcast(&group->moved);
}

static GroupPost *find_open(Group *group, int32_t from, int32_t to) {
  GroupBoard *board = &group->board[from];
  for (int32_t i = 0; i < board->count; i++)
    if (board->post[i].to == to && board->post[i].state == POST_OPEN) return &board->post[i];
  return NULL;
}

/* Receives one operand if its sender has arrived. The lock is released while bytes are copied. */
static bool receive_any(Group *group, int32_t member, const CommPost *post, int32_t count,
                        uint32_t *pending) {
  for (int32_t i = 0; i < count; i++) {
    if ((*pending >> i & 1u) == 0) continue;
    int32_t from = peer(group, member, post[i].distance);
    GroupPost *found = find_open(group, from, member);
    if (!found) continue;
    found->state = POST_TAKEN;
    pthread_mutex_unlock(&group->lock);
    assert(found->size_bytes == post[i].size_bytes);
    if (found->size_bytes > 0) memcpy(post[i].at, found->at, (size_t)found->size_bytes);
    group_copied(group, member, from, found->size_bytes);
    pthread_mutex_lock(&group->lock);
    found->state = POST_DONE;
    if (--group->board[from].open == 0) pthread_cond_broadcast(&group->moved);
    *pending &= ~(1u << i);
    return true;
  }
  return false;
}

bool group_exchange(Group *group, int32_t member, const CommPost *post, int32_t count) {
  assert(count <= COMM_POSTS_MAX);
  uint32_t pending = 0;
  for (int32_t i = 0; i < count; i++)
    if (!post[i].is_sent) pending |= 1u << i;
  pthread_mutex_lock(&group->lock);
  post_sends(group, member, post, count);
  while (!group->is_broken && (pending != 0 || group->board[member].open > 0))
    if (!receive_any(group, member, post, count, &pending))
      pthread_cond_wait(&group->moved, &group->lock);
  bool done = !group->is_broken;
  pthread_mutex_unlock(&group->lock);
  return done;
}
