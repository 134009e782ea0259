/* watch.c -- one thread: it sends what this rank is doing; on an agent it forwards messages of its
 * node's ranks; on a root it judges all ranks.
 *
 * The first rank reports. The last rank also judges, and reports if the first one is lost or does
 * not report. */
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

#include "runtime/process/text.h"
#include "runtime/watch/band.h"
#include "runtime/watch/failure.h"

enum {
  BEAT_MS = 100,
  SETTLE_MS = 200,  /* from a loss to its report, so that others reach the point where they wait */
  SECOND_MS = 1000, /* the last rank gives the first so long to report */
  LEAVE_MS = 500,   /* from the report until a process that has not ended by itself is ended */
  TOLD_MS = 2000,   /* a rank that has failed waits so long for the report */
  SPEAK_MS = 500,   /* the last agent of a node forwards beats if the first is silent for so long */
  STAY_MS = 2000,   /* an agent waits so long for the ranks of its node to leave first */
  PACE_MS = 5,      /* beats of many ranks are read together */
  ASK_MS = 1000     /* after so long without news of a process Linux is asked whether it can run */
};

struct Watch {
  WatchSetup setup;
  int32_t rank;
  Band band;
  Flight flight;
  RankView *view; /* of every rank; only on a root */
  Pulse *pulse;   /* of every rank, of its silence; only on a root */
  Beat own_beat;  /* the last that differed from the one before */
  int64_t own_moved_ms;
  Pulse own_pulse; /* of this rank's standstill */
  bool has_noted;  /* that a rank is starved */
  struct pollfd *poll;
  pthread_t thread;
  int wake[2];
  int32_t polled;         /* peers in `poll` */
  int64_t first_heard_ms; /* of the first agent of this node */
  int64_t stays_until_ms; /* while it is closing; 0: it is not closing */
  int64_t lost_ms;        /* when a loss was first seen; 0: none */
  int32_t failures;
  Status error; /* the error of the rank that failed first */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  Status own;      /* why this rank failed; code 0: it has not */
  bool is_told;    /* `own` has been sent */
  bool is_closing; /* the main thread is leaving */
  bool is_ended;
  bool has_written; /* this rank has written its part of the report */
  bool reports;     /* this rank has written the report */
  bool is_quiet;    /* an agent or a root has left normally: the run has ended */
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

/* ---- messages of ranks */

static void take_beat(Watch *watch, int32_t rank, const Beat *beat) {
  RankView *view = &watch->view[rank];
  view->heard_ms = now_ms();
  view->starved_ms = 0;
  watch->pulse[rank] = (Pulse){0};
  if (!view->has_come || beat_has_moved(&view->beat, beat)) view->moved_ms = now_ms();
  view->has_come = true;
  view->beat = *beat;
}

static bool is_of_job(const Watch *watch, const BandMessage *message) {
  return message->kind == BAND_HELLO && message->rank >= 0 &&
         message->rank < watch->band.rank_count &&
         memcmp(message->token, watch->band.token, BAND_TOKEN_BYTES) == 0;
}

/* The agents of this node tell its ranks. */
static void set_end(Watch *watch, const BandMessage *message) {
  BandMessage down = *message;
  pthread_mutex_lock(&watch->lock);
  bool is_first = !watch->is_ended;
  if (is_first) watch->end = *message;
  watch->is_ended = true;
  pthread_cond_broadcast(&watch->changed);
  pthread_mutex_unlock(&watch->lock);
  if (is_first) band_send_down(&watch->band, &down);
}

/* A root gets it from both agents of a node. */
static void note_failure(Watch *watch, int32_t rank, const BandMessage *message) {
  if (watch->view[rank].failed > 0) return;
  watch->view[rank].failed = ++watch->failures;
  if (watch->failures > 1) return;
  watch->error.code = message->code;
  (void)snprintf(watch->error.text, sizeof watch->error.text, "%s", message->text);
}

static void set_closed(RankView *view) {
  if (view->closed_ms == 0) view->closed_ms = now_ms();
}

/* When both agents of a node are gone, nothing more is known of its other ranks. */
static void note_closed(Watch *watch, int32_t rank) {
  const int32_t *node = watch->band.node;
  int32_t first = -1, last = -1;
  if (!watch->view) return;
  set_closed(&watch->view[rank]);
  for (int32_t i = 0; i < watch->band.rank_count; i++)
    if (node[i] == node[rank]) {
      if (first < 0) first = i;
      last = i;
    }
  const RankView *view = watch->view;
  bool are_lost = view[first].closed_ms > 0 && !view[first].has_left && view[last].closed_ms > 0 &&
                  !view[last].has_left;
  for (int32_t i = first; i <= last && are_lost; i++)
    if (node[i] == node[rank] && !view[i].has_left) set_closed(&watch->view[i]);
}

static void take_view(Watch *watch, const BandMessage *message) {
  RankView *view = &watch->view[message->rank];
  if (message->kind == BAND_BEAT) take_beat(watch, message->rank, &message->beat);
  if (message->kind == BAND_LEAVE) view->has_left = true;
  if (message->kind == BAND_FAIL) note_failure(watch, message->rank, message);
  if (message->kind == BAND_LOST) note_closed(watch, message->rank);
  if (message->kind == BAND_STARVED && !band_is_near(&watch->band, message->rank)) {
    view->starved_ms = message->code;
    view->load = message->load;
  }
}

/* Forwards to roots on other nodes. Beats are forwarded once: by the first agent, or by the last if
 * that one is silent. */
static void pass_on(Watch *watch, const BandPeer *from, const BandMessage *message) {
  const Band *band = &watch->band;
  BandMessage away = *message;
  if (!band_is_agent(band) || from->rank != message->rank || !band_is_charge(band, from->rank))
    return;
  bool speaks = band->rank == band->first_here || now_ms() - watch->first_heard_ms > SPEAK_MS;
  if (message->kind != BAND_BEAT || speaks) band_send_away(&watch->band, &away);
}

/* False: no more is read from this peer. */
static bool take_message(Watch *watch, BandPeer *peer, const BandMessage *message) {
  if (peer->rank < 0) {
    if (!is_of_job(watch, message)) return false;
    peer->rank = message->rank;
    return true;
  }
  if (message->rank < 0 || message->rank >= watch->band.rank_count) return false;
  if (peer->rank == watch->band.first_here) watch->first_heard_ms = now_ms();
  if (message->kind == BAND_END) {
    set_end(watch, message);
    return true;
  }
  if (message->rank == peer->rank) peer->heard_ms = now_ms();
  if (message->rank == peer->rank && message->kind == BAND_BEAT) peer->pid = message->beat.pid;
  if (message->kind == BAND_LEAVE && peer->is_up) watch->is_quiet = true;
  if (message->kind == BAND_LEAVE) peer->has_left = true;
  pass_on(watch, peer, message);
  if (watch->view) take_view(watch, message);
  return true;
}

static void lose_peer(Watch *watch, BandPeer *peer) {
  (void)close(peer->socket);
  peer->socket = -1;
  if (peer->rank < 0) {
    *peer = watch->band.peer[--watch->band.peer_count];
    return;
  }
  note_closed(watch, peer->rank);
  BandMessage lost = {.kind = BAND_LOST, .rank = peer->rank};
  if (!peer->has_left && band_is_agent(&watch->band) && band_is_charge(&watch->band, peer->rank))
    band_send_away(&watch->band, &lost);
}

static void receive_from(Watch *watch, BandPeer *peer) {
  BandMessage message;
  BandGot got = BAND_MESSAGE;
  while (got == BAND_MESSAGE && peer->socket >= 0) {
    got = band_receive(peer, &message);
    bool is_good =
        got == BAND_NOTHING || (got == BAND_MESSAGE && take_message(watch, peer, &message));
    if (is_good) continue;
    lose_peer(watch, peer);
    return;
  }
}

/* Backwards, because a peer that is removed is replaced by the last one. */
static void receive_all(Watch *watch) {
  for (int32_t i = watch->polled; i-- > 0;)
    if (watch->poll[i + 2].revents != 0) receive_from(watch, &watch->band.peer[i]);
}

/* ---- messages of this rank */

/* This thread itself does not count: it wakes up too often to be what the rank waits for. */
static void ask_own(Watch *watch, Beat *beat) {
  int64_t at_ms = now_ms();
  if (beat_has_moved(&watch->own_beat, beat)) {
    watch->own_beat = *beat;
    watch->own_moved_ms = at_ms;
    watch->own_pulse = (Pulse){0};
  } else if (at_ms - watch->own_moved_ms > ASK_MS) {
    pulse_ask(&watch->own_pulse, "/proc/self", (int32_t)gettid(), at_ms);
    beat->starved_ms = (int32_t)watch->own_pulse.starved_ms;
    beat->load = load_now();
  }
}

static void ask_process(Pulse *pulse, int32_t pid) {
  char folder[32];
  (void)snprintf(folder, sizeof folder, "/proc/%d", pid);
  pulse_ask(pulse, folder, 0, now_ms());
}

/* A root asks about silent ranks of its machine. */
static void ask_silent(Watch *watch) {
  for (int32_t i = 0; i < watch->band.rank_count; i++) {
    RankView *view = &watch->view[i];
    bool is_silent = view->has_come && !view->has_left && view->closed_ms == 0 &&
                     now_ms() - view->heard_ms > ASK_MS;
    if (!is_silent || i == watch->rank || !band_is_near(&watch->band, i)) continue;
    ask_process(&watch->pulse[i], view->beat.pid);
    view->starved_ms = watch->pulse[i].starved_ms;
    view->load = load_now();
  }
}

/* An agent asks about silent ranks of its node for roots on other machines. */
static void ask_charges(Watch *watch) {
  Band *band = &watch->band;
  for (int32_t i = 0; i < band->peer_count; i++) {
    BandPeer *peer = &band->peer[i];
    bool is_silent = peer->rank >= 0 && peer->socket >= 0 && !peer->has_left && peer->pid > 0 &&
                     now_ms() - peer->heard_ms > ASK_MS;
    if (!is_silent) peer->pulse = (Pulse){0};
    if (!is_silent || band->node[peer->rank] != band->node[band->rank] ||
        !band_is_near(band, peer->rank))
      continue;
    ask_process(&peer->pulse, peer->pid);
    BandMessage message = {.kind = BAND_STARVED,
                           .rank = peer->rank,
                           .code = (int32_t)peer->pulse.starved_ms,
                           .load = load_now()};
    band_send_away(band, &message);
  }
}

static void send_own(Watch *watch) {
  BandMessage message = {.kind = BAND_BEAT,
                         .rank = watch->rank,
                         .beat = flight_beat(&watch->flight, watch->setup.plan)};
  ask_own(watch, &message.beat);
  if (watch->view) ask_silent(watch);
  if (band_is_agent(&watch->band)) ask_charges(watch);
  if (watch->view) take_beat(watch, watch->rank, &message.beat);
  band_send_up(&watch->band, &message);
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

/* Once: a rank that would be blamed had it not waited for a processor. */
static void note_starved(Watch *watch) {
  if (watch->has_noted || watch->rank != 0) return;
  Failure failure = {.plan = watch->setup.plan,
                     .mesh = watch->setup.mesh,
                     .view = watch->view,
                     .node = watch->setup.node_names,
                     .now_ms = now_ms()};
  failure.verdict = judge_starved(failure.plan, failure.mesh, failure.view, failure.now_ms);
  watch->has_noted = failure.verdict.loss != LOSS_NONE;
  if (watch->has_noted) failure_note_starved(&failure);
}

/* Losses seen after the end are caused by it. */
static void judge_all(Watch *watch) {
  if (watch->is_ended) return; /* set by this thread only */
  Verdict verdict = judge(watch->setup.plan, watch->setup.mesh, watch->view, now_ms());
  if (verdict.loss == LOSS_NONE) {
    note_starved(watch);
    watch->lost_ms = 0;
    return;
  }
  if (watch->lost_ms == 0) watch->lost_ms = now_ms();
  bool first_is_lost =
      verdict.rank == 0 && (verdict.loss == LOSS_DEAD || verdict.loss == LOSS_SILENT);
  bool is_first = watch->rank == 0 || first_is_lost; /* a rank that failed reports for itself */
  if (now_ms() - watch->lost_ms >= (is_first ? SETTLE_MS : SECOND_MS)) report(watch, verdict);
}

/* Agents wait for a message of the roots, others for one of their node's agents. */
static bool may_hear(const Watch *watch) {
  const Band *band = &watch->band;
  for (int32_t i = 0; i < band->peer_count; i++) {
    const BandPeer *peer = &band->peer[i];
    bool counts = peer->is_up && (!band_is_agent(band) || band_is_root(band, peer->rank));
    if (counts && peer->socket >= 0) return true;
  }
  return false;
}

/* A rank that gets no messages any more has no other rank to report for it. */
static void check_alone(Watch *watch) {
  BandMessage end = {.kind = BAND_END, .rank = 0, .code = STATUS_WORLD};
  if (may_hear(watch)) return;
  (void)snprintf(end.text, sizeof end.text, "the ranks that watch this one are gone");
  set_end(watch, &end);
}

/* The main thread ends when its calls return; if it is not in a call it is not waited for. */
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
  watch->polled = watch->band.peer_count;
  int64_t left_ms = until_ms - now_ms();
  (void)poll(watch->poll, (nfds_t)count, left_ms > 0 ? (int)left_ms : 0);
  char bytes[16];
  if (read(watch->wake[0], bytes, sizeof bytes) > 0) return;
  struct timespec pace = {.tv_nsec = PACE_MS * 1000000L};
  (void)nanosleep(&pace, NULL);
}

/* An agent stays to forward the last messages of its node's ranks. */
static bool is_waited_for(const Watch *watch) {
  if (now_ms() >= watch->stays_until_ms) return false;
  for (int32_t i = 0; i < watch->band.peer_count; i++) {
    const BandPeer *peer = &watch->band.peer[i];
    bool is_up = peer->is_up || peer->rank < 0 || !band_is_charge(&watch->band, peer->rank);
    if (!is_up && peer->socket >= 0 && !peer->has_left) return true;
  }
  return false;
}

static bool is_over(Watch *watch) {
  pthread_mutex_lock(&watch->lock);
  bool is_closing = watch->is_closing, is_ended = watch->is_ended;
  bool has_failed = watch->own.code != 0;
  pthread_mutex_unlock(&watch->lock);
  if (is_ended) leave(watch);
  if (is_closing && watch->stays_until_ms == 0) watch->stays_until_ms = now_ms() + STAY_MS;
  return is_ended || (is_closing && (has_failed || !is_waited_for(watch)));
}

/* Everything received is read before it is judged: after a pause of this process there is much to
 * catch up on. */
static void *watch_thread(void *argument) {
  Watch *watch = argument;
  for (int64_t beat_ms = now_ms(); !is_over(watch);) {
    wait_for_news(watch, beat_ms);
    receive_all(watch);
    while (watch->band.listener >= 0 && band_accept(&watch->band))
      continue;
    tell_failure(watch);
    if (now_ms() >= beat_ms) {
      send_own(watch);
      beat_ms = now_ms() + BEAT_MS;
    }
    if (watch->view)
      judge_all(watch);
    else if (!watch->is_quiet)
      check_alone(watch);
  }
  return NULL;
}

static bool start_thread(Watch *watch, Status *status) {
  sigset_t all, before;
  sigfillset(&all); /* only the main thread handles signals */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&watch->thread, NULL, watch_thread, watch);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failure == 0 ||
         status_fail(status, STATUS_WORLD, "no thread for the watchdog: %s", strerror(failure));
}

