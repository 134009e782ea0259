/* watch.c -- one thread: it sends what this rank does, and on a rank that listens it judges what
 * all do.
 *
 * The first rank reports. The last listens too and reports when the first is the one that is lost,
 * or does not do it. */
#include "runtime/watch/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/metrics/text.h"
#include "runtime/watch/band.h"
#include "runtime/watch/failure.h"

enum {
  BEAT_MS = 100,
  SETTLE_MS = 200,  /* from a loss to its report: others come to where they wait */
  SECOND_MS = 1000, /* the last rank leaves the first so long to report */
  LEAVE_MS = 500,   /* from the report to the end of a process that does not end by itself */
  TOLD_MS = 2000    /* a rank that has failed waits so long for the report */
};

struct Watch {
  WatchSetup setup;
  int32_t rank;
  Band band;
  Flight flight;
  RankView *view; /* of every rank; only where this rank listens */
  struct pollfd *poll;
  pthread_t thread;
  int wake[2];
  int64_t lost_ms; /* when a loss was first seen; 0: none was */
  int32_t failures;
  Status error; /* what the rank that failed first has said */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  Status own;      /* why this rank failed; code 0: it has not */
  bool is_told;    /* `own` has been sent */
  bool is_closing; /* the main thread is leaving */
  bool is_ended;
  bool has_written; /* this rank's part of the report, after the end */
  bool reports;     /* this rank has written the report */
  bool is_quiet;    /* a rank that listens has left in good order: the run is over */
  BandMessage end;
};

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

Flight *watch_flight(Watch *watch) {
  return &watch->flight;
}

/* ---- what ranks say */

static void take_beat(Watch *watch, int32_t rank, const Beat *beat) {
  RankView *view = &watch->view[rank];
  view->heard_ms = now_ms();
  if (!view->has_come || memcmp(&view->beat, beat, sizeof *beat) != 0) view->moved_ms = now_ms();
  view->has_come = true;
  view->beat = *beat;
}

static bool is_of_job(const Watch *watch, const BandMessage *message) {
  return message->kind == BAND_HELLO && message->rank >= 0 &&
         message->rank < watch->band.rank_count &&
         memcmp(message->token, watch->band.token, BAND_TOKEN_BYTES) == 0;
}

static void set_end(Watch *watch, const BandMessage *message) {
  pthread_mutex_lock(&watch->lock);
  if (!watch->is_ended) watch->end = *message;
  watch->is_ended = true;
  pthread_cond_broadcast(&watch->changed);
  pthread_mutex_unlock(&watch->lock);
}

/* A rank that listens is told twice by another that does. */
static void note_failure(Watch *watch, int32_t rank, const BandMessage *message) {
  if (watch->view[rank].failed > 0) return;
  watch->view[rank].failed = ++watch->failures;
  if (watch->failures > 1) return;
  watch->error.code = message->code;
  (void)snprintf(watch->error.text, sizeof watch->error.text, "%s", message->text);
}

/* False: nothing more is read of this peer. */
static bool take_message(Watch *watch, BandPeer *peer, const BandMessage *message) {
  if (peer->rank < 0) {
    if (!is_of_job(watch, message)) return false;
    peer->rank = message->rank;
    return true;
  }
  if (message->kind == BAND_END) set_end(watch, message);
  if (message->kind == BAND_LEAVE) watch->is_quiet = true;
  if (!watch->view) return true;
  RankView *view = &watch->view[peer->rank];
  if (message->kind == BAND_BEAT) take_beat(watch, peer->rank, &message->beat);
  if (message->kind == BAND_LEAVE) view->has_left = true;
  if (message->kind == BAND_FAIL) note_failure(watch, peer->rank, message);
  return true;
}

static void lose_peer(Watch *watch, BandPeer *peer) {
  (void)close(peer->socket);
  peer->socket = -1;
  if (peer->rank < 0) {
    *peer = watch->band.peer[--watch->band.peer_count];
    return;
  }
  if (watch->view && watch->view[peer->rank].closed_ms == 0)
    watch->view[peer->rank].closed_ms = now_ms();
}

/* Whether there was anything. */
static bool receive_from(Watch *watch, BandPeer *peer) {
  BandMessage message;
  BandGot got = peer->socket < 0 ? BAND_NOTHING : band_receive(peer, &message);
  if (got == BAND_GONE || (got == BAND_MESSAGE && !take_message(watch, peer, &message)))
    lose_peer(watch, peer);
  return got != BAND_NOTHING;
}

static bool receive_all(Watch *watch) {
  bool any = false;
  for (int32_t i = watch->band.peer_count; i-- > 0;)
    any = receive_from(watch, &watch->band.peer[i]) || any;
  return any;
}

/* ---- what this rank says */

