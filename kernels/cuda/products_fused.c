/* products_fused.c -- GELU and its slope in the end of a product.
 *
 * The library takes the argument of GELU from the sum in f32, where a kernel of its own takes it
 * from memory, rounded to the value's type. Fused and apart differ by that: in bf16 by up to 2^-9
 * of GELU's argument times its slope, besides the last rounding; in f32 by nothing but the order of
 * operations. Its GELU is the tanh form, so that gelu_erf never fuses. */
#include <stdlib.h>

#include "kernels/cuda/products_inside.h"

/* of matrices that the library reads or writes beside the result */
enum { ALIGN_LEAST_BYTES = 16 };

/* Two fused records; a product is NULL where the library has none for it. */
typedef struct FusedProduct {
  const Kernel *first, *second;
  LtProduct *beside; /* the second writes elsewhere, or not in the value's shape at all */
  LtProduct *over;   /* the second writes over what the first has written */
} FusedProduct;

static void release(void *state) {
  FusedProduct *fused = state;
  product_close(fused->beside);
  product_close(fused->over);
  free(fused);
}

static KernelStatus run_apart(const FusedProduct *fused, const KernelArgs *first,
                              const KernelArgs *second, const char **why) {
  KernelStatus ended = fused->first->run(first, why);
  return ended == KERNEL_DONE ? fused->second->run(second, why) : ended;
}

/* ---- GELU: operands x, y of the second */

static KernelStatus run_gelu(const KernelFused *how, const KernelArgs *args, const char **why) {
  const FusedProduct *fused = how->state;
  const KernelArgs *first = &args[0], *second = &args[1];
  bool is_over = second->operand[0] == second->operand[1];
  const LtProduct *product = is_over ? fused->over : fused->beside;
  int32_t d = fused->first->id == KERNEL_linear_bias ? 3 : 2;
  if (product == NULL || first->operand[d] != second->operand[0])
    return run_apart(fused, first, second, why);
  ProductTo to = {.bias = d == 3 ? first->operand[2] : NULL,
                  .aux = is_over ? NULL : first->operand[d],
                  .d = second->operand[1]};
  return product_run(product, first, to, why);
}

/* ---- its slope: operands d_y, x, d_x of the second. The product alone is in no memory: what is
 * not written over runs apart. */

static KernelStatus run_slope(const KernelFused *how, const KernelArgs *args, const char **why) {
  const FusedProduct *fused = how->state;
  const KernelArgs *first = &args[0], *second = &args[1];
  if (first->operand[2] != second->operand[0] || second->operand[2] != second->operand[0])
    return run_apart(fused, first, second, why);
  ProductTo to = {.aux = second->operand[1], .d = second->operand[2]};
  return product_run(fused->over, first, to, why);
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

/* True if the second is about as many elements as the product has, all of its type: the library
 * writes them in its shape. */
static bool is_of_all(const KernelUse use[2], const Matrices *x) {
  bool good = use[1].dim[0] == x->m * x->n;
  for (int32_t i = 0; i < use[1].operand_count; i++)
    good = good && use[1].dtype[i] == use[0].dtype[x->parts.d];
  return good;
}

static FusionChoice choice_of(KernelId first, KernelId second, const KernelUse use[2],
                              const Matrices *x) {
  bool is_forward = first == KERNEL_linear || first == KERNEL_linear_bias;
  if (is_forward && second == KERNEL_gelu && is_of_all(use, x)) return gelu_choice(first);
  if (first == KERNEL_linear_dx && second == KERNEL_gelu_backward && is_of_all(use, x))
    return (FusionChoice){run_slope, 0, LT_EPILOGUE_DGELU};
  return (FusionChoice){0};
}

/* *product stays NULL where the library has nothing: only what was kept and must hold fails. */
static bool open_one(const KernelUse use[2], const Matrices *x, int32_t epilogue,
                     LtProduct **product, const char **why) {
  int64_t first = use[0].align_bytes, second = use[1].align_bytes;
  bool has_aux = (epilogue & LT_EPILOGUE_AUX) != 0;
  if (epilogue == 0 || (has_aux && x->m % LT_AUX_LEAD_UNIT != 0)) return true;
  return product_open(&use[0], x, epilogue, first < second ? first : second, product, why) !=
         KERNEL_FAILED;
}

KernelStatus product_fusion(const Kernel *const *kernel, const KernelUse *use, int32_t count,
                            KernelFused *how, const char **why) {
  if (count > 2) return KERNEL_DONE;
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
  *fused = (FusedProduct){.first = kernel[0], .second = kernel[1]};
  bool good = open_one(use, &x, choice.beside, &fused->beside, why) &&
              open_one(use, &x, choice.over, &fused->over, why);
  if (good && (fused->beside != NULL || fused->over != NULL)) {
    *how = (KernelFused){.run = choice.run, .release = release, .state = fused};
    return KERNEL_DONE;
  }
  release(fused);
  return good ? KERNEL_DONE : KERNEL_FAILED;
}
