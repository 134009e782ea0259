/* plan_layout.h -- the one place that interprets the plan's layouts. */
#ifndef LOCKSTEP_PLAN_LAYOUT_H
#define LOCKSTEP_PLAN_LAYOUT_H

#include "runtime/plan/plan.h"

enum { PLAN_LAYOUT_BYTES = 96 };

/* The state of a layout along one axis of the mesh. */
typedef enum Along {
  ALONG_WHOLE, /* every rank has the whole */
  ALONG_CUT,   /* ranks have parts of one dim */
  ALONG_FLAT,  /* ranks have pieces of the row of all elements */
  ALONG_OWED   /* ranks have partial sums */
} Along;

/* dim: of ALONG_CUT, its position among the layout's dims. */
Along plan_layout_along(const Plan *plan, uint32_t layout, uint32_t axis, uint32_t *dim);

/* Mask of the axes along which two layouts differ. */
uint32_t plan_layout_changes(const Plan *plan, uint32_t before, uint32_t after);

/* Mask of the axes along which ranks do not have the same elements. */
uint32_t plan_layout_axes(const Plan *plan, uint32_t layout);

/* As text: "Shard(seq)@tp", "Partial(sum)@dp,cp", "Replicated@tp": the layout along the axes of the
 * mask; the axes named are those that share the most common kind. Returns `text`. */
const char *plan_layout_text(const Plan *plan, uint32_t layout, uint32_t axes,
                             char text[PLAN_LAYOUT_BYTES]);

/* "[vocab 256, width 128]". */
const char *plan_dims_text(const Plan *plan, uint32_t layout, char text[PLAN_LAYOUT_BYTES]);

#endif
