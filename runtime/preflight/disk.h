/* disk.h -- whether the folder of checkpoints can take what a save does there. Private to
 * runtime/preflight. */
#ifndef LOCKSTEP_PREFLIGHT_DISK_H
#define LOCKSTEP_PREFLIGHT_DISK_H

#include <stdio.h>

#include "runtime/parts/parts.h"

enum { DISK_WHY_BYTES = 512 };

typedef struct Disk {
  int64_t free_bytes; /* -1: unknown */
  int64_t saved;      /* whole checkpoints that a new one replaces: no milestones */
  bool in_memory;     /* the file system is tmpfs: files take memory of the node */
  /* an operation that saves need and the folder does not support, or "" */
  char why[DISK_WHY_BYTES];
} Disk;

/* Makes the folder, renames a folder with a file in it, and reserves room for the largest part;
 * leaves nothing. */
void disk_look(const Plan *plan, Disk *disk);
/* The line of a node: "checkpoints in_memory=0 why=..." */
void disk_print(const Disk *disk, FILE *out);
bool disk_read_line(const char *line, Disk *disk);

/* The sizes of a checkpoint of this plan. False: no memory. */
bool disk_totals(const Plan *plan, PartTotals *totals);

/* Stripes of files that are made in the folder, by the tool of Lustre; 0: unknown. */
int32_t disk_stripes(const char *folder);

#endif
