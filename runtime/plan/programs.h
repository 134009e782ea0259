/* programs.h -- whether the programs of all classes together make up the job, though the stages of
 * a pipeline load and compute different things. */
#ifndef LOCKSTEP_PROGRAMS_H
#define LOCKSTEP_PROGRAMS_H

#include "runtime/plan/mesh.h"
#include "runtime/plan/plan.h"
#include "runtime/process/status.h"

/* How many micro-batches one run of the program loads, in those classes that load: stages of a
 * pipeline may need no samples. */
int64_t programs_loads(const Plan *plan, ProgramKind kind);

/* True if every class has its programs, and the loads make up the job's batches. */
bool programs_check(const Plan *plan, const Mesh *mesh, Status *status);

/* True if the sum of losses reaches all ranks: otherwise rank 0 would report its own share as the
 * whole. */
bool programs_reduce(const Plan *plan, const PlanProgram *program);

#endif
