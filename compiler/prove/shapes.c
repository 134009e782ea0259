/* shapes.c -- operands are as large as the kernel will take them to be, and are used as it uses
 * them.
 *
 * Kernels go by their dims, everything else in the proof by the sizes of operands: were the two to
 * differ, a kernel would touch bytes that no property looked at. A contract is a word per operand,
 * in the order of kernels.def:
 *
 * - access: R read, W written, U updated, A written or, when accumulating, updated, P written or
 *   updated, S scratch; X as W, and B as A, for a backward pass that need not follow; Z as W, of
 *   elements that are as good alone
 * - size: indices of dims to be multiplied (a is 10), then *N; [rows|inner|stride]: a view, from
 *   its first element to its last; = all sizes of a broadcast, ~ the span of its second operand,
 *   ^ the part that is not summed
 * - dtype: :f fp32, :d fp64, :i ids; none: any
 *
 * Scratch may be left out at the end; how large it is, scratch.c knows. Attributes must be there;
 * only those of slice are places, and are followed for every member. What collectives and exchanges
 * move is plan_check's: it knows their pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/prove/walk.h"
#include "runtime/plan/limits.h"

#define QUERY "[01|24|5]"
#define KEY   "[01|34|6]"
#define VALUE "[01|34|7]"

static const struct Contract {
  const char *kernel;
  uint32_t dims; /* 0: counted by the first, of a broadcast */
  uint32_t attrs;
  const char *operands;
} contracts[] = {
    {"embedding", 3, 1, "R21 R0:i W01"},
    {"embedding_backward", 3, 1, "R01 R0:i A21"},
    {"positions", 1, 2, "W0:i"},
    {"linear", 4, 0, "R01 R12 W02 S"},
    {"linear_bias", 4, 0, "R01 R12 R2 W02 S"},
    {"linear_dx", 4, 0, "R02 R12 W01 S"},
    {"linear_dw", 4, 0, "R01 R02 A12 S"},
    {"linear_db", 2, 0, "R01 A1"},
    {"layernorm", 2, 1, "R01 R1 R1 W01 X0*2:f"},
    {"layernorm_backward", 2, 0, "R01 R01 R1 R0*2:f W01 A1 A1 S"},
    {"rmsnorm", 2, 1, "R01 R1 W01 X0:f"},
    {"rmsnorm_backward", 2, 0, "R01 R01 R1 R0:f W01 A1 S"},
    {"rope", 6, 4, "R[01|23|4] W[01|23|5]"},
    {"attention", 8, 10, "R" QUERY " R" KEY " R" VALUE " W0124 X021:f S"},
    {"attention_backward", 11, 10,
     "R0124 R" QUERY " R" KEY " R" VALUE " R0124 R021:f W[01|24|8] W[01|34|9] W[01|34|a] S"},
    {"attention_merge", 4, 0, "A0123 B021:f R0123 R021:f"},
    {"gelu", 1, 0, "R0 W0"},
    {"silu", 1, 0, "R0 W0"},
    {"relu", 1, 0, "R0 W0"},
    {"tanh", 1, 0, "R0 W0"},
    {"gelu_backward", 1, 0, "R0 R0 W0"},
    {"silu_backward", 1, 0, "R0 R0 W0"},
    {"relu_backward", 1, 0, "R0 R0 W0"},
    {"tanh_backward", 1, 0, "R0 R0 W0"},
    {"add", 0, 0, "R= R~ W="},
    {"subtract", 0, 0, "R= R~ W="},
    {"multiply", 0, 0, "R= R~ W="},
    {"sum_to", 0, 0, "R= W^"},
    {"affine", 1, 2, "R0 W0"},
    {"dropout", 9, 5, "R01234 W01234"},
    {"cross_entropy", 3, 0, "R01 R0:i A*2:d S"},
    {"cross_entropy_train", 3, 1, "U01 R0:i A*2:d S"},
    {"cross_entropy_stats", 3, 1, "R01 R0:i W0*3:f"},
    {"cross_entropy_parts", 4, 2, "R01 R0:i R03*3:f A*2:d S"},
    {"cross_entropy_parts_train", 4, 2, "U01 R0:i R03*3:f A*2:d S"},
    {"mse", 1, 0, "R0 R0 A*2:d S"},
    {"mse_train", 1, 1, "R0 R0 A*2:d W0 S"},
    {"adamw", 1, 4, "R0 U0 U0 U0"},
    {"adamw_master", 1, 4, "R0 P0 U0 U0 U0"},
    {"sgd", 1, 2, "R0 U0 U0"},
    {"sgd_master", 1, 2, "R0 P0 U0 U0"},
    {"square_sum", 1, 0, "R0 W*1:d S"},
    {"sum", 1, 0, "R0:d W*1:d"},
    {"grad_norm", 1, 1, "R0:d"},
    {"init_normal", 5, 4, "W0"},
    {"init_uniform", 5, 4, "W0"},
    {"init_constant", 5, 4, "Z0"},
    {"cast", 1, 0, "R0 W0"},
    {"copy", 4, 0, "R[0|1|2] W[0|1|3]"},
    {"slice", 4, 2, "R013 W023"},
};

