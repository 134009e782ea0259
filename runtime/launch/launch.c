/* launch.c -- one loop over what ranks print, how they end, and what the user requests.
 *
 * The first rank that fails with its own reason is the cause. The others notice by themselves; a
 * rank that has not ended soon after is killed, because it may be waiting for one that is gone. */
#include "runtime/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/launch/child.h"
#include "runtime/launch/document.h"
#include "runtime/launch/server.h"
#include "runtime/plan/mesh.h"
#include "runtime/plan/plan_job.h"
#include "runtime/process/lock.h"
#include "runtime/process/plural.h"
#include "runtime/process/requests.h"
#include "runtime/process/text.h"
#include "runtime/watch/failure.h"

/* Time from the end of the failed rank to the end of all: a rank that reported its failure has told
 * the others, one that was killed must be noticed first. */
enum { TOLD_MS = 800, MISSED_MS = 3000, ABORT_MS = 200, PROGRAM_BYTES = 4096 };

/* Ranks that are training notice a stopped rank sooner, and report more. */
enum { STOPPED_MS = 5000 };

typedef struct ProcessLaunch {
  const LaunchSetup *setup;
  Server server;
  Child *child;
  int32_t count;
  int32_t live;
  int32_t cause; /* the rank that failed first; -1: none has */
  Mesh mesh;
  int64_t began_s; /* of the epoch */
  Requests requests;
  int stopped_by;     /* the signal of a second request; 0: none */
  int64_t killing_ms; /* when the remaining ranks are killed; 0: they are not */
  Document document;
} ProcessLaunch;

static int wake[2] = {-1, -1}; /* signals arrive as bytes */

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void on_signal(int number) {
  int failure = errno;
  unsigned char byte = (unsigned char)number;
  ssize_t ignored = write(wake[1], &byte, 1);
  (void)ignored;
  errno = failure;
}

static bool catch_signals(Status *status) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
  sigset_t caught;
  if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0)
    return status_fail(status, STATUS_WORLD, "no pipe for signals: %s", strerror(errno));
  sigemptyset(&action.sa_mask);
  sigemptyset(&caught);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    if (numbers[i] == SIGHUP &&
        (sigaction(SIGHUP, NULL, &before) != 0 || before.sa_handler == SIG_IGN)) /* nohup */
      continue;
    (void)sigaction(numbers[i], &action, NULL);
    sigaddset(&caught, numbers[i]);
  }
  (void)pthread_sigmask(SIG_UNBLOCK, &caught, NULL); /* the caller may have blocked them */
  return true;
}

/* ---- starting */

/* The command line without the options for the launcher. */
static char **words_of(const LaunchSetup *setup, const char *program, int32_t rank) {
  char **word = calloc((size_t)setup->word_count + 3, sizeof *word);
  int32_t count = 0;
  if (!word) return NULL;
  for (int32_t i = 0; i < setup->word_count; i++) {
    bool keeps = strcmp(setup->word[i], "--keep-plan") == 0;
    if (strcmp(setup->word[i], "--processes") != 0 && !keeps) word[count++] = setup->word[i];
    i += keeps;
  }
  word[0] = (char *)(uintptr_t)program;
  if (rank == 0 && setup->keep_plan) {
    word[count++] = (char *)(uintptr_t) "--keep-plan";
    word[count++] = (char *)(uintptr_t)setup->keep_plan;
  }
  return word;
}

static bool start_rank(ProcessLaunch *launch, const char *program, int32_t rank, Status *status) {
  char **environment = server_environment(&launch->server, rank, status);
  if (!environment) return false;
  char **word = words_of(launch->setup, program, rank);
  bool takes_stdout = rank == 0 && !launch->setup->json;
  bool started =
      word ? child_start(&launch->child[rank], rank, program, word, environment, takes_stdout,
                         status)
           : status_fail(status, STATUS_WORLD, "not enough memory to start rank %d", rank);
  free(word);
  server_environment_free(environment);
  if (started) launch->live++;
  return started;
}

/* Ranks start with request signals blocked: until ranks handle signals, a request would kill them
 * and end the run. */
static bool start_all(ProcessLaunch *launch, Status *status) {
  char program[PROGRAM_BYTES];
  sigset_t requests, before;
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) return status_fail(status, STATUS_WORLD, "/proc/self/exe: %s", strerror(errno));
  program[length] = 0;
  requests_signals(&requests, launch->setup->limit_signal);
  (void)pthread_sigmask(SIG_BLOCK, &requests, &before);
  bool started = true;
  for (int32_t rank = 0; rank < launch->count && started; rank++)
    started = start_rank(launch, program, rank, status);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

/* ---- watching */

