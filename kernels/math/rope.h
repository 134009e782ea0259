/* rope.h -- how fast pair j of a head turns, in radians per position: base^(-2j/head), and what
 * Llama 3.1 makes of it for contexts longer than those it was first trained on
 * (arXiv:2407.21783; the formula is that of the published code): pairs that turn slowly, less than
 * low_freq times in original_positions, turn `factor` times slower; those that turn more than
 * high_freq times as before; between the two the speeds are mixed. factor 1: all as before. */
#ifndef LOCKSTEP_KERNELS_ROPE_H
#define LOCKSTEP_KERNELS_ROPE_H

#include <math.h>
#include <stdint.h>

#include "kernels/inline.h"

enum {
  ROPE_BASE,
  ROPE_SIGN,
  ROPE_FIRST,
  ROPE_SECOND,
  ROPE_FACTOR,
  ROPE_LOW_FREQ,
  ROPE_HIGH_FREQ,
  ROPE_ORIGINAL_POSITIONS,
  ROPE_ATTRS
};

/* The attrs of rope_at in the order of rope's: it has no first and second. */
KERNEL_INLINE void rope_attrs_at(const double *at, double *attr) {
  attr[ROPE_BASE] = at[0];
  attr[ROPE_SIGN] = at[1];
  attr[ROPE_FIRST] = attr[ROPE_SECOND] = 0;
  for (int i = 0; i <= ROPE_ORIGINAL_POSITIONS - ROPE_FACTOR; i++)
    attr[ROPE_FACTOR + i] = at[2 + i];
}

/* `attr` of the kernel, of heads `head` wide. */
KERNEL_INLINE double rope_frequency(const double *attr, int64_t head, int64_t j) {
  const double circle = 6.283185307179586;
  double frequency = pow(attr[ROPE_BASE], -2.0 * (double)j / (double)head);
  if (attr[ROPE_FACTOR] <= 1) return frequency;
  double turns = attr[ROPE_ORIGINAL_POSITIONS] * frequency / circle;
  double low = attr[ROPE_LOW_FREQ], high = attr[ROPE_HIGH_FREQ];
  if (turns < low) return frequency / attr[ROPE_FACTOR];
  if (turns > high) return frequency;
  double share = (turns - low) / (high - low);
  return frequency * (share + (1 - share) / attr[ROPE_FACTOR]);
}

#endif
