/* products_timed.h -- products are tried on the GPU before the first step, because the library's
 * first proposal is up to a fifth slower than its best one. */
#ifndef LOCKSTEP_CUDA_PRODUCTS_TIMED_H
#define LOCKSTEP_CUDA_PRODUCTS_TIMED_H

#include <stdbool.h>
#include <stdint.h>

/* Issues a product; `stream` is a cudaStream_t. False: it cannot. */
typedef bool ProductTry(const void *context, void *stream);

/* The calls of a GPU that trying needs. */
typedef struct ProductClock {
  int32_t driver; /* its version */
  /* Fills memory of the GPU with repetitions of a pattern of the host. */
  bool (*fill)(void *to, uint64_t size_bytes, const void *pattern, uint64_t pattern_bytes);
  /* Runs it as often, and tells how long each run took on the GPU. */
  bool (*time)(ProductTry *product, const void *context, int32_t runs, int64_t *took_ns);
  int64_t (*now_ns)(void); /* of the host: its time limits how many products are tried */
} ProductClock;

/* While the calling thread binds a plan, its GPU's memory at `memory`, which has no content yet,
 * may be used to try products. NULL: no more. */
void products_lend(const ProductClock *clock, void *memory, uint64_t size_bytes);

/* ---- for kernels that are tried in the lent memory */

/* The driver's version, while memory is borrowed; else 0. */
int32_t lent_driver(void);
/* True if memory is borrowed, and time for more candidates is left. */
bool lent_may_try(void);
/* The next place of the memory, as aligned as that and no more, filled with numbers of the dtype.
 * NULL: there is no room. `*used` begins with 0. */
void *lent_take(uint64_t *used, uint64_t size_bytes, int64_t align_bytes, uint32_t dtype);
/* The median of a few runs; INT64_MAX: it cannot run. */
int64_t lent_run_ns(ProductTry *product, const void *context);

#endif
