/* timeline.h -- a plan's train step as a picture: one row per class, what it does when; under it
 * one for each lane beside computation that the plan uses.
 *
 * What runs when is what cost/simulate.h says, so that a picture is as long as the predicted step.
 * Without predictions (a device that nobody has measured) records take their FLOPs, and without
 * these kernels take one each. */
#ifndef LOCKSTEP_TIMELINE_H
#define LOCKSTEP_TIMELINE_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/plan/plan.h"

/* An SVG with a background of its own. False: the plan has no train step, nothing is written. */
bool timeline_svg(const Plan *plan, FILE *out);

/* The same for a terminal: at most 100 columns of ASCII. */
void timeline_text(const Plan *plan, FILE *out);

#endif
