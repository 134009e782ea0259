/* timeline_boxes.h -- a plan's train step as boxes in time, from which the pictures are drawn. */
#ifndef LOCKSTEP_TIMELINE_BOXES_H
#define LOCKSTEP_TIMELINE_BOXES_H

#include "compiler/base/base.h"
#include "runtime/plan/plan.h"

typedef enum BoxKind {
  BOX_FORWARD,
  BOX_BACKWARD,
  BOX_WEIGHT,
  BOX_RECOMPUTE,
  BOX_COMMUNICATION,
  BOX_UPDATE,
  BOX_LOAD,
  BOX_KIND_COUNT
} BoxKind;

typedef enum TimelineUnit { UNIT_NS, UNIT_FLOPS, UNIT_KERNELS } TimelineUnit;

/* Work that one lane runs without a pause: consecutive calls of one kind, micro-batch and chunk of
 * layers; for communications, of one segment. */
typedef struct Box {
  int64_t start, end; /* in units */
  BoxKind kind;
  int32_t microbatch;              /* -1: none */
  int32_t layer_first, layer_last; /* -1: none */
  int32_t chunk;                   /* index among the row's chunks, ordered by layers; -1: none */
  uint32_t segment;                /* of the first call */
} Box;

typedef struct TimelineLane {
  VEC(Box) boxes; /* in time order; they do not overlap */
  int64_t busy;
} TimelineLane;

typedef struct TimelineRow {
  const char *name;
  TimelineLane lanes[PLAN_LANES_MAX];
  int32_t chunk_count;
} TimelineRow;

typedef struct Timeline {
  const Plan *plan;
  TimelineRow *rows; /* by class */
  int32_t row_count;
  uint32_t main;                   /* the lane that computes */
  uint32_t beside[PLAN_LANES_MAX]; /* other lanes with a box in any row */
  int32_t beside_count;
  int64_t span; /* the step: until every lane of every row is done; at least 1 */
  TimelineUnit unit;
  bool is_stuck; /* classes deadlock: the plan does not pass `prove` */
} Timeline;

/* NULL: the plan has no train step. */
Timeline *timeline_make(Arena *arena, const Plan *plan);

/* The period that all rows repeat in the middle of the step: `repeats` times `period`, from `first`
 * on. */
typedef struct Steady {
  int64_t first, period;
  int64_t repeats; /* 0: nothing is repeated often enough */
} Steady;

/* Keeps the first repetition alone, and moves what comes after the last one to its end, if that
 * shortens the picture by a quarter. */
Steady timeline_fold(Arena *arena, Timeline *timeline);

const char *box_kind_name(BoxKind kind);
bool timeline_has(const Timeline *timeline, BoxKind kind);

/* The share of all rows' time in which the main lane does nothing or waits for others. */
double timeline_idle_share(const Timeline *timeline);

/* "train step: 12.3 ms on 4 stages, idle 27.3 %" */
const char *timeline_title(Arena *arena, const Timeline *timeline);

/* The unit for lengths up to `longest`. */
typedef struct TimelineScale {
  const char *name;
  double size; /* in units */
} TimelineScale;
TimelineScale timeline_scale(const Timeline *timeline, double length);

/* A length as text: "12.3 ms", "1.2 s", "4.2 GFLOP", "33 kernels". */
const char *timeline_length(Arena *arena, const Timeline *timeline, double length);

#endif
