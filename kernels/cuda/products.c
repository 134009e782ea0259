#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/contract/workspace.h"
#include "kernels/cuda/products_inside.h"
#include "kernels/cuda/products_timed.h"
#include "kernels/cuda/variants.h"
#include "kernels/prepare.h"

static struct {
  pthread_mutex_t lock;
  const LtApi *api;
  ProductGpu *gpu;
  LtHandle *handle[PRODUCT_GPUS_MAX];
  Kernel kernels[KERNEL_COUNT];
  LtProduct *open;
  pthread_mutex_t choosing;
} lt = {.lock = PTHREAD_MUTEX_INITIALIZER, .choosing = PTHREAD_MUTEX_INITIALIZER};

/* ---- the factors: the library's matrices are column-major, ours row-major, so that each of ours
 * is a transposed one there */

static Matrices forward(const int64_t *dim, int32_t bias) {
  int64_t rows = dim[0], in = dim[1], out = dim[2];
  bool transposed = dim[3] != 0;
  return (Matrices){.parts = {1, 0, bias, bias < 0 ? 2 : 3},
                    .m = out,
                    .n = rows,
                    .k = in,
                    .lead_a = transposed ? out : in,
                    .lead_b = in,
                    .transpose_a = transposed ? LT_PLAIN : LT_TRANSPOSED,
                    .transpose_b = LT_PLAIN};
}

static Matrices backward_x(const int64_t *dim) {
  int64_t rows = dim[0], in = dim[1], out = dim[2];
  bool transposed = dim[3] != 0;
  return (Matrices){.parts = {1, 0, -1, 2},
                    .m = in,
                    .n = rows,
                    .k = out,
                    .lead_a = transposed ? out : in,
                    .lead_b = out,
                    .transpose_a = transposed ? LT_TRANSPOSED : LT_PLAIN,
                    .transpose_b = LT_PLAIN};
}

static Matrices backward_w(const int64_t *dim) {
  int64_t rows = dim[0], in = dim[1], out = dim[2];
  bool transposed = dim[3] != 0;
  return (Matrices){.parts = {transposed ? 1 : 0, transposed ? 0 : 1, -1, 2},
                    .m = transposed ? out : in,
                    .n = transposed ? in : out,
                    .k = rows,
                    .lead_a = transposed ? out : in,
                    .lead_b = transposed ? in : out,
                    .transpose_a = LT_PLAIN,
                    .transpose_b = LT_TRANSPOSED};
}

/* Codes are multiplied in one way only: both along what is summed over, so that matrices of another
 * order are turned first. */
static Matrices of_codes(KernelId id, const int64_t *dim) {
  const int64_t rows = dim[0], in = dim[1], out = dim[2];
  const bool transposed = dim[3] != 0, is_bias = id == KERNEL_linear_fp8_bias;
  Matrices x = {.parts = {2, 0, is_bias ? 4 : -1, is_bias ? 5 : 4, true},
                .m = out,
                .n = rows,
                .k = in,
                .turns_a = transposed};
  if (id == KERNEL_linear_fp8_dx) x.m = in, x.k = out, x.turns_a = !transposed;
  if (id == KERNEL_linear_fp8_dw) {
    x.parts.a = transposed ? 2 : 0, x.parts.b = transposed ? 0 : 2;
    x.m = transposed ? out : in, x.n = transposed ? in : out, x.k = rows;
    x.turns_a = x.turns_b = true;
  }
  x.lead_a = x.lead_b = x.k;
  x.transpose_a = LT_TRANSPOSED, x.transpose_b = LT_PLAIN;
  return x;
}

Matrices product_matrices(KernelId id, const int64_t *dim) {
  if (id == KERNEL_linear_fp8 || id == KERNEL_linear_fp8_bias || id == KERNEL_linear_fp8_dx ||
      id == KERNEL_linear_fp8_dw)
    return of_codes(id, dim);
  if (id == KERNEL_linear_dx) return backward_x(dim);
  if (id == KERNEL_linear_dw) return backward_w(dim);
  return forward(dim, id == KERNEL_linear_bias ? 2 : -1);
}

