/* timeline_boxes.h -- what the pictures are drawn from: a plan's train step as boxes in time. */
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

/* Consecutive calls of one kind and micro-batch, without a pause. */
typedef struct Box {
  int64_t start, end; /* in units */
  BoxKind kind;
  int32_t microbatch;              /* -1: none */
  int32_t layer_first, layer_last; /* -1: none */
} Box;

typedef struct TimelineRow {
  const char *name;
  VEC(Box) boxes; /* in time order; they do not overlap */
  int64_t busy;
} TimelineRow;

typedef struct Timeline {
  TimelineRow *rows;
  int32_t row_count;
  int64_t span; /* end of the last box; at least 1 */
  TimelineUnit unit;
  bool is_stuck; /* classes wait for each other for ever: the plan does not pass `prove` */
} Timeline;

/* NULL: the plan has no train step. */
Timeline *timeline_make(Arena *arena, const Plan *plan);

const char *box_kind_name(BoxKind kind);
bool timeline_has(const Timeline *timeline, BoxKind kind);
double timeline_bubble_share(const Timeline *timeline); /* idle and waiting, of all rows' time */

/* "train step: 12.3 ms on 4 classes, bubble 27.3 %" */
const char *timeline_title(Arena *arena, const Timeline *timeline);

/* A length as people say it: "12.3 ms", "4.2 GFLOP", "33 kernels". */
const char *timeline_length(Arena *arena, const Timeline *timeline, double length);

#endif
