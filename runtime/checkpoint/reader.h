/* reader.h -- bytes of a checkpoint's parts. A block is summed when it is read, and stays for a
 * while, because the tensors in it follow each other. */
#ifndef LOCKSTEP_CHECKPOINT_READER_H
#define LOCKSTEP_CHECKPOINT_READER_H

#include "runtime/checkpoint/checkpoint.h"

enum { READER_FILES = 16, READER_BLOCKS = 8 };

/* An open part; its checksums are covered by the checksum in the manifest. */
typedef struct ReaderFile {
  char *path; /* NULL: unused */
  int32_t number;
  int descriptor;
  PartLayout layout;
  uint64_t *sums;
  uint64_t used; /* when it was last */
} ReaderFile;

typedef struct ReaderBlock {
  uint8_t *bytes; /* NULL: unused */
  int32_t number;
  int64_t index;
  uint64_t used;
} ReaderBlock;

typedef struct Reader {
  const Checkpoint *from;
  uint64_t now;
  ReaderFile file[READER_FILES];
  ReaderBlock block[READER_BLOCKS];
} Reader;

void reader_open(Reader *reader, const Checkpoint *from);
void reader_close(Reader *reader);

/* Reads bytes of a part's data; `tensor` is what damage is named by. False: `fault` and `status`.
 */
bool reader_read(Reader *reader, const StateStored *stored, uint64_t first, void *bytes,
                 size_t count, CheckpointFault *fault, Status *status);

#endif
