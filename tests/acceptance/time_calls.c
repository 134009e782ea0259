/* time_calls.c -- loaded into the ranks of a test: when a process begins and ends the calls by
 * which it joins the others. A line for each goes to the file $TIME_CALLS: call, when it began and
 * when it ended (ns of the monotonic clock), processor time of the process until then (ns),
 * process. */
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void note(const char *call, long long begin_ns) {
  const char *log = getenv("TIME_CALLS");
  char line[256];
  int length = snprintf(line, sizeof line, "%s %lld %lld %lld %d\n", call, begin_ns,
                        now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_PROCESS_CPUTIME_ID), (int)getpid());
  int file = log ? open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
  if (file >= 0 && write(file, line, (size_t)length) != length) abort();
  if (file >= 0) close(file);
}

pmix_status_t PMIx_Init(pmix_proc_t *process, pmix_info_t info[], size_t infos) {
  typedef pmix_status_t Init(pmix_proc_t *, pmix_info_t[], size_t);
  Init *next = (Init *)dlsym(RTLD_NEXT, "PMIx_Init");
  long long begin_ns = now_ns(CLOCK_MONOTONIC);
  pmix_status_t result = next(process, info, infos);
  note("PMIx_Init", begin_ns);
  return result;
}

pmix_status_t PMIx_Fence(const pmix_proc_t processes[], size_t count, const pmix_info_t info[],
                         size_t infos) {
  typedef pmix_status_t Fence(const pmix_proc_t[], size_t, const pmix_info_t[], size_t);
  Fence *next = (Fence *)dlsym(RTLD_NEXT, "PMIx_Fence");
  long long begin_ns = now_ns(CLOCK_MONOTONIC);
  pmix_status_t result = next(processes, count, info, infos);
  note("PMIx_Fence", begin_ns);
  return result;
}

int MPI_Init_thread(int *count, char ***word, int wanted, int *provided) {
  typedef int Init(int *, char ***, int, int *);
  Init *next = (Init *)dlsym(RTLD_NEXT, "MPI_Init_thread");
  long long begin_ns = now_ns(CLOCK_MONOTONIC);
  int result = next(count, word, wanted, provided);
  note("MPI_Init", begin_ns);
  return result;
}

int MPI_Finalize(void) {
  typedef int Finalize(void);
  Finalize *next = (Finalize *)dlsym(RTLD_NEXT, "MPI_Finalize");
  note("steps", now_ns(CLOCK_MONOTONIC));
  return next();
}
