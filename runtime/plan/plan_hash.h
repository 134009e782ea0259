/* plan_hash.h -- the checksum of plan files: 64-bit words spread over four lanes, as XXH64 does.
 *
 * It finds accidental damage, not attacks: whoever can change the file can also change its
 * checksum. */
#ifndef LOCKSTEP_PLAN_HASH_H
#define LOCKSTEP_PLAN_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct PlanHash {
  uint64_t lane[4];
  uint64_t word_count;
} PlanHash;

void plan_hash_begin(PlanHash *hash);

/* Adds `byte_count` bytes and zeros up to a multiple of 8, as tables are stored in the file. */
void plan_hash_add(PlanHash *hash, const void *bytes, size_t byte_count);

uint64_t plan_hash_end(const PlanHash *hash);

/* The random stream of a parameter's name or a node's path: FNV-1a, stable across machines. */
static inline uint64_t plan_key(const char *text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (; *text != '\0'; text++)
    hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  return hash;
}

#endif
