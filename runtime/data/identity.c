/* identity.c -- a hash of the training data. It does not read a terabyte: files that were
 * regenerated differ in length, at their beginning or at their end. */
#include "runtime/checkpoint/checksum.h"
#include "runtime/data/samples.h"
#include "runtime/plan/plan_job.h"

enum { END_BYTES = 64 << 10 };

/* Adds pieces of any length, one after another; each is hashed by itself. */
static void add(Checksum *sum, const void *bytes, size_t count) {
  uint64_t one[CHECKSUM_LANES] = {checksum(bytes, count), count};
  checksum_add(sum, one, sizeof one);
}

static void add_file(Checksum *sum, const TokenFile *file, bool has_documents) {
  size_t bytes = (size_t)file->count * (size_t)file->id_bytes;
  size_t end = bytes < END_BYTES ? bytes : END_BYTES;
  add(sum, &file->count, sizeof file->count);
  add(sum, &file->id_bytes, sizeof file->id_bytes);
  add(sum, file->ids, end);
  add(sum, file->ids + (bytes - end), end);
  if (has_documents) {
    size_t documents = (size_t)file->document_count * 8;
    size_t documents_end = documents < END_BYTES ? documents : END_BYTES;
    add(sum, file->documents, documents_end);
    add(sum, file->documents + (documents - documents_end), documents_end);
  }
  if (file->mask == NULL) return;
  size_t mask = ((size_t)file->count + 7) / 8, mask_end = mask < END_BYTES ? mask : END_BYTES;
  add(sum, file->mask, mask_end);
  add(sum, file->mask + (mask - mask_end), mask_end);
}

uint64_t samples_identity(const Samples *samples) {
  const Table *table = &samples->table;
  if (job_data(samples->plan) == DATA_SYNTHETIC) return 0;
  const bool has_documents =
      samples->is_apart || (samples->group_count > 0 && samples->group[0].packing.windows > 0);
  Checksum sum;
  checksum_begin(&sum);
  for (int32_t i = 0; i < samples->file_count; i++)
    add_file(&sum, &samples->file[i].tokens, has_documents);
  if (table->values)
    add(&sum, table->values, (size_t)table->rows * (size_t)table->columns * sizeof *table->values);
  return checksum_end(&sum);
}
