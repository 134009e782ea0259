/* checksum.c -- four independent lanes of multiply and rotate, mixed at the end. */
#include "runtime/checkpoint/checksum.h"

#include <string.h>

#include "kernels/philox.h"

#define LANES ((size_t)4)

static const uint64_t odd = 0x9E3779B97F4A7C15u;

static uint64_t turn(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * odd;
  return lane << 29 | lane >> 35;
}

uint64_t checksum(const void *bytes, size_t count) {
  const uint8_t *at = bytes;
  uint64_t lane[LANES] = {1, 2, 3, 4};
  size_t left = count;
  for (; left >= 8 * LANES; left -= 8 * LANES)
    for (size_t i = 0; i < LANES; i++, at += 8) {
      uint64_t word;
      memcpy(&word, at, 8);
      lane[i] = turn(lane[i], word);
    }
  for (size_t i = 0; left > 0; i++) {
    size_t take = left < 8 ? left : 8;
    uint64_t word = 0;
    memcpy(&word, at, take);
    lane[i] = turn(lane[i], word);
    at += take;
    left -= take;
  }
  uint64_t sum = count;
  for (size_t i = 0; i < LANES; i++)
    sum = philox_mix(sum, lane[i]);
  return sum;
}
