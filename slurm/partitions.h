/* partitions.h -- the partitions of a cluster: how many nodes, for how long, with which features.
 * When a script is made they come from the site's profile, without Slurm; submit asks sinfo.
 */
#ifndef LOCKSTEP_SLURM_PARTITIONS_H
#define LOCKSTEP_SLURM_PARTITIONS_H

#include "slurm/launch.h"

/* Nodes of a partition that are alike; a partition may have several such groups. */
typedef struct NodeGroup {
  const char *partition;
  int64_t nodes;        /* 0: not said */
  double limit_s;       /* of a job's time; 0: none */
  const char *features; /* "a100,nvme"; NULL: not said */
  bool is_default;      /* the partition of a job that names none */
} NodeGroup;

typedef struct NodeGroups {
  VEC(NodeGroup) groups;
  TextList features;  /* features that a constraint may name; none: unknown */
  const char *source; /* the source, for messages */
} NodeGroups;

/* slurm.partitions and slurm.features. False when reported: not written as the reference says. */
bool partitions_of_site(Compile *c, const Job *job, NodeGroups *out);

/* The lines of sinfo --all --noheader PARTITIONS_FORMAT. */
#define PARTITIONS_FORMAT "--format=%P|%D|%l|%f"
void partitions_of_sinfo(Arena *arena, const char *lines, NodeGroups *out);

/* The partition exists and has enough nodes with the requested features for the requested time.
 * False when reported, with the nearest name. */
bool partitions_check(Compile *c, const Launch *launch, const NodeGroups *site);

#endif
