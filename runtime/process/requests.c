/* requests.c -- a thread waits for the signals, so that their handling may lock, write and wait.
 */
#include "runtime/process/requests.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/process/process.h"

#define LOST_FILE SIGRTMIN /* sent by this process to itself */

enum { EXIT_OF_THE_WORLD = 2 };

static RequestsSetup on;
static sigset_t waited;
static _Atomic int ending; /* the signal of the second request */

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

Request requests_take(Requests *requests, int number) {
  int64_t ms = now_ms();
  if (requests->first_ms == 0) {
    requests->first_ms = ms;
    return REQUEST_STOP;
  }
  bool may_be = number == SIGINT || number == SIGTERM;
  return may_be && ms - requests->first_ms > REQUESTS_SAME_MS ? REQUEST_AT_ONCE : REQUEST_NONE;
}

static const struct {
  const char *word, *name;
  int number;
} signals[] = {
    {"usr1", "SIGUSR1", SIGUSR1}, {"usr2", "SIGUSR2", SIGUSR2}, {"term", "SIGTERM", SIGTERM},
    {NULL, "SIGINT", SIGINT},     {NULL, "SIGHUP", SIGHUP},
};

int requests_signal(const char *word) {
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (signals[i].word && strcmp(signals[i].word, word) == 0) return signals[i].number;
  return 0;
}

const char *requests_name(int number) {
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (signals[i].number == number) return signals[i].name;
  return "a signal";
}

/* So that a shell sees which signal it was. */
static void end_by(int number) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  (void)signal(number, SIG_DFL);
  (void)pthread_sigmask(SIG_UNBLOCK, &one, NULL);
  (void)kill(getpid(), number);
  (void)pause();
}

static void *wait_for_signals(void *argument) {
  (void)argument;
  Requests requests = {0};
  for (int number;;) {
    if (sigwait(&waited, &number) != 0) continue;
    if (number == LOST_FILE) {
      on.lost_file(process_lost_file());
      _exit(EXIT_OF_THE_WORLD);
    }
    Request request = requests_take(&requests, number);
    if (request == REQUEST_STOP) on.stop();
    if (request != REQUEST_AT_ONCE) continue;
    atomic_store(&ending, number);
    on.at_once(number);
    end_by(number);
  }
  return NULL;
}

/* In a signal handler. */
static void raise_lost_file(void) {
  (void)kill(getpid(), LOST_FILE);
}

static bool is_ignored(int number) {
  struct sigaction before;
  return sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
}

void requests_signals(sigset_t *set, int limit_signal) {
  sigemptyset(set);
  sigaddset(set, SIGINT);
  sigaddset(set, SIGTERM);
  sigaddset(set, SIGHUP);
  sigaddset(set, limit_signal);
}

bool requests_open(const RequestsSetup *setup) {
  pthread_t thread;
  on = *setup;
  requests_signals(&waited, on.limit_signal);
  sigaddset(&waited, LOST_FILE);
  if (is_ignored(SIGHUP)) sigdelset(&waited, SIGHUP);
  (void)pthread_sigmask(SIG_BLOCK, &waited, NULL);
  process_on_lost_file(raise_lost_file);
  return pthread_create(&thread, NULL, wait_for_signals, NULL) == 0 && pthread_detach(thread) == 0;
}

void requests_close(void) {
  int number = atomic_load(&ending);
  if (number != 0) end_by(number);
}
