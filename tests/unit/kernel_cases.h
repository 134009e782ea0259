/* kernel_cases.h -- every kernel at sizes that matter, and what its operands are at those sizes.
 *
 * One list drives the comparison of fast and plain kernels and any later device. A new kernel needs
 * a line in `layouts` and at least one in `kernel_cases`; kernel_variants_test fails without. */
#ifndef LOCKSTEP_TESTS_KERNEL_CASES_H
#define LOCKSTEP_TESTS_KERNEL_CASES_H

#include "kernels/cpu/workspace.h"
#include "tests/unit/kernel_call.h"

typedef enum Mode {
  MODE_F64,   /* every value f64: finite differences */
  MODE_F32,   /* every value f32 */
  MODE_BF16,  /* every value bf16; statistics and optimizer state f32 */
  MODE_MIXED, /* as bf16, with f32 gradients of parameters */
  MODE_COUNT
} Mode;

static const char *const mode_names[MODE_COUNT] = {"fp64", "fp32", "bf16", "mixed"};

typedef enum Role {
  ROLE_IN,  /* not to be changed */
  ROLE_OUT, /* written, and read too where the contract says so */
  ROLE_WORK
} Role;

typedef struct KernelCase {
  const char *kernel;
  int64_t dim[KERNEL_DIMS_MAX];
  double attr[KERNEL_ATTRS_MAX];
  int32_t in_place; /* operand that has the memory of operand 0; 0: none */
} KernelCase;

typedef struct CaseCall {
  Call call;
  Role role[KERNEL_OPERANDS_MAX];
  Mode mode;
  uint64_t seed;
} CaseCall;

/* ---- dtypes of the kinds of operand in each mode ---- */

static inline DType value_dtype(Mode mode) {
  return mode == MODE_F64 ? DTYPE_F64 : mode == MODE_F32 ? DTYPE_F32 : DTYPE_BF16;
}
static inline DType grad_dtype(Mode mode) {
  return mode == MODE_MIXED ? DTYPE_F32 : value_dtype(mode);
}
static inline DType stat_dtype(Mode mode) {
  return mode == MODE_F64 ? DTYPE_F64 : DTYPE_F32;
}

static inline void lay(CaseCall *c, Role role, DType dtype, int64_t count) {
  int32_t operand = call_add(&c->call, dtype, count);
  c->role[operand] = role;
  call_fill(&c->call, operand, c->seed);
}

static inline void lay_value(CaseCall *c, Role role, int64_t count) {
  lay(c, role, value_dtype(c->mode), count);
}

/* `rows` rows of a view: nothing after the last row's last element belongs to the operand. */
static inline void lay_view(CaseCall *c, Role role, int64_t rows, int64_t width, int64_t stride) {
  lay_value(c, role, (rows - 1) * stride + width);
}

static inline void make_positive(CaseCall *c, int32_t operand) {
  for (int64_t i = 0; i < call_count(&c->call, operand); i++)
    call_set(&c->call, operand, i, fabs(call_get(&c->call, operand, i)));
}

static inline void lay_param_grad(CaseCall *c, int64_t count) {
  lay(c, ROLE_OUT, grad_dtype(c->mode), count);
}

static inline void lay_stat(CaseCall *c, Role role, int64_t count) {
  lay(c, role, stat_dtype(c->mode), count);
}

/* Some are below 0 (padding), and few values are possible: repetitions are likely. */
static inline void lay_ids(CaseCall *c, int64_t count, int64_t vocab) {
  lay(c, ROLE_IN, DTYPE_I32, count);
  int32_t *ids = c->call.operand[c->call.operand_count - 1];
  for (int64_t i = 0; i < count; i++)
    ids[i] = (int32_t)(philox_mix(c->seed, (uint64_t)i) % (uint64_t)(vocab + 1)) - 1;
}

/* Not cleared: a kernel may rely on nothing there. A large one is kept from case to case of its
 * size, for the system takes longer to hand out new pages than most cases take to run. */
static inline void lay_work(CaseCall *c, int64_t bytes) {
  enum { KEPT_FROM_BYTES = 1 << 18, POISONED_BYTES = 1 << 16 };
  static Call kept;
  if (bytes >= KEPT_FROM_BYTES && (kept.operand_count == 0 || kept.bytes[0] != bytes)) {
    call_free(&kept);
    call_add(&kept, DTYPE_F64, bytes / 8);
  }
  int32_t operand = bytes >= KEPT_FROM_BYTES ? call_share(&c->call, &kept, 0)
                                             : call_add(&c->call, DTYPE_F64, (bytes + 7) / 8);
  c->role[operand] = ROLE_WORK;
  memset(c->call.operand[operand], 0xff, (size_t)(bytes < POISONED_BYTES ? bytes : POISONED_BYTES));
}

