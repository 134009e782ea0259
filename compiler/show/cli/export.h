/* export.h -- lockstep export: the tensors of a run, a checkpoint or a model folder, as a folder
 * for Hugging Face's tools. export.c finds them, export_write.c writes the files. */
#ifndef LOCKSTEP_EXPORT_H
#define LOCKSTEP_EXPORT_H

#include "compiler/show/cli/saved.h"
#include "runtime/process/lock.h"
#include "runtime/safetensors/safetensors.h"

/* A tensor to write. */
typedef struct OutTensor {
  const char *name;
  SafeDtype to;
  DType from;
  int32_t rank;
  int64_t shape[SAFE_RANK_MAX]; /* in the file */
  int64_t elements;
  uint32_t item;      /* of the checkpoint, in whose order of dims elements come; or */
  SafePlace place;    /* tensor of a model folder */
  bool is_transposed; /* the checkpoint's rows are the file's columns */
  int32_t file;
} OutTensor;

typedef struct Export {
  Compile *c;
  const Options *options;
  SavedReader *reader; /* NULL: from a model folder */
  VEC(OutTensor) tensors;
  const char *folder;  /* a temporary folder, until all is written */
  Lock lock;           /* held in the folder while it is written; a killed export leaves it free */
  int64_t shard_bytes; /* 0: one file */
  int64_t total_bytes;
} Export;

/* Writes the files of tensors, and the index of several. */
ExitCode export_write(Export *e);

#endif
