/* golden.h -- compiles the text of a job, and asks the plan what it sends and what it holds. */
#ifndef LOCKSTEP_TESTS_GOLDEN_H
#define LOCKSTEP_TESTS_GOLDEN_H

#include "compiler/compile.h"

typedef struct Golden {
  Compile *compile;
  Compiled compiled;
  const Plan *plan; /* of `compiled` */
  bool is_compiled;
} Golden;

/* `format` and what follows are the inside of job { ... }; its data are synthetic and its optimizer
 * is AdamW. Errors are printed. Close it in either case. */
void golden_open(Golden *g, const char *format, ...) __attribute__((format(printf, 2, 3)));
void golden_close(Golden *g);

/* How often a diagnostic of this name was made; its text goes to `text` when that is not NULL. */
int32_t golden_diagnostic(const Golden *g, const char *name, const char **text);

const PlanProgram *golden_train(const Plan *plan, uint32_t class);

/* Communications of the train step. Patterns are those of fnmatch; NULL matches all. */
typedef struct Which {
  const char *segment, *comm, *value;
  RecordKind kind; /* RECORD_KERNEL: any */
} Which;

typedef struct Found {
  int64_t records;       /* in the plan */
  int64_t runs;          /* in one step of one rank */
  int64_t message_bytes; /* of the whole value; -1 when they differ; of an exchange, what is sent */
  int64_t bytes;         /* of all runs */
  int64_t predicted_ns;  /* of all runs */
} Found;

/* True if a record of the segment is one of them. */
bool golden_is(const Plan *plan, const PlanSegment *segment, uint32_t record, const Which *which);

Found golden_find(const Plan *plan, uint32_t class, Which which);

/* Predicted time of all kernels of one step of one rank, one after another. */
int64_t golden_compute_ns(const Plan *plan, uint32_t class);

/* FLOPs of one step of one rank in the segments whose name matches. */
int64_t golden_flops(const Plan *plan, uint32_t class, const char *segment);

/* Bytes of the class's persistent buffers of a kind. */
int64_t golden_state_bytes(const Plan *plan, uint32_t class, BufferKind kind);

/* Most bytes at once of the train step's buffers whose name matches. */
int64_t golden_most_alive(const Plan *plan, uint32_t class, const char *name);
/* Size of the buffers whose name matches; -1 when they differ, 0 when there are none. */
int64_t golden_buffer_bytes(const Plan *plan, uint32_t class, const char *name);

#endif
