/* kernel_pair.h -- for tests: two kernels of a row of fusions.def on one middle value. */
#ifndef LOCKSTEP_TESTS_KERNEL_PAIR_H
#define LOCKSTEP_TESTS_KERNEL_PAIR_H

#include <assert.h>

#include "kernels/contract/fusions.h"
#include "tests/unit/kernel_call.h"

typedef struct PairShape {
  int64_t rows, width; /* of the middle value */
  int64_t inner;       /* what a product sums over */
  DType dtype;
  bool transposed; /* of a product: its weight */
  bool in_place;   /* the second writes over the middle value, if it can */
  bool accumulate; /* the first adds to gradients */
  int64_t threads;
} PairShape;

typedef struct Pair {
  Call call[2];
} Pair;

static inline void pair_dim(Call *call, const KernelContract *contract, const char *name,
                            int64_t value) {
  int32_t dim = contract_dim(contract, name);
  if (dim >= 0) call->dim[dim] = value;
}

/* Sizes in the words of the rows; for linear_dx the middle value is the product's input side. */
static inline void pair_dims(Call *call, const KernelContract *contract, const PairShape *shape) {
  bool is_dx = contract->id == KERNEL_linear_dx;
  if (contract->is_broadcast) {
    call->dim[0] = call->dim[2] = 1;
    call->dim[1] = shape->rows * shape->width;
  }
  pair_dim(call, contract, "n", shape->rows * shape->width);
  pair_dim(call, contract, "rows", shape->rows);
  pair_dim(call, contract, "width", shape->width);
  pair_dim(call, contract, "in", is_dx ? shape->width : shape->inner);
  pair_dim(call, contract, "out", is_dx ? shape->inner : shape->width);
  pair_dim(call, contract, "transposed", shape->transposed);
}

static inline void pair_operand(Call *call, const KernelContract *contract, KernelTarget target,
                                const PairShape *shape, int32_t i) {
  const KernelOperand *operand = &contract->operands[i];
  if (operand->access == KERNEL_SCRATCH) {
    const WorkspaceUse use = {target, call->dim, call->dtype, shape->threads, false};
    (void)call_add(call, DTYPE_F32, (contract_workspace_bytes(contract, &use) + 3) / 4);
    return;
  }
  DType dtype = operand->dtype < DTYPE_COUNT ? (DType)operand->dtype : shape->dtype;
  (void)call_add(call, dtype, contract_elements(contract, i, call->dim));
  call_fill(call, i, contract->id);
}

/* Deterministic: two of the same shape hold the same numbers. */
static inline void pair_make(Pair *pair, const KernelFusion *fusion, KernelTarget target,
                             const PairShape *shape) {
  const KernelId id[2] = {fusion->first, fusion->second};
  *pair = (Pair){0};
  for (int32_t k = 0; k < 2; k++) {
    const KernelContract *contract = contract_of(id[k]);
    Call *call = &pair->call[k];
    call->kernel = contract->row->name;
    call->accumulate = k == 0 && shape->accumulate;
    call->attr[0] = 1e-5; /* of norms */
    pair_dims(call, contract, shape);
    for (int32_t i = 0; i < contract->operand_count; i++) {
      bool over = (contract->operands[i].over >> fusion->second_operand & 1u) != 0;
      if (k == 1 && (i == fusion->second_operand || (shape->in_place && over)))
        (void)call_share(call, &pair->call[0], fusion->first_operand);
      else
        pair_operand(call, contract, target, shape, i);
    }
    assert(call->bytes[0] > 0 && "pair_dims gives this kernel no sizes");
  }
}

static inline void pair_free(Pair *pair) {
  call_free(&pair->call[1]), call_free(&pair->call[0]);
}

/* As one where the kernels have a way to; false: they have none. */
static inline bool pair_run_fused(Pair *pair, const Kernel *kernels, KernelTarget target,
                                  Threads *threads, int64_t threads_count) {
  const Kernel *of[2];
  KernelArgs args[2];
  KernelUse use[2];
  KernelFused fused = {0};
  const char *why = "";
  for (int32_t k = 0; k < 2; k++) {
    Call *call = &pair->call[k];
    const KernelContract *contract = contract_find(call->kernel);
    of[k] = &kernels[contract->id];
    args[k] = call_args(call, NULL);
    args[k].threads = threads;
    use[k] = (KernelUse){.target = target,
                         .dtype = call->dtype,
                         .bytes = call->bytes,
                         .dim = call->dim,
                         .attr = call->attr,
                         .operand_count = call->operand_count,
                         .dim_count = contract->is_broadcast ? 3 : contract->dim_count,
                         .attr_count = contract->attr_count,
                         .accumulate = call->accumulate,
                         .threads = threads_count,
                         .align_bytes = CALL_ALIGN_BYTES};
    if (of[k]->prepare(of[k], &use[k], &args[k].state, &why) != KERNEL_DONE) abort();
  }
  if (of[0]->fuse != NULL && of[0]->fuse(of, use, 2, &fused, &why) != KERNEL_DONE) abort();
  bool is_joined = fused.run != NULL;
  if (is_joined && fused.run(&fused, args, &why) != KERNEL_DONE) abort();
  if (fused.release != NULL) fused.release(fused.state);
  for (int32_t k = 0; k < 2; k++)
    if (of[k]->release != NULL) of[k]->release(args[k].state);
  return is_joined;
}

#endif
