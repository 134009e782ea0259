/* nccl_wait.c -- waits for the results of calls on nonblocking communicators. */
#include <sched.h>
#include <time.h>

#include "runtime/comm/nccl_world.h"

enum {
  LOOKS_AT_ONCE = 400, /* some 0.2 ms */
  OPENING_MOST_S = 600,
  LATE = -1, /* beside NCCL's results */
  LOOK_AGAIN_NS = 20000
};

bool nccl_is_over(const NcclWorld *world) {
  return atomic_load(&world->is_aborted) || world->host->ops->is_aborted(world->host);
}

static atomic_int opening_most_s = OPENING_MOST_S;

void nccl_opening_most(int32_t seconds) {
  atomic_store(&opening_most_s, seconds);
}

bool nccl_good(const NcclWorld *world, int result, const char *call, Status *status) {
  if (result == NCCL_DONE) return true;
  if (result == LATE && !nccl_is_over(world))
    return status_fail(status, STATUS_WORLD,
                       "%s: its members have not met within %d s (NCCL_DEBUG=INFO tells how far "
                       "they are, NCCL_SOCKET_IFNAME chooses the network)",
                       call, atomic_load(&opening_most_s));
  if (nccl_is_over(world) || result == NCCL_REMOTE_ERROR)
    return status_fail(status, STATUS_ECHO, "%s: another rank ended", call);
  return status_fail(status, STATUS_WORLD, "%s: %s (NCCL_DEBUG=WARN tells more)", call,
                     world->api->error_string(result));
}

static int64_t now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

/* A thread of NCCL's issues a call, which takes some ten microseconds, and a sleep takes longer.
 * That thread may be bound to the core of this one. */
static void pause_before(int look) {
  if (look > 0 && look < LOOKS_AT_ONCE) (void)sched_yield();
  if (look >= LOOKS_AT_ONCE) nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
}

/* The call's own success does not say that it is done: ncclCommSplit of 2.28.9 returns it while the
 * split is under way and the new handle is NULL. Only ncclCommGetAsyncError tells. */
static int settle_by(const NcclWorld *world, NcclHandle *handle, int result, int64_t last_s) {
  if (result != NCCL_DONE && result != NCCL_UNDER_WAY) return result;
  result = NCCL_UNDER_WAY;
  for (int look = 0; result == NCCL_UNDER_WAY && !nccl_is_over(world); look++) {
    if (now_s() > last_s) return LATE;
    pause_before(look);
    int error = world->api->async_error(handle, &result);
    if (error != NCCL_DONE) return error;
  }
  return result;
}

int nccl_settle(const NcclWorld *world, NcclHandle *handle, int result) {
  return settle_by(world, handle, result, INT64_MAX);
}

int nccl_settle_open(const NcclWorld *world, NcclHandle *handle, int result) {
  return settle_by(world, handle, result, now_s() + atomic_load(&opening_most_s));
}