/* ---- preparing: the first call that fails says why */

enum { SUGGESTIONS = 24 }; /* algorithms that round are among them */

typedef struct ProductMaking {
  const LtApi *api;
  int status;
} ProductMaking;

static bool made(ProductMaking *making, int status) {
  if (making->status == LT_DONE) making->status = status;
  return making->status == LT_DONE;
}

static int32_t lt_type(uint32_t dtype) {
  return dtype == DTYPE_BF16 ? LT_BF16 : dtype == DTYPE_F16 ? LT_F16 : LT_F32;
}

/* Blocks down and across the matrix of an operand of codes, as linear_fp8 and its kin have them. */
static const int64_t *blocks_of(const KernelUse *use, int32_t operand) {
  enum { FIRST = 4, SECOND = 6 };
  return use->dim + (operand == 0 ? FIRST : SECOND);
}

static bool has_blocks(const KernelUse *use, const Parts *parts) {
  const int64_t *a = blocks_of(use, parts->a), *b = blocks_of(use, parts->b);
  return parts->codes && a[0] * a[1] * b[0] * b[1] != 1;
}

/* Which blocks a matrix of `lines` rows along k has, or transposed: rows are along k and lines
 * across them. LT_SCALE_ONE: none of the library's. */
static int32_t scale_mode(const int64_t blocks[2], int64_t lines, int64_t k, bool is_turned) {
  const int64_t across = blocks[is_turned ? 1 : 0], along_k = blocks[is_turned ? 0 : 1];
  if (along_k != k / LT_SCALE_SIDE) return LT_SCALE_ONE;
  return across == lines                   ? LT_SCALE_VECTORS
         : across == lines / LT_SCALE_SIDE ? LT_SCALE_SQUARES
                                           : LT_SCALE_ONE;
}

/* One scale has no order, and no place in the scratch: scales_bytes. */
static Scales scales_of(const int64_t blocks[2], int64_t lines, int64_t k, bool is_turned) {
  const int32_t mode = scale_mode(blocks, lines, k, is_turned);
  const bool is_square = mode == LT_SCALE_SQUARES;
  Scales scales = {.mode = mode,
                   .turned = is_square == is_turned,
                   .stride = is_square ? (k / LT_SCALE_SIDE + 3) / 4 * 4 : lines};
  if (blocks[0] * blocks[1] == 1) return scales;
  if (!scales.turned && scales.stride == blocks[1]) return scales;
  scales.rows = blocks[0], scales.cols = blocks[1];
  return scales;
}

static Scales scales_a(const KernelUse *use, const Matrices *x) {
  return scales_of(blocks_of(use, x->parts.a), x->m, x->k, x->turns_a);
}

static Scales scales_b(const KernelUse *use, const Matrices *x) {
  return scales_of(blocks_of(use, x->parts.b), x->n, x->k, x->turns_b);
}

/* By block the library gets what layers have: sizes of whole blocks, codes of E4M3, vectors of b,
 * and vectors or squares of a. */
static bool has_library_blocks(const KernelUse *use, const Matrices *x) {
  return (x->m | x->n | x->k) % LT_SCALE_SIDE == 0 && use->dtype[x->parts.a] == DTYPE_E4M3 &&
         use->dtype[x->parts.b] == DTYPE_E4M3 && scales_a(use, x).mode != LT_SCALE_ONE &&
         scales_b(use, x).mode == LT_SCALE_VECTORS;
}

static int32_t lt_factors(const KernelUse *use, const Parts *parts, const Matrices *x) {
  const uint32_t dtype = use->dtype[parts->a];
  if (has_blocks(use, parts))
    return scales_a(use, x).mode == LT_SCALE_SQUARES ? LT_SQUARES_VECTORS : LT_VECTORS_VECTORS;
  if (parts->codes)
    return dtype == DTYPE_E5M2                  ? LT_E5M2_E4M3
           : use->dtype[parts->b] == DTYPE_E5M2 ? LT_E4M3_E5M2
                                                : LT_E4M3_E4M3;
  bool tf32 = contract_is_tf32(contract_of(KERNEL_linear), use->attr, use->attr_count);
  return tf32 && dtype == DTYPE_F32 ? LT_TF32 : lt_type(dtype);
}

