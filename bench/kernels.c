/* kernels.c -- times the fast kernels on the shapes of two models, beside what this machine can do.
 *
 * Usage: bench_kernels [threads] [name, or updates]. Medians; `of peak` compares with the ceiling
 * that binds the kernel, measured first in the same process: multiply-adds per second in registers,
 * or bytes per second of a triad over arrays that no cache holds. Operands that fit in the cache
 * may exceed it. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/kernels_ceiling.h"
#include "kernels/contract/contract.h"
#include "kernels/kernel.h"
#include "kernels/math/floats.h"

enum { RUNS_MAX = 101 };
static const double RUN_SECONDS = 0.4; /* spent on one case */

typedef struct Case {
  const char *kernel;
  int32_t operands;
  struct {
    DType dtype;
    int64_t count; /* elements, or bytes of scratch when dtype is DTYPE_COUNT */
  } operand[KERNEL_OPERANDS_MAX];
  int64_t dim[KERNEL_DIMS_MAX];
  double attr[KERNEL_ATTRS_MAX];
  double flops; /* of one call; 0 where memory is what binds */
  bool bf16;    /* compare flops with the ceiling of bf16, not of fp32 */
  bool accumulate;
} Case;

typedef struct Bench {
  Threads *threads;
  Ceiling ceiling;
  const char *only; /* NULL: all */
} Bench;

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static int64_t bytes_of(const Case *c, int32_t i) {
  return c->operand[i].dtype == DTYPE_COUNT
             ? c->operand[i].count
             : c->operand[i].count * dtype_bytes(c->operand[i].dtype);
}

/* Small numbers around 0; ids count up within the table. */
static void *new_operand(const Case *c, int32_t i) {
  int64_t bytes = bytes_of(c, i);
  void *data = aligned_alloc(256, (size_t)(bytes + 255) / 256 * 256);
  if (!data) exit(2);
  memset(data, 0, (size_t)bytes);
  uint32_t random = 12345;
  for (int64_t k = 0; c->operand[i].dtype != DTYPE_COUNT && k < c->operand[i].count; k++) {
    random = random * 1664525u + 1013904223u;
    float value = (float)(random >> 8) * 0x1p-23f - 1.0f;
    switch (c->operand[i].dtype) {
    case DTYPE_F32:
    case DTYPE_BF16:
    case DTYPE_F16: float_put(data, k, c->operand[i].dtype, value); break;
    case DTYPE_I32: ((int32_t *)data)[k] = (int32_t)(random >> 25); break;
    default: break;
    }
  }
  return data;
}

static double median_seconds(const Kernel *kernel, const KernelArgs *args) {
  double time[RUNS_MAX], start = seconds();
  int32_t runs = 0;
  const char *why = NULL;
  kernel->run(args, &why);
  while (runs < RUNS_MAX && (runs < 3 || seconds() - start < RUN_SECONDS)) {
    time[runs] = seconds();
    kernel->run(args, &why);
    time[runs] = seconds() - time[runs];
    runs++;
  }
  qsort(time, (size_t)runs, sizeof *time, by_value);
  return time[runs / 2];
}

/* The number of times that an operand crosses the bus: an update reads and writes its states. */
static int64_t passes_of(const Case *c, int32_t i) {
  const KernelContract *contract = contract_find(c->kernel);
  const bool is_update = contract->row->role == ROLE_UPDATE;
  return is_update && contract->operands[i].access == KERNEL_UPDATE ? 2 : 1;
}

