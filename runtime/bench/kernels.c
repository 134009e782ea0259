/* kernels.c -- how fast the kernels of processors are, with all cores: products, attention, and
 * what kernels of other kinds read and write, in fp32. Sizes are those of a layer of GPT-2 124M. */
#include <stdlib.h>

#include "kernels/contract/contract.h"
#include "kernels/kernel.h"
#include "kernels/product.h"
#include "runtime/bench/bench.h"
#include "runtime/process/cgroup.h"

enum { ROUNDS = 7, NUMBERS_MOST = 13 };

typedef struct BenchCase {
  KernelId kernel;
  int64_t dims[NUMBERS_MOST];
  double attrs[NUMBERS_MOST];
} BenchCase;

/* One run of a kernel. */
typedef struct KernelRun {
  double seconds, bytes;
} KernelRun;

static void fill(void *to, uint32_t dtype, int64_t bytes, int64_t classes) {
  for (int64_t i = 0; dtype == DTYPE_F32 && i < bytes / 4; i++)
    ((float *)to)[i] = (float)(i * 37 % 101 - 50) * 0.01f;
  for (int64_t i = 0; dtype == DTYPE_I32 && i < bytes / 4; i++)
    ((int32_t *)to)[i] = (int32_t)(i % classes);
  for (int64_t i = 0; dtype == DTYPE_F64 && i < bytes / 8; i++)
    ((double *)to)[i] = 0;
}

static uint32_t dtype_of(const KernelOperand *operand) {
  if (operand->access == KERNEL_SCRATCH) return DTYPE_F32;
  return operand->dtype < DTYPE_COUNT ? operand->dtype : DTYPE_F32;
}

/* The best of some runs. False: not enough memory, or the kernel fails. */
static bool measure(const BenchCase *of, Threads *team, KernelRun *taken) {
  const KernelContract *contract = contract_of(of->kernel);
  const Kernel *kernel = &kernels_of(KERNEL_FAST)[of->kernel];
  void *operand[KERNEL_OPERANDS_MAX] = {NULL}, *state = NULL;
  uint32_t dtype[KERNEL_OPERANDS_MAX];
  int64_t bytes[KERNEL_OPERANDS_MAX];
  const int32_t count = contract->operand_count, attrs = contract_attrs_in(contract, false);
  const char *why = NULL;
  bool good = true;
  *taken = (KernelRun){0};
  for (int32_t i = 0; i < count; i++)
    dtype[i] = dtype_of(&contract->operands[i]);
  const WorkspaceUse scratch = {.target = KERNEL_TARGET_CPU,
                                .dims = of->dims,
                                .dtypes = dtype,
                                .threads = threads_count(team)};
  for (int32_t i = 0; i < count && good; i++) {
    const bool is_scratch = contract->operands[i].access == KERNEL_SCRATCH;
    bytes[i] = is_scratch ? contract_workspace_bytes(contract, &scratch)
                          : contract_elements(contract, i, of->dims) * dtype_bytes((DType)dtype[i]);
    good = posix_memalign(&operand[i], 4096, (size_t)bytes[i] + 64) == 0;
    if (good) fill(operand[i], dtype[i], bytes[i], of->dims[1]);
    if (!is_scratch) taken->bytes += (double)bytes[i];
  }
  const KernelUse use = {.target = KERNEL_TARGET_CPU,
                         .dtype = dtype,
                         .bytes = bytes,
                         .dim = of->dims,
                         .attr = of->attrs,
                         .operand_count = count,
                         .dim_count = contract->dim_count,
                         .attr_count = attrs,
                         .threads = threads_count(team),
                         .align_bytes = 64};
  if (good && kernel->prepare != NULL)
    good = kernel->prepare(kernel, &use, &state, &why) == KERNEL_DONE;
  const KernelArgs args = {.operand = operand,
                           .dtype = dtype,
                           .bytes = bytes,
                           .dim = of->dims,
                           .attr = of->attrs,
                           .operand_count = count,
                           .state = state,
                           .threads = team};
  for (int32_t round = 0; round < ROUNDS && good; round++) {
    const double from_s = bench_now_s();
    good = kernel->run(&args, &why) == KERNEL_DONE;
    const double took_s = bench_now_s() - from_s;
    if (round == 0 || took_s < taken->seconds) taken->seconds = took_s;
  }
  if (kernel->release != NULL) kernel->release(state);
  for (int32_t i = 0; i < count; i++)
    free(operand[i]);
  return good;
}