static LtHandle *handle_of(ProductMaking *making, int32_t gpu) {
  pthread_mutex_lock(&lt.lock);
  if (lt.handle[gpu] == NULL) (void)made(making, making->api->create(&lt.handle[gpu]));
  LtHandle *handle = lt.handle[gpu];
  pthread_mutex_unlock(&lt.lock);
  return handle;
}

static void set(ProductMaking *making, LtOperation *operation, int attribute, int32_t value) {
  if (making->status == LT_DONE)
    (void)made(making, making->api->operation_set(operation, attribute, &value, sizeof value));
}

static void layout(ProductMaking *making, LtLayout **at, int32_t type, int64_t rows,
                   int64_t columns, int64_t leading) {
  if (making->status == LT_DONE)
    (void)made(making,
               making->api->layout_create(at, type, (uint64_t)rows, (uint64_t)columns, leading));
}

static void describe(ProductMaking *making, LtProduct *product, const Matrices *x,
                     const ChoiceKey *shape) {
  const int compute = shape->factors == LT_TF32 ? LT_COMPUTE_TF32 : LT_COMPUTE_F32;
  const int32_t factor_a = shape->factors == LT_TF32        ? LT_F32
                           : shape->factors >= 0            ? shape->factors
                           : shape->factors == LT_E5M2_E4M3 ? LT_E5M2
                                                            : LT_E4M3;
  const int32_t factor_b = shape->factors == LT_E4M3_E5M2   ? LT_E5M2
                           : shape->factors == LT_E5M2_E4M3 ? LT_E4M3
                                                            : factor_a;
  if (!made(making, making->api->operation_create(&product->operation, compute, LT_F32))) return;
  set(making, product->operation, LT_TRANSPOSE_A, x->transpose_a);
  set(making, product->operation, LT_TRANSPOSE_B, x->transpose_b);
  set(making, product->operation, LT_EPILOGUE, shape->epilogue & LT_EPILOGUES_OWN);
  /* Addresses of the alignment that the heuristic may count on. */
  const void *like = (const void *)(uintptr_t)shape->align_bytes;
  if ((shape->epilogue & PRODUCT_USES_BIAS) != 0 && making->status == LT_DONE)
    (void)made(making, making->api->operation_set(product->operation, LT_BIAS, &like, sizeof like));
  if ((shape->epilogue & LT_EPILOGUE_AUX) != 0 && making->status == LT_DONE &&
      made(making, making->api->operation_set(product->operation, LT_AUX, &like, sizeof like)))
    (void)made(making,
               making->api->operation_set(product->operation, LT_AUX_LEAD, &x->m, sizeof x->m));
  const int8_t exact_sums = 0;
  if (x->parts.codes && making->status == LT_DONE &&
      made(making,
           making->api->operation_set(product->operation, LT_SCALE_A, &like, sizeof like)) &&
      made(making, making->api->operation_set(product->operation, LT_SCALE_B, &like, sizeof like)))
    (void)made(making, making->api->operation_set(product->operation, LT_FAST_SUMS, &exact_sums,
                                                  sizeof exact_sums));
  if (shape->factors <= LT_SQUARES_VECTORS) {
    set(making, product->operation, LT_SCALE_MODE_A, product->scales[0].mode);
    set(making, product->operation, LT_SCALE_MODE_B, product->scales[1].mode);
  }
  bool a_turned = x->transpose_a != LT_PLAIN, b_turned = x->transpose_b != LT_PLAIN;
  layout(making, &product->a, factor_a, a_turned ? x->k : x->m, a_turned ? x->m : x->k, x->lead_a);
  layout(making, &product->b, factor_b, b_turned ? x->n : x->k, b_turned ? x->k : x->n, x->lead_b);
  layout(making, &product->d, shape->result, x->m, x->n, x->m);
}

static void prefer(ProductMaking *making, LtPreference *preference, int attribute,
                   const void *value, size_t size_bytes) {
  if (making->status == LT_DONE)
    (void)made(making, making->api->preference_set(preference, attribute, value, size_bytes));
}

