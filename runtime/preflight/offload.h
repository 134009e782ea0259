/* offload.h -- whether a node's disk can hold the files of its ranks' states: a line of the node's
 * description, and its part of the judgement. Private to runtime/preflight. */
#ifndef LOCKSTEP_PREFLIGHT_OFFLOAD_H
#define LOCKSTEP_PREFLIGHT_OFFLOAD_H

#include <stdbool.h>
#include <stdio.h>

#include "runtime/plan/plan.h"

enum { OFFLOAD_WORD_BYTES = 64, OFFLOAD_WHY_BYTES = 512 };

typedef struct OffloadDisk {
  int64_t free_bytes;             /* -1: unknown */
  int64_t read_mbs, write_mbs;    /* measured for a moment; 0: not measured */
  bool is_direct;                 /* past the page cache */
  char apart[OFFLOAD_WORD_BYTES]; /* "NFS", "memory (tmpfs)": not a disk of the node; or "" */
  char why[OFFLOAD_WHY_BYTES];    /* no file can be made there, or "" */
} OffloadDisk;

/* Bytes of the files of a node's ranks, on the node where they are most; 0: the plan has none. */
uint64_t offload_node_bytes(const Plan *plan);

/* Makes a file there, writes and reads it for a moment; leaves nothing. */
void offload_look(const Plan *plan, OffloadDisk *disk);
/* "offload free=... direct=1 read=900 write=700 apart=NFS why=..." */
void offload_print(const OffloadDisk *disk, FILE *out);
bool offload_read_line(const char *line, OffloadDisk *disk);

#endif
