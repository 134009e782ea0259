/* permute.c -- a Feistel network on the next even power of two, walked until it lands inside.
 *
 * A Feistel network is a bijection whatever its round function is (Luby, Rackoff: How to construct
 * pseudorandom permutations, 1988). Following the cycle from a point inside until it is inside
 * again is a bijection of the inside (Black, Rogaway: Ciphers with arbitrary finite domains, 2002);
 * the domain is less than four times as large, so the walk takes four rounds on average at most. */
#include "runtime/data/permute.h"

#include <assert.h>

#include "kernels/math/philox.h"

enum { ROUNDS = 6 };

int64_t permute(uint64_t key, int64_t count, int64_t index) {
  assert(index >= 0 && index < count);
  int32_t half_bits = 1;
  while ((int64_t)1 << (2 * half_bits) < count)
    half_bits++;
  uint64_t mask = ((uint64_t)1 << half_bits) - 1;
  uint64_t at = (uint64_t)index;
  do {
    uint64_t left = at >> half_bits, right = at & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
      uint64_t mixed = left ^ (philox_mix(key + round, right) & mask);
      left = right;
      right = mixed;
    }
    at = left << half_bits | right;
  } while (at >= (uint64_t)count);
  return (int64_t)at;
}