static void look_up(ProductMaking *making, const LtAlgorithm *algorithm, int attribute,
                    int32_t *value) {
  size_t written = 0;
  *value = -1;
  if (making->api->algorithm_get(algorithm, attribute, value, sizeof *value, &written) != LT_DONE)
    *value = -1; /* an algorithm need not have it */
}

/* It says that it rounds the parts of a sum. A rounding before the epilogue is reported by no
 * attribute: see kernels.def, linear_bias. */
static bool rounds_parts(ProductMaking *making, const LtAlgorithm *algorithm) {
  int32_t reduction = 0;
  look_up(making, algorithm, LT_ALGORITHM_REDUCTION, &reduction);
  return reduction == LT_REDUCE_IN_RESULT;
}

/* Those of these that can run and sum in f32, best first. Returns how many. */
static int32_t find_exact(ProductMaking *making, const LtCandidate *offered, int count,
                          const LtCandidate *exact[PRODUCT_TRIES_MOST]) {
  int32_t found = 0;
  for (int i = 0; i < count && found < PRODUCT_TRIES_MOST; i++)
    if (offered[i].status == LT_DONE && !rounds_parts(making, &offered[i].algorithm))
      exact[found++] = &offered[i];
  return found;
}

/* Takes the fastest of the library's suggestions that keep sums in f32, or the first where they
 * cannot be timed. Two runs may time differently, so a run whose bits must repeat takes the first.
 */
static void ask(ProductMaking *making, const LtProduct *product, const Matrices *x, bool adds,
                LtChoice *choice) {
  const LtApi *api = making->api;
  const ChoiceKey *shape = &choice->shape;
  const uint32_t in_f32 = LT_REDUCE_IN_F32;
  LtPreference *preference = NULL;
  LtCandidate offered[SUGGESTIONS] = {{.status = LT_NOT_SUPPORTED}};
  int found = 0;
  if (!made(making, api->preference_create(&preference))) return;
  prefer(making, preference, LT_WORKSPACE_MOST, &shape->workspace_most,
         sizeof shape->workspace_most);
  prefer(making, preference, LT_REDUCTIONS, &in_f32, sizeof in_f32);
  for (int align = LT_ALIGN_A; align <= LT_ALIGN_D; align++)
    prefer(making, preference, align, &shape->align_bytes, sizeof shape->align_bytes);
  if (making->status == LT_DONE)
    (void)made(making,
               api->heuristic(product->handle, product->operation, product->a, product->b,
                              product->d, product->d, preference, SUGGESTIONS, offered, &found));
  (void)api->preference_destroy(preference);
  if (making->status != LT_DONE) return;
  const LtCandidate *exact[PRODUCT_TRIES_MOST] = {NULL};
  const int32_t count = find_exact(making, offered, found, exact);
  if (!made(making, count > 0 ? LT_DONE : LT_NOT_SUPPORTED)) return;
  ProductTimes times = {0};
  if (!choices_are_held()) times = product_fastest(api, product, x, shape, adds, exact, count);
  const LtCandidate *best = exact[times.which];
  choice->algorithm = best->algorithm;
  choice->workspace_bytes = best->workspace_bytes;
  choice->took_ns = times.took_ns, choice->first_ns = times.first_ns;
  choice->driver = lent_driver();
  look_up(making, &best->algorithm, LT_ALGORITHM_ID, &choice->id);
  look_up(making, &best->algorithm, LT_ALGORITHM_TILE, &choice->tile);
  look_up(making, &best->algorithm, LT_ALGORITHM_STAGES, &choice->stages);
  look_up(making, &best->algorithm, LT_ALGORITHM_SPLIT_K, &choice->split_k);
}

/* A kept choice is used if the library accepts it for this shape and scratch, and sums in f32. */
static bool still_holds(ProductMaking *making, const LtProduct *product, const LtChoice *kept) {
  LtCandidate candidate = {.status = LT_NOT_SUPPORTED};
  return making->api->check(product->handle, product->operation, product->a, product->b, product->d,
                            product->d, &kept->algorithm, &candidate) == LT_DONE &&
         candidate.workspace_bytes <= kept->shape.workspace_most &&
         !rounds_parts(making, &kept->algorithm);
}

