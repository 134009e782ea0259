/* products_inside.h -- what the files that make products through cublasLt share. */
#ifndef LOCKSTEP_CUDA_PRODUCTS_INSIDE_H
#define LOCKSTEP_CUDA_PRODUCTS_INSIDE_H

#include "kernels/cuda/choices.h"
#include "kernels/cuda/products.h"

/* The roles of operands: d is the product of a and b. */
typedef struct Parts {
  int32_t a, b, bias, d; /* bias: -1 where there is none */
  bool codes;            /* a and b are codes, with scales in the operands after them */
} Parts;

/* A matrix of codes, rows x cols in memory, that is transposed for the library; rows 0: it is not
 * transposed. */
typedef struct Turned {
  int64_t rows, cols;
} Turned;

/* Scales of a matrix of codes, rows x cols, that are reordered for the library: transposed, or with
 * `stride` elements a row; rows 0: they are not reordered. */
typedef struct Scales {
  int32_t mode; /* LT_SCALE_ONE ... */
  bool turned;
  int64_t rows, cols, stride;
} Scales;

/* The state of a record, used by every call. */
typedef struct LtProduct {
  Parts parts;
  LtHandle *handle;
  LtOperation *operation;
  LtLayout *a, *b, *d;
  LtAlgorithm algorithm;
  bool is_fresh;    /* its algorithm was chosen for it, not kept */
  bool is_apart;    /* of a fused product: the records run faster one after the other */
  Turned turned[2]; /* of codes: a and b */
  Scales scales[2];
  ChoiceKey shape;
  struct LtProduct *next; /* the next open product */
} LtProduct;

typedef struct Matrices {
  Parts parts;
  int64_t m, n, k, lead_a, lead_b;
  int32_t transpose_a, transpose_b;
  bool turns_a, turns_b; /* the library gets a turned copy */
} Matrices;

Matrices product_matrices(KernelId id, const int64_t *dim);

/* The library multiplies these types, with sums in f32. */
bool product_has_types(uint32_t factors, uint32_t result);

/* A product of `use`, whose end does what `epilogue` says (lt_api.h), for addresses that are
 * multiples of align_bytes. KERNEL_REFUSED: the library has no algorithm for it. KERNEL_FAILED:
 * what is kept of it must hold, and does not any more; or something is missing. `why` says what. */
KernelStatus product_open(const KernelUse *use, const Matrices *x, int32_t epilogue,
                          int64_t align_bytes, LtProduct **opened, const char **why);
void product_close(LtProduct *product); /* NULL is allowed */

/* ---- products_timed.c */

enum { PRODUCT_TRIES_MOST = 16 };
enum { PRODUCT_USES_BIAS = LT_EPILOGUE_BIAS };

/* Times of a run; zeros: none was tried, and the first candidate is taken. */
typedef struct ProductTimes {
  int32_t which; /* of the candidates */
  int64_t took_ns, first_ns;
} ProductTimes;

/* The fastest of the candidates, timed in borrowed memory (products_timed.h). */
ProductTimes product_fastest(const LtApi *api, const LtProduct *product, const Matrices *x,
                             const ChoiceKey *shape, bool adds, const LtCandidate *const *offered,
                             int32_t count);

/* Where a call writes, and what its epilogue needs: NULL where it needs none. */
typedef struct ProductTo {
  const void *bias, *aux;
  const void *added; /* the matrix that is added; NULL: d itself, if `adds` */
  void *d;
  bool adds;
} ProductTo;

KernelStatus product_run(const LtProduct *product, const KernelArgs *args, ProductTo to,
                         const char **why);

/* ---- products_ways.c */

/* Records of which the first is a product that may have the second in its end; `rest`: the others
 * in one pass, or no run. */
typedef struct ProductWays {
  const Kernel *const *kernel;
  const KernelUse *use;
  int32_t count;
  const KernelFused *rest;
} ProductWays;

/* Times both ways in borrowed memory, adds the result to the product's choice, and sets
 * is_apart. Does nothing without borrowed memory, or if it has too little room, or if no product
 * was timed. */
void product_compare(LtProduct *fused, const Matrices *x, const ProductWays *ways);

/* Kernel.fuse of the products (products_fused.c). */
KernelStatus product_fusion(const Kernel *const *kernel, const KernelUse *use, int32_t count,
                            KernelFused *how, const char **why);

#endif
