/* requests.h -- requests to a running process by signals: to stop after the current step, and, by a
 * second request, to end at once. */
#ifndef LOCKSTEP_PROCESS_REQUESTS_H
#define LOCKSTEP_PROCESS_REQUESTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* timeout and batch systems send a signal to a process and again to its group: signals within this
 * time are the same request. */
enum { REQUESTS_SAME_MS = 1000 };

typedef enum Request { REQUEST_NONE, REQUEST_STOP, REQUEST_AT_ONCE } Request;

typedef struct Requests {
  int64_t first_ms; /* when the first arrived; 0: none has */
} Requests;

/* The meaning of this signal now. Only SIGINT and SIGTERM can be a second request: a closing
 * terminal and a batch system's warning before its limit come once. */
Request requests_take(Requests *requests, int number);

/* "usr1", "usr2" or "term"; 0: another word. */
int requests_signal(const char *word);

/* "SIGTERM" */
const char *requests_name(int number);

typedef struct RequestsSetup {
  int limit_signal;            /* the signal that a batch system sends before its time limit */
  void (*stop)(void);          /* after this step, with a checkpoint */
  void (*at_once)(int number); /* reports; then the process ends by the signal */
  void (*lost_file)(const char *why); /* reports that a mapped file was truncated */
} RequestsSetup;

/* SIGINT, SIGTERM, SIGHUP and the limit's. A program that starts a process which will call
 * requests_open, and passes such signals on, starts it with these blocked, so that early signals
 * wait. */
void requests_signals(sigset_t *set, int limit_signal);

/* Blocks these signals in all threads that start from here on, and starts a thread that waits for
 * them. Under nohup SIGHUP stays ignored. False: the thread cannot be started. */
bool requests_open(const RequestsSetup *setup);

/* Does not return if a second request has arrived, which ends the process. */
void requests_close(void);

#endif
