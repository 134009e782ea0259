/* cores.h -- the time of a program whose lanes share the cores of one rank.
 *
 * In:   as simulate.h, and the cores of a rank.
 * Out:  the same times, with lanes slowing each other while they run at the same time.
 *
 * On processors kernels, copies between tiers, optimizer updates on the host and file transfers
 * share cores and memory bandwidth. A kernel of the main lane or of a host lane has one thread per
 * core of the rank, a copy has one thread, and all running threads get equal shares of the cores:
 * on two cores a copy that runs beside a kernel's two threads gets 2/3 of a core. Threads of files
 * mostly wait for the disk; each byte passes through memory once, and once more for its checksum.
 * Memory bandwidth is divided in proportion to demand. Communications are not slowed. */
#ifndef LOCKSTEP_COST_CORES_H
#define LOCKSTEP_COST_CORES_H

#include "compiler/plan/simulate/simulate.h"

typedef struct RankCores {
  double count;        /* cores of a rank; 0: lanes share none */
  double bytes_per_s;  /* memory bandwidth, reads and writes together; 0: no limit */
  double copied_per_s; /* bytes that one thread copies; 0: files need no core */
  double passes;       /* times that the bytes of files pass through memory */
} RankCores;

/* False: the lanes of the plan have their own processors, or there is one lane. */
bool cores_are_shared(const Plan *plan);
RankCores cores_of(const Plan *plan);

/* Without a sink most iterations of long loops are left out. */
LaneTimes *cores_simulate(Arena *arena, const Plan *plan, ProgramKind kind, const RankCores *cores,
                          const StretchSink *sink);

/* Walks each loop of the plan as often as `loop_times` has; NULL: as often as it runs. */
LaneTimes *cores_walk(Arena *arena, const Plan *plan, ProgramKind kind, const RankCores *cores,
                      const StretchSink *sink, const uint32_t *loop_times);

#endif
