/* cores.h -- the time of a program whose lanes run on the cores of one rank.
 *
 * In:   as simulate.h; what the cores of a rank are.
 * Out:  the same times, in which lanes that work at once slow each other.
 *
 * On processors kernels, copies between tiers, updates of the host and files have the same cores
 * and the same memory. A kernel of the main lane or of a host lane has as many threads as the rank
 * has cores, a copy one, and all threads that work have equal parts of the cores: beside two
 * threads of a kernel a copy on two cores has two thirds of one. Threads of files mostly wait for
 * the disk: for each byte they pass once over memory, and once more for its sum. Memory serves all
 * in proportion to what they ask for. Communications take as long as without. */
#ifndef LOCKSTEP_COST_CORES_H
#define LOCKSTEP_COST_CORES_H

#include "compiler/plan/simulate/simulate.h"

typedef struct RankCores {
  double count;        /* of a rank; 0: each lane has its own */
  double bytes_per_s;  /* of its memory, read and written; 0: as many as are asked for */
  double copied_per_s; /* bytes that one thread copies; 0: files need no core */
  double passes;       /* over the bytes of files */
} RankCores;

/* False: the lanes of the plan have processors of their own, or there is one lane. */
bool cores_are_shared(const Plan *plan);
RankCores cores_of(const Plan *plan);

LaneTimes *cores_simulate(Arena *arena, const Plan *plan, ProgramKind kind, const RankCores *cores,
                          const StretchSink *sink);

#endif
