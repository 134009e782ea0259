/* programs.h -- what the programs of all classes add up to: the same job for every rank, though a
 * pipeline's stages load and compute different things. */
#ifndef LOCKSTEP_PROGRAMS_H
#define LOCKSTEP_PROGRAMS_H

#include "runtime/mesh.h"
#include "runtime/plan/plan.h"
#include "runtime/status.h"

/* How often one run of the program loads a micro-batch. */
int64_t programs_count_loads(const Plan *plan, const PlanProgram *program);

/* The same, of the classes that load: stages of a pipeline may need no samples. */
int64_t programs_loads(const Plan *plan, ProgramKind kind);

/* Whether every class has its programs, and those that load make up the job's batches. */
bool programs_check(const Plan *plan, const Mesh *mesh, Status *status);

/* Whether what ranks sum of losses reaches all of them: else rank 0 would report its own share for
 * the whole. */
bool programs_reduce(const Plan *plan, const PlanProgram *program);

#endif