static bool open_parts(Watch *watch, Client *client, Status *status) {
  Band *band = &watch->band;
  if (pipe2(watch->wake, O_CLOEXEC | O_NONBLOCK) != 0)
    return status_fail(status, STATUS_WORLD, "no pipe for the watchdog: %s", strerror(errno));
  if (!band_open(band, client, watch->setup.node, watch->setup.plan->lanes_count, status))
    return false;
  watch->first_heard_ms = now_ms();
  watch->poll = calloc((size_t)band->peer_room + 2, sizeof *watch->poll);
  bool judges = band_is_root(band, watch->rank);
  if (judges) watch->view = calloc((size_t)client->rank_count, sizeof *watch->view);
  if (judges) watch->pulse = calloc((size_t)client->rank_count, sizeof *watch->pulse);
  if (!watch->poll || (judges && (!watch->view || !watch->pulse)))
    return status_fail(status, STATUS_WORLD, "not enough memory for the watchdog");
  return start_thread(watch, status);
}

static void free_watch(Watch *watch) {
  band_close(&watch->band);
  if (watch->wake[0] >= 0) (void)close(watch->wake[0]), (void)close(watch->wake[1]);
  pthread_cond_destroy(&watch->changed);
  pthread_mutex_destroy(&watch->lock);
  free(watch->poll);
  free(watch->view);
  free(watch->pulse);
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

/* The caller holds the lock. */
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
