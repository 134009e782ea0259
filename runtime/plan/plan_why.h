/* plan_why.h -- how the files of this folder refuse a plan: with one line that says why. */
#ifndef LOCKSTEP_PLAN_WHY_H
#define LOCKSTEP_PLAN_WHY_H

#include "runtime/plan/plan_io.h"

enum { AXES_MAX = 32 }; /* a mask of axes has 32 bits */

/* Writes the line, cut to PLAN_WHY_BYTES, and returns false. */
bool plan_refuse(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The parts of plan_check. Each relies on the ones before it. */
bool plan_check_settings(const Plan *plan, char *why);
bool plan_check_job(const Plan *plan, char *why);
bool plan_check_mesh(const Plan *plan, char *why);
bool plan_check_control(const Plan *plan, char *why);
bool plan_check_places(const Plan *plan, char *why);
bool plan_check_model(const Plan *plan, char *why);
bool plan_check_segments(const Plan *plan, char *why);
bool plan_check_classes(const Plan *plan, char *why);
/* Checks the records of one call, whose bindings are good. */
bool plan_check_fusions(const Plan *plan, const PlanCall *call, char *why);
/* The same: they touch memory that their lanes reach (plan_check_tiers.c). */
bool plan_check_reach(const Plan *plan, const PlanCall *call, char *why);
/* Each class has the mirror of control that kernels on host lanes read. */
bool plan_check_mirrors(const Plan *plan, char *why);

#endif
