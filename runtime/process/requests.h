/* requests.h -- what is asked of a running process by signals: to end in good order, and, by a
 * second request, to end at once. */
#ifndef LOCKSTEP_PROCESS_REQUESTS_H
#define LOCKSTEP_PROCESS_REQUESTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* timeout and batch systems send a signal to a process and once more to its group: what comes
 * within this time is the same request. */
enum { REQUESTS_SAME_MS = 1000 };

typedef enum Request { REQUEST_NONE, REQUEST_STOP, REQUEST_AT_ONCE } Request;

typedef struct Requests {
  int64_t first_ms; /* when the first came; 0: none has */
} Requests;

/* What this signal means now. Only SIGINT and SIGTERM can be a second request: a terminal that
 * closes says so once, and so does a batch system that tells of its limit. */
Request requests_take(Requests *requests, int number);

/* "usr1", "usr2" or "term"; 0: another word. */
int requests_signal(const char *word);

/* "SIGTERM" */
const char *requests_name(int number);

typedef struct RequestsSetup {
  int limit_signal;            /* what a batch system is told to send before its time limit */
  void (*stop)(void);          /* after this step, with a checkpoint */
  void (*at_once)(int number); /* the last words: then the process ends as the signal ends it */
  void (*lost_file)(const char *why); /* the last words of a process whose mapped file was cut */
} RequestsSetup;

/* SIGINT, SIGTERM, SIGHUP and the limit's. Who starts a process that will call requests_open, and
 * passes such signals on, begins it with these blocked: what comes early waits there. */
void requests_signals(sigset_t *set, int limit_signal);

/* Those are blocked in all threads that begin from here on, and one thread waits for them. Under
 * nohup the hang-up stays ignored. False: there is no thread. */
bool requests_open(const RequestsSetup *setup);

/* Returns unless a second request has come, which ends the process. */
void requests_close(void);

#endif