static void measure(const Bench *b, const char *label, Case *c) {
  if (b->only && strcmp(b->only, c->kernel) != 0 &&
      (strcmp(b->only, "updates") != 0 || contract_find(c->kernel)->row->role != ROLE_UPDATE))
    return;
  void *operand[KERNEL_OPERANDS_MAX];
  uint32_t dtype[KERNEL_OPERANDS_MAX];
  int64_t bytes[KERNEL_OPERANDS_MAX], moved = 0;
  for (int32_t i = 0; i < c->operands; i++)
    dtype[i] = c->operand[i].dtype == DTYPE_COUNT ? DTYPE_F32 : (uint32_t)c->operand[i].dtype;
  WorkspaceUse use = {KERNEL_TARGET_CPU, c->dim, dtype, threads_count(b->threads), false};
  for (int32_t i = 0; i < c->operands; i++) {
    if (c->operand[i].dtype == DTYPE_COUNT)
      c->operand[i].count = contract_workspace_bytes(contract_find(c->kernel), &use);
    operand[i] = new_operand(c, i);
    bytes[i] = bytes_of(c, i);
    if (c->operand[i].dtype != DTYPE_COUNT) moved += bytes[i] * passes_of(c, i);
  }
  Control control = {.lr = 1e-3, .clip_scale = 1, .step_counts = 1, .step = 10, .seed = 1};
  int64_t sample_first = 0;
  KernelArgs args = {.operand = operand, .dtype = dtype, .bytes = bytes, .dim = c->dim};
  args.sample_first = &sample_first;
  args.attr = c->attr;
  args.operand_count = c->operands;
  args.accumulate = c->accumulate;
  void *slots[KERNEL_CONTROLS_MAX];
  const KernelContract *contract = contract_find(c->kernel);
  for (int32_t i = 0; i < contract->control_count; i++)
    slots[i] = contract->controls[i].may_be_absent
                   ? NULL
                   : control_value(&control, contract->controls[i].slot);
  args.control = slots;
  args.control_count = contract->control_count;
  args.threads = b->threads;
  double time = median_seconds(kernel_find(c->kernel, KERNEL_FAST), &args);
  double rate = c->flops > 0 ? c->flops / time : (double)moved / time;
  double peak = c->flops == 0 ? b->ceiling.bytes_per_s
                : c->bf16     ? b->ceiling.bf16_flops_per_s
                              : b->ceiling.f32_flops_per_s;
  printf("%-20s %-30s %9.3f ms %8.1f %s %4.0f%% of peak\n", c->kernel, label, 1e3 * time,
         rate / 1e9, c->flops > 0 ? "GFLOP/s" : "GB/s   ", 100 * rate / peak);
  for (int32_t i = 0; i < c->operands; i++)
    free(operand[i]);
}

/* ---- the shapes
 * --------------------------------------------------------------------------------*/

typedef struct Model {
  const char *name;
  int64_t batch, seq, heads, width, vocab;
} Model;

static void measure_linear(const Bench *b, const Model *m, DType t, const char *layer, int64_t in,
                           int64_t out) {
  char label[64];
  int64_t rows = m->batch * m->seq;
  Case c = {.kernel = "linear", .operands = 4, .dim = {rows, in, out, 0}, .bf16 = t == DTYPE_BF16};
  c.flops = 2.0 * (double)rows * (double)in * (double)out;
  snprintf(label, sizeof label, "%s %s %s", m->name, layer, dtype_name(t));
  c.operand[0].dtype = c.operand[1].dtype = c.operand[2].dtype = t;
  c.operand[3].dtype = DTYPE_COUNT;
  c.operand[0].count = rows * in;
  c.operand[1].count = in * out;
  c.operand[2].count = rows * out;
  measure(b, label, &c);
  c.kernel = "linear_dx";
  c.operand[0].count = rows * out;
  c.operand[2].count = rows * in;
  measure(b, label, &c);
  c.kernel = "linear_dw";
  c.accumulate = true;
  c.operand[0].count = rows * in;
  c.operand[1].count = rows * out;
  c.operand[2].count = in * out;
  c.operand[2].dtype = DTYPE_F32;
  measure(b, label, &c);
}