/* ---- one function for each order of operands in kernels.def ---- */

/* As many ids are beyond the table as before it. */
static inline int64_t all_ids(const CaseCall *c, const int64_t *d) {
  return d[2] + 2 * (int64_t)c->call.attr[0];
}
static inline void lay_embedding(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[2] * d[1]);
  lay_ids(c, d[0], all_ids(c, d));
  lay_value(c, ROLE_OUT, d[0] * d[1]);
}
static inline void lay_embedding_backward(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_ids(c, d[0], d[2]);
  lay_param_grad(c, d[2] * d[1]);
}
static inline void lay_positions(CaseCall *c, const int64_t *d) {
  lay(c, ROLE_OUT, DTYPE_I32, d[0]);
}

static inline void lay_linear(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_value(c, ROLE_IN, d[1] * d[2]);
  if (strcmp(c->call.kernel, "linear_bias") == 0) lay_value(c, ROLE_IN, d[2]);
  lay_value(c, ROLE_OUT, d[0] * d[2]);
  lay_work(c, WORK_GEMM);
}
static inline void lay_linear_dx(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[2]);
  lay_value(c, ROLE_IN, d[1] * d[2]);
  lay_value(c, ROLE_OUT, d[0] * d[1]);
  lay_work(c, WORK_GEMM);
}
static inline void lay_linear_dw(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_value(c, ROLE_IN, d[0] * d[2]);
  lay_param_grad(c, d[1] * d[2]);
  lay_work(c, WORK_GEMM);
}
static inline void lay_linear_db(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_param_grad(c, d[1]);
}

static inline void run_plain(CaseCall *c, const char *kernel, const int32_t *operands,
                             int32_t count, double attr0);

static inline void lay_layernorm(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_value(c, ROLE_IN, d[1]);
  lay_value(c, ROLE_IN, d[1]);
  lay_value(c, ROLE_OUT, d[0] * d[1]);
  lay_stat(c, ROLE_OUT, 2 * d[0]);
}
static inline void lay_layernorm_backward(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_value(c, ROLE_IN, d[1]);
  lay_stat(c, ROLE_IN, 2 * d[0]);
  lay_value(c, ROLE_OUT, d[0] * d[1]);
  run_plain(c, "layernorm", (const int32_t[]){1, 2, 2, 4, 3}, 5, 1e-5); /* the statistics of x */
  lay_param_grad(c, d[1]);
  lay_param_grad(c, d[1]);
  lay_work(c, 1 << 20);
}
static inline void lay_rmsnorm(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_value(c, ROLE_IN, d[1]);
  lay_value(c, ROLE_OUT, d[0] * d[1]);
  lay_stat(c, ROLE_OUT, d[0]);
}
static inline void lay_rmsnorm_backward(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_value(c, ROLE_IN, d[1]);
  lay_stat(c, ROLE_IN, d[0]);
  lay_value(c, ROLE_OUT, d[0] * d[1]);
  run_plain(c, "rmsnorm", (const int32_t[]){1, 2, 4, 3}, 4, 1e-5);
  lay_param_grad(c, d[1]);
  lay_work(c, 1 << 20);
}
static inline void lay_rope(CaseCall *c, const int64_t *d) {
  lay_view(c, ROLE_IN, d[0] * d[1], d[2] * d[3], d[4]);
  lay_view(c, ROLE_OUT, d[0] * d[1], d[2] * d[3], d[5]);
}

static inline void lay_attention(CaseCall *c, const int64_t *d) {
  int64_t tokens = d[0] * d[1], q_width = d[2] * d[4], kv_width = d[3] * d[4];
  lay_view(c, ROLE_IN, tokens, q_width, d[5]);
  lay_view(c, ROLE_IN, tokens, kv_width, d[6]);
  lay_view(c, ROLE_IN, tokens, kv_width, d[7]);
  lay_value(c, ROLE_OUT, tokens * q_width);
  lay_stat(c, ROLE_OUT, tokens * d[2]);
  lay_work(c, 4 << 20);
}
static inline void lay_attention_backward(CaseCall *c, const int64_t *d) {
  int64_t tokens = d[0] * d[1], q_width = d[2] * d[4], kv_width = d[3] * d[4];
  lay_value(c, ROLE_IN, tokens * q_width);
  lay_attention(c, d);
  int32_t work = --c->call.operand_count; /* attention's; the backward's stands last */
  if (!c->call.shared[work]) free(c->call.operand[work]);
  c->call.shared[work] = false;
  c->role[4] = c->role[5] = ROLE_IN;
  run_plain(c, "attention", (const int32_t[]){1, 2, 3, 4, 5}, 5, c->call.attr[0]);
  lay_view(c, ROLE_OUT, tokens, q_width, d[8]);
  lay_view(c, ROLE_OUT, tokens, kv_width, d[9]);
  lay_view(c, ROLE_OUT, tokens, kv_width, d[10]);
  lay_work(c, 4 << 20);
}

