/* nccl_api.h -- the calls of NCCL that ranks on GPUs make, by address: the library is loaded when a
 * job needs it, and tests put another in its place. Types and numbers are those of nccl.h (2.27 and
 * later); tests/unit/comm/nccl_library_test.c holds them to the header where there is one. */
#ifndef LOCKSTEP_NCCL_API_H
#define LOCKSTEP_NCCL_API_H

#include <limits.h>
#include <stddef.h>

#include "runtime/process/status.h"

typedef struct NcclHandle NcclHandle; /* ncclComm_t */

typedef struct NcclId {
  char internal[128];
} NcclId;

/* The beginning of ncclConfig_t as of 2.14: a library reads as much as `size` covers and uses
 * defaults for the rest. */
typedef struct NcclConfig {
  size_t size;
  unsigned magic, version;
  int blocking;
} NcclConfig;

enum { NCCL_CONFIG_MAGIC = (int)0xcafebeef, NCCL_CONFIG_VERSION = 21400 };
enum { NCCL_DONE = 0, NCCL_REMOTE_ERROR = 6, NCCL_UNDER_WAY = 7 };
enum { NCCL_SUM = 0, NCCL_MAX = 2 };
enum {
  NCCL_UINT8 = 1,
  NCCL_INT32 = 2,
  NCCL_FLOAT16 = 6,
  NCCL_FLOAT32 = 7,
  NCCL_FLOAT64 = 8,
  NCCL_BFLOAT16 = 9
};

/* Counts are in elements; `stream` is a cudaStream_t. As in nccl.h. */
typedef struct NcclApi {
  int (*get_version)(int *version);
  int (*get_unique_id)(NcclId *id);
  int (*init_rank)(NcclHandle **comm, int ranks, int rank, int id_count, NcclId *ids,
                   NcclConfig *config);
  int (*finalize)(NcclHandle *comm);
  int (*destroy)(NcclHandle *comm);
  int (*abort)(NcclHandle *comm);
  int (*async_error)(NcclHandle *comm, int *error);
  const char *(*error_string)(int error);
  int (*group_start)(void);
  int (*group_end)(void);
  int (*all_reduce)(const void *x, void *y, size_t count, int dtype, int reduce, NcclHandle *comm,
                    void *stream);
  int (*all_gather)(const void *x, void *y, size_t share, int dtype, NcclHandle *comm,
                    void *stream);
  int (*reduce_scatter)(const void *x, void *y, size_t share, int dtype, int reduce,
                        NcclHandle *comm, void *stream);
  int (*broadcast)(const void *x, void *y, size_t count, int dtype, int root, NcclHandle *comm,
                   void *stream);
  int (*reduce)(const void *x, void *y, size_t count, int dtype, int reduce, int root,
                NcclHandle *comm, void *stream);
  int (*send)(const void *x, size_t count, int dtype, int peer, NcclHandle *comm, void *stream);
  int (*receive)(void *y, size_t count, int dtype, int peer, NcclHandle *comm, void *stream);
  /* NULL where the library has none. `comm` must have no other call under way, and is the one to
   * ask whether the split is over: only then *part is written. `config` NULL: as that of `comm`. */
  int (*split)(NcclHandle *comm, int color, int key, NcclHandle **part, NcclConfig *config);
  /* Both or none: NULL. */
  int (*hold)(NcclHandle *comm, void *at, size_t size_bytes, void **held);
  int (*let_go)(NcclHandle *comm, void *held);
} NcclApi;

/* The library, loaded once a process: libnccl.so.2 as the loader finds it, or in the CUDA toolkit's
 * folder. NULL: `status` says what is missing. */
const NcclApi *nccl_library(Status *status);

#endif