static void signal_all(const ProcessLaunch *launch, int number) {
  for (int32_t rank = 0; rank < launch->count; rank++)
    if (launch->child[rank].pid > 0) (void)kill(launch->child[rank].pid, number);
}

static bool is_good(int32_t code) {
  return code == STATUS_DONE || code == STATUS_STOPPED;
}

static void end_by(ProcessLaunch *launch, int64_t grace_ms) {
  int64_t at_ms = now_ms() + grace_ms;
  if (launch->killing_ms == 0 || at_ms < launch->killing_ms) launch->killing_ms = at_ms;
}

/* A retry may help after any exit code: our ranks do not call it, but libraries may. */
static void note_abort(ProcessLaunch *launch) {
  if (launch->cause < 0) launch->cause = server_abort_rank();
  end_by(launch, TOLD_MS);
}

static void note_end(ProcessLaunch *launch, int32_t rank, int result) {
  Child *child = &launch->child[rank];
  child->pid = 0;
  child->result = result;
  launch->live--;
  int32_t code = child_code(child);
  if (is_good(code)) return;
  bool was_killed_here = launch->killing_ms > 0 && now_ms() >= launch->killing_ms;
  child->has_failed = true;
  child->was_killed = WIFSIGNALED(result) && !was_killed_here;
  end_by(launch, WIFSIGNALED(result) ? MISSED_MS : TOLD_MS);
  if (launch->cause < 0 && code != STATUS_ECHO && !was_killed_here) launch->cause = rank;
}

static void reap(ProcessLaunch *launch) {
  int how = WNOHANG | WUNTRACED | WCONTINUED, result;
  for (int32_t rank = 0; rank < launch->count; rank++) {
    Child *child = &launch->child[rank];
    while (child->pid > 0 && waitpid(child->pid, &result, how) == child->pid) {
      if (WIFSTOPPED(result))
        child->stopped_ms = now_ms();
      else if (WIFCONTINUED(result))
        child->stopped_ms = 0;
      else
        note_end(launch, rank, result);
    }
  }
}

/* While ranks start or save, nothing else would notice for a long time. */
static void miss_stopped(ProcessLaunch *launch) {
  for (int32_t rank = 0; rank < launch->count; rank++) {
    const Child *child = &launch->child[rank];
    if (child->pid == 0 || child->stopped_ms == 0 || now_ms() - child->stopped_ms < STOPPED_MS)
      continue;
    if (launch->cause < 0) launch->cause = rank;
    end_by(launch, 0);
  }
}

/* A request of the user is passed to every rank; it ends the run after a step that all have done.
 */
static void take_signals(ProcessLaunch *launch) {
  unsigned char number;
  while (read(wake[0], &number, 1) == 1) {
    if (number == SIGCHLD) continue;
    signal_all(launch, number);
    if (requests_take(&launch->requests, number) != REQUEST_AT_ONCE) continue;
    launch->stopped_by = number;
    end_by(launch, MISSED_MS);
  }
}

static int32_t poll_list(ProcessLaunch *launch, struct pollfd *list, Lines **lines) {
  int32_t count = 1;
  list[0] = (struct pollfd){.fd = wake[0], .events = POLLIN};
  for (int32_t i = 0; i < 2 * launch->count; i++) {
    Child *child = &launch->child[i / 2];
    Lines *one = i % 2 ? &child->errors : &child->out;
    if (one->from < 0) continue;
    lines[count] = one;
    list[count++] = (struct pollfd){.fd = one->from, .events = POLLIN};
  }
  return count;
}

static void pass_output(ProcessLaunch *launch, Lines *lines) {
  bool is_document = launch->setup->json && lines == &launch->child[0].out;
  if (is_document)
    (void)document_take(&launch->document, lines);
  else
    (void)lines_pass(lines);
}

/* Runs until all have ended and everything that they printed is passed on. */
static void watch(ProcessLaunch *launch, struct pollfd *list, Lines **lines) {
  for (int32_t count; (count = poll_list(launch, list, lines)) > 1 || launch->live > 0;) {
    int64_t left_ms = launch->killing_ms - now_ms();
    bool is_due = launch->killing_ms > 0 && left_ms <= 0;
    int timeout = launch->killing_ms == 0 ? ABORT_MS : is_due ? 100 : (int)left_ms;
    (void)poll(list, (nfds_t)count, timeout);
    take_signals(launch);
    reap(launch);
    miss_stopped(launch);
    for (int32_t i = 1; i < count; i++)
      if (list[i].revents) pass_output(launch, lines[i]);
    if (server_abort_code() != 0) note_abort(launch);
    if (launch->killing_ms > 0 && now_ms() >= launch->killing_ms) signal_all(launch, SIGKILL);
  }
}

/* ---- the end */

