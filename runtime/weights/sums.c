#include "runtime/weights/sums.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { READ_BYTES = 256 << 10 /* stays in a cache until it is hashed */ };

/* A tensor without elements has one chunk, too. */
static int64_t chunks_of(const SafeTensor *tensor) {
  const int64_t chunks = (tensor->bytes + WEIGHTS_CHUNK_BYTES - 1) / WEIGHTS_CHUNK_BYTES;
  return chunks > 0 ? chunks : 1;
}

bool weight_sums_open(WeightSums *sums, const SafeSet *set, Status *status) {
  *sums = (WeightSums){.set = set, .next = -1};
  sums->first = calloc((size_t)set->place_count + 1, sizeof *sums->first);
  for (int32_t i = 0; sums->first != NULL && i < set->place_count; i++) {
    sums->first[i] = sums->chunks;
    sums->chunks += chunks_of(set->place[i].tensor);
  }
  sums->sum = calloc((size_t)sums->chunks + 1, sizeof *sums->sum);
  sums->is_known = calloc((size_t)sums->chunks + 1, sizeof *sums->is_known);
  sums->of = XXH3_createState();
  return (sums->first != NULL && sums->sum != NULL && sums->is_known != NULL && sums->of != NULL) ||
         status_fail(status, STATUS_WORLD, "not enough memory for a hash");
}

void weight_sums_close(WeightSums *sums) {
  free(sums->first);
  free(sums->sum);
  free(sums->is_known);
  if (sums->of != NULL) XXH3_freeState(sums->of);
  *sums = (WeightSums){0};
}

static void begin_chunk(WeightSums *sums, const SafeTensor *tensor, int64_t chunk, int64_t first) {
  const char *dtype = safe_dtype_name(tensor->dtype);
  XXH3_64bits_reset(sums->of);
  XXH3_64bits_update(sums->of, tensor->name, strlen(tensor->name) + 1);
  XXH3_64bits_update(sums->of, dtype, strlen(dtype) + 1);
  XXH3_64bits_update(sums->of, &tensor->rank, sizeof tensor->rank);
  XXH3_64bits_update(sums->of, tensor->shape, (size_t)tensor->rank * sizeof *tensor->shape);
  XXH3_64bits_update(sums->of, &first, sizeof first);
  sums->chunk = chunk;
  sums->next = first;
}

static void end_chunk(WeightSums *sums) {
  sums->sum[sums->chunk] = XXH3_64bits_digest(sums->of);
  sums->is_known[sums->chunk] = 1;
  sums->next = -1;
}

/* The tensor's index in the set; -1: it is of another set. */
static int64_t index_of(const WeightSums *sums, const SafePlace *place) {
  int64_t low = 0, end = sums->set->place_count;
  while (low < end) { /* by name */
    const int64_t middle = (low + end) / 2;
    if (strcmp(sums->set->place[middle].tensor->name, place->tensor->name) < 0)
      low = middle + 1;
    else
      end = middle;
  }
  return low < sums->set->place_count && sums->set->place[low].tensor == place->tensor ? low : -1;
}

void weight_sums_add(WeightSums *sums, const SafePlace *place, int64_t first, const uint8_t *bytes,
                     int64_t count) {
  const int64_t index = index_of(sums, place), last = place->tensor->bytes;
  while (index >= 0 && count > 0) {
    const int64_t inside = first % WEIGHTS_CHUNK_BYTES, left = WEIGHTS_CHUNK_BYTES - inside;
    const int64_t chunk = sums->first[index] + first / WEIGHTS_CHUNK_BYTES;
    const int64_t part = count < left ? count : left;
    if (inside == 0 && !sums->is_known[chunk]) begin_chunk(sums, place->tensor, chunk, first);
    if (sums->chunk == chunk && sums->next == first) {
      XXH3_64bits_update(sums->of, bytes, (size_t)part);
      sums->next = first + part;
      if (part == left || sums->next == last) end_chunk(sums);
    }
    first += part, bytes += part, count -= part;
  }
}

static bool read_chunk(WeightSums *sums, const SafePlace *place, int64_t chunk, int64_t first,
                       uint8_t *buffer, Status *status) {
  const int64_t left = place->tensor->bytes - first;
  const int64_t end = first + (left < WEIGHTS_CHUNK_BYTES ? left : WEIGHTS_CHUNK_BYTES);
  begin_chunk(sums, place->tensor, chunk, first);
  for (int64_t at = first; at < end; at += READ_BYTES) {
    const size_t count = (size_t)(end - at < READ_BYTES ? end - at : READ_BYTES);
    if (!safe_read(place->file, place->tensor->first_byte + at, buffer, count, status))
      return false;
    XXH3_64bits_update(sums->of, buffer, count);
  }
  end_chunk(sums);
  return true;
}

/* The member whose hash of a chunk counts. */
static int32_t owner_of(const WeightSums *sums, const uint8_t *known, int64_t chunk,
                        int32_t members) {
  for (int32_t i = 0; known != NULL && i < members; i++)
    if (known[i * sums->chunks + chunk]) return i;
  return (int32_t)(chunk % members);
}

bool weight_sums_total(WeightSums *sums, const uint8_t *known, int32_t member, int32_t members,
                       uint64_t *total, Status *status) {
  const SafeSet *set = sums->set;
  uint8_t *buffer = malloc(READ_BYTES);
  bool good = buffer != NULL || status_fail(status, STATUS_WORLD, "not enough memory for a hash");
  *total = 0;
  for (int32_t i = 0; i < set->place_count; i++)
    for (int64_t k = 0; good && k < chunks_of(set->place[i].tensor); k++) {
      const int64_t chunk = sums->first[i] + k;
      if (owner_of(sums, known, chunk, members) != member) continue;
      if (!sums->is_known[chunk])
        good = read_chunk(sums, &set->place[i], chunk, k * WEIGHTS_CHUNK_BYTES, buffer, status);
      *total += sums->sum[chunk];
    }
  free(buffer);
  return good;
}