/* Sizes of one record; `bad` once a number is negative or too large to be a size. */
typedef struct Sizes {
  const int64_t *dim;
  uint32_t dim_count;
  bool bad;
} Sizes;

static int64_t times(Sizes *s, int64_t a, int64_t b) {
  int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product)) s->bad = true;
  return s->bad ? 0 : product;
}

static int64_t plus(Sizes *s, int64_t a, int64_t b) {
  int64_t sum = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum)) s->bad = true;
  return s->bad ? 0 : sum;
}

/* "01" = dim[0] * dim[1]; moves past it. */
static int64_t product_of(Sizes *s, const char **at) {
  int64_t product = 1;
  for (; (**at >= '0' && **at <= '9') || **at == 'a'; ++*at) {
    uint32_t index = **at == 'a' ? 10 : (uint32_t)(**at - '0');
    product = times(s, product, s->dim[index]); /* the count of dims was checked */
  }
  if (**at == '*') {
    product = times(s, product, (*at)[1] - '0');
    *at += 2;
  }
  return product;
}

/* From the first element of the first row to the last of the last. */
static int64_t view_of(Sizes *s, const char **at) {
  ++*at;
  int64_t rows = product_of(s, at);
  ++*at;
  int64_t inner = product_of(s, at);
  ++*at;
  int64_t stride = product_of(s, at);
  ++*at;
  if (rows == 0 || inner == 0) return 0;
  return plus(s, times(s, rows - 1, stride), inner);
}

/* dims of a broadcast: k, k sizes, k strides of the second operand. */
static int64_t broadcast_of(Sizes *s, char what) {
  int64_t k = s->dim[0], product = 1, span = 1;
  for (int64_t i = 0; i < k; i++) {
    int64_t size = s->dim[1 + i], stride = s->dim[1 + k + i];
    if (what != '^' || stride != 0) product = times(s, product, size);
    if (size > 0) span = plus(s, span, times(s, size - 1, stride));
  }
  return what == '~' ? span : product;
}

static bool access_fits(char letter, const PlanRecord *record, uint32_t access) {
  switch (letter) {
  case 'R': return access == ACCESS_READ;
  case 'U': return access == ACCESS_UPDATE;
  case 'A':
  case 'B': return access == (record->accumulate ? ACCESS_UPDATE : ACCESS_WRITE);
  case 'P': return access != ACCESS_READ;
  default: return access == ACCESS_WRITE;
  }
}

static bool dtype_fits(const char *at, uint32_t dtype) {
  if (*at != ':') return true;
  return dtype == (uint32_t)(at[1] == 'i' ? DTYPE_I32 : at[1] == 'd' ? DTYPE_F64 : DTYPE_F32);
}

