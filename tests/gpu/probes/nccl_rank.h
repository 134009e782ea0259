/* nccl_rank.h -- one rank of the NCCL probe: joins, runs every collective, checks every element. */
#ifndef GPU_NCCL_RANK_H
#define GPU_NCCL_RANK_H

#include <stdbool.h>

/* The arguments of a rank process. */
typedef struct {
  int rank, ranks;
  const char *id_hex;       /* the ncclUniqueId, two digits a byte */
  const char *results_path; /* this rank's own */
  bool expect_refusal;      /* joining must fail: the ranks share a host id and a GPU */
} NcclRank;

/* The exit status of the rank's process. */
int nccl_rank_run(const NcclRank *rank);

#endif