/* False: a choice that must hold is not accepted. One thread chooses at a time: other ranks of the
 * process take its choice. */
static bool choose(ProductMaking *making, LtProduct *product, const Matrices *x, bool adds) {
  LtChoice choice = {0};
  pthread_mutex_lock(&lt.choosing);
  bool is_kept = choices_find(&product->shape, &choice),
       holds = is_kept && still_holds(making, product, &choice);
  const bool is_lost = is_kept && !holds && choices_are_held();
  if (!holds && !is_lost) {
    choice = (LtChoice){.shape = product->shape};
    ask(making, product, x, adds, &choice);
    if (making->status == LT_DONE) (void)choices_add(&choice);
  }
  pthread_mutex_unlock(&lt.choosing);
  product->algorithm = choice.algorithm;
  product->is_fresh = !holds && !is_lost;
  product->is_apart = choice_is_apart(&choice);
  return !is_lost;
}

static void note_open(LtProduct *product) {
  pthread_mutex_lock(&lt.lock);
  product->next = lt.open;
  lt.open = product;
  pthread_mutex_unlock(&lt.lock);
}

static void note_closed(const LtProduct *product) {
  pthread_mutex_lock(&lt.lock);
  LtProduct **at = &lt.open;
  while (*at != NULL && *at != product)
    at = &(*at)->next;
  if (*at != NULL) *at = product->next;
  pthread_mutex_unlock(&lt.lock);
}

bool products_settle(void) {
  LtChoice choice;
  bool all = true;
  pthread_mutex_lock(&lt.lock);
  for (LtProduct *at = lt.open; at != NULL; at = at->next) {
    ProductMaking making = {.api = lt.api};
    if (!choices_find(&at->shape, &choice)) continue;
    all = all && still_holds(&making, at, &choice);
    at->algorithm = choice.algorithm;
    at->is_apart = choice_is_apart(&choice);
  }
  pthread_mutex_unlock(&lt.lock);
  return all;
}

static ChoiceKey shape_of(const KernelUse *use, const Matrices *x, int32_t epilogue,
                          int64_t align_bytes) {
  bool has_work = use->operand_count > x->parts.d + 1;
  return (ChoiceKey){
      .version = lt.api->get_version(),
      .m = x->m,
      .n = x->n,
      .k = x->k,
      .transpose_a = x->transpose_a,
      .transpose_b = x->transpose_b,
      .factors = lt_factors(use, &x->parts, x),
      .result = lt_type(use->dtype[x->parts.d]),
      .epilogue = epilogue,
      .align_bytes = (uint32_t)align_bytes,
      .workspace_most = x->parts.codes ? WORK_PRODUCT_CUDA
                        : has_work     ? (uint64_t)use->bytes[use->operand_count - 1]
                                       : 0,
  };
}

void product_close(LtProduct *product) {
  if (product == NULL) return;
  note_closed(product);
  if (product->operation != NULL) (void)lt.api->operation_destroy(product->operation);
  LtLayout *layouts[] = {product->a, product->b, product->d};
  for (int i = 0; i < 3; i++)
    if (layouts[i] != NULL) (void)lt.api->layout_destroy(layouts[i]);
  free(product);
}

bool product_has_types(uint32_t factors, uint32_t result) {
  if (dtype_is_fp8((DType)factors)) return result == DTYPE_BF16 || result == DTYPE_F32;
  bool is_known = factors == DTYPE_F32 || factors == DTYPE_BF16 || factors == DTYPE_F16;
  return is_known && (result == factors || result == DTYPE_F32);
}

