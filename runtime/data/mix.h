/* mix.h -- which source of a mix each sample comes from: data.train with weights. */
#ifndef LOCKSTEP_DATA_MIX_H
#define LOCKSTEP_DATA_MIX_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Mix {
  int32_t count;
  int32_t *source; /* by weight, the largest first */
  int64_t *share;  /* of source[i], out of the sum of all */
} Mix;

/* Weights are above 0. False: no memory. mix_free also frees a mix that is all 0. */
bool mix_make(Mix *mix, const double *weight, int32_t count);
void mix_free(Mix *mix);

/* The source of the sample at `position` of the stream; *nth: it is the nth of that source, from 0.
 * Each source has its share of the first n samples, within 2, for every n. */
int32_t mix_at(const Mix *mix, int64_t position, int64_t *nth);

#endif