/* out and out1 are added to and read: f32 beside bf16 in the mixed mode. */
static inline void lay_attention_merge(CaseCall *c, const int64_t *d) {
  int64_t rows = d[0] * d[1] * d[2];
  lay(c, ROLE_OUT, grad_dtype(c->mode), rows * d[3]);
  lay_stat(c, ROLE_OUT, rows);
  lay_value(c, ROLE_IN, rows * d[3]);
  lay_stat(c, ROLE_IN, rows);
}

static inline void lay_unary(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0]);
  lay_value(c, ROLE_OUT, d[0]);
}
static inline void lay_unary_backward(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0]);
  lay_value(c, ROLE_IN, d[0]);
  lay_value(c, ROLE_OUT, d[0]);
}

static inline void lay_dropout(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1] * d[2] * d[3] * d[4]);
  lay_value(c, ROLE_OUT, d[0] * d[1] * d[2] * d[3] * d[4]);
}

static inline int64_t large_count(const int64_t *d) {
  int64_t count = 1;
  for (int64_t axis = 0; axis < d[0]; axis++)
    count *= d[1 + axis];
  return count;
}
static inline int64_t small_count(const int64_t *d) {
  int64_t count = 1;
  for (int64_t axis = 0; axis < d[0]; axis++)
    if (d[1 + d[0] + axis] != 0) count *= d[1 + axis];
  return count;
}
static inline void lay_arithmetic(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, large_count(d));
  lay_value(c, ROLE_IN, small_count(d));
  lay_value(c, ROLE_OUT, large_count(d));
}
static inline void lay_sum_to(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, large_count(d));
  lay_value(c, ROLE_OUT, small_count(d));
}

static inline void lay_cross_entropy(CaseCall *c, const int64_t *d) {
  bool train = strcmp(c->call.kernel, "cross_entropy_train") == 0;
  lay_value(c, train ? ROLE_OUT : ROLE_IN, d[0] * d[1]);
  lay_ids(c, d[0], d[2]);
  lay(c, ROLE_OUT, DTYPE_F64, 2);
  lay_work(c, 8 * d[0]);
}
static inline void lay_cross_entropy_stats(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1]);
  lay_ids(c, d[0], d[2]);
  lay(c, ROLE_OUT, DTYPE_F32, d[0] * 3);
}
static inline void lay_cross_entropy_parts(CaseCall *c, const int64_t *d) {
  bool train = strcmp(c->call.kernel, "cross_entropy_parts_train") == 0;
  lay_value(c, train ? ROLE_OUT : ROLE_IN, d[0] * d[1]);
  lay_ids(c, d[0], d[2]);
  lay(c, ROLE_IN, DTYPE_F32, d[3] * d[0] * 3);
  make_positive(c, 2);
  lay(c, ROLE_OUT, DTYPE_F64, 2);
  lay_work(c, 8 * d[0]);
}
static inline void lay_mse(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0]);
  lay_value(c, ROLE_IN, d[0]);
  lay(c, ROLE_OUT, DTYPE_F64, 2);
  if (strcmp(c->call.kernel, "mse_train") == 0) lay_value(c, ROLE_OUT, d[0]);
  lay_work(c, 8 * (1 + d[0] / 4096));
}

static inline void lay_adamw(CaseCall *c, const int64_t *d) {
  lay(c, ROLE_IN, grad_dtype(c->mode), d[0]);
  lay_value(c, ROLE_OUT, d[0]);
  lay_stat(c, ROLE_OUT, d[0]);
  lay_stat(c, ROLE_OUT, d[0]);
  make_positive(c, 3);
  if (strcmp(c->call.kernel, "adamw_master") == 0) lay_stat(c, ROLE_OUT, d[0]);
}
static inline void lay_sgd(CaseCall *c, const int64_t *d) {
  lay(c, ROLE_IN, grad_dtype(c->mode), d[0]);
  lay_value(c, ROLE_OUT, d[0]);
  lay_stat(c, ROLE_OUT, d[0]);
  if (strcmp(c->call.kernel, "sgd_master") == 0) lay_stat(c, ROLE_OUT, d[0]);
}

