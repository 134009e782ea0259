/* dcp.h -- a folder of torch.distributed.checkpoint: ".metadata" says which rectangles of which
 * tensors are where in files "__0_0.distcp", each as torch.save writes a tensor (a zip archive of a
 * pickle and the elements). */
#ifndef LOCKSTEP_DCP_H
#define LOCKSTEP_DCP_H

#include "compiler/job/names.h"
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
  const DcpTensor *held; /* its elements are all in memory, because they are read one by one */
  uint8_t *elements;
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
/* ---- which tensor has the elements of each item of a state */

/* A tensor of the folder, and how a parameter lies in it. */
typedef struct DcpPlace {
  DcpTensor *tensor;
  NamesPlace view; /* dims 0: the parameter is the tensor as it is */
  int64_t run;     /* elements that follow each other in both */
} DcpPlace;

/* By item of the state: by a page of names, or, where `page` is NULL, by those of `--to dcp`. All
 * or nothing: a tensor or elements that one side lacks are reported. */
bool dcp_places(Compile *c, DcpFolder *folder, const State *state, const char *page,
                DcpPlace *place, ExitCode *code);
/* Elements of a piece of an item, in the tensor's dtype. */
bool dcp_read_place(DcpFolder *folder, const DcpPlace *place, const State *state, uint32_t item,
                    const StatePiece *want, void *elements, ExitCode *code);

/* ---- a tensor */

/* Elements of a piece of it, without padding. False: reported. */
bool dcp_read(DcpFolder *folder, DcpTensor *tensor, const StatePiece *want, void *elements,
              ExitCode *code);

#endif
