/* safetensors_fuzz.c -- LINK: safetensors
 * Bytes as a file of tensors. Of a file that is called whole, tensors cover the data exactly; of a
 * damaged one, the sink has heard why. */
#include <stdlib.h>
#include <string.h>

#include "runtime/safetensors/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

static void count(void *context, const SafeProblem *problem) {
  ++*(int64_t *)context;
  if (problem->first_byte < 0 || problem->bytes < 0 || !*problem->why) abort();
}

/* The first two bytes are the size of the data. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes) {
  int64_t problems = 0;
  const SafeSink sink = {count, &problems};
  SafeFile file;
  Status status;
  if (size_bytes < 2) return 0;
  int64_t data = bytes[0] | bytes[1] << 8, header = (int64_t)size_bytes - 2;
  SafeResult result = safe_parse(&file, "file", (const char *)bytes + 2, (size_t)header,
                                 SAFE_LENGTH_BYTES + header + data, &sink, &status);
  if ((result == SAFE_WHOLE) != (problems == 0)) abort();
  for (int32_t i = 0; result == SAFE_WHOLE && i < file.tensor_count; i++) {
    const SafeTensor *t = &file.tensor[i];
    data -= t->bytes;
    if (t->bytes != t->elements * safe_dtype_bytes(t->dtype) || safe_find(&file, t->name) != t)
      abort();
  }
  if (result == SAFE_WHOLE && data != 0) abort();
  safe_close(&file);
  return 0;
}
