/* lt_stand_in.c -- see lt_stand_in.h. */
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/lt_api.h"
#include "kernels/math/floats.h"
#include "kernels/math/fp8.h"
#include "kernels/math/tf32.h"

enum { MAGIC = 0x1757, ALIGN_VECTORS = 16, SPLIT_FROM = 32, WORKSPACE_ALIGN = 16 };
enum { ID_IN_VECTORS = 66, ID_IN_ELEMENTS = 1 };

struct LtHandle {
  int32_t opened;
};

struct LtOperation {
  int32_t compute, scale, transpose_a, transpose_b, epilogue;
  void *scale_a, *scale_b; /* of codes */
  int32_t mode_a, mode_b;
  int8_t fast_sums;
  void *bias, *aux; /* read or written, as the epilogue says */
  int64_t aux_lead;
};

struct LtLayout {
  int32_t type;
  int64_t rows, columns, leading;
};

struct LtPreference {
  uint64_t workspace_most;
  uint32_t reductions, align[4];
};

/* The content of LtAlgorithm.data. */
typedef struct Algorithm {
  uint64_t magic, id, split, workspace_bytes, shape, align_bytes, reduction, tile;
} Algorithm;
_Static_assert(sizeof(Algorithm) == sizeof(LtAlgorithm), "an algorithm fills its place");

/* What a product takes by the tile of its algorithm, and by one that rounds parts: the first that
 * is offered is not the fastest, and the fastest must not be taken. */
static const int64_t tile_ns[] = {3000000, 2000000, 2500000};
enum { TILES = sizeof tile_ns / sizeof *tile_ns, ROUNDING_NS = 1000000 };

static atomic_llong products, faults, slower_ns;
static _Thread_local int64_t took_ns; /* two ranks may time products at once */
static atomic_bool knows_nothing;
static atomic_int other_ends = LT_DONE;

int64_t lt_stand_in_products(void);
int64_t lt_stand_in_products(void) {
  return atomic_load(&products);
}

int64_t lt_stand_in_ns(void);
int64_t lt_stand_in_ns(void) {
  return took_ns;
}

void lt_stand_in_slows(int64_t ns);
void lt_stand_in_slows(int64_t ns) {
  atomic_store(&slower_ns, ns);
}

void lt_stand_in_knows(bool knows);
void lt_stand_in_knows(bool knows) {
  atomic_store(&knows_nothing, !knows);
}

void lt_stand_in_ends(int status);
void lt_stand_in_ends(int status) {
  atomic_store(&other_ends, status);
}

int64_t lt_stand_in_faults(void);
int64_t lt_stand_in_faults(void) {
  return atomic_load(&faults);
}

static int refuse(int status, const char *why) {
  fprintf(stderr, "cublasLt's stand-in: %s\n", why);
  atomic_fetch_add(&faults, 1);
  return status;
}

/* NOLINTBEGIN(readability-identifier-naming,readability-function-size): the names and arguments are
 * the library's */

/* ---- descriptors */

size_t cublasLtGetVersion(void);
size_t cublasLtGetVersion(void) {
  return 130100;
}

const char *cublasLtGetStatusString(int status);
const char *cublasLtGetStatusString(int status) {
  return status == LT_DONE            ? "CUBLAS_STATUS_SUCCESS"
         : status == LT_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                      : "CUBLAS_STATUS_INVALID_VALUE";
}

int cublasLtCreate(LtHandle **handle);
int cublasLtCreate(LtHandle **handle) {
  static LtHandle only;
  only.opened++;
  *handle = &only;
  return LT_DONE;
}

int cublasLtMatmulDescCreate(LtOperation **operation, int compute, int scale);
int cublasLtMatmulDescCreate(LtOperation **operation, int compute, int scale) {
  *operation = calloc(1, sizeof **operation);
  if (*operation == NULL) return LT_INVALID;
  **operation = (LtOperation){.compute = compute, .scale = scale, .epilogue = LT_EPILOGUE_NONE};
  return LT_DONE;
}

int cublasLtMatmulDescSetAttribute(LtOperation *operation, int attribute, const void *value,
                                   size_t size_bytes);
