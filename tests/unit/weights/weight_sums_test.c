/* weight_sums_test.c -- the hash of a model's files: of bytes that were read to be placed, and of
 * those that are read for it. LINK: runtime */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/weights/sums.h"
#include "tests/unit/check.h"

enum { WIDE = WEIGHTS_CHUNK_BYTES + 100, MEMBERS = 2, CHUNKS = 4 }; /* wide has two chunks */

static char path[] = "/tmp/weight_sums_XXXXXX.safetensors";
static Status status;

/* Tensors by name: narrow, none, wide; mostly a hole. */
static void write_file(void) {
  const int64_t wide = WIDE, narrow = 8, none = 0;
  const SafeEntry entries[] = {
      {"wide", SAFE_U8, 1, &wide}, {"narrow", SAFE_U8, 1, &narrow}, {"none", SAFE_U8, 1, &none}};
  size_t bytes;
  char *header = safe_header(NULL, 0, entries, 3, 8, &bytes);
  const int file = mkstemps(path, (int)strlen(".safetensors"));
  CHECK(header != NULL && write(file, header, bytes) == (ssize_t)bytes);
  CHECK(ftruncate(file, (off_t)bytes + WIDE + narrow) == 0);
  CHECK(pwrite(file, "last", 4, (off_t)bytes + WIDE - 4) == 4);
  free(header);
  close(file);
}

static uint64_t total_of(WeightSums *sums, const uint8_t *known, int32_t member, int32_t members) {
  uint64_t total = 0;
  CHECK(weight_sums_total(sums, known, member, members, &total, &status));
  return total;
}

int main(void) {
  SafeSet set;
  WeightSums plain, own[MEMBERS];
  uint8_t known[MEMBERS * CHUNKS] = {0}, *bytes = calloc(1, WIDE);
  uint64_t total = 0, shared = 0;
  write_file();
  CHECK_INT(safe_set_open(&set, path, NULL, &status), SAFE_WHOLE);
  const SafePlace wide = safe_set_find(&set, "wide");
  CHECK(safe_read(wide.file, wide.tensor->first_byte, bytes, WIDE, &status));
  TEST("the total does not depend on the number of members") {
    CHECK(weight_sums_open(&plain, &set, &status));
    CHECK_INT(plain.chunks, CHUNKS);
    total = total_of(&plain, NULL, 0, 1);
    CHECK(total != 0);
    for (int32_t i = 0; i < MEMBERS; i++)
      CHECK(weight_sums_open(&own[i], &set, &status));
    CHECK(total_of(&own[0], NULL, 0, MEMBERS) + total_of(&own[1], NULL, 1, MEMBERS) == total);
    for (int32_t i = 0; i < MEMBERS; i++)
      weight_sums_close(&own[i]);
  }
  TEST("bytes that were read in order are not read again, and count once") {
    for (int32_t i = 0; i < MEMBERS; i++)
      CHECK(weight_sums_open(&own[i], &set, &status));
    weight_sums_add(&own[0], &wide, 0, bytes, 1000);
    weight_sums_add(&own[0], &wide, 1000, bytes + 1000, WIDE - 1000);
    weight_sums_add(&own[1], &wide, 5, bytes + 5, 1000); /* not from the beginning of a chunk */
    weight_sums_add(&own[1], &wide, WEIGHTS_CHUNK_BYTES, bytes + WEIGHTS_CHUNK_BYTES, 100);
    weight_sums_add(&own[1], &wide, WEIGHTS_CHUNK_BYTES, bytes + WEIGHTS_CHUNK_BYTES, 100);
    for (int32_t i = 0; i < MEMBERS; i++)
      memcpy(known + i * CHUNKS, own[i].is_known, CHUNKS);
    const uint8_t expected[MEMBERS * CHUNKS] = {0, 0, 1, 1, 0, 0, 0, 1};
    CHECK(memcmp(known, expected, sizeof known) == 0);
    for (int32_t i = 0; i < MEMBERS; i++)
      shared += total_of(&own[i], known, i, MEMBERS);
    CHECK(shared == total);
  }
  TEST("one other byte is another total, and a file that was cut is named") {
    uint64_t ignored;
    WeightSums other;
    CHECK(weight_sums_open(&other, &set, &status));
    bytes[17] = 1;
    weight_sums_add(&other, &wide, 0, bytes, WIDE);
    CHECK(total_of(&other, other.is_known, 0, 1) != total);
    weight_sums_close(&other);
    CHECK(truncate(path, 1000) == 0);
    CHECK(weight_sums_open(&other, &set, &status));
    CHECK(!weight_sums_total(&other, NULL, 0, 1, &ignored, &status));
    CHECK(strstr(status.text, path) != NULL);
    weight_sums_close(&other);
  }
  weight_sums_close(&plain);
  for (int32_t i = 0; i < MEMBERS; i++)
    weight_sums_close(&own[i]);
  safe_set_close(&set);
  free(bytes);
  unlink(path);
  CHECK_DONE();
}
