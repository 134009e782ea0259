/* cgroup.h -- the memory that a container or a batch system lets this process have. */
#ifndef LOCKSTEP_PROCESS_CGROUP_H
#define LOCKSTEP_PROCESS_CGROUP_H

#include <stdint.h>

typedef struct CgroupMemory {
  uint64_t limit_bytes;     /* the smallest; UINT64_MAX: there is none */
  uint64_t available_bytes; /* the least that a limit leaves; UINT64_MAX: there is none */
} CgroupMemory;

/* Of the control group that this process is in (version 1 or 2) and of those above it. `root` is
 * "" but in tests: it stands before /proc and /sys. */
CgroupMemory cgroup_memory(const char *root);

#endif
