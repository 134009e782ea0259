/* product.h -- which variant of the matrix product this process uses.
 *
 * A processor that has an instruction does not always do it well: on some, dot products of bf16
 * pairs issue at half the rate of fp32 multiply-adds, and bf16 is faster widened to fp32. So the
 * variant is looked up by processor in cpu/processors.def, for each dtype, once per process: ranks
 * are threads of it and all round alike. Results are bitwise reproducible for equal choices.
 *
 * LOCKSTEP_CPU=NAME forces a variant, for tests and measurements: see product_name. */
#ifndef LOCKSTEP_KERNELS_PRODUCT_H
#define LOCKSTEP_KERNELS_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

/* A processor that has one of these also has the earlier ones. */
typedef enum Product {
  PRODUCT_REFERENCE,   /* the plain kernels, in double */
  PRODUCT_AVX2,        /* fp32 multiply-adds, eight at once; bf16 is widened */
  PRODUCT_AVX512,      /* the same, sixteen at once */
  PRODUCT_AVX512_BF16, /* bf16 only: dot products of pairs */
  PRODUCT_AMX_BF16,    /* bf16 only: tiles */
  PRODUCT_AMX_EMULATED /* bf16 only: tiles in plain C, bit for bit, and slow: for tests */
} Product;

typedef struct ProductChoice {
  Product f32, bf16;
  char vendor[13];
  uint32_t family, model; /* as in /proc/cpuinfo */
  char processor[96];     /* "AuthenticAMD family 26 model 2 (Zen 5)" */
  const char *because;    /* why these variants */
  Product wanted;         /* by the table, if that cannot be used; */
  const char *refusal;    /* why not, or NULL */
  char problem[160]; /* why LOCKSTEP_CPU cannot be followed, or ""; if set, nothing should run */
} ProductChoice;

/* The choice of this process; the same at every call, from any thread. */
const ProductChoice *product_choice(void);

/* "none", "avx2", "avx512", "avx512-bf16", "amx-bf16", "amx-bf16-emulated": what LOCKSTEP_CPU
 * takes. */
const char *product_name(Product product);

/* True if this processor and system can compute with it. */
bool product_runs_here(Product product);

/* Why it cannot be used in this process, or NULL. Asks the system for permission to use tile
 * registers. */
const char *product_refusal(Product product);

enum { PRODUCT_PARTS = 3 }; /* of a step: the forward product, dx, dw */

/* Seconds of each part at the size of GPT-2's widest layer, with the variant that this process has
 * chosen: the best of some runs. Takes about `limit_s` for each. False: not enough memory. */
bool product_measure(bool bf16, int32_t threads, double limit_s, double seconds[PRODUCT_PARTS]);
/* Multiply-adds count as two. */
double product_flops(void);

#endif