static void measure_attention(const Bench *b, const Model *m, DType t) {
  char label[64];
  int64_t head = m->width / m->heads, n = m->batch * m->seq, wide = 3 * m->width;
  int64_t half_seq = m->seq / 2;
  double half = (double)half_seq;
  double flops = 2.0 * (double)n * (double)m->seq * (double)m->width; /* causal: half the pairs */
  Case c = {.kernel = "attention",
            .operands = 6,
            .operand = {{t, n * wide}, {t, n * wide}, {t, n * wide}, {t, n * m->width}},
            .dim = {m->batch, m->seq, m->heads, m->heads, head, wide, wide, wide},
            .attr = {1, 0.125, 0, 0, half, 0, half, 0, (double)m->heads, (double)m->seq},
            .flops = flops,
            .bf16 = t == DTYPE_BF16};
  c.operand[4].dtype = DTYPE_F32;
  c.operand[4].count = n * m->heads;
  c.operand[5].dtype = DTYPE_COUNT;
  snprintf(label, sizeof label, "%s %s", m->name, dtype_name(t));
  measure(b, label, &c);
  Case d = {.kernel = "attention_backward",
            .operands = 10,
            .operand = {{t, n * m->width},
                        {t, n * wide},
                        {t, n * wide},
                        {t, n * wide},
                        {t, n * m->width},
                        {DTYPE_F32, n * m->heads},
                        {t, n * wide},
                        {t, n * wide},
                        {t, n * wide}},
            .dim = {m->batch, m->seq, m->heads, m->heads, head, wide, wide, wide, wide, wide, wide},
            .attr = {1, 0.125, 0, 0, half, 0, half, 0, (double)m->heads, (double)m->seq},
            .flops = 2.5 * flops,
            .bf16 = t == DTYPE_BF16};
  d.operand[9].dtype = DTYPE_COUNT;
  measure(b, label, &d);
}

static void measure_rows(const Bench *b, const Model *m, DType t) {
  char label[64];
  int64_t rows = m->batch * m->seq, width = m->width, n = rows * width;
  DType f = DTYPE_F32;
  snprintf(label, sizeof label, "%s %s", m->name, dtype_name(t));
  Case norm = {.kernel = "layernorm",
               .operands = 5,
               .operand = {{t, n}, {t, width}, {t, width}, {t, n}, {f, 2 * rows}},
               .dim = {rows, width},
               .attr = {1e-5}};
  measure(b, label, &norm);
  Case back = {
      .kernel = "layernorm_backward",
      .operands = 8,
      .operand = {{t, n}, {t, n}, {t, width}, {f, 2 * rows}, {t, n}, {f, width}, {f, width}},
      .dim = {rows, width}};
  back.operand[7].dtype = DTYPE_COUNT;
  measure(b, label, &back);
  Case gelu = {.kernel = "gelu", .operands = 2, .operand = {{t, 4 * n}, {t, 4 * n}}};
  gelu.dim[0] = 4 * n;
  measure(b, label, &gelu);
  Case slope = {.kernel = "gelu_backward", .operands = 3};
  for (int i = 0; i < 3; i++) {
    slope.operand[i].dtype = t;
    slope.operand[i].count = 4 * n;
  }
  slope.dim[0] = 4 * n;
  measure(b, label, &slope);
  Case add = {.kernel = "add", .operands = 3, .operand = {{t, n}, {t, n}, {t, n}}};
  add.dim[0] = add.dim[2] = 1;
  add.dim[1] = n;
  measure(b, label, &add);
  Case bias = {.kernel = "linear_db", .operands = 2, .operand = {{t, 4 * n}, {f, 4 * width}}};
  bias.dim[0] = rows;
  bias.dim[1] = 4 * width;
  measure(b, label, &bias);
  Case loss = {.kernel = "cross_entropy_train",
               .operands = 4,
               .operand = {{t, rows * m->vocab}, {DTYPE_I32, rows}, {DTYPE_F64, 2}},
               .dim = {rows, m->vocab, m->vocab},
               .attr = {1e-3}};
  loss.operand[3].dtype = DTYPE_COUNT;
  loss.operand[3].count = 8 * rows;
  measure(b, label, &loss);
  Case table = {.kernel = "embedding_backward",
                .operands = 3,
                .operand = {{t, n}, {DTYPE_I32, rows}, {f, m->vocab * width}},
                .dim = {rows, width, m->vocab},
                .accumulate = true};
  measure(b, label, &table);
}

/* The dtype of an update's operand where the contract leaves it open. */
static DType update_dtype(const KernelContract *contract, int32_t i, DType value, DType moments) {
  const uint32_t stated = contract->operands[i].dtype;
  if (stated < DTYPE_COUNT) return (DType)stated;
  return stated == KERNEL_DTYPE_MOMENT ? moments : value;
}