static void check_operands(const Walk *walk, uint32_t index, const struct Contract *contract) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  Sizes sizes = {plan->ints + record->dims_first, record->dims_count, false};
  const char *at = contract->operands;
  uint32_t i = 0;
  for (; *at != '\0' && i < record->operands_count; i++) {
    const PlanOperand *operand = &plan->operands[record->operands_first + i];
    char letter = *at++;
    int64_t bytes = (int64_t)operand->size_bytes, unit = dtype_bytes((DType)operand->dtype);
    if (letter != 'S') {
      int64_t elements = *at == '['                                  ? view_of(&sizes, &at)
                         : strchr("=~^", *at) != NULL && *at != '\0' ? broadcast_of(&sizes, *at++)
                                                                     : product_of(&sizes, &at);
      bytes = times(&sizes, elements, unit);
    }
    if (sizes.bad || (uint64_t)bytes != operand->size_bytes)
      prove_finding(walk->view, walk, index, "shapes",
                    "operand %u has %llu bytes, but its dims say %lld", i,
                    (unsigned long long)operand->size_bytes, (long long)bytes);
    if (!access_fits(letter, record, operand->access) || !dtype_fits(at, operand->dtype))
      prove_finding(walk->view, walk, index, "shapes",
                    "operand %u is used in another way, or has another dtype", i);
    at += strcspn(at, " ");
    at += *at == ' ';
  }
  if (i < record->operands_count || (*at != '\0' && strcmp(at, "S") != 0))
    prove_finding(walk->view, walk, index, "shapes", "%u operands", record->operands_count);
}

static const struct Contract *find_contract(const char *kernel) {
  for (size_t i = 0; i < sizeof contracts / sizeof *contracts; i++)
    if (strcmp(contracts[i].kernel, kernel) == 0) return &contracts[i];
  return NULL;
}

const char *kernel_contract(const char *kernel) {
  const struct Contract *contract = find_contract(kernel);
  return contract == NULL ? NULL : contract->operands;
}

static bool dims_fit(const Plan *plan, const PlanRecord *record, const struct Contract *contract) {
  if (contract->dims != 0) return record->dims_count == contract->dims;
  if (record->dims_count == 0) return false;
  int64_t k = plan->ints[record->dims_first];
  return k >= 0 && k <= KERNEL_DIMS_MAX && record->dims_count == 1 + 2 * (uint32_t)k;
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
static void check_classes(const Walk *walk, uint32_t index, const struct Contract *contract) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  if (strncmp(contract->kernel, "cross_entropy", 13) != 0) return;
  int64_t classes = plan->ints[record->dims_first + 2];
  if (classes < (int64_t)plan->jobs[0].vocab)
    prove_finding(walk->view, walk, index, "shapes", "%lld classes for %u tokens",
                  (long long)classes, plan->jobs[0].vocab);
}

static void check_transposed(const Walk *walk, uint32_t index, const struct Contract *contract) {
  const PlanRecord *record = walk_record(walk, index);
  if (strncmp(contract->kernel, "linear", 6) != 0 || contract->dims != 4) return;
  int64_t transposed = walk->view->plan->ints[record->dims_first + 3];
  if (transposed != 0 && transposed != 1)
    prove_finding(walk->view, walk, index, "shapes", "transposed is %lld", (long long)transposed);
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

static void check_kernel(const Walk *walk, uint32_t index, const struct Contract *contract) {
  const Plan *plan = walk->view->plan;
  const PlanRecord *record = walk_record(walk, index);
  if (!dims_fit(plan, record, contract)) {
    prove_finding(walk->view, walk, index, "shapes", "%u dims", record->dims_count);
    return;
  }
  check_operands(walk, index, contract);
  check_transposed(walk, index, contract);
  check_classes(walk, index, contract);
  if (strcmp(contract->kernel, "sum_to") == 0) check_sum(walk, index);
  if (record->attrs_count < contract->attrs)
    prove_finding(walk->view, walk, index, "shapes", "%u attrs of %u", record->attrs_count,
                  contract->attrs);
  else if (strcmp(contract->kernel, "slice") == 0)
    check_slice(walk, index);
}

/* Records are looked at once, whatever the number of their calls. */
void prove_shapes(const Plan *plan, ProveReport *report) {
  View view = {.plan = plan, .report = report};
  for (uint32_t s = 0; s < plan->segments_count; s++) {
    PlanCall call = {.segment = s, .layer = -1, .microbatch = -1};
    PlanProgram program = {.calls_count = 1};
    Walk walk = {.view = &view, .program = &program, .call = &call, .segment = &plan->segments[s]};
    for (uint32_t i = 0; i < walk.segment->records_count; i++) {
      const PlanRecord *record = walk_record(&walk, i);
      if (record->kind != RECORD_KERNEL) continue;
      const char *name = plan_string(plan, plan->kernels[record->kernel].name);
      const struct Contract *contract = find_contract(name);
      if (contract == NULL)
        prove_finding(&view, &walk, i, "shapes", "no contract is known for this kernel");
      else
        check_kernel(&walk, i, contract);
    }
  }
}