int cublasLtMatmulDescSetAttribute(LtOperation *operation, int attribute, const void *value,
                                   size_t size_bytes) {
  void *at = attribute == LT_TRANSPOSE_A    ? (void *)&operation->transpose_a
             : attribute == LT_TRANSPOSE_B  ? (void *)&operation->transpose_b
             : attribute == LT_EPILOGUE     ? (void *)&operation->epilogue
             : attribute == LT_BIAS         ? (void *)&operation->bias
             : attribute == LT_AUX          ? (void *)&operation->aux
             : attribute == LT_AUX_LEAD     ? (void *)&operation->aux_lead
             : attribute == LT_SCALE_A      ? (void *)&operation->scale_a
             : attribute == LT_SCALE_B      ? (void *)&operation->scale_b
             : attribute == LT_SCALE_MODE_A ? (void *)&operation->mode_a
             : attribute == LT_SCALE_MODE_B ? (void *)&operation->mode_b
             : attribute == LT_FAST_SUMS    ? (void *)&operation->fast_sums
                                            : NULL;
  bool is_address = attribute == LT_BIAS || attribute == LT_AUX || attribute == LT_SCALE_A ||
                    attribute == LT_SCALE_B;
  size_t size = is_address                  ? sizeof(void *)
                : attribute == LT_AUX_LEAD  ? sizeof(int64_t)
                : attribute == LT_FAST_SUMS ? sizeof(int8_t)
                                            : sizeof(int32_t);
  if (at == NULL || size_bytes != size)
    return refuse(LT_INVALID, "an attribute that an operation does not have");
  memcpy(at, value, size);
  return LT_DONE;
}

int cublasLtMatmulDescDestroy(LtOperation *operation);
int cublasLtMatmulDescDestroy(LtOperation *operation) {
  free(operation);
  return LT_DONE;
}

static bool is_codes(int32_t type) {
  return type == LT_E4M3 || type == LT_E5M2;
}

int cublasLtMatrixLayoutCreate(LtLayout **layout, int type, uint64_t rows, uint64_t columns,
                               int64_t leading);
int cublasLtMatrixLayoutCreate(LtLayout **layout, int type, uint64_t rows, uint64_t columns,
                               int64_t leading) {
  if (rows == 0 || columns == 0 || leading < (int64_t)rows)
    return refuse(LT_INVALID, "a matrix whose columns are longer than its leading dimension");
  if (type != LT_F32 && type != LT_BF16 && type != LT_F16 && !is_codes(type))
    return refuse(LT_INVALID, "a matrix of another type");
  *layout = calloc(1, sizeof **layout);
  if (*layout == NULL) return LT_INVALID;
  **layout = (LtLayout){type, (int64_t)rows, (int64_t)columns, leading};
  return LT_DONE;
}

int cublasLtMatrixLayoutDestroy(LtLayout *layout);
int cublasLtMatrixLayoutDestroy(LtLayout *layout) {
  free(layout);
  return LT_DONE;
}

int cublasLtMatmulPreferenceCreate(LtPreference **preference);
int cublasLtMatmulPreferenceCreate(LtPreference **preference) {
  *preference = calloc(1, sizeof **preference);
  if (*preference == NULL) return LT_INVALID;
  **preference = (LtPreference){.reductions = 7, .align = {256, 256, 256, 256}};
  return LT_DONE;
}

int cublasLtMatmulPreferenceSetAttribute(LtPreference *preference, int attribute, const void *value,
                                         size_t size_bytes);
int cublasLtMatmulPreferenceSetAttribute(LtPreference *preference, int attribute, const void *value,
                                         size_t size_bytes) {
  bool aligns = attribute >= LT_ALIGN_A && attribute <= LT_ALIGN_D;
  void *at = attribute == LT_WORKSPACE_MOST ? (void *)&preference->workspace_most
             : attribute == LT_REDUCTIONS   ? (void *)&preference->reductions
             : aligns                       ? (void *)&preference->align[attribute - LT_ALIGN_A]
                                            : NULL;
  size_t size = attribute == LT_WORKSPACE_MOST ? sizeof(uint64_t) : sizeof(uint32_t);
  if (at == NULL || size_bytes != size)
    return refuse(LT_INVALID, "an attribute that a preference does not have");
  memcpy(at, value, size);
  return LT_DONE;
}

