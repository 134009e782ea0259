/* safetensors.h -- files of tensors as other programs read and write them:
 *
 *   [u64 header length, little-endian][header: JSON, blanks at its end][data]
 *
 * The header is one object: NAME -> {"dtype", "shape", "data_offsets": [first, end]} in data, and
 * "__metadata__" -> an object of strings. Tensors cover the data without hole or overlap. Files are
 * read by byte ranges, never mapped and never as a whole. */
#ifndef LOCKSTEP_SAFETENSORS_H
#define LOCKSTEP_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/process/status.h"

enum {
  SAFE_RANK_MAX = 8,
  SAFE_WHY_BYTES = 320,
  SAFE_LENGTH_BYTES = 8,
  SAFE_HEADER_BYTES_MAX = 100000000 /* the limit of the format's own reader */
};

typedef enum SafeDtype {
#define SAFE_DTYPE(name, bytes) SAFE_##name,
#include "runtime/safetensors/dtypes.def"
#undef SAFE_DTYPE
  SafeDtype_COUNT
} SafeDtype;

const char *safe_dtype_name(SafeDtype dtype);
int64_t safe_dtype_bytes(SafeDtype dtype);
/* SafeDtype_COUNT: none has this name. */
SafeDtype safe_dtype_of(const char *name);

typedef struct SafeTensor {
  const char *name;
  SafeDtype dtype;
  int32_t rank;
  int64_t shape[SAFE_RANK_MAX];
  int64_t elements;
  int64_t first_byte; /* in the file */
  int64_t bytes;
} SafeTensor;

/* Something wrong with a file; `file` is its path. */
typedef struct SafeProblem {
  const char *file;
  const char *tensor; /* NULL: of none in particular */
  int64_t first_byte; /* in the file */
  int64_t bytes;
  char why[SAFE_WHY_BYTES];
} SafeProblem;

/* Gets every problem, in the order in which they are found. */
typedef struct SafeSink {
  void (*report)(void *context, const SafeProblem *problem);
  void *context;
} SafeSink;

typedef struct SafeFile {
  char *path;
  int descriptor; /* -1: the header came from memory */
  int64_t file_bytes;
  int64_t data_first; /* where data begin: the bytes before are length and header */
  int32_t tensor_count;
  SafeTensor *tensor; /* in the order of their data */
  int32_t *by_name;
  void *json; /* the header, which owns names and metadata */
} SafeFile;

typedef enum SafeResult {
  SAFE_WHOLE,
  SAFE_DAMAGED, /* it was read, and breaks a rule of the format: the sink has heard which */
  SAFE_UNREAD   /* it cannot be opened or read: `status` */
} SafeResult;

/* Reads the header of `path`. A file that is damaged keeps the tensors whose entries are good, so
 * that damage can be named. safe_close in any case. */
SafeResult safe_open(SafeFile *file, const char *path, const SafeSink *sink, Status *status);
/* The same of a header in memory, without its length: `bytes` of a file of `file_bytes`. */
SafeResult safe_parse(SafeFile *file, const char *path, const char *header, size_t bytes,
                      int64_t file_bytes, const SafeSink *sink, Status *status);
void safe_close(SafeFile *file);

/* NULL: there is none of that name. */
const SafeTensor *safe_find(const SafeFile *file, const char *name);
/* A string of "__metadata__"; NULL: none. */
const char *safe_note(const SafeFile *file, const char *key);
/* Reads a range of the file. False: it is short or cannot be read. */
bool safe_read(const SafeFile *file, int64_t first_byte, void *bytes, size_t count, Status *status);

/* ---- writing */

typedef struct SafeEntry {
  const char *name;
  SafeDtype dtype;
  int32_t rank;
  const int64_t *shape;
} SafeEntry;

typedef struct SafeNote {
  const char *key, *value;
} SafeNote;

/* The bytes before the data of a file with these tensors, one after another in this order: length
 * and header, padded so that data begin at a multiple of `align`. NULL: out of memory, or names
 * that no JSON can hold. The caller frees it. */
char *safe_header(const SafeNote *notes, int32_t note_count, const SafeEntry *entries,
                  int32_t entry_count, size_t align, size_t *bytes);

/* ---- many files */

/* A tensor of a set, and its file. */
typedef struct SafePlace {
  const SafeFile *file;
  const SafeTensor *tensor;
} SafePlace;

/* The files of a model: one file, or shards that an index lists. */
typedef struct SafeSet {
  SafeFile *file;
  int32_t file_count;
  SafePlace *place; /* by name */
  int32_t place_count;
} SafeSet;

/* `path`: a .safetensors file, an index ("NAME.safetensors.index.json": {"weight_map": {TENSOR:
 * FILE}}), or a folder that has one index, or, without one, one .safetensors file. Every tensor
 * must be where the index has it, and be in one file only. safe_set_close in any case. */
SafeResult safe_set_open(SafeSet *set, const char *path, const SafeSink *sink, Status *status);
void safe_set_close(SafeSet *set);
/* A NULL tensor: the set has none of that name. */
SafePlace safe_set_find(const SafeSet *set, const char *name);

#endif
