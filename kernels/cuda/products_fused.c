/* products_fused.c -- GELU, its slope and an addition in the end of a product.
 *
 * The library takes the argument of GELU, and what it adds to, from the sum in f32, where a kernel
 * of our own takes it from memory, rounded to the value's type. Fused and apart differ by that: in
 * bf16 by up to 2^-9 of GELU's argument times its slope, or of the product, besides the last
 * rounding; in f32 by nothing but the order of operations. Its GELU is the tanh form, so that
 * gelu_erf never fuses.
 *
 * A third record may be fused with the second: a norm with the addition, the gradient of a bias
 * with the slope. Then either the product has the second in its end and the third runs after it,
 * or the product runs alone and the other two are one pass. Which of them is faster is measured
 * (products_ways.c) where memory is lent, and kept; else the product has the second. */
#include <stdlib.h>

#include "kernels/cuda/dense.h"
#include "kernels/cuda/products_inside.h"

/* of matrices that the library reads or writes beside the result */
enum { ALIGN_LEAST_BYTES = 16 };

/* Fused records; a product is NULL where the library has none for it. */
typedef struct FusedProduct {
  const Kernel *kernel[FUSED_MOST];
  int32_t count;
  KernelFused rest;  /* the second and the third, where they are one pass */
  LtProduct *beside; /* the second writes elsewhere, or not in the value's shape at all */
  LtProduct *over;   /* the second writes over what the first has written */
} FusedProduct;

static void release(void *state) {
  FusedProduct *fused = state;
  product_close(fused->beside);
  product_close(fused->over);
  if (fused->rest.release != NULL) fused->rest.release(fused->rest.state);
  free(fused);
}

static KernelStatus run_from(const FusedProduct *fused, int32_t first, const KernelArgs *args,
                             const char **why) {
  KernelStatus ended = KERNEL_DONE;
  for (int32_t i = first; i < fused->count && ended == KERNEL_DONE; i++)
    ended = fused->kernel[i]->run(&args[i], why);
  return ended;
}

/* The product alone, then the others. */
static KernelStatus run_apart(const FusedProduct *fused, const KernelArgs *args, const char **why) {
  if (fused->rest.run == NULL) return run_from(fused, 0, args, why);
  KernelStatus ended = fused->kernel[0]->run(&args[0], why);
  return ended == KERNEL_DONE ? fused->rest.run(&fused->rest, &args[1], why) : ended;
}

/* Fuses the first two records into one product of the library, if it has one that is not slower;
 * otherwise runs the records apart. */
static KernelStatus run_as_one(const FusedProduct *fused, const LtProduct *product, ProductTo to,
                               const KernelArgs *args, const char **why) {
  if (product == NULL || product->is_apart) return run_apart(fused, args, why);
  KernelStatus ended = product_run(product, &args[0], to, why);
  return ended == KERNEL_DONE ? run_from(fused, 2, args, why) : ended;
}

/* ---- GELU: operands x, y of the second */

static int32_t bias_of(const FusedProduct *fused) {
  return fused->kernel[0]->id == KERNEL_linear_bias ? 2 : -1;
}

static KernelStatus run_gelu(const KernelFused *how, const KernelArgs *args, const char **why) {
  const FusedProduct *fused = how->state;
  const KernelArgs *first = &args[0], *second = &args[1];
  bool is_over = second->operand[0] == second->operand[1];
  const int32_t bias = bias_of(fused), d = bias < 0 ? 2 : 3;
  if (first->operand[d] != second->operand[0]) return run_apart(fused, args, why);
  ProductTo to = {.bias = bias < 0 ? NULL : first->operand[bias],
                  .aux = is_over ? NULL : first->operand[d],
                  .d = second->operand[1]};
  return run_as_one(fused, is_over ? fused->over : fused->beside, to, args, why);
}

/* ---- its slope: operands d_y, x, d_x of the second. The product alone is in no memory: what is
 * not written over runs apart. */

static KernelStatus run_slope(const KernelFused *how, const KernelArgs *args, const char **why) {
  const FusedProduct *fused = how->state;
  const KernelArgs *first = &args[0], *second = &args[1];
  if (first->operand[2] != second->operand[0] || second->operand[2] != second->operand[0])
    return run_apart(fused, args, why);
  ProductTo to = {.aux = second->operand[1], .d = second->operand[2]};
  return run_as_one(fused, fused->over, to, args, why);
}

/* ---- an addition: operands a, b, y of the second, of which y is over a or b. The product alone is
 * in no memory, as before. */

static KernelStatus run_sum(const KernelFused *how, const KernelArgs *args, const char **why) {
  const FusedProduct *fused = how->state;
  const KernelArgs *first = &args[0], *second = &args[1];
  const int32_t bias = bias_of(fused), d = bias < 0 ? 2 : 3;
  const void *product = first->operand[d];
  const int32_t other = second->operand[0] == product ? 1 : 0;
  if (second->operand[1 - other] != product || second->operand[other] == product ||
      second->operand[2] != product)
    return run_apart(fused, args, why);
  ProductTo to = {.bias = bias < 0 ? NULL : first->operand[bias],
                  .added = second->operand[other],
                  .d = second->operand[2],
                  .adds = true};
  return run_as_one(fused, fused->over, to, args, why);
}

