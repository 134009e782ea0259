/* cgroup.h -- the memory that a container or a batch system allows this process. */
#ifndef LOCKSTEP_PROCESS_CGROUP_H
#define LOCKSTEP_PROCESS_CGROUP_H

#include <stdint.h>

typedef struct CgroupMemory {
  uint64_t limit_bytes;     /* the smallest; UINT64_MAX: there is none */
  uint64_t available_bytes; /* the least that a limit leaves; UINT64_MAX: there is none */
} CgroupMemory;

/* The limits of this process's control group (version 1 or 2) and of those above it. `root` is put
 * before /proc and /sys; it is "" except in tests. */
CgroupMemory cgroup_memory(const char *root);

#endif