/* A kernel forward and its backward, as bytes a second of both. */
static bool put_pair(FILE *out, const char *name, const BenchCase *forward,
                     const BenchCase *backward, Threads *team) {
  KernelRun one = {0}, other = {0};
  if (!measure(forward, team, &one)) return false;
  if (backward != NULL && !measure(backward, team, &other)) return false;
  fprintf(out, "%s %.0f\n", name, (one.bytes + other.bytes) / (one.seconds + other.seconds));
  return true;
}

enum { SAMPLES = 4, TOKENS = 256, HEADS = 12, HEAD = 64, WIDTH = HEADS * HEAD, VOCAB = 8192 };
#define ATTENTION_ATTRS                                                                            \
  { 1, 0.125, 0, 0, TOKENS / 2.0, 0, TOKENS / 2.0, 0, HEADS, TOKENS, 0, 0 }
#define ATTENTION_DIMS SAMPLES, TOKENS, HEADS, HEADS, HEAD, WIDTH, WIDTH, WIDTH

static bool put_attention(FILE *out, Threads *team) {
  static const BenchCase forward = {KERNEL_attention, {ATTENTION_DIMS}, ATTENTION_ATTRS};
  static const BenchCase backward = {
      KERNEL_attention_backward, {ATTENTION_DIMS, WIDTH, WIDTH, WIDTH}, ATTENTION_ATTRS};
  /* Two products forward, five backward; half of the scores are masked. */
  const double product = 2.0 * SAMPLES * HEADS * HEAD * TOKENS * TOKENS / 2;
  KernelRun taken;
  if (!measure(&forward, team, &taken)) return false;
  fprintf(out, "attention_fwd %.0f\n", 2 * product / taken.seconds);
  if (!measure(&backward, team, &taken)) return false;
  fprintf(out, "attention_bwd %.0f\n", 5 * product / taken.seconds);
  return true;
}

static bool put_products(FILE *out) {
  static const char *const names[] = {"product_fp32", "product_bf16"};
  for (int bf16 = 0; bf16 < 2; bf16++) {
    double seconds[PRODUCT_PARTS], all_s = 0;
    if (!product_measure(bf16 != 0, processors_here(), 0.1, seconds)) return false;
    for (int i = 0; i < PRODUCT_PARTS; i++)
      all_s += seconds[i];
    fprintf(out, "%s %.0f\n", names[bf16], PRODUCT_PARTS * product_flops() / all_s);
  }
  return true;
}

static bool put_all(FILE *out, Threads *team) {
  enum { ROWS = SAMPLES * TOKENS, N = ROWS * 4 * WIDTH, FEW = 16 };
  static const BenchCase norm = {KERNEL_layernorm, {ROWS, WIDTH}, {1e-5, 0}};
  static const BenchCase norm_backward = {KERNEL_layernorm_backward, {ROWS, WIDTH}, {0}};
  static const BenchCase gelu = {KERNEL_gelu, {N}, {0}},
                         gelu_backward = {KERNEL_gelu_backward, {N}, {0}};
  static const BenchCase loss = {KERNEL_cross_entropy_train, {ROWS, VOCAB, VOCAB}, {1, 0, 0}};
  static const BenchCase few = {KERNEL_gelu, {FEW}, {0}};
  KernelRun taken;
  if (!put_products(out) || !put_attention(out, team) ||
      !put_pair(out, "norm", &norm, &norm_backward, team) ||
      !put_pair(out, "activation", &gelu, &gelu_backward, team) ||
      !put_pair(out, "loss", &loss, NULL, team) || !measure(&few, team, &taken))
    return false;
  fprintf(out, "records %.0f\n", 1 / taken.seconds);
  return true;
}

bool bench_kernels(FILE *out, Status *status) {
  double rate;
  Threads *team = threads_new(processors_here(), NULL);
  const bool good = team != NULL && put_all(out, team);
  if (team != NULL) threads_free(team);
  if (!good) return status_fail(status, STATUS_WORLD, "not enough memory or threads to measure");
  if (!bench_stream(&rate, status)) return false;
  fprintf(out, "host_bandwidth %.0f\n", rate);
  if (!bench_update(&rate, status)) return false;
  fprintf(out, "host_update %.0f\n", rate);
  return true;
}