/* `value`: the gradient's dtype, and the parameter's where the kernel takes any. */
static void measure_storage(const Bench *b, const char *kernel, DType value, DType moments,
                            int64_t n) {
  const KernelContract *contract = contract_find(kernel);
  const int64_t blocks = (n + CODES_BLOCK - 1) / CODES_BLOCK;
  Case c = {.kernel = kernel, .dim = {n, n, n, n, n, moments == DTYPE_U8 ? blocks : 0}};
  char label[40];
  const double attr[] = {0.9, 0.95, 1e-8, 0.1};
  memcpy(c.attr, attr, sizeof attr);
  for (int32_t i = 0; i < contract->operand_count; i++) {
    const bool is_maxima = contract->operands[i].may_be_absent;
    if (is_maxima && moments != DTYPE_U8) continue;
    c.operand[c.operands].dtype = update_dtype(contract, i, value, moments);
    c.operand[c.operands++].count = is_maxima ? blocks : n;
  }
  (void)snprintf(label, sizeof label, "%s, moments %s", dtype_name(value), dtype_name(moments));
  measure(b, label, &c);
}

static void measure_updates(const Bench *b, int64_t n) {
  static const char *const kernels[] = {"adamw",       "adamw_master",     "adamw_split",
                                        "adamw_kahan", "adamw_stochastic", "sgd_split",
                                        "lion_master"};
  static const DType moments[] = {DTYPE_F32, DTYPE_BF16, DTYPE_U8};
  for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
    for (size_t m = 0; m < 3; m++)
      measure_storage(b, kernels[k], k == 0 ? DTYPE_F32 : DTYPE_BF16, moments[m], n);
}

static void measure_squares(const Bench *b, const char *label, int64_t n) {
  const DType f = DTYPE_F32;
  Case s = {.kernel = "square_sum", .operands = 3, .operand = {{f, n}, {DTYPE_F64, 1}}};
  s.operand[2].dtype = DTYPE_COUNT;
  s.operand[2].count = 8 * (1 + n / 4096);
  s.dim[0] = n;
  measure(b, label, &s);
  Case i = {.kernel = "init_normal", .operands = 1, .operand = {{f, n}}, .attr = {0, 0.02}};
  for (int k = 0; k < 5; k++)
    i.dim[k] = n;
  measure(b, label, &i);
}

enum { THREADS_MOST = 256 };

int main(int argc, char **argv) {
  static const Model models[] = {{"char B4 T256", 4, 256, 6, 384, 128},
                                 {"char B16 T256", 16, 256, 6, 384, 128},
                                 {"124M B4 T64", 4, 64, 12, 768, 50304},
                                 {"124M B4 T256", 4, 256, 12, 768, 50304}};
  int32_t core[THREADS_MOST], threads = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : 2;
  for (int32_t i = 0; i < THREADS_MOST; i++)
    core[i] = i;
  if (threads < 1 || threads > THREADS_MOST) return 2;
  Bench b = {.threads = threads_new(threads, core)};
  if (!b.threads) return 2;
  b.only = argc > 2 ? argv[2] : NULL;
  b.ceiling = ceiling_measure(b.threads);
  printf("ceilings, %d threads: %.0f f32 and %.0f bf16 GFLOP/s in registers, %.1f GB/s triad\n",
         threads_count(b.threads), b.ceiling.f32_flops_per_s / 1e9,
         b.ceiling.bf16_flops_per_s / 1e9, b.ceiling.bytes_per_s / 1e9);
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    const Model *m = &models[i];
    static const DType dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
      DType t = dtypes[k];
      measure_linear(&b, m, t, "qkv", m->width, 3 * m->width);
      measure_linear(&b, m, t, "proj", m->width, m->width);
      measure_linear(&b, m, t, "fc", m->width, 4 * m->width);
      measure_linear(&b, m, t, "fc_proj", 4 * m->width, m->width);
      measure_linear(&b, m, t, "head", m->width, m->vocab);
      measure_attention(&b, m, t);
      measure_rows(&b, m, t);
    }
  }
  measure_updates(&b, 20000000);
  measure_squares(&b, "10.8M", 10800000);
  measure_squares(&b, "124M", 124000000);
  threads_free(b.threads);
  return 0;
}
