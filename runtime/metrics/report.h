/* report.h -- rank 0's output: lines to read, and files for programs (metrics.jsonl, summary.json,
 * loss.svg).
 *
 * The lines are the output of a run, so they go to stdout: `lockstep run J | tee log` gets them.
 * With `json` stdout is for the one document at the end, and the lines go to stderr. Warnings and
 * errors always go to stderr. A closed pipe or a full disk loses lines, but does not end the run.
 *
 * Between report_open and report_close nothing allocates. */
#ifndef LOCKSTEP_METRICS_REPORT_H
#define LOCKSTEP_METRICS_REPORT_H

#include "runtime/device/cuda/plugin.h"
#include "runtime/device/gpu_watch.h"
#include "runtime/metrics/lanes.h"
#include "runtime/metrics/peak.h"
#include "runtime/metrics/plot.h"
#include "runtime/observe/stragglers.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/process/status.h"

typedef struct ReportSetup {
  const Plan *plan;
  const char *kernels;     /* "fast" or "reference" */
  const char *cores;       /* cores that rank 0's threads are bound to, "0-3"; "": none */
  int32_t cores_wanted;    /* threads of the ranks on rank 0's machine */
  int32_t cores_allowed;   /* to its process */
  const char *on;          /* the device of the plan: "cpu", "gpu" */
  const GpuFacts *gpu;     /* rank 0's; NULL: it has none */
  const char *gpu_uuid;    /* the same */
  size_t rank_stride;      /* bytes from cores and gpu_uuid to those of the next rank */
  int nccl_version;        /* as NCCL counts; 0: ranks do without */
  bool is_deterministic;   /* the job asks for runs with the same bits */
  const char *isa;         /* of fast kernels: "avx512", "avx2"; else "none" */
  const char *products[2]; /* variants of matrix products (kernels/product.h): of fp32, of bf16 */
  const char *refused[2];  /* a better variant that is not used, and why; or NULL */
  bool quiet;
  bool plot;
  bool json;
  int32_t ranks;
  int32_t replicas;
  int32_t nodes;     /* machines that the ranks are on */
  double node_price; /* of one, dollars an hour; NAN: unknown */
  /* The library or kernel that runs attention on a GPU, op by op. */
  const AttentionTold *attention;
  int32_t attention_count;
  int64_t first_step;
  int64_t last_step;
  uint64_t arena_bytes;    /* of all ranks */
  double peak_flops_per_s; /* of all ranks */
  int32_t peak_size;    /* of the products that measured it; 0: it is the device's, by its table */
  bool asks_times;      /* of records: each step has its parts, or null where they are unknown */
  double unigram;       /* 0: unknown */
  int64_t train_tokens; /* in the files; 0: not tokens */
  uint64_t weights_sum; /* as in manifest.h */
  const char *resumed_from; /* NULL: started */
} ReportSetup;

typedef struct StepFacts {
  int64_t step;
  LossSums losses; /* if no target of the step counts, nothing was updated */
  double grad_norm;
  double loss_scale; /* of this step; 0: losses are not scaled */
  double next_scale;
  bool skipped; /* gradients overflowed: nothing was updated */
  double lr;
  int64_t step_ns;
  int64_t data_wait_ns;
  int64_t save_wait_ns;  /* since the step before it, not in step_ns */
  int64_t comm_bytes;    /* sent by rank 0 */
  const Breakdown *went; /* where rank 0's time went; NULL: not recorded */
  const GpuSample *gpu;  /* the state of its GPU; NULL: not sampled now */
} StepFacts;

typedef struct EndFacts {
  bool stopped; /* by a request, before the last step */
  uint64_t planned_bytes;
  uint64_t addressed_bytes;
  uint64_t touched_bytes;      /* 0: not measured */
  int64_t gpu_outside_bytes;   /* used of rank 0's GPU beside its arena; -1: not known */
  const Stragglers *ranks;     /* how they compare; NULL: not recorded */
  const OffloadFacts *offload; /* lanes of rank 0 */
  const char *checkpoint;      /* NULL: none was written */
  int64_t saves;               /* checkpoints that this start wrote */
  int64_t saves_postponed, saves_failed;
  int64_t save_stall_ns; /* in which ranks waited for them */
  int64_t save_end_ns;   /* the part of it after the last step */
  int64_t save_write_ns; /* from the beginning of each to its name */
} EndFacts;

/* A checkpoint that has its name. */
typedef struct SaveFacts {
  int64_t step;
  const char *path;
  int64_t stall_ns, write_ns;
  int64_t put_off; /* the step after which it was due, while another was being written; 0: it came
                      when due */
} SaveFacts;

typedef struct Report {
  ReportSetup setup;
  Text line;
  bool line_is_lost; /* a line could not be written, and a warning was printed */
  Text metrics;
  int64_t metrics_bytes; /* complete lines in the file; a partly written line is cut off */
  int64_t metrics_lost;  /* lines that could not be written */
  int metrics_failure;   /* errno of the last of them */
  Curve train;
  Curve valid;
  int64_t start_ns;
  double held_s;     /* since then, at the end */
  int64_t window_ns; /* step time since the last line */
  int64_t window_steps;
  int64_t steps;
  int64_t empty_steps; /* steps in which no token was a target */
  int64_t skipped_steps;
  int64_t counted_steps, counted_skips; /* of the last thousand */
  int64_t steps_ns;
  int64_t wait_ns;
  int64_t comm_bytes;
  PlanLosses losses;
  int64_t lacking[LOSSES_MAX]; /* steps in which this loss had no target, but another loss had */
  LossSums last_losses, last_valid_losses;
  double last_loss;
  double last_valid;
  double best_valid;
} Report;

/* Makes the run directory, opens metrics.jsonl to append to what history.h keeps, and prints the
 * banner. */
bool report_open(Report *report, const ReportSetup *setup, Status *status);
void report_step(Report *report, const StepFacts *facts);
void report_valid(Report *report, int64_t step, const LossSums *losses);
void report_save(Report *report, const SaveFacts *facts);
/* A warning: the run continues. */
void report_save_failed(Report *report, int64_t step, const char *why);
void report_note(Report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Summary, plot, SVG; the summary on stdout, last of all, with `json`. */
bool report_close(Report *report, const EndFacts *facts, Status *status);

/* The document on stdout for a run that has no summary. */
void report_failure(const Status *status);

#endif
