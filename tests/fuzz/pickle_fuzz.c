/* pickle_fuzz.c -- LINK: pickle base
 * Bytes as a pickle: it is read or refused, and its values can be looked at. */
#include <stdlib.h>

#include "compiler/pickle/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  char why[PICKLE_WHY_BYTES] = "";
  Arena *arena = arena_new();
  const PickleValue *root = pickle_read(arena, bytes, size_bytes, why);
  int64_t number;
  if (root == NULL && why[0] == '\0') abort();
  const PickleValue *row = root ? pickle_arguments(root) : NULL;
  (void)pickle_get(root, "storage_data");
  for (int32_t i = 0; pickle_at(row, i) != NULL; i++)
    (void)pickle_int(pickle_at(row, i), &number);
  arena_free(arena);
  return 0;
}
