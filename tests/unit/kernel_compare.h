/* kernel_compare.h -- a kernel's results against the plain kernel's, on the same numbers.
 *
 * The plain kernels compute in double from the same rounded inputs, so what is compared is the fast
 * path's own rounding. With rms the root mean square of the operand as the plain kernel wrote it,
 * but at least 0.05 for inputs are standard normal, |fast - plain| is at most
 * - f32: 2e-5 rms + 2e-5 |plain|, sums of up to about 1000 products in f32;
 * - bf16: 2e-5 rms + 2^-7 |plain|, one value rounded once, to neighbours at worst;
 * - bf16 of linear_bias on GPUs: 2^-8 |plain - bias| more, for a library may round the product to
 *   bf16 before it adds the bias (kernels.def);
 * - bf16 in attention: 2^-6 rms + 2^-7 |plain|, probabilities may be rounded on the way; twice the
 *   first backward, twice in attention_apart and six times in its backward (few_keys);
 * - f32 in attention with tf32: 2^-8 (rms + |plain|), for the same reason: of few keys one
 *   probability is most of the sum, and near a tie it may go to the other neighbour;
 * - f32 in attention_backward with tf32: half of that, for every kernel rounds the same numbers
 *   (kernels.def);
 * - f64: 2e-5 |plain|, losses and sums of squares made of f32 within blocks.
 *
 * - codes: the next one;
 *
 * A low half and a compensation are compared together with the parameter: one more rounding of an
 * f32 moves both, and hardly their sum.
 *
 * Kernels that only move numbers must agree exactly, and no kernel may touch an input. */
#ifndef LOCKSTEP_TESTS_KERNEL_COMPARE_H
#define LOCKSTEP_TESTS_KERNEL_COMPARE_H

#include <math.h>
#include <stddef.h>

#include "kernels/math/split.h"
#include "tests/unit/kernel_cases.h"

/* A processor of another kind draws normal numbers by other functions than the plain kernel. */
static bool compare_draws_rounded;

static inline bool moves_only(const char *kernel) {
  if (compare_draws_rounded && strcmp(kernel, "init_normal") == 0) return false;
  static const char *const names[] = {
      "embedding",   "positions",     "relu",           "relu_backward", "copy",
      "cast",        "gather_pieces", "scatter_pieces", "slice",         "sum",
      "init_normal", "init_uniform",  "init_constant",  "quantise"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i], kernel) == 0) return true;
  return false;
}

static inline double rms_of(const Call *call, int32_t operand) {
  double sum = 0;
  int64_t count = call_count(call, operand);
  for (int64_t i = 0; i < count; i++)
    if (isfinite(call_get(call, operand, i)))
      sum += call_get(call, operand, i) * call_get(call, operand, i);
  return sqrt(sum / (double)count);
}

/* The parameter in full, of an update that keeps the rest of it in operand `i`. */
static inline bool is_rest(const CaseCall *c, int32_t i) {
  const char *name = c->contract->operands[i].name;
  return strcmp(name, "low") == 0 || strcmp(name, "compensation") == 0;
}

static inline double whole_of(const Call *call, int32_t i, int64_t element) {
  if (call->dtype[i] == DTYPE_BF16) return call_get(call, 1, element) - call_get(call, i, element);
  return (double)split_join(((const uint16_t *)call->operand[1])[element],
                            ((const int16_t *)call->operand[i])[element]);
}

/* Products of attention round their inputs, and their terms cancel, the more the fewer keys a query
 * has: single numbers may be this many times as far off as those of many keys. */
static inline double few_keys(const char *kernel) {
  const bool is_backward = strstr(kernel, "_backward") != NULL;
  if (strstr(kernel, "_apart") != NULL) return is_backward ? 6 : 2;
  return is_backward ? 2 : 1;
}

static inline double bound_of(const Call *call, DType dtype, double rms, double plain) {
  bool attention = strncmp(call->kernel, "attention", 9) == 0;
  double of_tf32 = strcmp(call->kernel, "attention_backward") == 0 ? 0x1p-9 : 0x1p-8;
  if (rms < 0.05) rms = 0.05;
  switch (dtype) {
  case DTYPE_F32: return (attention && call->tf32 ? of_tf32 : 2e-5) * (rms + fabs(plain));
  case DTYPE_BF16:
    return attention ? few_keys(call->kernel) * 0x1p-6 * rms + 0x1p-7 * fabs(plain)
                     : 2e-5 * rms + 0x1p-7 * fabs(plain);
  case DTYPE_F16:
    return attention ? few_keys(call->kernel) * 0x1p-9 * rms + 0x1p-10 * fabs(plain)
                     : 2e-5 * rms + 0x1p-10 * fabs(plain);
  case DTYPE_F64: return 2e-5 * fabs(plain);
  case DTYPE_U8: return 1;
  default: return 0;
  }
}

/* Where a GPU's library may round once more: what that adds to the bound. */
static inline double bound_more(const CaseCall *plain, int32_t i, int64_t element, double want) {
  const Call *call = &plain->call;
  double step = call->dtype[i] == DTYPE_BF16 ? 0x1p-8 : call->dtype[i] == DTYPE_F16 ? 0x1p-11 : 0;
  bool rounds_before =
      case_target == KERNEL_TARGET_CUDA && step > 0 && plain->contract->id == KERNEL_linear_bias;
  return rounds_before ? step * fabs(want - call_get(call, 2, element % call->dim[2])) : 0;
}

/* False when operand `i` differs; prints where it differs first. */
static inline bool compare(const CaseCall *plain, const CaseCall *fast, int32_t i) {
  const Call *a = &plain->call, *b = &fast->call;
  if (case_is_scratch(plain, i)) return true;
  bool exact = case_is_read_only(plain, i) || moves_only(a->kernel), rest = is_rest(plain, i);
  if (exact && memcmp(a->operand[i], b->operand[i], (size_t)a->bytes[i]) == 0) return true;
  double rms = rms_of(a, i);
  for (int64_t e = 0; e < call_count(a, i); e++) {
    double want = rest ? whole_of(a, i, e) : call_get(a, i, e);
    double got = rest ? whole_of(b, i, e) : call_get(b, i, e);
    double bound = exact ? 0 : bound_of(a, rest ? DTYPE_F32 : (DType)a->dtype[i], rms, want);
    if (!exact) bound += bound_more(plain, i, e, want);
    if (got == want || fabs(got - want) <= bound || (isnan(got) && isnan(want))) continue;
    printf("operand %d element %lld: plain %.9g, fast %.9g, bound %g, rms %g\n", i, (long long)e,
           want, got, bound, rms);
    return false;
  }
  return true;
}

static inline bool same_control(const Control *a, const Control *b) {
  return (a->grad_norm == b->grad_norm ||
          fabs(a->grad_norm - b->grad_norm) <= 1e-12 * a->grad_norm) &&
         fabs(a->clip_scale - b->clip_scale) <= 1e-12 && a->step_counts == b->step_counts &&
         memcmp(&a->loss_scale, &b->loss_scale,
                offsetof(Control, grad_norm) - offsetof(Control, loss_scale)) == 0;
}

static inline bool same_bytes(const CaseCall *a, const CaseCall *b) {
  for (int32_t i = 0; i < a->call.operand_count; i++)
    if (!case_is_scratch(a, i) &&
        memcmp(a->call.operand[i], b->call.operand[i], (size_t)a->call.bytes[i]) != 0)
      return false;
  return true;
}

#endif
