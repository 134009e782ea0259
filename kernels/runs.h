/* runs.h -- the position of a rank's token in its sample: kernels.def, `first` and `second`. */
#ifndef LOCKSTEP_KERNELS_RUNS_H
#define LOCKSTEP_KERNELS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/inline.h"

typedef struct Runs {
  int64_t seq, first, second;
} Runs;

KERNEL_INLINE int64_t runs_position(Runs runs, int64_t token) {
  int64_t half = runs.seq / 2;
  return token < half ? runs.first + token : runs.second + token - half;
}

/* The number of tokens before a position, where first is not after second. */
KERNEL_INLINE int64_t runs_before(Runs runs, int64_t position) {
  int64_t half = runs.seq / 2, rest = runs.seq - half;
  int64_t a = position - runs.first, b = position - runs.second;
  return (a < 0 ? 0 : a < half ? a : half) + (b < 0 ? 0 : b < rest ? b : rest);
}

/* The second run continues where the first one ends. */
KERNEL_INLINE bool runs_joined(Runs runs) {
  return runs.seq / 2 == 0 || runs.second == runs.first + runs.seq / 2;
}

/* The number of adjacent tokens from `token` on, at most `count`. */
KERNEL_INLINE int64_t runs_length(Runs runs, int64_t token, int64_t count) {
  int64_t left = runs.seq / 2 - token;
  return runs_joined(runs) || left <= 0 || count < left ? count : left;
}

#endif
