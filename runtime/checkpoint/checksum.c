/* checksum.c -- four independent lanes of multiply and rotate, mixed at the end. */
#include "runtime/checkpoint/checksum.h"

#include <string.h>

#include "kernels/math/philox.h"

static const uint64_t odd = 0x9E3779B97F4A7C15u;

static uint64_t turn(uint64_t lane, uint64_t word) {
  lane = (lane ^ word) * odd;
  return lane << 29 | lane >> 35;
}

void checksum_begin(Checksum *sum) {
  *sum = (Checksum){.lane = {1, 2, 3, 4}};
}

void checksum_add(Checksum *sum, const void *bytes, size_t count) {
  const uint8_t *at = bytes;
  uint64_t lane[CHECKSUM_LANES];
  memcpy(lane, sum->lane, sizeof lane);
  size_t left = count;
  for (; left >= CHECKSUM_BLOCK_BYTES; left -= CHECKSUM_BLOCK_BYTES)
    for (size_t i = 0; i < CHECKSUM_LANES; i++, at += 8) {
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
  memcpy(sum->lane, lane, sizeof lane);
  sum->count += count;
}

uint64_t checksum_end(const Checksum *sum) {
  uint64_t mixed = sum->count;
  for (size_t i = 0; i < CHECKSUM_LANES; i++)
    mixed = philox_mix(mixed, sum->lane[i]);
  return mixed;
}

uint64_t checksum(const void *bytes, size_t count) {
  Checksum sum;
  checksum_begin(&sum);
  checksum_add(&sum, bytes, count);
  return checksum_end(&sum);
}
