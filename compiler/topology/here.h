/* here.h -- what this machine is, for cluster = "here". Only this room sees hwloc. */
#ifndef LOCKSTEP_HERE_H
#define LOCKSTEP_HERE_H

#include "compiler/spec/job.h"

/* Physical cores this process may use, and memory it may have: the least of the machine's and its
 * cgroup's. */
Machine topology_here(void);

#endif
