/* kernel_cases.h -- every kernel at sizes that matter, with the operands that its row in
 * kernels.def says it has at those sizes.
 *
 * One list drives the comparison of fast and plain kernels, the test of the rows themselves and any
 * later device. A new kernel needs a line in `kernel_cases`; kernel_variants_test fails without. */
#ifndef LOCKSTEP_TESTS_KERNEL_CASES_H
#define LOCKSTEP_TESTS_KERNEL_CASES_H

#include "kernels/contract/contract.h"
#include "kernels/runs.h"
#include "tests/unit/kernel_call.h"

typedef enum Mode {
  MODE_F64,   /* every value f64: finite differences */
  MODE_F32,   /* every value f32 */
  MODE_BF16,  /* every value bf16; statistics and optimizer state f32 */
  MODE_F16,   /* the same in fp16 */
  MODE_MIXED, /* as bf16, with f32 gradients of parameters */
  MODE_COUNT
} Mode;

static const char *const mode_names[MODE_COUNT] = {"fp64", "fp32", "bf16", "fp16", "mixed"};

typedef struct KernelCase {
  const char *kernel;
  int64_t dim[KERNEL_DIMS_MAX];
  double attr[KERNEL_ATTRS_MAX];
  int32_t in_place; /* operand that has the memory of operand 0; 0: none */
} KernelCase;

/* Whose scratch the cases have. */
static KernelTarget case_target = KERNEL_TARGET_CPU;
static bool case_tf32; /* their products round their inputs */

typedef struct CaseCall {
  Call call;
  const KernelContract *contract;
  Mode mode;
  uint64_t seed;
} CaseCall;

/* ---- dtypes of the kinds of operand in each mode ---- */

static inline DType value_dtype(Mode mode) {
  static const DType dtypes[MODE_COUNT] = {[MODE_F64] = DTYPE_F64,
                                           [MODE_F32] = DTYPE_F32,
                                           [MODE_BF16] = DTYPE_BF16,
                                           [MODE_F16] = DTYPE_F16,
                                           [MODE_MIXED] = DTYPE_BF16};
  return dtypes[mode];
}
static inline DType grad_dtype(Mode mode) {
  return mode == MODE_MIXED ? DTYPE_F32 : value_dtype(mode);
}
static inline DType stat_dtype(Mode mode) {
  return mode == MODE_F64 ? DTYPE_F64 : DTYPE_F32;
}

/* True for an update whose moments are codes; otherwise they have the dtype of the mode. */
static inline bool case_has_codes(const CaseCall *c) {
  const int32_t blocks = contract_dim(c->contract, "blocks");
  return blocks >= 0 && c->call.dim[blocks] > 0;
}

/* The dtype of an operand: the mode decides what the contract leaves open. */
static inline DType case_dtype(const CaseCall *c, int32_t operand) {
  const KernelOperand *o = &c->contract->operands[operand];
  KernelRole role = c->contract->row->role;
  bool is_statistic = o->dtype == DTYPE_F32 && role != ROLE_LOSS && role != ROLE_QUANTISE;
  bool is_gradient = role == ROLE_SQUARE_SUM || (o->dtype == KERNEL_DTYPE_FLOAT &&
                                                 (o->access == KERNEL_SUM || role == ROLE_UPDATE));
  if (is_statistic) return stat_dtype(c->mode);
  if (o->dtype < DTYPE_COUNT) return (DType)o->dtype;
  if (o->dtype == KERNEL_DTYPE_MOMENT)
    return case_has_codes(c) ? DTYPE_U8 : c->mode == MODE_BF16 ? DTYPE_BF16 : stat_dtype(c->mode);
  if (is_gradient) return grad_dtype(c->mode);
  if (o->dtype == KERNEL_DTYPE_FP8)
    return strncmp(o->name, "d_y", 3) == 0 ? DTYPE_E5M2 : DTYPE_E4M3;
  if (role == ROLE_CAST && operand == 1) return c->mode == MODE_F32 ? DTYPE_BF16 : DTYPE_F32;
  return value_dtype(c->mode);
}

static inline void make_positive(CaseCall *c, int32_t operand) {
  for (int64_t i = 0; i < call_count(&c->call, operand); i++)
    call_set(&c->call, operand, i, fabs(call_get(&c->call, operand, i)));
}