static void send_own(Watch *watch) {
  BandMessage message = {.kind = BAND_BEAT,
                         .rank = watch->rank,
                         .beat = flight_beat(&watch->flight, watch->setup.plan)};
  if (watch->view) take_beat(watch, watch->rank, &message.beat);
  for (int32_t i = 0; i < watch->band.peer_count; i++)
    if (watch->band.peer[i].rank >= 0 &&
        band_listens(watch->band.peer[i].rank, watch->band.rank_count))
      band_send(&watch->band.peer[i], &message);
}

static void tell_failure(Watch *watch) {
  BandMessage message = {.kind = BAND_FAIL, .rank = watch->rank};
  pthread_mutex_lock(&watch->lock);
  bool tells = watch->own.code != 0 && !watch->is_told;
  message.code = watch->own.code;
  (void)snprintf(message.text, sizeof message.text, "%.1000s", watch->own.text);
  if (tells) watch->is_told = true;
  pthread_mutex_unlock(&watch->lock);
  if (!tells) return;
  band_send_all(&watch->band, &message);
  if (watch->view) note_failure(watch, watch->rank, &message);
}

/* ---- the end */

static void report(Watch *watch, Verdict verdict) {
  Failure failure = {.plan = watch->setup.plan,
                     .mesh = watch->setup.mesh,
                     .view = watch->view,
                     .node = watch->setup.node_names,
                     .verdict = verdict,
                     .now_ms = now_ms(),
                     .error = &watch->error};
  BandMessage end = {.kind = BAND_END, .rank = verdict.rank};
  watch->view[watch->rank].beat = flight_beat(&watch->flight, watch->setup.plan);
  failure_describe(&failure);
  end.code = failure.code;
  end.is_written = failure_is_written(&failure);
  if (end.is_written) failure_write(&failure);
  if (end.is_written || verdict.loss != LOSS_ERROR) failure_screen(&failure);
  (void)snprintf(end.text, sizeof end.text, "%s", failure.text);
  watch->reports = verdict.loss != LOSS_ERROR;
  band_send_all(&watch->band, &end);
  set_end(watch, &end);
}

static void judge_all(Watch *watch) {
  Verdict verdict = judge(watch->setup.plan, watch->setup.mesh, watch->view, now_ms());
  if (verdict.loss == LOSS_NONE) {
    watch->lost_ms = 0;
    return;
  }
  if (watch->lost_ms == 0) watch->lost_ms = now_ms();
  bool is_first = watch->rank == 0 || verdict.rank == 0;
  if (now_ms() - watch->lost_ms >= (is_first ? SETTLE_MS : SECOND_MS)) report(watch, verdict);
}

/* A rank to which nobody speaks any more has nobody to report for it. */
static void check_alone(Watch *watch) {
  BandMessage end = {.kind = BAND_END, .rank = 0, .code = STATUS_WORLD};
  for (int32_t i = 0; i < watch->band.peer_count; i++)
    if (watch->band.peer[i].socket >= 0) return;
  (void)snprintf(end.text, sizeof end.text,
                 "the ranks that watch, the first and the last, are gone");
  set_end(watch, &end);
}

/* The main thread ends when its calls return; one that is in none is not waited for. */
static void leave(Watch *watch) {
  if (watch->end.is_written) failure_write_flight(watch->setup.plan, watch->rank, &watch->flight);
  watch->setup.end(watch->setup.context);
  pthread_mutex_lock(&watch->lock);
  watch->has_written = true;
  pthread_cond_broadcast(&watch->changed);
  pthread_mutex_unlock(&watch->lock);
  struct pollfd wait = {.fd = watch->wake[0], .events = POLLIN};
  char bytes[16];
  for (int64_t until_ms = now_ms() + LEAVE_MS, left_ms; (left_ms = until_ms - now_ms()) > 0;) {
    (void)poll(&wait, 1, (int)left_ms);
    (void)!read(watch->wake[0], bytes, sizeof bytes);
    pthread_mutex_lock(&watch->lock);
    bool is_closing = watch->is_closing;
    pthread_mutex_unlock(&watch->lock);
    if (is_closing) return;
  }
  _exit(watch->reports ? STATUS_WORLD : STATUS_ECHO);
}

/* ---- the thread */

static void wait_for_news(Watch *watch, int64_t until_ms) {
  int32_t count = 0;
  watch->poll[count++] = (struct pollfd){.fd = watch->wake[0], .events = POLLIN};
  watch->poll[count++] = (struct pollfd){.fd = watch->band.listener, .events = POLLIN};
  for (int32_t i = 0; i < watch->band.peer_count; i++)
    watch->poll[count++] = (struct pollfd){.fd = watch->band.peer[i].socket, .events = POLLIN};
  int64_t left_ms = until_ms - now_ms();
  (void)poll(watch->poll, (nfds_t)count, left_ms > 0 ? (int)left_ms : 0);
  char bytes[16];
  (void)!read(watch->wake[0], bytes, sizeof bytes);
}

