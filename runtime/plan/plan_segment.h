/* plan_segment.h -- what a segment does, by its name: the words of segments.def. Purposes of
 * records do not tell it: weight gradients that are split from a backward have those of the
 * embedding's backward. */
#ifndef LOCKSTEP_PLAN_SEGMENT_H
#define LOCKSTEP_PLAN_SEGMENT_H

#include "runtime/plan/plan.h"

typedef enum SegmentKind {
  SEGMENT_UNKNOWN, /* of a plan that was made by hand */
#define SEGMENT(kind, purposes) SEGMENT_##kind,
#include "runtime/plan/segments.def"
  SegmentKind_COUNT
} SegmentKind;

/* The words of names, WORD_FORWARD: "forward". */
typedef enum SegmentWord {
#define SEGMENT_WORD(kind, ID, word) WORD_##ID,
#include "runtime/plan/segments.def"
  SegmentWord_COUNT
} SegmentWord;
extern const char *const segment_words[SegmentWord_COUNT];

/* Masks of the purposes that records may have. */
extern const uint32_t segment_purposes[SegmentKind_COUNT];

SegmentKind plan_segment_kind(const Plan *plan, const PlanSegment *segment);

#endif
