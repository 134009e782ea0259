/* cgroup.h -- the memory and the processors that a container or a batch system allows this process.
 * Limits are those of its control groups (version 1 or 2) and of all groups above them. `root` is
 * put before /proc and /sys; it is "" except in tests. */
#ifndef LOCKSTEP_PROCESS_CGROUP_H
#define LOCKSTEP_PROCESS_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct CgroupMemory {
  uint64_t limit_bytes;     /* the smallest; UINT64_MAX: there is none */
  uint64_t available_bytes; /* the least that a limit leaves; UINT64_MAX: there is none */
} CgroupMemory;

CgroupMemory cgroup_memory(const char *root);

enum { CGROUP_SET_BYTES = 256, CGROUP_SHOWN = 40, CGROUP_CHANGE_BYTES = 240 };

typedef struct CgroupCpus {
  double quota;               /* processors that may be busy on average; INFINITY: no quota */
  char set[CGROUP_SET_BYTES]; /* the processors of the cpuset, as "0-3,8"; "": not known */
} CgroupCpus;

CgroupCpus cgroup_cpus(const char *root);

/* The threads that can run at once: of `allowed` processors as many as the quota lets be busy, at
 * least one. */
int32_t cgroup_processors(const char *root, int32_t allowed);

/* The same for the processors that the calling thread may run on. */
int32_t processors_here(void);

/* Describes what changed since `before`. False: nothing did. */
bool cgroup_cpus_changed(const CgroupCpus *before, const CgroupCpus *now,
                         char text[CGROUP_CHANGE_BYTES]);

#endif
