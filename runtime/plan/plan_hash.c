#include "runtime/plan/plan_hash.h"

#include <string.h>

static const uint64_t prime1 = 0x9e3779b185ebca87u;
static const uint64_t prime2 = 0xc2b2ae3d27d4eb4fu;

static uint64_t rotate(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

static uint64_t mix(uint64_t lane, uint64_t word) {
  return rotate(lane + word * prime2, 31) * prime1;
}

void plan_hash_begin(PlanHash *hash) {
  *hash = (PlanHash){{prime1 + prime2, prime2, 0, 0 - prime1}, 0};
}

/* One word, or the bytes left of one. */
static size_t add_word(PlanHash *hash, const unsigned char *at, size_t left) {
  uint64_t word = 0;
  size_t step = left < sizeof word ? left : sizeof word;
  memcpy(&word, at, step);
  uint64_t *lane = &hash->lane[hash->word_count++ % 4];
  *lane = mix(*lane, word);
  return step;
}

void plan_hash_add(PlanHash *hash, const void *bytes, size_t byte_count) {
  const unsigned char *at = bytes, *end = at + byte_count;
  while (at < end && hash->word_count % 4 != 0)
    at += add_word(hash, at, (size_t)(end - at));
  /* Groups of four words keep the lanes independent, which makes it fast. */
  PlanHash local = *hash;
  for (; end - at >= 32; at += 32) {
    uint64_t word[4];
    memcpy(word, at, sizeof word);
    for (int i = 0; i < 4; i++)
      local.lane[i] = mix(local.lane[i], word[i]);
    local.word_count += 4;
  }
  *hash = local;
  while (at < end)
    at += add_word(hash, at, (size_t)(end - at));
}

uint64_t plan_hash_end(const PlanHash *hash) {
  uint64_t value = rotate(hash->lane[0], 1) + rotate(hash->lane[1], 7) + rotate(hash->lane[2], 12) +
                   rotate(hash->lane[3], 18);
  for (int i = 0; i < 4; i++)
    value = (value ^ mix(0, hash->lane[i])) * prime1 + prime2;
  value += hash->word_count;
  value ^= value >> 33;
  value *= prime2;
  value ^= value >> 29;
  value *= prime1;
  return value ^ value >> 32;
}
