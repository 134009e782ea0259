/* shapes.c -- operands are as large as the kernel will take them to be, and are used as it uses
 * them.
 *
 * Kernels go by their dims, everything else in the proof by the sizes of operands: were the two to
 * differ, a kernel would touch bytes that no property looked at. What a kernel takes its operands
 * to be, its row in kernels.def says.
 *
 * Scratch has as many bytes as the compiler gives: a kernel cuts its sums into as many parts as
 * fit, and with less room rounds otherwise. Attributes must be
 * there; only those of slice are places, and are followed for every member. What collectives and
 * exchanges move is plan_check's: it knows their pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"
#include "kernels/contract/contract.h"

static bool access_fits(KernelAccess wanted, const PlanRecord *record, uint32_t access) {
  switch (wanted) {
  case KERNEL_READ: return access == ACCESS_READ;
  case KERNEL_UPDATE: return access == ACCESS_UPDATE;
  case KERNEL_SUM: return access == (record->accumulate ? ACCESS_UPDATE : ACCESS_WRITE);
  case KERNEL_KEEP: return access != ACCESS_READ;
  case KERNEL_WRITE:
  case KERNEL_SCRATCH: break;
  }
  return access == ACCESS_WRITE;
}

/* -1: more than there can be. */
static int64_t operand_bytes(const Plan *plan, const PlanRecord *record,
                             const KernelContract *contract, int32_t operand) {
  const int64_t *dims = plan->ints + record->dims_first;
  if (contract->operands[operand].access == KERNEL_SCRATCH)
    return contract_workspace_bytes(contract, (KernelTarget)plan->jobs[0].target, dims,
                                    plan->jobs[0].threads);
  int64_t elements = contract_elements(contract, operand, dims), bytes = 0;
  int64_t unit = dtype_bytes((DType)plan->operands[record->operands_first + operand].dtype);
  return elements < 0 || __builtin_mul_overflow(elements, unit, &bytes) ? -1 : bytes;
}

static void check_operand(const Walk *walk, uint32_t index, const KernelContract *contract,
                          int32_t i, const uint32_t *dtypes) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  const PlanOperand *operand = &plan->operands[record->operands_first + (uint32_t)i];
  const KernelOperand *wanted = &contract->operands[i];
  int64_t bytes = operand_bytes(plan, record, contract, i);
  if ((uint64_t)bytes != operand->size_bytes && wanted->access == KERNEL_SCRATCH)
    prove_finding(walk->view, walk, index, "shapes", "%llu bytes of scratch, not %lld",
                  (unsigned long long)operand->size_bytes, (long long)bytes);
  else if ((uint64_t)bytes != operand->size_bytes)
    prove_finding(walk->view, walk, index, "shapes",
                  "operand %d has %llu bytes, but its dims say %lld", i,
                  (unsigned long long)operand->size_bytes, (long long)bytes);
  if (!access_fits(wanted->access, record, operand->access) ||
      !contract_dtype_fits(contract, i, dtypes))
    prove_finding(walk->view, walk, index, "shapes",
                  "operand %d is used in another way, or has another dtype", i);
}

static void check_operands(const Walk *walk, uint32_t index, const KernelContract *contract) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  uint32_t dtypes[KERNEL_OPERANDS_MAX];
  if (!contract_operands_fit(contract, record->operands_count)) {
    prove_finding(walk->view, walk, index, "shapes", "%u operands", record->operands_count);
    return;
  }
  for (uint32_t i = 0; i < record->operands_count; i++)
    dtypes[i] = plan->operands[record->operands_first + i].dtype;
  for (uint32_t i = 0; i < record->operands_count; i++)
    check_operand(walk, index, contract, (int32_t)i, dtypes);
}

/* ---- attributes that are places */

typedef struct Range {
  double least, most;
} Range;

/* What an attribute is on any rank: it is a sum of functions of member numbers. */
static Range attr_range(const Plan *plan, const PlanRecord *record, uint32_t attr) {
  double value = plan->reals[record->attrs_first + attr];
  Range range = {value, value};
  for (uint32_t i = 0; i < record->varies_count; i++) {
    const PlanVary *vary = &plan->varies[record->varies_first + i];
    if (vary->attr != attr) continue;
    uint32_t members = plan_comm_size(plan, vary->by);
    double least = INFINITY, most = -INFINITY;
    for (uint32_t m = 0; m < members; m += vary->values_count == 0 && m == 0 ? members - 1 : 1) {
      double add = m * vary->stride;
      if (m < vary->values_count) add += plan->reals[vary->values_first + m];
      least = fmin(least, add), most = fmax(most, add);
      if (m == members - 1) break;
    }
    range.least += least, range.most += most;
  }
  return range;
}

