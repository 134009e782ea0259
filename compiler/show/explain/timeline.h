/* timeline.h -- a plan's train step as a picture: one row for each class with what it does when,
 * and under it one for each lane beside computation that the plan uses.
 *
 * Times are those of plan/simulate/simulate.h, so that a picture is as long as the predicted step.
 * Without predictions (for a device that has not been measured) records take as long as their
 * FLOPs, and without FLOPs each kernel takes one unit. */
#ifndef LOCKSTEP_TIMELINE_H
#define LOCKSTEP_TIMELINE_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/plan/plan.h"

/* Writes an SVG with its own background. False: the plan has no train step, and nothing is written.
 */
bool timeline_svg(const Plan *plan, FILE *out);

/* The same for a terminal: at most 100 columns of ASCII. */
void timeline_text(const Plan *plan, FILE *out);

#endif
