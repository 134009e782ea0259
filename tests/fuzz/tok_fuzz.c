/* tok_fuzz.c -- LINK: tokens
 * Bytes as a .tok file, with the right sum over its header: of a file that is taken every id, bit
 * of the mask and document can be read, and its documents are packed into windows that hold them.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/tokens/tok.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static void pack(const TokenFile *file, int64_t context) {
  TokPacking packing;
  int64_t tokens = 0;
  if (!tokens_pack(&file, 1, context, &packing)) abort();
  for (int64_t w = 0; w < packing.windows; w++) {
    int64_t filled = 0;
    for (int64_t p = packing.first_piece[w]; p < packing.first_piece[w + 1]; p++)
      filled += packing.piece[p].length;
    if (filled <= 0 || filled > context) abort();
    tokens += filled;
  }
  if (file->document_count > 0 && tokens != file->count) abort();
  tokens_free_packing(&packing);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  enum { SUMMED = 56, HEADER = 64 };
  char why[TOKENS_WHY_BYTES] = "";
  if (size_bytes < HEADER) return 0;
  TokenFile file = {.format = FORMAT_TOK, .mapped = malloc(size_bytes), .mapped_bytes = size_bytes};
  if (!file.mapped) abort();
  memcpy(file.mapped, bytes, size_bytes);
  uint64_t sum = XXH3_64bits(bytes, SUMMED);
  memcpy((uint8_t *)file.mapped + SUMMED, &sum, sizeof sum);
  if (tok_read(&file, "file", why)) {
    uint64_t seen = 0;
    for (int64_t i = 0; i < file.count; i++)
      seen += tokens_id(&file, i) + tokens_is_target(&file, i);
    (void)tokens_sum_matches(&file);
    pack(&file, 1 + (int64_t)(seen % 100));
  } else if (!*why) {
    abort();
  }
  free(file.mapped);
  return 0;
}