KernelStatus product_open(const KernelUse *use, const Matrices *x, int32_t epilogue,
                          int64_t align_bytes, LtProduct **opened, const char **why) {
  const char *name = "";
  int32_t gpu = lt.gpu(&name);
  LtProduct *product = calloc(1, sizeof *product);
  *opened = NULL;
  *why = product == NULL ? "there is no memory for it" : "the process has more GPUs than expected";
  if (product == NULL || gpu < 0 || gpu >= PRODUCT_GPUS_MAX) {
    free(product);
    return KERNEL_FAILED;
  }
  ProductMaking making = {.api = lt.api};
  product->shape = shape_of(use, x, epilogue, align_bytes);
  (void)snprintf(product->shape.gpu, sizeof product->shape.gpu, "%s", name);
  product->parts = x->parts;
  if (x->turns_a) product->turned[0] = (Turned){x->k, x->m};
  if (x->turns_b) product->turned[1] = (Turned){x->k, x->n};
  if (has_blocks(use, &x->parts)) {
    product->scales[0] = scales_a(use, x);
    product->scales[1] = scales_b(use, x);
  }
  product->handle = handle_of(&making, gpu);
  if (making.status == LT_DONE) describe(&making, product, x, &product->shape);
  const bool adds = use->accumulate || (epilogue & LT_EPILOGUE_ADDS) != 0;
  bool holds = making.status != LT_DONE || choose(&making, product, x, adds);
  if (making.status == LT_DONE && holds) {
    note_open(product);
    *opened = product;
    return KERNEL_DONE;
  }
  *why = !holds ? "cublasLt does not take the algorithm any more that is kept for it, and another "
                  "one would round otherwise"
         : making.status == LT_NOT_SUPPORTED
             ? "cublasLt has no algorithm for it within the scratch that the plan gives"
             : lt.api->status_string(making.status);
  product_close(product);
  /* The library reports some combinations that it does not have as invalid. */
  bool lacks = making.status == LT_NOT_SUPPORTED || making.status == LT_INVALID;
  return holds && lacks ? KERNEL_REFUSED : KERNEL_FAILED;
}

static void release(void *state) {
  product_close(state);
}

/* Empty products and types that the library lacks are left to the plain kernel, which makes or
 * refuses them. */
static KernelStatus prepare(const Kernel *kernel, const KernelUse *use, void **state,
                            const char **why) {
  KernelStatus checked = kernel_check_use(kernel, use, state, why);
  if (checked != KERNEL_DONE) return checked;
  Matrices x = product_matrices(kernel->id, use->dim);
  bool is_empty = x.m == 0 || x.n == 0 || x.k == 0;
  /* The library's bias beside codes is bf16, and sizes are whole vectors. */
  const bool by_block = has_blocks(use, &x.parts);
  bool in_vectors = (x.m | x.n | x.k) % LT_CODES_UNIT == 0;
  if (x.parts.codes &&
      (!in_vectors || (x.parts.bias >= 0 && use->dtype[x.parts.bias] != DTYPE_BF16)))
    return KERNEL_DONE;
  if (by_block && !has_library_blocks(use, &x)) return KERNEL_DONE;
  if (is_empty || !product_has_types(use->dtype[x.parts.a], use->dtype[x.parts.d]))
    return KERNEL_DONE;
  int32_t epilogue = x.parts.bias < 0 ? LT_EPILOGUE_NONE : LT_EPILOGUE_BIAS;
  LtProduct *product = NULL;
  KernelStatus opened = product_open(use, &x, epilogue, use->align_bytes, &product, why);
  *state = product;
  if (opened == KERNEL_REFUSED && by_block) return KERNEL_DONE; /* GPUs other than Hopper's */
  return opened == KERNEL_DONE ? KERNEL_DONE : KERNEL_FAILED;
}

/* ---- running */

