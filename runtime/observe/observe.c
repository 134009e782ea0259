/* observe.c -- one rank's own files and sums. */
#include "runtime/observe/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/plan/plan_job.h"
#include "runtime/process/folder.h"
#include "runtime/process/plural.h"

enum { PATH_BYTES = 4200 };

static int64_t clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Under Slurm a node has its own name, independent of the host name. */
static void name_node(char name[TRACE_NODE_BYTES]) {
  const char *slurm = getenv("SLURMD_NODENAME");
  if (slurm != NULL && *slurm)
    (void)snprintf(name, TRACE_NODE_BYTES, "%s", slurm);
  else if (gethostname(name, TRACE_NODE_BYTES - 1) != 0)
    (void)snprintf(name, TRACE_NODE_BYTES, "this-machine");
  name[TRACE_NODE_BYTES - 1] = 0;
}

/* ---- files */

static int open_file(const Observe *observe, const char *end, Status *status) {
  const Plan *plan = observe->setup.plan;
  char path[PATH_BYTES];
  (void)snprintf(path, sizeof path, "%.4000s/ranks", job_run_dir(plan));
  if (!folder_make(path, status)) return -1;
  size_t used = strlen(path);
  (void)snprintf(path + used, sizeof path - used, "/%d.%s", observe->setup.rank, end);
  int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    (void)status_fail(status, STATUS_WORLD, "%s: cannot be written: %s", path, strerror(errno));
  return descriptor;
}

static bool write_all(int descriptor, const void *bytes, size_t size_bytes) {
  const char *at = bytes;
  while (size_bytes > 0) {
    ssize_t written = write(descriptor, at, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size_bytes -= (size_t)written;
  }
  return true;
}

static bool open_trace(Observe *observe, Status *status) {
  TraceHeader header = {.version = TRACE_VERSION,
                        .rank = (uint32_t)observe->setup.rank,
                        .plan_id = observe->setup.plan->id};
  if (observe->setup.trace_first == 0) return true;
  memcpy(header.magic, TRACE_MAGIC, sizeof header.magic);
  memcpy(header.node, observe->times.node, sizeof header.node);
  header.wall_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  observe->trace = open_file(observe, "trace", status);
  if (observe->trace < 0) return false;
  return write_all(observe->trace, &header, sizeof header) ||
         status_fail(status, STATUS_WORLD, "ranks/%d.trace: cannot be written: %s",
                     observe->setup.rank, strerror(errno));
}

/* A full disk loses lines, but does not end the run; it is reported at the end. */
static void note_failure(Observe *observe, bool written) {
  if (!written && observe->failure == 0) observe->failure = errno != 0 ? errno : ENOSPC;
}

static void write_trace(Observe *observe) {
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX && observe->failure == 0; lane++) {
    const TraceEntry *entry = observe->log.lane[lane].entry;
    size_t count = (size_t)observe->log.lane[lane].count;
    if (entry == NULL) continue;
    note_failure(observe, write_all(observe->trace, entry, count * sizeof *entry));
  }
}

static void write_line(Observe *observe, int64_t step, const Breakdown *of) {
  Text *text = &observe->lines;
  text_add(text, "{\"step\":%lld", (long long)step);
  text_add(text, ",\"step_ms\":%.6f", (double)of->step_ns / 1e6);
  breakdown_print(of, observe->setup.plan, text);
  text_add(text, ",\"data_wait_ms\":%.6f", (double)of->data_ns / 1e6);
  text_add(text, "}\n");
  errno = 0;
  note_failure(observe, text_flush(text));
}

static bool open_lines(Observe *observe, Status *status) {
  Text *text = &observe->lines;
  text_start(text, -1);
  if (observe->setup.every == 0) return true;
  int descriptor = open_file(observe, "jsonl", status);
  if (descriptor < 0) return false;
  text_start(text, descriptor);
  text_add(text, "{\"header\":1,\"rank\":%d,\"node\":", observe->setup.rank);
  text_add_json_string(text, observe->times.node);
  text_add(text, ",\"plan\":\"%016llx\"}\n", (unsigned long long)observe->setup.plan->id);
  return text_flush(text) ||
         status_fail(status, STATUS_WORLD, "ranks/%d.jsonl: cannot be written: %s",
                     observe->setup.rank, strerror(text->failure));
}

/* ---- life */

bool observe_open(Observe *observe, const ObserveSetup *setup, Status *status) {
  const Plan *plan = setup->plan;
  *observe = (Observe){.setup = *setup, .trace = -1};
  name_node(observe->times.node);
  observe->times.predicted = breakdown_predicted(plan, setup->train);
  size_t records = plan->records_count + 1;
  observe->records.fastest_ns = calloc(records, sizeof(int64_t));
  observe->records.sum_ns = calloc(records, sizeof(int64_t));
  bool has_memory = observe->records.fastest_ns != NULL && observe->records.sum_ns != NULL &&
                    stragglers_open(&observe->found, plan, setup->mesh);
  if (!has_memory)
    return status_fail(status, STATUS_WORLD, "not enough memory to compare %d rank%s",
                       setup->mesh->rank_count, plural(setup->mesh->rank_count));
  return steplog_open(&observe->log, plan, setup->train, status) && open_lines(observe, status) &&
         open_trace(observe, status);
}

void observe_close(Observe *observe) {
  if (observe->lines.descriptor >= 0) (void)close(observe->lines.descriptor);
  if (observe->trace >= 0) (void)close(observe->trace);
  if (observe->failure != 0)
    text_warn("warning: ranks/%d: not all of its steps could be written: %s", observe->setup.rank,
              strerror(observe->failure));
  steplog_close(&observe->log);
  stragglers_close(&observe->found);
  free(observe->records.fastest_ns);
  free(observe->records.sum_ns);
}

/* ---- steps */

static void begin_sums(Observe *observe) {
  observe->times.steps = 0;
  observe->times.sum = (Breakdown){0};
  memset(observe->records.sum_ns, 0, observe->setup.plan->records_count * sizeof(int64_t));
}

void observe_step(Observe *observe, int64_t step, const StepSpan *span) {
  const ObserveSetup *setup = &observe->setup;
  Breakdown of;
  if (observe->steps++ == 1) begin_sums(observe); /* the first step warms up */
  breakdown_step(&of, setup->plan, &observe->log, span, &observe->records);
  breakdown_add(&observe->times.sum, &of);
  observe->newest = of;
  observe->times.steps++;
  if (setup->every > 0) write_line(observe, step, &of);
  if (observe->trace >= 0 && step >= setup->trace_first && step <= setup->trace_last)
    write_trace(observe);
}

bool observe_compares(const Observe *observe, int64_t step) {
  return observe->setup.every > 0 && step % observe->setup.every == 0;
}

bool observe_compare(Observe *observe, Comm *comm) {
  Stragglers *found = &observe->found;
  size_t bytes = observe->setup.plan->records_count * sizeof(int64_t);
  if (!comm->ops->gather_bytes(comm, &observe->times, found->times, sizeof observe->times))
    return false;
  bool named = found->record_ns != NULL && bytes > 0;
  if (named && !comm->ops->gather_bytes(comm, observe->records.sum_ns, found->record_ns, bytes))
    return false;
  stragglers_judge(found);
  return true;
}
