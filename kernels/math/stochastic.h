/* stochastic.h -- rounding an f32 to bf16 up or down by chance, so that the mean of many roundings
 * is the f32: up with the probability that the 16 lower bits say.
 *
 * The chance is a function of the job's seed, the tensor, the update and the element's number in
 * the whole tensor, so every way to divide a tensor over ranks draws the same. A Philox block has
 * the draws of eight elements, 16 bits each: its key is stochastic_key, its counters are the number
 * of the update and element / 8. A parameter and its two moments draw from streams apart. */
#ifndef LOCKSTEP_STOCHASTIC_H
#define LOCKSTEP_STOCHASTIC_H

#include <string.h>

#include "kernels/math/philox.h"

enum { STOCHASTIC_ELEMENTS = 8 };

typedef enum StochasticStream { STREAM_PARAM, STREAM_M, STREAM_V, STREAMS } StochasticStream;

/* Initial values of the tensor are drawn with philox_mix(seed, key) itself. */
KERNEL_INLINE uint64_t stochastic_key(uint64_t seed, uint64_t key, StochasticStream stream) {
  return philox_mix(philox_mix(seed, key), 0x524f554e44u + (uint64_t)stream);
}

/* Selects the draw of `element` from the words of its block. */
KERNEL_INLINE uint32_t stochastic_draw(const uint32_t word[4], int64_t element) {
  return word[element % STOCHASTIC_ELEMENTS / 2] >> 16 * (element % 2) & 0xffffu;
}

/* Infinities stay, and a NaN stays one. */
KERNEL_INLINE uint16_t bf16_stochastic(float value, uint32_t draw) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + draw) >> 16);
}

#endif