KernelStatus product_run(const LtProduct *product, const KernelArgs *args, ProductTo to,
                         const char **why) {
  const Parts *at = &product->parts;
  const float one = 1, beta = to.adds ? 1 : 0;
  const void *added = to.added != NULL ? to.added : to.d;
  bool has_work = args->operand_count > at->d + 1;
  int32_t work = args->operand_count - 1;
  int status = LT_DONE;
  size_t work_bytes = has_work ? (size_t)args->bytes[work] : 0;
  const void *factor[] = {args->operand[at->a], args->operand[at->b]};
  if (at->codes) {
    uint8_t *copy = (uint8_t *)args->operand[work] + WORK_PRODUCT_CUDA;
    work_bytes = WORK_PRODUCT_CUDA;
    for (int i = 0; i < 2; i++) {
      const Turned *turned = &product->turned[i];
      if (turned->rows == 0) continue;
      KernelStatus ended = cuda_turn_codes(args, factor[i], copy, turned->rows, turned->cols, why);
      if (ended != KERNEL_DONE) return ended;
      factor[i] = copy;
      copy += (turned->rows * turned->cols + 255) / 256 * 256;
    }
    for (int i = 0; i < 2 && status == LT_DONE; i++) {
      const Scales *scales = &product->scales[i];
      const void *scale = args->operand[(i == 0 ? at->a : at->b) + 1];
      if (scales->rows > 0) {
        KernelStatus ended = cuda_order_scales(args, scale, copy, scales->rows, scales->cols,
                                               scales->stride, scales->turned, why);
        if (ended != KERNEL_DONE) return ended;
        scale = copy;
        copy += scales_bytes(scales->rows, scales->cols);
      }
      status = lt.api->operation_set(product->operation, i == 0 ? LT_SCALE_A : LT_SCALE_B, &scale,
                                     sizeof scale);
    }
  }
  if (status == LT_DONE && to.bias != NULL)
    status = lt.api->operation_set(product->operation, LT_BIAS, &to.bias, sizeof to.bias);
  if (status == LT_DONE && to.aux != NULL)
    status = lt.api->operation_set(product->operation, LT_AUX, &to.aux, sizeof to.aux);
  if (status == LT_DONE)
    status = lt.api->multiply(product->handle, product->operation, &one, factor[0], product->a,
                              factor[1], product->b, &beta, added, product->d, to.d, product->d,
                              &product->algorithm, has_work ? args->operand[work] : NULL,
                              work_bytes, args->stream);
  if (status == LT_DONE) return KERNEL_DONE;
  *why = lt.api->status_string(status);
  return KERNEL_FAILED;
}

static KernelStatus run(const KernelArgs *args, bool may_add, const char **why) {
  const LtProduct *product = args->state;
  const Parts *at = &product->parts;
  ProductTo to = {.bias = at->bias >= 0 ? args->operand[at->bias] : NULL,
                  .d = args->operand[at->d],
                  .adds = may_add && args->accumulate};
  return product_run(product, args, to, why);
}

static bool adds_up(KernelId id) {
  return id == KERNEL_linear_dw || id == KERNEL_linear_fp8_dw;
}

/* Only linear_dw and linear_fp8_dw accumulate. */
#define THROUGH_LIBRARY(name)                                                                      \
  static KernelStatus run_##name(const KernelArgs *args, const char **why) {                       \
    return args->state != NULL ? run(args, adds_up(KERNEL_##name), why) : cuda_##name(args, why);  \
  }
THROUGH_LIBRARY(linear)
THROUGH_LIBRARY(linear_bias)
THROUGH_LIBRARY(linear_dx)
THROUGH_LIBRARY(linear_dw)
THROUGH_LIBRARY(linear_fp8)
THROUGH_LIBRARY(linear_fp8_bias)
THROUGH_LIBRARY(linear_fp8_dx)
THROUGH_LIBRARY(linear_fp8_dw)

const Kernel *kernels_cuda_with(const LtApi *api, ProductGpu *gpu) {
  pthread_mutex_lock(&lt.lock);
  if (lt.api == NULL) {
    lt.api = api, lt.gpu = gpu;
    memcpy(lt.kernels, kernels_cuda(), sizeof lt.kernels);
#define SET(name)                                                                                  \
  lt.kernels[KERNEL_##name] =                                                                      \
      (Kernel){KERNEL_##name, prepare, run_##name, NULL, release, product_fusion}
    SET(linear);
    SET(linear_bias);
    SET(linear_dx);
    SET(linear_dw);
    SET(linear_fp8);
    SET(linear_fp8_bias);
    SET(linear_fp8_dx);
    SET(linear_fp8_dw);
#undef SET
  }
  pthread_mutex_unlock(&lt.lock);
  return lt.kernels;
}