static inline void lay_square_sum(CaseCall *c, const int64_t *d) {
  lay(c, ROLE_IN, grad_dtype(c->mode), d[0]);
  lay(c, ROLE_OUT, DTYPE_F64, 1);
  lay_work(c, 8 * (1 + d[0] / 4096));
}
static inline void lay_grad_norm(CaseCall *c, const int64_t *d) {
  lay(c, ROLE_IN, DTYPE_F64, d[0]);
  make_positive(c, 0);
}
static inline void lay_sum(CaseCall *c, const int64_t *d) {
  lay(c, ROLE_IN, DTYPE_F64, d[0]);
  lay(c, ROLE_OUT, DTYPE_F64, 1);
}
static inline void lay_init(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_OUT, d[0]);
}
static inline void lay_cast(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0]);
  lay(c, ROLE_OUT, c->mode == MODE_F32 ? DTYPE_BF16 : DTYPE_F32, d[0]);
}
static inline void lay_copy(CaseCall *c, const int64_t *d) {
  lay_view(c, ROLE_IN, d[0], d[1], d[2]);
  lay_view(c, ROLE_OUT, d[0], d[1], d[3]);
}
static inline void lay_slice(CaseCall *c, const int64_t *d) {
  lay_value(c, ROLE_IN, d[0] * d[1] * d[3]);
  lay_value(c, ROLE_OUT, d[0] * d[2] * d[3]);
}

static const struct {
  const char *kernel;
  void (*lay)(CaseCall *c, const int64_t *dim);
} layouts[] = {
    {"embedding", lay_embedding},
    {"embedding_backward", lay_embedding_backward},
    {"positions", lay_positions},
    {"linear", lay_linear},
    {"linear_bias", lay_linear},
    {"linear_dx", lay_linear_dx},
    {"linear_dw", lay_linear_dw},
    {"linear_db", lay_linear_db},
    {"layernorm", lay_layernorm},
    {"layernorm_backward", lay_layernorm_backward},
    {"rmsnorm", lay_rmsnorm},
    {"rmsnorm_backward", lay_rmsnorm_backward},
    {"rope", lay_rope},
    {"attention", lay_attention},
    {"attention_backward", lay_attention_backward},
    {"attention_merge", lay_attention_merge},
    {"gelu", lay_unary},
    {"silu", lay_unary},
    {"relu", lay_unary},
    {"tanh", lay_unary},
    {"gelu_backward", lay_unary_backward},
    {"silu_backward", lay_unary_backward},
    {"relu_backward", lay_unary_backward},
    {"tanh_backward", lay_unary_backward},
    {"add", lay_arithmetic},
    {"subtract", lay_arithmetic},
    {"multiply", lay_arithmetic},
    {"sum_to", lay_sum_to},
    {"affine", lay_unary},
    {"dropout", lay_dropout},
    {"cross_entropy", lay_cross_entropy},
    {"cross_entropy_train", lay_cross_entropy},
    {"cross_entropy_stats", lay_cross_entropy_stats},
    {"cross_entropy_parts", lay_cross_entropy_parts},
    {"cross_entropy_parts_train", lay_cross_entropy_parts},
    {"mse", lay_mse},
    {"mse_train", lay_mse},
    {"adamw", lay_adamw},
    {"adamw_master", lay_adamw},
    {"sgd", lay_sgd},
    {"sgd_master", lay_sgd},
    {"square_sum", lay_square_sum},
    {"sum", lay_sum},
    {"grad_norm", lay_grad_norm},
    {"init_normal", lay_init},
    {"init_uniform", lay_init},
    {"init_constant", lay_init},
    {"cast", lay_cast},
    {"copy", lay_copy},
    {"slice", lay_slice},
};

/* Makes the operands: the same seed makes the same numbers. False when the kernel has no layout. */
static inline bool case_make(const KernelCase *from, Mode mode, uint64_t seed, CaseCall *c) {
  *c = (CaseCall){.mode = mode, .seed = seed};
  c->call.kernel = from->kernel;
  memcpy(c->call.dim, from->dim, sizeof from->dim);
  memcpy(c->call.attr, from->attr, sizeof from->attr);
  c->call.key = philox_mix(seed, 1);
  c->call.sample_first = 3;
  c->call.control = (Control){.lr = 1e-2, .clip_scale = 0.75, .step = 3, .seed = seed};
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    if (strcmp(layouts[i].kernel, from->kernel) != 0) continue;
    layouts[i].lay(c, c->call.dim);
    if (from->in_place) {
      free(c->call.operand[0]);
      c->call.operand[0] = c->call.operand[from->in_place];
      c->call.shared[0] = true;
      c->role[0] = ROLE_OUT;
    }
    return true;
  }
  return false;
}

/* Runs another kernel's plain form on operands this case already has, in the order given. */
static inline void run_plain(CaseCall *c, const char *kernel, const int32_t *operands,
                             int32_t count, double attr0) {
  Call other = c->call;
  other.kernel = kernel;
  other.operand_count = 0;
  other.attr[0] = attr0;
  for (int32_t i = 0; i < count; i++)
    call_share(&other, &c->call, operands[i]);
  call_run(&other, KERNEL_REFERENCE, NULL);
}

#include "tests/unit/kernel_case_list.h"

#endif
