/* here.h -- this machine, for cluster = "here". Only this room sees hwloc. */
#ifndef LOCKSTEP_HERE_H
#define LOCKSTEP_HERE_H

#include "compiler/job/job.h"

/* Physical cores and memory that this process may use: the smaller of the machine's and its
 * cgroup's. */
Machine topology_here(void);

#endif