static bool is_over(Watch *watch) {
  pthread_mutex_lock(&watch->lock);
  bool is_closing = watch->is_closing, is_ended = watch->is_ended;
  pthread_mutex_unlock(&watch->lock);
  if (is_ended) leave(watch);
  return is_closing || is_ended;
}

/* Only what has all been read is judged: after a pause of this very process there is much that it
 * has not heard yet. */
static void *watch_thread(void *argument) {
  Watch *watch = argument;
  for (int64_t beat_ms = now_ms(); !is_over(watch);) {
    wait_for_news(watch, beat_ms);
    if (watch->band.listener >= 0) band_accept(&watch->band);
    tell_failure(watch);
    bool has_more = receive_all(watch);
    if (now_ms() >= beat_ms) {
      send_own(watch);
      beat_ms = now_ms() + BEAT_MS;
    }
    if (watch->view && !has_more)
      judge_all(watch);
    else if (!watch->view && !watch->is_quiet)
      check_alone(watch);
  }
  return NULL;
}

static bool start_thread(Watch *watch, Status *status) {
  sigset_t all, before;
  sigfillset(&all); /* signals are for the main thread alone */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&watch->thread, NULL, watch_thread, watch);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failure == 0 ||
         status_fail(status, STATUS_WORLD, "no thread for the watchdog: %s", strerror(failure));
}

static bool open_parts(Watch *watch, Client *client, Status *status) {
  size_t ranks = (size_t)client->rank_count;
  if (pipe2(watch->wake, O_CLOEXEC | O_NONBLOCK) != 0)
    return status_fail(status, STATUS_WORLD, "no pipe for the watchdog: %s", strerror(errno));
  watch->poll = calloc(ranks + BAND_LISTENERS + 2, sizeof *watch->poll);
  if (band_listens(watch->rank, client->rank_count))
    watch->view = calloc(ranks, sizeof *watch->view);
  if (!watch->poll || (band_listens(watch->rank, client->rank_count) && !watch->view))
    return status_fail(status, STATUS_WORLD, "not enough memory for the watchdog");
  return band_open(&watch->band, client, watch->setup.node, status) && start_thread(watch, status);
}

static void free_watch(Watch *watch) {
  band_close(&watch->band);
  if (watch->wake[0] >= 0) (void)close(watch->wake[0]), (void)close(watch->wake[1]);
  pthread_cond_destroy(&watch->changed);
  pthread_mutex_destroy(&watch->lock);
  free(watch->poll);
  free(watch->view);
  free(watch);
}

Watch *watch_open(const WatchSetup *setup, Client *client, Status *status) {
  Watch *watch = calloc(1, sizeof *watch);
  if (!watch) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory for the watchdog");
    return NULL;
  }
  pthread_condattr_t clock;
  watch->setup = *setup;
  watch->rank = client->rank;
  watch->wake[0] = watch->wake[1] = watch->band.listener = -1;
  pthread_mutex_init(&watch->lock, NULL);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&watch->changed, &clock);
  pthread_condattr_destroy(&clock);
  if (open_parts(watch, client, status)) return watch;
  free_watch(watch);
  return NULL;
}

static void wake_thread(Watch *watch) {
  (void)!write(watch->wake[1], "", 1);
}

/* Called with the lock. */
static void wait_told(Watch *watch) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += TOLD_MS / 1000;
  while (!watch->has_written &&
         pthread_cond_timedwait(&watch->changed, &watch->lock, &until) != ETIMEDOUT)
    continue;
}

void watch_fail(Watch *watch, Status *status) {
  pthread_mutex_lock(&watch->lock);
  if (status->code == STATUS_ECHO) wait_told(watch);
  if (status->code == STATUS_ECHO && !watch->is_ended)
    (void)status_fail(status, STATUS_WORLD, "a message through MPI failed, and no rank says why");
  if (status->code != STATUS_ECHO) {
    watch->own = *status;
    wake_thread(watch);
    wait_told(watch);
  } else if (watch->reports)
    (void)status_fail(status, STATUS_WORLD, "%.1000s", watch->end.text);
  else
    (void)status_fail(status, STATUS_ECHO, "ended because rank %d on %s did", watch->end.rank,
                      watch->setup.node_names[watch->end.rank]);
  pthread_mutex_unlock(&watch->lock);
}

void watch_close(Watch *watch) {
  BandMessage bye = {.kind = BAND_LEAVE, .rank = watch->rank};
  pthread_mutex_lock(&watch->lock);
  watch->is_closing = true;
  bool is_good = !watch->is_ended && watch->own.code == 0;
  pthread_mutex_unlock(&watch->lock);
  wake_thread(watch);
  pthread_join(watch->thread, NULL);
  if (is_good) band_send_all(&watch->band, &bye);
  free_watch(watch);
}
