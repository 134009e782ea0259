/* hash.h -- 64 bits that stand for a sequence of numbers. Private to compiler/prove. */
#ifndef LOCKSTEP_PROVE_HASH_H
#define LOCKSTEP_PROVE_HASH_H

#include <stdint.h>

static inline uint64_t hash_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u + value;
  hash = (hash ^ hash >> 29) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

#endif
