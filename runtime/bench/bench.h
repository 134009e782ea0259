/* bench.h -- rates of this machine that predictions of offload use, measured with the code that
 * training runs: copies by the queues of a device, updates by the kernels of processors, files by
 * the tier of files.
 *
 * The answer is one line for each fact: a name, a blank, a text or a number, which is a second's.
 */
#ifndef LOCKSTEP_BENCH_H
#define LOCKSTEP_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/process/status.h"

/* Copies each way, both ways at once and with all GPUs at once; on a machine without GPUs between
 * two places of its memory, as plans for processors copy. Then what all cores get of host memory,
 * and of it in updates. */
bool bench_copies(FILE *out, Status *status);

/* Kernels of processors: products and attention as FLOP/s, norms, activations and the loss as bytes
 * a second, records of a few numbers a second; then memory and updates as above. */
bool bench_kernels(FILE *out, Status *status);

/* Sums between ranks that are threads, one a core: bytes that each of them sends in rings, and
 * messages one after the other. */
bool bench_collectives(FILE *out, Status *status);

/* A rank's file in that directory: written, read, and both at once. */
bool bench_files(const char *directory, FILE *out, Status *status);

/* The same alone, of a file of that size, each way for `limit_s` at most. */
typedef struct FileRates {
  double read_per_s, write_per_s;
  bool is_direct; /* past the page cache */
} FileRates;
bool bench_file(const char *directory, uint64_t size_bytes, double limit_s, FileRates *rates,
                Status *status);

/* Seconds since some moment. */
double bench_now_s(void);

/* Measures the bytes a second that all cores together read and write in host memory. */
bool bench_stream(double *bytes_per_s, Status *status);
bool bench_update(double *bytes_per_s, Status *status);

#endif
