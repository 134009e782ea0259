/* dcp.h -- a folder of torch.distributed.checkpoint: ".metadata" says which rectangles of which
 * tensors are where in files "__0_0.distcp", each as torch.save writes a tensor (a zip archive of a
 * pickle and the elements). */
#ifndef LOCKSTEP_DCP_H
#define LOCKSTEP_DCP_H

#include "compiler/show/cli/saved.h"

/* A rectangle of a tensor. */
typedef struct DcpChunk {
  StatePiece piece;
  const char *file;
  int64_t offset, bytes; /* of the archive in the file */
  int64_t data;          /* of the elements in the file; -1: not looked for yet */
} DcpChunk;

typedef struct DcpTensor {
  const char *name;
  const char *dtype; /* "float32" */
  int32_t dims;
  int64_t shape[STATE_DIMS_MAX];
  VEC(DcpChunk) chunk;
} DcpTensor;

typedef struct DcpFolder {
  Arena *arena;
  const char *path;
  VEC(DcpTensor) tensor;
  int descriptor; /* of `open`; -1: none */
  const char *open;
} DcpFolder;

/* The key that torch gives a kind of state of a parameter. NULL: torch has no such state. */
const char *dcp_key(Arena *arena, const char *name, uint32_t kind);

/* Reads .metadata. False: reported, with its code. */
bool dcp_open(DcpFolder *folder, Arena *arena, const char *path, ExitCode *code);
void dcp_close(DcpFolder *folder);
/* NULL: there is none of that name. */
DcpTensor *dcp_find(const DcpFolder *folder, const char *name);
/* The dtype of its elements; DTYPE_COUNT: none that a checkpoint has. */
DType dcp_dtype(const DcpTensor *tensor);
/* Elements of a piece of it, without padding. False: reported. */
bool dcp_read(DcpFolder *folder, DcpTensor *tensor, const StatePiece *want, void *elements,
              ExitCode *code);

#endif
