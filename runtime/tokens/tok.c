/* tok.c -- token files of Lockstep's own format, .tok: ids, where documents begin, and which ids
 * are targets of the loss.
 *
 * Numbers are little-endian.
 *
 *    0  "LSTPTOKN"
 *    8  u32  version, 1
 *   12  u32  bytes of an id, 2 or 4
 *   16  u64  tokens
 *   24  u64  documents
 *   32  u32  1: a mask follows the ids; 0: every token is a target
 *   36  u32  vocabulary: every id is below it
 *   40  u64  XXH3-64 of the tokenizer's file; 0: the ids were given
 *   48  u64  XXH3-64 of everything after the header
 *   56  u64  XXH3-64 of the 56 bytes before
 *   64  u64 for each document: its first token; the first document begins at 0
 *       ids
 *       mask: bit i % 8 of byte i / 8 is 1 where token i is a target */
#include "runtime/tokens/tok.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { VERSION = 1, HEADER_BYTES = 64, SUMMED_BYTES = 56 };

static const char magic[8] = {'L', 'S', 'T', 'P', 'T', 'O', 'K', 'N'};

/* ---- little-endian numbers */

static uint64_t get(const uint8_t *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;)
    value = value << 8 | at[i];
  return value;
}

static void put(uint8_t *at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++)
    at[i] = (uint8_t)(value >> (8 * i));
}

/* ---- reading */

bool tok_is(const uint8_t *head, size_t count) {
  return count >= 8 && memcmp(head, magic, sizeof magic) == 0;
}

static bool refuse(char why[TOKENS_WHY_BYTES], const char *path, const char *what) {
  (void)snprintf(why, TOKENS_WHY_BYTES, "%.160s: %.300s", path, what);
  return false;
}

/* The header's own claims, before the file's size is looked at. */
static bool check_header(const uint8_t *head, size_t mapped_bytes, const char *path,
                         char why[TOKENS_WHY_BYTES]) {
  char what[160];
  if (!head || mapped_bytes < HEADER_BYTES || !tok_is(head, mapped_bytes))
    return refuse(why, path, "does not begin with the header of a .tok file");
  if (get(head + 8, 4) != VERSION) {
    (void)snprintf(what, sizeof what,
                   ".tok version %" PRIu64 "; %d is known: make the file anew with lockstep "
                   "tokenize",
                   get(head + 8, 4), VERSION);
    return refuse(why, path, what);
  }
  if (get(head + SUMMED_BYTES, 8) != XXH3_64bits(head, SUMMED_BYTES))
    return refuse(why, path, "its header is damaged: the sum over it does not match");
  uint64_t id_bytes = get(head + 12, 4);
  if ((id_bytes != 2 && id_bytes != 4) || get(head + 32, 4) > 1)
    return refuse(why, path, "its header has a width of ids or a mask flag that no version has");
  if (get(head + 16, 8) == 0) return refuse(why, path, "holds no tokens");
  return true;
}

/* Documents begin at 0, each after the previous one, all inside the file. */
static bool check_documents(const TokenFile *file, const char *path, char why[TOKENS_WHY_BYTES]) {
  int64_t before = -1;
  for (int64_t i = 0; i < file->document_count; i++) {
    int64_t first = tokens_document(file, i);
    if (first <= before || first >= file->count || (i == 0 && first != 0))
      return refuse(why, path, "its documents do not begin one after another: the file is damaged");
    before = first;
  }
  return true;
}

