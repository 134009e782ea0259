/* cost.h -- the expected time of a record that is no communication: of kernels as kernel.h prices
 * them, of copies and of work of the host by its rates.
 *
 * Integers of nanoseconds: predictions are part of the plan's bytes. 0 where the device's peaks are
 * unknown. */
#ifndef LOCKSTEP_COST_H
#define LOCKSTEP_COST_H

#include "compiler/draft/draft.h"

/* FLOP/s of a rank's device in the dtype that trains, by the device's table; 0: unknown. */
double cost_peak(const Draft *d);

/* The same of a product whose first factor has this dtype. */
double cost_peak_of(const Draft *d, DType dtype);

/* 0 of communications. */
int64_t cost_kernel_ns(const Draft *d, const Record *record);

/* Fills compute_ns of every segment. */
void cost_segments(Draft *d);

#endif
