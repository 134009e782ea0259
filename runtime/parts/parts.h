/* parts.h -- one part of a checkpoint: which bytes it has, and whether a file has them.
 *
 *   [u64 length][JSON header, blanks]  to a multiple of PART_ALIGN_BYTES
 *   [tensors: runs of the rows that the rank writes, without gaps]
 *   [__pad__, U8]                      to a multiple of 8
 *   [__sums__, U64]                    XXH3-64 of each block of 1 MiB of everything before them,
 *                                      then XXH3-64 of these sums
 *
 * Everything but the tensors' values follows from the plan (rows.h), the step and the save: so do
 * all sizes, and a header is compared byte for byte. The writer, `explain` and the checks use the
 * same functions. */
#ifndef LOCKSTEP_PARTS_H
#define LOCKSTEP_PARTS_H

#include "runtime/state/rows.h"

enum {
  PART_BLOCK_BYTES = 1 << 20,
  PART_ALIGN_BYTES = 4096,
  PART_SUM_BYTES = 8,
  PART_FILE_NAME_BYTES = 40,
  PART_WHY_BYTES = 256
};

/* "part-00005.safetensors" */
void part_file_name(char name[PART_FILE_NAME_BYTES], int32_t number);

/* Which of the parts of a save. */
typedef struct PartId {
  int32_t number; /* mesh_number of the rank that writes it */
  int64_t step;
  uint64_t save; /* one for all parts of a save */
} PartId;

typedef struct PartLayout {
  int64_t header_bytes; /* length and header: tensors begin here */
  int64_t data_bytes;   /* of the tensors; 0: the rank writes no file */
  int64_t sums_first;   /* where __sums__ begin */
  int64_t blocks;       /* sums of blocks; one more is of the sums */
  int64_t file_bytes;
} PartLayout;

/* The sizes of a part, which do not depend on step and save. False: out of memory. */
bool part_layout(const State *state, int32_t number, PartLayout *layout);

/* All parts of a checkpoint. */
typedef struct PartTotals {
  int64_t bytes, largest_bytes;
  int32_t parts;
} PartTotals;

/* False: out of memory. */
bool part_totals(const State *state, PartTotals *totals);

/* The bytes before the tensors; NULL: out of memory. The caller frees them. */
char *part_header(const State *state, const PartId *id, PartLayout *layout);

/* Makes the header that of another save of the same part; allocates nothing. */
void part_stamp(char *header, const PartId *id);

/* XXH3-64. */
uint64_t part_sum(const void *bytes, size_t count);

/* ---- writing a file in one pass */

typedef struct PartWriter PartWriter;

/* Makes the file and writes its header. NULL: `status`. Then the tensors' bytes in the order of
 * state_part_each, in any pieces. */
PartWriter *part_writer_open(const State *state, const PartId *id, const char *folder,
                             Status *status);
bool part_writer_put(PartWriter *writer, const void *bytes, int64_t count, Status *status);
/* Writes pad and sums, syncs and closes the file, and frees the writer. */
bool part_writer_close(PartWriter *writer, int64_t *file_bytes, uint64_t *sum, Status *status);
/* Frees the writer of a file that is given up. */
void part_writer_drop(PartWriter *writer);

/* ---- checking */

/* The bytes of a file that are not what was written. */
typedef struct PartDamage {
  const char *file; /* its name, without a folder */
  int64_t first_byte, bytes;
  const char *why;
  const char *const *tensor; /* "NAME/KIND" of those that lie there; of a header, all of the part */
  int32_t tensor_count;
} PartDamage;

typedef struct PartSink {
  void (*damaged)(void *context, const PartDamage *damage);
  void *context;
} PartSink;

typedef enum PartResult {
  PART_WHOLE,
  PART_DAMAGED, /* also: absent, or of another save. The sink has heard all of it */
  PART_UNREAD   /* it is there and cannot be read, or there is no memory: `status` */
} PartResult;

/* A part that a checkpoint has, and what its manifest says of it. */
typedef struct PartFile {
  const State *state;
  const char *folder;
  PartId id;
  int64_t file_bytes;
  uint64_t sum; /* the last of its __sums__ */
} PartFile;

/* Reads the file once, all of it, and compares header, sizes and sums. */
PartResult part_check(const PartFile *part, const PartSink *sink, Status *status);

#endif