/* Some are below 0 (padding), and few values are possible: repetitions are likely. As many are
 * beyond a table's part as before it. */
static inline void fill_ids(CaseCall *c, int32_t operand) {
  int32_t all = contract_dim(c->contract, "all_vocab"), part = contract_dim(c->contract, "vocab");
  int64_t vocab = all >= 0 || part >= 0 ? c->call.dim[all >= 0 ? all : part] : 2;
  if (c->contract->row->role == ROLE_EMBEDDING) vocab += 2 * (int64_t)c->call.attr[0];
  int32_t *ids = c->call.operand[operand];
  for (int64_t i = 0; i < call_count(&c->call, operand); i++)
    ids[i] = (int32_t)(philox_mix(c->seed, (uint64_t)i) % (uint64_t)(vocab + 1)) - 1;
}

/* Documents of 7 tokens, of the second sample of 40. */
static inline void fill_begins(CaseCall *c, int32_t operand) {
  const int64_t seq = c->call.dim[1];
  const Runs runs = {seq, (int64_t)c->call.attr[3], (int64_t)c->call.attr[4]};
  int32_t *begin = c->call.operand[operand];
  for (int64_t i = 0; i < call_count(&c->call, operand); i++) {
    const int64_t position = runs_position(runs, i % seq);
    begin[i] = (int32_t)(position - position % (i < seq ? 7 : 40));
  }
}

/* Tokens of a sample follow each other, up to the last positions of a cache; of a few the second is
 * none, of many the last ones are. */
static inline void fill_places(CaseCall *c, int32_t operand) {
  enum { MANY = 16 };
  const int64_t seq = c->call.dim[1];
  const int32_t context = contract_dim(c->contract, "context");
  int32_t *place = c->call.operand[operand];
  for (int64_t i = 0; i < call_count(&c->call, operand); i++) {
    const int64_t first = context < 0 ? 100 * (i / seq) : c->call.dim[context] - seq - i / seq;
    const bool is_none = seq >= MANY ? i % seq >= seq - 3 * (i / seq) : seq > 2 && i % seq == 1;
    place[i] = is_none ? -1 : (int32_t)(first + i % seq);
  }
}

/* Not cleared: a kernel may rely on nothing there. A large one is kept from case to case of its
 * size, for the system takes longer to hand out new pages than most cases take to run. */
static inline void lay_scratch(CaseCall *c) {
  enum { KEPT_FROM_BYTES = 1 << 18, POISONED_BYTES = 1 << 16, THREADS_MOST = 2 };
  static Call kept;
  WorkspaceUse use = {case_target, c->call.dim, c->call.dtype, THREADS_MOST, case_tf32};
  int64_t bytes = contract_workspace_bytes(c->contract, &use);
  if (bytes >= KEPT_FROM_BYTES && (kept.operand_count == 0 || kept.bytes[0] != bytes)) {
    call_free(&kept);
    call_add(&kept, DTYPE_F64, bytes / 8);
  }
  int32_t operand = bytes >= KEPT_FROM_BYTES ? call_share(&c->call, &kept, 0)
                                             : call_add(&c->call, DTYPE_F64, (bytes + 7) / 8);
  memset(c->call.operand[operand], 0xff, (size_t)(bytes < POISONED_BYTES ? bytes : POISONED_BYTES));
}

static inline void lay_operand(CaseCall *c, int32_t i) {
  const KernelOperand *operand = &c->contract->operands[i];
  if (operand->access == KERNEL_SCRATCH) {
    lay_scratch(c);
    return;
  }
  call_add(&c->call, case_dtype(c, i), contract_elements(c->contract, i, c->call.dim));
  call_fill(&c->call, i, c->seed);
  if (strcmp(operand->name, "begin") == 0)
    fill_begins(c, i);
  else if (strcmp(operand->name, "places") == 0)
    fill_places(c, i);
  else if (operand->dtype == DTYPE_I32 && operand->access == KERNEL_READ)
    fill_ids(c, i);
  if (strstr(operand->name, "scale") != NULL) /* powers of two */
    for (int64_t k = 0; k < call_count(&c->call, i); k++)
      call_set(&c->call, i, k, ldexp(1, (int)(k % 3) - 2));
  bool is_square = (c->contract->row->role == ROLE_UPDATE &&
                    (strcmp(operand->name, "v") == 0 || strstr(operand->name, "_max") != NULL)) ||
                   c->contract->row->role == ROLE_GRAD_NORM;
  bool is_share = strcmp(operand->name, "stats") == 0 && operand->access == KERNEL_READ;
  if (is_square || is_share) make_positive(c, i);
}