/* ---- choosing */

typedef struct FusionChoice {
  KernelStatus (*run)(const KernelFused *how, const KernelArgs *args, const char **why);
  int32_t beside, over; /* epilogues; 0: none */
} FusionChoice;

static FusionChoice gelu_choice(KernelId first) {
  return first == KERNEL_linear
             ? (FusionChoice){run_gelu, LT_EPILOGUE_GELU_AUX, LT_EPILOGUE_GELU}
             : (FusionChoice){run_gelu, LT_EPILOGUE_GELU_AUX_BIAS, LT_EPILOGUE_GELU_BIAS};
}

static FusionChoice sum_choice(KernelId first) {
  const int32_t epilogue = first == KERNEL_linear ? LT_EPILOGUE_NONE : LT_EPILOGUE_BIAS;
  return (FusionChoice){run_sum, 0, epilogue | LT_EPILOGUE_ADDS};
}

/* True if the second is about as many elements as the product has, all of its type: the library
 * writes them in its shape. */
static bool is_of_all(const KernelUse *use, const Matrices *x) {
  bool good = use[1].dim[0] == x->m * x->n;
  for (int32_t i = 0; i < use[1].operand_count; i++)
    good = good && use[1].dtype[i] == use[0].dtype[x->parts.d];
  return good;
}

static FusionChoice choice_of(KernelId first, KernelId second, const KernelUse *use,
                              const Matrices *x) {
  bool is_forward = first == KERNEL_linear || first == KERNEL_linear_bias;
  if (is_forward && second == KERNEL_add &&
      combines_all(&use[1], x->m * x->n, use[0].dtype[x->parts.d]))
    return sum_choice(first);
  if (is_forward && second == KERNEL_gelu && is_of_all(use, x)) return gelu_choice(first);
  if (first == KERNEL_linear_dx && second == KERNEL_gelu_backward && is_of_all(use, x))
    return (FusionChoice){run_slope, 0, LT_EPILOGUE_DGELU};
  return (FusionChoice){0};
}

/* *product stays NULL where the library has nothing: only what was kept and must hold fails. */
static bool open_one(const FusedProduct *fused, const KernelUse *use, const Matrices *x,
                     int32_t epilogue, LtProduct **product, const char **why) {
  int64_t first = use[0].align_bytes, second = use[1].align_bytes;
  bool has_aux = (epilogue & LT_EPILOGUE_AUX) != 0;
  if (epilogue == 0 || (has_aux && x->m % LT_AUX_LEAD_UNIT != 0)) return true;
  if (product_open(&use[0], x, epilogue, first < second ? first : second, product, why) ==
      KERNEL_FAILED)
    return false;
  const ProductWays ways = {fused->kernel, use, fused->count, &fused->rest};
  if (*product != NULL && (*product)->is_fresh) product_compare(*product, x, &ways);
  return true;
}

static bool open_all(FusedProduct *fused, const KernelUse *use, const Matrices *x,
                     const FusionChoice *choice, const char **why) {
  const Kernel *const *second = &fused->kernel[1];
  if (fused->count > 2 && second[0]->fuse != NULL &&
      second[0]->fuse(second, &use[1], fused->count - 1, &fused->rest, why) != KERNEL_DONE)
    return false;
  return open_one(fused, use, x, choice->beside, &fused->beside, why) &&
         open_one(fused, use, x, choice->over, &fused->over, why);
}

KernelStatus product_fusion(const Kernel *const *kernel, const KernelUse *use, int32_t count,
                            KernelFused *how, const char **why) {
  Matrices x = product_matrices(kernel[0]->id, use[0].dim);
  FusionChoice choice = choice_of(kernel[0]->id, kernel[1]->id, use, &x);
  bool is_empty = x.m == 0 || x.n == 0 || x.k == 0;
  bool is_aligned =
      use[0].align_bytes >= ALIGN_LEAST_BYTES && use[1].align_bytes >= ALIGN_LEAST_BYTES;
  if (choice.run == NULL || is_empty || !is_aligned ||
      !product_has_types(use[0].dtype[x.parts.a], use[0].dtype[x.parts.d]))
    return KERNEL_DONE;
  FusedProduct *fused = calloc(1, sizeof *fused);
  *why = "there is no memory for it";
  if (fused == NULL) return KERNEL_FAILED;
  fused->count = count;
  for (int32_t i = 0; i < count; i++)
    fused->kernel[i] = kernel[i];
  bool good = open_all(fused, use, &x, &choice, why);
  if (good && (fused->beside != NULL || fused->over != NULL)) {
    *how = (KernelFused){.run = choice.run, .release = release, .state = fused};
    return KERNEL_DONE;
  }
  release(fused);
  return good ? KERNEL_DONE : KERNEL_FAILED;
}