/* All are echoes if the cause could not be reported: then the rank that ended first is taken. */
static int32_t cause_of(const ProcessLaunch *launch) {
  for (int32_t rank = 0; rank < launch->count && launch->cause < 0; rank++)
    if (launch->child[rank].has_failed) return rank;
  return launch->cause;
}

/* Rank 0 has reported it. */
static int32_t tell_stop(const ProcessLaunch *launch) {
  char how[64];
  int32_t code = STATUS_SIGNAL + launch->stopped_by;
  (void)snprintf(how, sizeof how, "stopped at once by a second %s",
                 requests_name(launch->stopped_by));
  if (launch->setup->json) document_failure(code, 0, how);
  return code;
}

/* A rank that ended by itself has reported why; one that was killed has not. */
static int32_t tell_end(const ProcessLaunch *launch) {
  int32_t cause = cause_of(launch), others = 0, killed = 0;
  if (launch->stopped_by != 0) return tell_stop(launch);
  if (cause < 0) return child_code(&launch->child[0]);
  const Child *child = &launch->child[cause];
  char how[128], echo[64] = "";
  for (int32_t rank = 0; rank < launch->count; rank++) {
    others += rank != cause && launch->child[rank].has_failed;
    killed += rank != cause && launch->child[rank].was_killed;
  }
  bool has_aborted = server_abort_code() != 0 && server_abort_rank() == cause;
  child_end_text(child, how, sizeof how);
  if (has_aborted)
    (void)snprintf(how, sizeof how, "called PMIx_Abort with code %d", server_abort_code());
  if (killed > 0)
    (void)snprintf(echo, sizeof echo, "; so were %d of the %d other%s", killed, launch->count - 1,
                   plural(launch->count - 1));
  else if (others > 0)
    (void)snprintf(echo, sizeof echo, "; %d other%s ended because of it", others, plural(others));
  bool has_spoken = !has_aborted && !WIFSIGNALED(child->result);
  int32_t code = has_aborted ? STATUS_WORLD : child_code(child);
  if (!has_spoken) {
    Status error;
    (void)status_fail(&error, code, "rank %d %s%s", cause, how, echo);
    text_warn("lockstep-rank: %s", error.text);
    Loss loss = has_aborted ? LOSS_ERROR : child->stopped_ms > 0 ? LOSS_SILENT : LOSS_DEAD;
    Verdict verdict = {loss, cause};
    failure_of_launcher(launch->setup->plan, &launch->mesh, verdict, &error, launch->began_s);
  }
  if (launch->setup->json) document_failure(code, cause, !has_spoken ? how : child->errors.last);
  return code;
}

static int32_t end(ProcessLaunch *launch) {
  const LaunchSetup *setup = launch->setup;
  int32_t code = tell_end(launch);
  if (is_good(code) && setup->json) document_print(&launch->document);
  document_free(&launch->document);
  if (!is_good(code) && setup->keep_plan) (void)unlink(setup->word[1]); /* if it still exists */
  return code;
}

static int32_t run_all(ProcessLaunch *launch, Status *status) {
  size_t most = 2 * (size_t)launch->count + 1;
  struct pollfd *list = calloc(most, sizeof *list);
  Lines **lines = calloc(most, sizeof *lines);
  launch->child = calloc((size_t)launch->count, sizeof *launch->child);
  bool good = list && lines && launch->child;
  if (!good)
    (void)status_fail(status, STATUS_WORLD, "not enough memory for %d rank%s", launch->count,
                      plural(launch->count));
  for (int32_t rank = 0; good && rank < launch->count; rank++)
    launch->child[rank].out.from = launch->child[rank].errors.from = -1;
  if (good) good = start_all(launch, status);
  if (!good && launch->live > 0) launch->killing_ms = now_ms();
  if (list && lines && launch->child) watch(launch, list, lines);
  int32_t code = good ? end(launch) : status->code;
  free(list);
  free(lines);
  free(launch->child);
  return code;
}

/* Releases the lock that `lockstep run` has taken in this process; rank 0 takes it for the run. */
static void pass_lock(const Plan *plan) {
  char why[LOCK_WHY_BYTES];
  Lock lock;
  if (lock_take(&lock, job_run_dir(plan), why) == LOCK_TAKEN) lock_give_back(&lock);
}

int32_t launch_run(const LaunchSetup *setup, Status *status) {
  ProcessLaunch launch = {.setup = setup, .cause = -1, .began_s = (int64_t)time(NULL)};
  if (!mesh_read(&launch.mesh, setup->plan, status)) return status->code;
  launch.count = launch.mesh.rank_count;
  if (!catch_signals(status)) return status->code;
  pass_lock(setup->plan);
  int32_t code =
      server_open(&launch.server, launch.count, status) ? run_all(&launch, status) : status->code;
  server_close(&launch.server, is_good(code));
  return code;
}