int cublasLtMatmulPreferenceDestroy(LtPreference *preference);
int cublasLtMatmulPreferenceDestroy(LtPreference *preference) {
  free(preference);
  return LT_DONE;
}

/* ---- algorithms */

static int64_t element_bytes(const LtLayout *layout) {
  return is_codes(layout->type) ? 1 : layout->type == LT_F32 ? 4 : 2;
}

typedef struct Sizes {
  int64_t m, n, k;
} Sizes;

/* One scale each; or blocks of E4M3, of squares in one of both at most. */
static bool fits_scales(const LtOperation *operation, const LtLayout *a, const LtLayout *b,
                        const Sizes *sizes) {
  const bool a_one = operation->mode_a == LT_SCALE_ONE, b_one = operation->mode_b == LT_SCALE_ONE;
  if (operation->scale_a == NULL || operation->scale_b == NULL || a_one != b_one) return false;
  if (a_one) return a->type == LT_E4M3 || b->type == LT_E4M3;
  return a->type == LT_E4M3 && b->type == LT_E4M3 &&
         (sizes->m | sizes->n | sizes->k) % LT_SCALE_SIDE == 0 &&
         (operation->mode_a == LT_SCALE_VECTORS || operation->mode_b == LT_SCALE_VECTORS);
}

static bool fits(const LtOperation *operation, const LtLayout *a, const LtLayout *b,
                 const LtLayout *c, const LtLayout *d, Sizes *sizes) {
  bool a_turned = operation->transpose_a == LT_TRANSPOSED;
  bool b_turned = operation->transpose_b == LT_TRANSPOSED;
  *sizes = (Sizes){a_turned ? a->columns : a->rows, b_turned ? b->rows : b->columns,
                   a_turned ? a->rows : a->columns};
  bool joins = (b_turned ? b->columns : b->rows) == sizes->k;
  bool results = d->rows == sizes->m && d->columns == sizes->n && c->rows == d->rows &&
                 c->columns == d->columns && c->type == d->type && c->leading == d->leading;
  /* Codes: both along k, whole vectors, not both E5M2, exact sums, a scale each. */
  if (is_codes(a->type) || is_codes(b->type))
    return joins && results && is_codes(a->type) && is_codes(b->type) && a_turned && !b_turned &&
           a->leading % ALIGN_VECTORS == 0 && b->leading % ALIGN_VECTORS == 0 &&
           fits_scales(operation, a, b, sizes) && operation->fast_sums == 0 &&
           operation->compute == LT_COMPUTE_F32;
  bool types = a->type == b->type && (d->type == LT_F32 || d->type == a->type) &&
               operation->scale == LT_F32 &&
               (operation->compute == LT_COMPUTE_F32 ||
                (operation->compute == LT_COMPUTE_TF32 && a->type == LT_F32));
  return joins && results && types;
}

static uint64_t mix(uint64_t hash, uint64_t number) {
  return (hash ^ number) * 1099511628211u + 7;
}

static uint64_t shape_of(const LtOperation *operation, const LtLayout *a, const LtLayout *b,
                         const LtLayout *d, const Sizes *sizes) {
  const uint64_t numbers[] = {
      (uint64_t)sizes->m,
      (uint64_t)sizes->n,
      (uint64_t)sizes->k,
      (uint64_t)a->leading,
      (uint64_t)b->leading,
      (uint64_t)d->leading,
      (uint64_t)a->type,
      (uint64_t)d->type,
      (uint64_t)(operation->transpose_a * 2 + operation->transpose_b),
      (uint64_t)operation->epilogue,
      (uint64_t)operation->aux_lead,
      (uint64_t)operation->compute,
      (uint64_t)b->type,
  };
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    hash = mix(hash, numbers[i]);
  return hash;
}

static bool in_vectors(const LtLayout *layout) {
  return layout->leading * element_bytes(layout) % ALIGN_VECTORS == 0;
}

