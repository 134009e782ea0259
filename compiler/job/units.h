/* units.h -- numbers with units, as people write them. Private to the room. */
#ifndef LOCKSTEP_UNITS_H
#define LOCKSTEP_UNITS_H

#include "compiler/job/job.h"

/* "8", "2^19", "3e5", "16Mi", "512k": decimal scales k M G T, binary Ki Mi Gi Ti. */
bool units_count(const char *text, double *number);

/* The same, and below zero: a number of -D, whose range is checked as that of one in a file. */
bool units_signed(const char *text, double *number);

/* "80GiB" (2^30), "80GB" (1e9), "512B". */
bool units_bytes(const char *text, double *size_bytes);

/* "450GB/s" (bytes), "400Gb/s" (bits): bytes per second. */
bool units_rate(const char *text, double *bytes_per_s);

/* The least rates, of bytes and FLOPs, that clusters may have: by slower ones the nanoseconds of a
 * step would overflow 64 bits. */
#define UNITS_RATE_LEAST  1e6
#define UNITS_FLOPS_LEAST 1e9

/* "989TFLOP/s". */
bool units_flops(const char *text, double *flops);

/* "30m", "1d12h", "90s": seconds. */
bool units_duration(const char *text, double *time_s);

/* "5us", "800ns", "1.5ms": nanoseconds. */
bool units_latency(const char *text, double *time_ns);

/* Reads a text in one of the units that a key takes, words separated by |: "" bare number, "s"
 * duration, "ns" latency, "%" and "bytes". */
bool units_amount(const char *text, const char *units, Amount *amount);
bool units_allow(const char *units, const char *unit);

/* "tokens" of UNIT_TOKENS. */
const char *units_word(Unit unit);

/* The same number as short text: 512Ki, 1Mi, 1000. */
char *units_print_count(Arena *arena, double number);

#endif
