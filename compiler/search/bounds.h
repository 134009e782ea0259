/* bounds.h -- what settings need and take at least, a few hundred nanoseconds each.
 *
 * Parts of a job (one layer's code at given tp, cp, micro-batch, recomputation) are traced, cut and
 * priced once. From them follow, for every arrangement of parts (pp, chunks, order, dp, zero),
 * bytes and times that no plan of the arrangement is below. */
#ifndef LOCKSTEP_BOUNDS_H
#define LOCKSTEP_BOUNDS_H

#include "compiler/search/space.h"

typedef struct Candidate {
  Setting setting;
  int64_t dp, microbatches;
  int64_t least_bytes;  /* of device memory, on the stage that needs most */
  int64_t budget_bytes; /* that its communicators leave, or that the job says */
  int64_t least_ns;     /* of a step; 0: unknown */
  int64_t forecast_ns;  /* forecast.h; 0: there is none */
  int32_t key;          /* of its parts */
  bool is_too_large;    /* its live bytes exceed the budget */
} Candidate;

/* Bytes that a setting that is too large lacks. */
static inline int64_t candidate_lacks(const Candidate *at) {
  return at->least_bytes - at->budget_bytes;
}

typedef struct Candidates {
  Candidate *at;
  int32_t count, capacity;
  int64_t seen; /* settings looked at */
  int64_t cut[CUT_RULES];
  Candidate smallest; /* of those that CUT_MEMORY has left out, the one that lacks least */
} Candidates;

/* The job before anything is derived from it, and the machine for cluster = "here". */
typedef struct Subject {
  const Job *job;
  const Machine *machine;
  const char *specs_dir;
} Subject;

/* Above this part of what a device has, other programs or a driver that needs more make a run fail:
 * only a job that says its budget is given more. */
#define TIGHT_SHARE 0.95

/* A separate compile for one thread: a copy of the subject's job, with cluster, fabric and model
 * derived. */
typedef struct Bench {
  Compile *compile;
  Job job;
  Compiled known;
  Job met; /* job and known as they were when it was opened */
  Compiled met_known;
  int32_t uses; /* 0: it is not open */
} Bench;

/* The cluster, fabric and model of a job, and a batch of whole sequences. False when reported. */
bool bench_meet(Compile *c, Job *job, const Machine *machine, Compiled *known);

/* False: the job cannot be compiled at all; what is wrong is in `compile`. bench_close follows in
 * both cases. */
bool bench_open(Bench *bench, const Subject *subject);
void bench_close(Bench *bench);

/* The same for many uses, one after the other: the bench is as it was opened, or opened again after
 * some uses, whose memory it keeps, or where one has reported errors. It begins as zeroes;
 * bench_close follows if it has uses. */
bool bench_again(Bench *bench, const Subject *subject);

/* The parts of a key, as ranks of the smallest pipeline have them: with zero 0, which shares
 * nothing. NULL: the model cannot be cut so; why. */
const Draft *parts_of(Bench *bench, const PartsKey *key, CutRule *why);

/* Bounds of all arrangements of the parts of one of the keys, appended to `out`. */
void bounds_of(Arena *arena, Bench *bench, const Subject *subject, const PartsKeys *keys,
               int32_t number, Candidates *out);

#endif