/* By the addresses that it may count on, and the scratch that it may have. */
static Algorithm advise(const LtOperation *operation, const LtLayout *a, const LtLayout *b,
                        const LtLayout *d, const LtPreference *preference, const Sizes *sizes) {
  uint32_t align = 256;
  for (int i = 0; i < 4; i++)
    if (preference->align[i] < align) align = preference->align[i];
  bool vectors = align >= ALIGN_VECTORS && in_vectors(a) && in_vectors(b) && in_vectors(d);
  uint64_t parts_bytes = (uint64_t)(2 * sizes->m * sizes->n) * sizeof(float);
  bool splits = sizes->k >= SPLIT_FROM && parts_bytes <= preference->workspace_most &&
                (preference->reductions & LT_REDUCE_IN_F32) != 0;
  return (Algorithm){.magic = MAGIC,
                     .id = vectors ? ID_IN_VECTORS : ID_IN_ELEMENTS,
                     .split = splits ? 2 : 1,
                     .reduction = splits ? LT_REDUCE_IN_F32 : 0,
                     .workspace_bytes = splits ? parts_bytes : 0,
                     .shape = shape_of(operation, a, b, d, sizes),
                     .align_bytes = vectors ? ALIGN_VECTORS : (uint64_t)element_bytes(d)};
}

static void offer(LtCandidate *candidate, const Algorithm *algorithm) {
  *candidate =
      (LtCandidate){.workspace_bytes = algorithm->workspace_bytes, .status = LT_DONE, .waves = 1};
  memcpy(&candidate->algorithm, algorithm, sizeof *algorithm);
}

/* The fault in the arguments of the epilogue, or NULL. */
static const char *epilogue_fault(const LtOperation *operation, const LtLayout *d) {
  static const int known[] = {
      LT_EPILOGUE_NONE,     LT_EPILOGUE_BIAS,          LT_EPILOGUE_GELU, LT_EPILOGUE_GELU_BIAS,
      LT_EPILOGUE_GELU_AUX, LT_EPILOGUE_GELU_AUX_BIAS, LT_EPILOGUE_DGELU};
  int32_t epilogue = operation->epilogue;
  bool is_known = false, has_bias = (epilogue & LT_EPILOGUE_BIAS) != 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    is_known = is_known || known[i] == epilogue;
  if (!is_known) return "an epilogue that there is not";
  if (has_bias && operation->bias == NULL) return "a bias without an address";
  if (has_bias && (uintptr_t)operation->bias % (uintptr_t)element_bytes(d) != 0)
    return "a bias between two elements";
  if ((epilogue & LT_EPILOGUE_AUX) == 0) return NULL;
  if (operation->aux == NULL || (uintptr_t)operation->aux % ALIGN_VECTORS != 0)
    return "an auxiliary matrix without an address, or not aligned";
  return operation->aux_lead < d->rows || operation->aux_lead % LT_AUX_LEAD_UNIT != 0
             ? "an auxiliary matrix whose leading dimension is too short, or no multiple of 8"
             : NULL;
}

int cublasLtMatmulAlgoGetHeuristic(LtHandle *handle, LtOperation *operation, LtLayout *a,
                                   LtLayout *b, LtLayout *c, LtLayout *d, LtPreference *preference,
                                   int wanted, LtCandidate *candidates, int *found);
int cublasLtMatmulAlgoGetHeuristic(LtHandle *handle, LtOperation *operation, LtLayout *a,
                                   LtLayout *b, LtLayout *c, LtLayout *d, LtPreference *preference,
                                   int wanted, LtCandidate *candidates, int *found) {
  Sizes sizes;
  *found = 0;
  if (handle == NULL || handle->opened == 0 || wanted < 1) return LT_INVALID;
  if (!fits(operation, a, b, c, d, &sizes))
    return refuse(LT_INVALID, "matrices that do not fit each other");
  const char *fault = epilogue_fault(operation, d);
  if (fault != NULL) return refuse(LT_INVALID, fault);
  bool is_plain = (operation->epilogue & ~(LT_EPILOGUE_NONE | LT_EPILOGUE_BIAS)) == 0;
  if (atomic_load(&knows_nothing)) return LT_NOT_SUPPORTED;
  if (!is_plain && atomic_load(&other_ends) != LT_DONE) return atomic_load(&other_ends);
  Algorithm algorithm = advise(operation, a, b, d, preference, &sizes);
  /* Parts in bf16 are offered first, whatever the preference says. */
  if (algorithm.split > 1 && d->type != LT_F32) {
    Algorithm rounding = algorithm;
    rounding.reduction = LT_REDUCE_IN_RESULT;
    offer(&candidates[(*found)++], &rounding);
  }
  for (int tile = 0; tile < TILES && *found < wanted; tile++) {
    algorithm.tile = (uint64_t)tile;
    offer(&candidates[(*found)++], &algorithm);
  }
  return LT_DONE;
}

