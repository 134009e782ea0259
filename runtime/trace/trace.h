/* trace.h -- the files in which ranks keep when their records ran, and their conversion to trace
 * events.
 *
 * ranks/RANK.trace in the run folder: a header, then entries, lane after lane and step after step.
 * Each rank writes only its own. */
#ifndef LOCKSTEP_TRACE_H
#define LOCKSTEP_TRACE_H

#include <stdio.h>

#include "runtime/plan/plan.h"

enum { TRACE_VERSION = 2, TRACE_NODE_BYTES = 64, TRACE_WHY_BYTES = 512 };

#define TRACE_MAGIC "lkstrace"

typedef struct TraceHeader {
  char magic[8];
  uint32_t version;
  uint32_t rank;
  uint64_t plan_id;
  int64_t wall_ns; /* the wall clock when the monotonic clock was 0; it differs between nodes */
  char node[TRACE_NODE_BYTES];
} TraceHeader;

typedef struct TraceEntry {
  int64_t start_ns, end_ns; /* of the monotonic clock of its node */
  int64_t step;
  int64_t predicted_ns; /* of its kernels; 0: no prediction, or a communication */
  uint32_t record;      /* in the plan's table */
  uint32_t lane;
  int32_t layer, microbatch; /* -1: none */
  /* how many records ran in this time, in one launch; this is the first */
  uint32_t records;
  uint32_t is_call; /* 1: from this record on, the work of the lane in its call without waiting */
} TraceEntry;

/* "5..8", "5": steps from 1 on. False: not such a text. */
bool trace_steps(const char *text, int64_t *first, int64_t *last);

/* Entries of one rank, in memory. */
typedef struct Trace {
  TraceHeader header;
  TraceEntry *entry;
  int64_t count;
} Trace;

/* Reads a rank's file, only steps first to last. False: `why` says what is wrong. An entry that was
 * not written completely is skipped. */
bool trace_read(Trace *trace, const char *path, const Plan *plan, int64_t first, int64_t last,
                char why[TRACE_WHY_BYTES]);
void trace_free(Trace *trace);

/* The predicted time of a communication of a rank, in ns; 0: none. */
typedef int64_t TracePredict(const Plan *plan, uint32_t rank, const PlanRecord *record);

/* Chrome's trace events as JSON, which Perfetto opens: a process for each rank, a thread for each
 * lane, an event for each record, an arrow from each send to its receive when both are there. Times
 * are relative to the earliest. Returns how many records were written. */
int64_t trace_print(const Plan *plan, const Trace *traces, int32_t count, TracePredict *predict,
                    FILE *out);

#endif
