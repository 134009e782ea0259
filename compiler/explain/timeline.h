/* timeline.h -- a plan's train step as a picture: one row per class, what it does when.
 *
 * Records take what the plan predicts, in list order; a collective begins when every class has come
 * to it, an exchange when its transfers have met. Without predictions (a device that nobody has
 * measured) records take their FLOPs, and without these, one each. */
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