static bool holds_for(const Algorithm *algorithm, const LtOperation *operation, const LtLayout *a,
                      const LtLayout *b, const LtLayout *c, const LtLayout *d, Sizes *sizes) {
  return fits(operation, a, b, c, d, sizes) && algorithm->magic == MAGIC &&
         algorithm->shape == shape_of(operation, a, b, d, sizes);
}

int cublasLtMatmulAlgoCheck(LtHandle *handle, LtOperation *operation, LtLayout *a, LtLayout *b,
                            LtLayout *c, LtLayout *d, const LtAlgorithm *algorithm,
                            LtCandidate *candidate);
int cublasLtMatmulAlgoCheck(LtHandle *handle, LtOperation *operation, LtLayout *a, LtLayout *b,
                            LtLayout *c, LtLayout *d, const LtAlgorithm *algorithm,
                            LtCandidate *candidate) {
  Algorithm mine;
  Sizes sizes;
  memcpy(&mine, algorithm, sizeof mine);
  if (handle == NULL || !holds_for(&mine, operation, a, b, c, d, &sizes)) return LT_INVALID;
  offer(candidate, &mine);
  return LT_DONE;
}

int cublasLtMatmulAlgoConfigGetAttribute(const LtAlgorithm *algorithm, int attribute, void *value,
                                         size_t size_bytes, size_t *written);
int cublasLtMatmulAlgoConfigGetAttribute(const LtAlgorithm *algorithm, int attribute, void *value,
                                         size_t size_bytes, size_t *written) {
  Algorithm mine;
  memcpy(&mine, algorithm, sizeof mine);
  int32_t number = attribute == LT_ALGORITHM_ID          ? (int32_t)mine.id
                   : attribute == LT_ALGORITHM_TILE      ? (int32_t)mine.tile
                   : attribute == LT_ALGORITHM_SPLIT_K   ? (int32_t)mine.split
                   : attribute == LT_ALGORITHM_REDUCTION ? (int32_t)mine.reduction
                                                         : 0;
  if (size_bytes != sizeof number) return LT_INVALID;
  memcpy(value, &number, sizeof number);
  *written = sizeof number;
  return LT_DONE;
}

/* ---- products */

static DType dtype_of(int32_t type) {
  return type == LT_BF16 ? DTYPE_BF16 : type == LT_F16 ? DTYPE_F16 : DTYPE_F32;
}

static float read_at(const void *base, const LtLayout *layout, int64_t row, int64_t column) {
  int64_t at = column * layout->leading + row;
  if (is_codes(layout->type))
    return fp8_to_float(((const uint8_t *)base)[at], layout->type == LT_E5M2);
  return float_get(base, at, dtype_of(layout->type));
}

static void write_at(void *base, const LtLayout *layout, int64_t row, int64_t column, float value) {
  int64_t at = column * layout->leading + row;
  float_put(base, at, dtype_of(layout->type), value);
}

/* As it is when it has been in memory. */
static float rounded(float value, const LtLayout *layout) {
  float stored;
  float_put(&stored, 0, dtype_of(layout->type), value);
  return float_get(&stored, 0, dtype_of(layout->type));
}

typedef struct Call {
  bool rounds_first; /* the product, before what the epilogue does with it */
  const LtOperation *operation;
  const void *a, *b, *c;
  const LtLayout *a_layout, *b_layout, *d_layout;
  void *d;
  Sizes sizes;
  float alpha, beta;
} Call;