bool tok_read(TokenFile *file, const char *path, char why[TOKENS_WHY_BYTES]) {
  const uint8_t *head = file->mapped;
  if (!check_header(head, file->mapped_bytes, path, why)) return false;
  uint64_t tokens = get(head + 16, 8), documents = get(head + 24, 8), room = file->mapped_bytes;
  uint64_t id_bytes = get(head + 12, 4), mask_bytes = get(head + 32, 4) * ((tokens + 7) / 8);
  /* each is at most the file's size, so that the sum cannot overflow */
  if (tokens > room || documents > room / 8 ||
      HEADER_BYTES + documents * 8 + tokens * id_bytes + mask_bytes != room) {
    (void)snprintf(why, TOKENS_WHY_BYTES,
                   "%.160s: its header promises %" PRIu64 " tokens of %" PRIu64 " bytes in %" PRIu64
                   " documents, but the file has %zu bytes",
                   path, tokens, id_bytes, documents, file->mapped_bytes);
    return false;
  }
  file->count = (int64_t)tokens;
  file->id_bytes = (int32_t)id_bytes;
  file->vocab = (uint32_t)get(head + 36, 4);
  file->tokenizer = get(head + 40, 8);
  file->document_count = (int64_t)documents;
  file->documents = head + HEADER_BYTES;
  file->ids = file->documents + documents * 8;
  file->mask = mask_bytes > 0 ? file->ids + tokens * id_bytes : NULL;
  return check_documents(file, path, why);
}

bool tokens_sum_matches(const TokenFile *file) {
  if (file->format != FORMAT_TOK) return true;
  const uint8_t *head = file->mapped;
  return get(head + 48, 8) == XXH3_64bits(head + HEADER_BYTES, file->mapped_bytes - HEADER_BYTES);
}

bool tokens_hash_file(const char *path, uint64_t *hash) {
  char why[TOKENS_WHY_BYTES];
  TokenFile file;
  if (!tokens_open_bytes(&file, path, why)) return false;
  *hash = XXH3_64bits(file.mapped, file.mapped_bytes);
  tokens_close(&file);
  return true;
}

/* ---- writing */

static bool is_written(FILE *file, XXH3_state_t *sum, const void *bytes, size_t count) {
  if (count == 0) return true;
  XXH3_64bits_update(sum, bytes, count);
  return fwrite(bytes, 1, count, file) == count;
}

static bool put_numbers(FILE *file, XXH3_state_t *sum, const TokDocuments *all, int64_t first,
                        int64_t last, int id_bytes) {
  bool good = true;
  uint8_t bytes[8];
  for (int64_t i = first; good && i < last; i++) {
    put(bytes, (uint64_t)(all->start[i] - all->start[first]), 8);
    good = is_written(file, sum, bytes, 8);
  }
  for (int64_t i = all->start[first]; good && i < all->start[last]; i++) {
    put(bytes, all->ids[i], id_bytes);
    good = is_written(file, sum, bytes, (size_t)id_bytes);
  }
  return good;
}

static bool put_mask(FILE *file, XXH3_state_t *sum, const TokDocuments *all, int64_t first,
                     int64_t last) {
  bool good = true;
  for (int64_t i = all->start[first]; good && i < all->start[last]; i += 8) {
    uint8_t byte = 0;
    for (int64_t k = i; k < i + 8 && k < all->start[last]; k++)
      byte |= (uint8_t)((all->is_target[k] != 0) << (k - i));
    good = is_written(file, sum, &byte, 1);
  }
  return good;
}

bool tok_write(FILE *file, const TokDocuments *all, int64_t first, int64_t last) {
  uint8_t head[HEADER_BYTES] = {0};
  const int id_bytes = all->vocab <= 65536 ? 2 : 4;
  XXH3_state_t *sum = XXH3_createState();
  if (sum == NULL) return false;
  (void)XXH3_64bits_reset(sum);
  bool good = fwrite(head, 1, sizeof head, file) == sizeof head &&
              put_numbers(file, sum, all, first, last, id_bytes) &&
              (all->is_target == NULL || put_mask(file, sum, all, first, last));
  memcpy(head, magic, sizeof magic);
  put(head + 8, VERSION, 4);
  put(head + 12, (uint64_t)id_bytes, 4);
  put(head + 16, (uint64_t)(all->start[last] - all->start[first]), 8);
  put(head + 24, (uint64_t)(last - first), 8);
  put(head + 32, all->is_target != NULL, 4);
  put(head + 36, all->vocab, 4);
  put(head + 40, all->tokenizer, 8);
  put(head + 48, XXH3_64bits_digest(sum), 8);
  put(head + 56, XXH3_64bits(head, SUMMED_BYTES), 8);
  XXH3_freeState(sum);
  return good && fseek(file, 0, SEEK_SET) == 0 &&
         fwrite(head, 1, sizeof head, file) == sizeof head && fflush(file) == 0;
}