/* Both runs of a slice lie in what they are cut from, on every rank. */
static void check_slice(const Walk *walk, uint32_t index) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  const int64_t *dim = plan->ints + record->dims_first;
  const int64_t half = dim[2] / 2;
  const double run[2] = {(double)half, (double)(dim[2] - half)};
  for (uint32_t i = 0; i < 2; i++) {
    Range at = attr_range(plan, record, i);
    if (!(at.least >= 0 && at.most + run[i] <= (double)dim[1]))
      prove_finding(walk->view, walk, index, "shapes", "slices [%g..%g) of %lld on some rank",
                    at.least, at.most + run[i], (long long)dim[1]);
  }
}

/* Targets are tokens: none may be a class that the softmax leaves out. */
static void check_classes(const Walk *walk, uint32_t index, int32_t dim) {
  const Plan *plan = walk->view->plan;
  int64_t classes = plan->ints[walk_record(walk, index)->dims_first + (uint32_t)dim];
  if (classes < (int64_t)plan->jobs[0].vocab)
    prove_finding(walk->view, walk, index, "shapes", "%lld classes for %u tokens",
                  (long long)classes, plan->jobs[0].vocab);
}

/* What a sum leaves stands dense, in the order of the sizes that stay. */
static void check_sum(const Walk *walk, uint32_t index) {
  const PlanRecord *record = walk_record(walk, index);
  const int64_t *dim = walk->view->plan->ints + record->dims_first;
  int64_t dense = 1;
  for (int64_t i = dim[0]; i > 0; i--) {
    int64_t size = dim[i], stride = dim[dim[0] + i];
    if (size > 1 && stride != 0 && stride != dense)
      prove_finding(walk->view, walk, index, "shapes", "stride %lld of a sum should be %lld",
                    (long long)stride, (long long)dense);
    if (stride != 0) dense *= size;
  }
}

static void check_kernel(const Walk *walk, uint32_t index, const KernelContract *contract) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  if (!contract_dims_fit(contract, plan->ints + record->dims_first, record->dims_count)) {
    prove_finding(walk->view, walk, index, "shapes", "%u dims that are not those of the kernel: %s",
                  record->dims_count, contract->row->dims);
    return;
  }
  check_operands(walk, index, contract);
  int32_t classes = contract_dim(contract, "all_vocab");
  if (classes >= 0) check_classes(walk, index, classes);
  if (contract->row->role == ROLE_SUM_TO) check_sum(walk, index);
  if (record->attrs_count < (uint32_t)contract->attr_count)
    prove_finding(walk->view, walk, index, "shapes", "%u attrs of %d", record->attrs_count,
                  contract->attr_count);
  else if (contract->row->role == ROLE_SLICE)
    check_slice(walk, index);
}

static void check_segment(const View *view, const KernelContract *const *contracts,
                          uint32_t segment) {
  const Plan *plan = view->plan;
  PlanCall call = {.segment = segment, .layer = -1, .microbatch = -1};
  PlanProgram program = {.calls_count = 1};
  Walk walk = {
      .view = view, .program = &program, .call = &call, .segment = &plan->segments[segment]};
  for (uint32_t i = 0; i < walk.segment->records_count; i++) {
    const PlanRecord *record = walk_record(&walk, i);
    if (record->kind != RECORD_KERNEL) continue;
    if (contracts[record->kernel] == NULL)
      prove_finding(view, &walk, i, "shapes", "no contract is known for this kernel");
    else
      check_kernel(&walk, i, contracts[record->kernel]);
  }
}

/* Records are looked at once, whatever the number of their calls. */
void prove_shapes(const Plan *plan, ProveReport *report) {
  View view = {.plan = plan, .report = report};
  const KernelContract **contracts = prove_contracts(&view);
  for (uint32_t s = 0; contracts != NULL && s < plan->segments_count; s++)
    check_segment(&view, contracts, s);
  free(contracts);
}

const KernelContract **prove_contracts(const View *view) {
  const Plan *plan = view->plan;
  const KernelContract **contracts = prove_array(view, plan->kernels_count, sizeof *contracts);
  for (uint32_t k = 0; contracts != NULL && k < plan->kernels_count; k++)
    contracts[k] = contract_find(plan_string(plan, plan->kernels[k].name));
  return contracts;
}