static float factor_at(const Call *call, const void *base, const LtLayout *layout, int64_t row,
                       int64_t column) {
  float value = read_at(base, layout, row, column);
  return call->operation->compute == LT_COMPUTE_TF32 ? tf32_round(value) : value;
}

/* The scale of element k of a line, of a matrix of so many lines. */
static float scale_at(int32_t mode, const float *scales, int64_t line, int64_t k, int64_t lines,
                      int64_t all_k) {
  const int64_t along = k / LT_SCALE_SIDE, stride = (all_k / LT_SCALE_SIDE + 3) / 4 * 4;
  return mode == LT_SCALE_ONE       ? *scales
         : mode == LT_SCALE_VECTORS ? scales[along * lines + line]
                                    : scales[line / LT_SCALE_SIDE * stride + along];
}

static float scales_at(const Call *call, int64_t i, int64_t j, int64_t k) {
  const LtOperation *o = call->operation;
  const Sizes *sizes = &call->sizes;
  if (!is_codes(call->a_layout->type)) return 1;
  return scale_at(o->mode_a, o->scale_a, i, k, sizes->m, sizes->k) *
         scale_at(o->mode_b, o->scale_b, j, k, sizes->n, sizes->k);
}

static float sum_over(const Call *call, int64_t i, int64_t j, int64_t from, int64_t to) {
  bool a_turned = call->operation->transpose_a == LT_TRANSPOSED;
  bool b_turned = call->operation->transpose_b == LT_TRANSPOSED;
  float sum = 0;
  for (int64_t k = from; k < to; k++)
    sum += factor_at(call, call->a, call->a_layout, a_turned ? k : i, a_turned ? i : k) *
           factor_at(call, call->b, call->b_layout, b_turned ? j : k, b_turned ? k : j) *
           scales_at(call, i, j, k);
  return sum;
}

static float gelu(float x) {
  float inner = 0.7978845608f * (x + 0.044715f * x * x * x);
  return 0.5f * x * (1 + tanhf(inner));
}

static float gelu_slope(float x) {
  float inner = 0.7978845608f * (x + 0.044715f * x * x * x), t = tanhf(inner);
  return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.7978845608f * (1 + 3 * 0.044715f * x * x);
}

static void finish(const Call *call, int64_t i, int64_t j, float sum) {
  float value = call->alpha * sum;
  if (call->rounds_first) value = rounded(value, call->d_layout);
  const LtOperation *operation = call->operation;
  const LtLayout vector = {call->d_layout->type, call->sizes.m, 1, call->sizes.m};
  const LtLayout aux = {call->d_layout->type, call->sizes.m, call->sizes.n, operation->aux_lead};
  int32_t epilogue = operation->epilogue;
  if (call->beta != 0) value += call->beta * read_at(call->c, call->d_layout, i, j);
  if (epilogue & LT_EPILOGUE_BIAS) value += read_at(operation->bias, &vector, i, 0);
  if (epilogue == LT_EPILOGUE_DGELU)
    value *= gelu_slope(read_at(operation->aux, &aux, i, j));
  else if (epilogue & LT_EPILOGUE_AUX)
    write_at(operation->aux, &aux, i, j, value);
  if (epilogue & LT_EPILOGUE_GELU) value = gelu(value);
  write_at(call->d, call->d_layout, i, j, value);
}

static void multiply(const Call *call, const Algorithm *algorithm, float *parts) {
  const Sizes *sizes = &call->sizes;
  int64_t split = (int64_t)algorithm->split, count = sizes->m * sizes->n;
  for (int64_t part = 0; split > 1 && part < split; part++)
    for (int64_t at = 0; at < count; at++)
      parts[part * count + at] = sum_over(call, at % sizes->m, at / sizes->m,
                                          part * sizes->k / split, (part + 1) * sizes->k / split);
  for (int64_t at = 0; at < count; at++) {
    int64_t i = at % sizes->m, j = at / sizes->m;
    float sum = split > 1 ? 0 : sum_over(call, i, j, 0, sizes->k);
    for (int64_t part = 0; split > 1 && part < split; part++)
      sum += algorithm->reduction == LT_REDUCE_IN_RESULT
                 ? rounded(parts[part * count + at], call->d_layout)
                 : parts[part * count + at];
    finish(call, i, j, sum);
  }
}

