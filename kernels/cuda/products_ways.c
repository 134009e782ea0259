/* products_ways.c -- whether a product with a pass over memory in its end is faster than the
 * product and the pass one after the other: a fused end may run at two thirds of the plain
 * product's rate, and then the pass costs less than it saves. */
#include "kernels/contract/fusions.h"
#include "kernels/cuda/products_inside.h"
#include "kernels/cuda/products_timed.h"

/* Some of the records, on operands in borrowed memory. */
typedef struct TimedRecords {
  const Kernel *const *kernel;
  const KernelFused *as_one; /* run NULL: one after the other */
  KernelArgs args[FUSED_MOST];
  void *operand[FUSED_MOST][KERNEL_OPERANDS_MAX];
  int32_t count;
} TimedRecords;

static bool run_records(const void *context, void *stream) {
  const TimedRecords *timed = context;
  KernelArgs args[FUSED_MOST];
  const char *why = NULL;
  bool ran = true;
  for (int32_t i = 0; i < timed->count; i++)
    args[i] = timed->args[i], args[i].stream = stream;
  if (timed->as_one->run != NULL)
    return timed->as_one->run(timed->as_one, args, &why) == KERNEL_DONE;
  for (int32_t i = 0; i < timed->count && ran; i++)
    ran = timed->kernel[i]->run(&args[i], &why) == KERNEL_DONE;
  return ran;
}

/* False: the memory has no room for it. */
static bool place(TimedRecords *timed, int32_t i, const KernelUse *use, uint64_t *used) {
  const KernelContract *contract = contract_of(timed->kernel[i]->id);
  for (int32_t k = 0; k < use->operand_count; k++) {
    timed->operand[i][k] =
        lent_take(used, (uint64_t)use->bytes[k], use->align_bytes, use->dtype[k]);
    if (timed->operand[i][k] == NULL) return false;
  }
  if (i > 0) { /* it reads the result of the record before it */
    const KernelFusion *shared = contract_fusion(timed->kernel[i - 1]->id, timed->kernel[i]->id);
    if (shared != NULL)
      timed->operand[i][shared->second_operand] = timed->operand[i - 1][shared->first_operand];
  }
  timed->args[i] = (KernelArgs){.operand = timed->operand[i],
                                .dtype = use->dtype,
                                .bytes = use->bytes,
                                .dim = use->dim,
                                .attr = use->attr,
                                .operand_count = use->operand_count,
                                .accumulate = use->accumulate};
  return contract->control_count == 0;
}

/* The time of records `first` and on, or INT64_MAX. */
static int64_t time_from(const ProductWays *ways, int32_t first, const KernelFused *as_one) {
  TimedRecords timed = {
      .kernel = ways->kernel + first, .as_one = as_one, .count = ways->count - first};
  uint64_t used = 0;
  for (int32_t i = 0; i < timed.count; i++)
    if (!place(&timed, i, &ways->use[first + i], &used)) return INT64_MAX;
  return lent_run_ns(run_records, &timed);
}

/* The time of the product without the pass, or INT64_MAX. */
static int64_t plain_ns(const LtProduct *fused, const Matrices *x, const KernelUse *use) {
  const int32_t epilogue = x->parts.bias < 0 ? LT_EPILOGUE_NONE : LT_EPILOGUE_BIAS;
  LtProduct *plain = NULL;
  LtChoice choice = {0};
  const char *why = NULL;
  if (product_open(use, x, epilogue, fused->shape.align_bytes, &plain, &why) != KERNEL_DONE)
    return INT64_MAX;
  const bool found = choices_find(&plain->shape, &choice);
  product_close(plain);
  return found && choice.took_ns > 0 ? choice.took_ns : INT64_MAX;
}

void product_compare(LtProduct *fused, const Matrices *x, const ProductWays *ways) {
  static const KernelFused none = {0};
  LtChoice choice;
  if (!lent_may_try() || choices_are_held() || !choices_find(&fused->shape, &choice) ||
      choice.took_ns <= 0)
    return;
  const int64_t product_ns = plain_ns(fused, x, &ways->use[0]);
  const int64_t pass_ns = time_from(ways, 1, ways->rest);
  const int64_t third_ns = ways->count > 2 ? time_from(ways, 2, &none) : 0;
  if (product_ns == INT64_MAX || pass_ns == INT64_MAX || third_ns == INT64_MAX) return;
  choice.apart_ns = product_ns + pass_ns > third_ns ? product_ns + pass_ns - third_ns : 1;
  if (choices_add(&choice)) fused->is_apart = choice_is_apart(&choice);
}
