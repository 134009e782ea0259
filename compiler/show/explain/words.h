/* words.h -- what the screens share. Private to explain/. */
#ifndef LOCKSTEP_EXPLAIN_WORDS_H
#define LOCKSTEP_EXPLAIN_WORDS_H

#include "compiler/draft/cost/floor.h"
#include "compiler/show/explain/explain.h"

/* A row of the memory table that is no kind of buffer: codes of fp8 and their scales, which frames
 * of activations hold. */
enum { ROW_CODES = BufferKind_COUNT, ROW_KINDS };

/* One tier of a class's memory at the call of its train step where most bytes are alive there. */
typedef struct TierPeak {
  const PlanClass *class;
  const PlanProgram *program;
  uint32_t index, call; /* of the program; the call */
  int64_t live_bytes;   /* then, persistent ones included */
  const PlanPeak *recorded;
  int64_t arena_bytes;
  int64_t by_kind[ROW_KINDS];
  int64_t passing[ROW_KINDS]; /* of by_kind: what does not last from step to step */
} TierPeak;

TierPeak find_peak_in(const Compiled *compiled, uint32_t class, Tier tier);
static inline TierPeak find_peak(const Compiled *compiled, uint32_t class) {
  return find_peak_in(compiled, class, TIER_DEVICE);
}
bool buffer_alive(const PlanBuffer *buffer, uint32_t program, uint32_t call);

/* Rows of the memory table, in order. */
typedef struct MemoryRow {
  const char *head, *name;
  int32_t kind; /* BufferKind, or ROW_CODES */
} MemoryRow;
enum { MEMORY_ROWS = 20, MEMORY_ROWS_OF_JOBS = 19 }; /* the last is of sampled models alone */
extern const MemoryRow memory_rows[MEMORY_ROWS];

enum { SCREEN_COLUMNS = 80 };

/* "ranks    8    = tp 2 ...": a heading and its text. */
void put_line(FILE *out, const char *head, const char *text);

/* The bound of the floor: compute, memory, inside (links of a node) or network. */
const char *floor_word(const Compiled *compiled);

/* Prints the cost of the run: GPU-hours (of processors core-hours), node-hours, money where
 * cluster.price is set, and energy where the device's power is known. */
void print_cost(const Compiled *compiled, FILE *out);
void print_cost_json(const Compiled *compiled, FILE *out); /* the members "at_least", "expected" */

/* Prints where the expected time of a step goes, its largest part, and the shares of the peak that
 * the FLOPs of the model and of kernels are; as JSON the members "parts", "compute", "mfu", "hfu".
 * Nothing, or null, where no time is predicted. */
void print_parts(const Compiled *compiled, FILE *out);
void print_parts_json(const Compiled *compiled, FILE *out);

/* Prints the size of a checkpoint, the time that it takes, and where cluster.mtbf is set how much
 * the run loses; as JSON the member "checkpoint". null where none is written. */
void print_saves(const Compiled *compiled, const Saves *saves, FILE *out);
void print_saves_json(const Compiled *compiled, FILE *out);

char *count_text(const Compiled *compiled, int64_t n);
char *bytes_text(const Compiled *compiled, int64_t n);
const char *duration_text(const Compiled *compiled, double seconds);
const char *recompute_text(const Compiled *compiled);
const char *pipeline_text(const Compiled *compiled); /* "1f1b", "interleaved x4", "-" */

/* The traffic of one rank of a class in a train step over exactly these axes; 0: over any. */
typedef struct ClassTraffic {
  double sent_bytes;   /* by ring algorithms */
  uint64_t flat_calls; /* of NCCL: collectives of one run of memory, sends and receives */
} ClassTraffic;

ClassTraffic class_traffic(const Compiled *compiled, uint32_t class, uint32_t axes_mask);

/* Time of copies and of updates on the host in a step, of the class whose step is the longest. */
typedef struct OffloadTimes {
  int64_t span_ns, exposed_ns; /* exposed: the step is so much shorter if they take no time */
  int64_t busy_ns[PLAN_LANES_MAX];
  double copied_bytes[PLAN_LANES_MAX];
  uint32_t bound;       /* the lane that works longest */
  double hidden_tokens; /* of a step, from which nothing is exposed; 0: of none that was tried */
} OffloadTimes;

OffloadTimes offload_times(const Compiled *compiled);
/* The time that a step would save if its copies and host updates took none. It works for a plan
 * file, too. */
int64_t offload_exposed_ns(const Compiled *compiled);
void explain_offload(const Compiled *compiled, FILE *out);      /* nothing without offload */
void explain_offload_json(const Compiled *compiled, FILE *out); /* the member "offload" */

int64_t rank_count(const Compiled *compiled);

#endif
