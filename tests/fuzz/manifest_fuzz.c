/* manifest_fuzz.c -- LINK: manifest parts
 * Bytes as a manifest, with the right sum at their end: what is called whole can be walked, as
 * every reader of a checkpoint does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/manifest/manifest.h"
#include "runtime/parts/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static bool count(void *context, const StateStored *stored) {
  *(int64_t *)context += (int64_t)stored->size_bytes;
  return true;
}

static void walk(const Manifest *manifest) {
  PartLayout layout;
  int64_t bytes = 0;
  if (manifest->state.numbers > 64) return; /* it only takes longer */
  for (int32_t number = 0; number < manifest->state.numbers; number++) {
    bytes = 0;
    if (!state_part_each(&manifest->state, number, count, &bytes)) abort();
    if (!part_layout(&manifest->state, number, &layout)) abort();
    if (bytes != layout.data_bytes || bytes != state_part_data(&manifest->state, number)) abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  static const char zeros[] = "0000000000000000\"}\n";
  enum { END = sizeof zeros - 1 };
  char why[MANIFEST_WHY_BYTES], digits[17];
  Manifest manifest;
  char *text = malloc(size_bytes + END);
  if (!text) abort();
  memcpy(text, bytes, size_bytes);
  memcpy(text + size_bytes, zeros, END);
  snprintf(digits, sizeof digits, "%016llx", (unsigned long long)part_sum(text, size_bytes + END));
  memcpy(text + size_bytes, digits, 16);
  if (manifest_read(&manifest, text, size_bytes + END, why) == MANIFEST_WHOLE) walk(&manifest);
  manifest_close(&manifest);
  free(text);
  return 0;
}