static int64_t extent_bytes(const LtLayout *layout) {
  return ((layout->columns - 1) * layout->leading + layout->rows) * element_bytes(layout);
}

static bool overlap(const void *x, int64_t x_bytes, const void *y, int64_t y_bytes) {
  uintptr_t a = (uintptr_t)x, b = (uintptr_t)y;
  return x != NULL && y != NULL && a < b + (uintptr_t)y_bytes && b < a + (uintptr_t)x_bytes;
}

int cublasLtMatmul(LtHandle *handle, LtOperation *operation, const void *alpha, const void *a,
                   LtLayout *a_layout, const void *b, LtLayout *b_layout, const void *beta,
                   const void *c, LtLayout *c_layout, void *d, LtLayout *d_layout,
                   const LtAlgorithm *algorithm, void *workspace, size_t workspace_bytes,
                   void *stream);
int cublasLtMatmul(LtHandle *handle, LtOperation *operation, const void *alpha, const void *a,
                   LtLayout *a_layout, const void *b, LtLayout *b_layout, const void *beta,
                   const void *c, LtLayout *c_layout, void *d, LtLayout *d_layout,
                   const LtAlgorithm *algorithm, void *workspace, size_t workspace_bytes,
                   void *stream) {
  Algorithm mine;
  memcpy(&mine, algorithm, sizeof mine);
  Call call = {.rounds_first = mine.id == ID_IN_ELEMENTS && d_layout->type != LT_F32 &&
                               operation->epilogue != LT_EPILOGUE_NONE,
               .operation = operation,
               .a = a,
               .b = b,
               .c = c,
               .a_layout = a_layout,
               .b_layout = b_layout,
               .d_layout = d_layout,
               .d = d};
  (void)stream;
  if (handle == NULL ||
      !holds_for(&mine, operation, a_layout, b_layout, c_layout, d_layout, &call.sizes))
    return refuse(LT_INVALID, "an algorithm of another shape");
  uintptr_t addresses = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d;
  if (addresses % mine.align_bytes != 0)
    return refuse(LT_NOT_SUPPORTED, "addresses that are less aligned than was said");
  if (workspace_bytes < mine.workspace_bytes ||
      (mine.workspace_bytes > 0 && (uintptr_t)workspace % WORKSPACE_ALIGN != 0))
    return refuse(LT_INVALID, "scratch that is too small, or not aligned");
  const char *fault = epilogue_fault(operation, d_layout);
  if (fault != NULL) return refuse(LT_INVALID, fault);
  int64_t d_bytes = extent_bytes(d_layout);
  const LtLayout aux = {d_layout->type, d_layout->rows, d_layout->columns, operation->aux_lead};
  const void *beside = operation->epilogue & LT_EPILOGUE_AUX ? operation->aux : NULL;
  if (overlap(d, d_bytes, beside, extent_bytes(&aux)) ||
      overlap(d, d_bytes, a, extent_bytes(a_layout)) ||
      overlap(d, d_bytes, b, extent_bytes(b_layout)) ||
      (c != d && overlap(d, d_bytes, c, extent_bytes(c_layout))) ||
      overlap(d, d_bytes, workspace, (int64_t)workspace_bytes))
    return refuse(LT_INVALID, "a result that overlaps what is read");
  memcpy(&call.alpha, alpha, sizeof call.alpha);
  memcpy(&call.beta, beta, sizeof call.beta);
  if (mine.workspace_bytes > 0) memset(workspace, 0xff, mine.workspace_bytes);
  multiply(&call, &mine, workspace);
  atomic_fetch_add(&products, 1);
  const bool is_plain =
      (operation->epilogue & ~(LT_EPILOGUE_NONE | LT_EPILOGUE_BIAS)) == 0 && call.beta == 0;
  took_ns = (mine.reduction == LT_REDUCE_IN_RESULT ? ROUNDING_NS : tile_ns[mine.tile % TILES]) +
            (is_plain ? 0 : atomic_load(&slower_ns));
  return LT_DONE;
}
/* NOLINTEND(readability-identifier-naming,readability-function-size) */