/* The kernel that this one makes the gradients of; NULL: none. */
static inline const KernelContract *case_forward(const KernelContract *contract) {
  for (KernelId id = 0; id < KERNEL_COUNT; id++)
    for (int32_t i = 0; i < contract_of(id)->backward_count; i++)
      if (contract_of(id)->backward[i] == contract->id && id != contract->id)
        return contract_of(id);
  return NULL;
}

/* Runs the forward kernel for the values of it that the backward kernel reads. */
static inline void make_results(CaseCall *c) {
  const KernelContract *forward = case_forward(c->contract);
  bool reads_result = false;
  for (int32_t i = 0; forward != NULL && i < forward->operand_count; i++) {
    int32_t same = contract_operand(c->contract, forward->operands[i].name);
    reads_result |= forward->operands[i].access == KERNEL_WRITE && same >= 0 &&
                    c->contract->operands[same].access == KERNEL_READ;
  }
  if (!reads_result) return;
  CaseCall other = {.call = c->call, .contract = forward, .mode = c->mode};
  other.call.kernel = forward->row->name;
  other.call.operand_count = 0;
  memset(other.call.shared, 0, sizeof other.call.shared);
  if (forward->row->role == ROLE_NORM) other.call.attr[0] = 1e-5;
  for (int32_t i = 0; i < forward->operand_count; i++) {
    int32_t same = contract_operand(c->contract, forward->operands[i].name);
    if (forward->operands[i].access == KERNEL_SCRATCH) break; /* the plain kernels need none */
    if (same >= 0)
      call_share(&other.call, &c->call, same);
    else
      call_add(&other.call, case_dtype(&other, i), contract_elements(forward, i, c->call.dim));
  }
  call_run(&other.call, KERNEL_REFERENCE, NULL);
  call_free(&other.call);
}

/* Makes the operands: the same seed makes the same numbers. False when there is no such kernel. */
static inline bool case_make(const KernelCase *from, Mode mode, uint64_t seed, CaseCall *c) {
  *c = (CaseCall){.mode = mode, .seed = seed, .contract = contract_find(from->kernel)};
  c->call.kernel = from->kernel;
  memcpy(c->call.dim, from->dim, sizeof from->dim);
  memcpy(c->call.attr, from->attr, sizeof from->attr);
  c->call.key = philox_mix(seed, 1);
  c->call.sample_first = 3;
  c->call.control = (Control){.lr = 1e-2,
                              .clip_scale = 0.75,
                              .step_counts = 1,
                              .updates = 3,
                              .step = 3,
                              .seed = seed,
                              .targets = 1,
                              .loss_scale = 1,
                              .hysteresis_left = 3};
  if (strcmp(from->kernel, "loss_scale") == 0 && from->attr[0] > 1) /* a step that overflowed */
    c->call.control.grad_norm = (double)INFINITY;
  if (c->contract == NULL) return false;
  /* An update whose sizes are one number is of a whole tensor. */
  for (int32_t i = 1; c->contract->row->role == ROLE_UPDATE && i < 5 && from->dim[1] == 0; i++)
    c->call.dim[i] = from->dim[0];
  for (int32_t i = 0; i < c->contract->operand_count; i++)
    if (c->contract->row->role != ROLE_UPDATE || !c->contract->operands[i].may_be_absent ||
        case_has_codes(c))
      lay_operand(c, i);
  make_results(c);
  if (from->in_place) {
    free(c->call.operand[0]);
    c->call.operand[0] = c->call.operand[from->in_place];
    c->call.shared[0] = true;
  }
  return true;
}

static inline bool case_is_scratch(const CaseCall *c, int32_t operand) {
  return c->contract->operands[operand].access == KERNEL_SCRATCH;
}

/* True if the kernel leaves the operand as it was. */
static inline bool case_is_read_only(const CaseCall *c, int32_t operand) {
  return c->contract->operands[operand].access == KERNEL_READ &&
         !(operand == 0 && c->call.shared[0]);
}

#include "tests/unit/kernel_case_list.h"

#endif
