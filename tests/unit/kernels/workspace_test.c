/* LINK: kernels -- what kernels.def says that a kernel's scratch takes, against what the kernel
 * touches.
 *
 * Every byte of the scratch has a pattern before the call. What still has it was not written; what
 * is beyond the kernel's part, for the team that runs it, must still have it. Where a variant of
 * the product is chosen that needs most, little else may: bf16 is widened by avx2 and avx512, and
 * fp32 has one way. */
#include "kernels/product.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_cases.h"

enum {
  PATTERN = 0xa5,
  FEW_ROWS = 4,       /* LINEAR_ROWS_MOST of kernels/cpu/linear_rows.h */
  BLOCK_BYTES = 4096, /* as memory comes: a page */
  /* That a call may leave: what masks do not let meet, or pairs of what is multiplied singly. */
  UNTOUCHED_BYTES = 32 << 10
};

/* The shapes of a small GPT and of one layer of GPT-2. */
static const KernelCase jobs[] = {
    {"linear", {4096, 128, 512, 0}, {0}, 0},
    {"linear", {256, 768, 2304, 1}, {0}, 0},
    {"linear_bias", {1000, 128, 384, 0}, {0}, 0},
    {"linear_dx", {512, 512, 128, 0}, {0}, 0},
    {"linear_dx", {128, 768, 5000, 0}, {0}, 0},
    {"linear_dw", {4096, 128, 512, 0}, {0}, 0},
    {"linear_dw", {2100, 100, 70, 1}, {0}, 0},
    {"layernorm_backward", {100, 128}, {0}, 0},
    {"rmsnorm_backward", {4096, 128}, {0}, 0},
    {"attention", {2, 256, 4, 4, 32, 384, 384, 384}, WHOLE(1, 0.18, 0, 4, 256), 0},
    {"attention", {1, 700, 2, 1, 64, 256, 256, 256}, WHOLE(0, 0.125, 0, 2, 700), 0},
    {"attention_backward",
     {2, 256, 4, 4, 32, 384, 384, 384, 384, 384, 384},
     WHOLE(1, 0.18, 0, 4, 256),
     0},
    {"attention_backward",
     {1, 300, 6, 2, 48, 480, 480, 480, 480, 480, 480},
     WHOLE(1, 0.125, 0, 6, 300),
     0},
};

static int64_t work_bytes(const CaseCall *c, int64_t threads) {
  WorkspaceUse use = {KERNEL_TARGET_CPU, c->call.dim, c->call.dtype, threads, false};
  return contract_workspace_bytes(c->contract, &use);
}

/* Counts whole blocks that still have the pattern everywhere: they were not written. */
static int64_t untouched_bytes(const uint8_t *work, int64_t bytes) {
  int64_t untouched = 0;
  for (int64_t i = 0; i < bytes; i += BLOCK_BYTES) {
    int64_t same = 0, size = bytes - i < BLOCK_BYTES ? bytes - i : BLOCK_BYTES;
    while (same < size && work[i + same] == PATTERN)
      same++;
    if (same == size) untouched += size;
  }
  return untouched;
}

static void say(const CaseCall *c, const char *what, int64_t bytes, int64_t of_bytes) {
  printf("%s, %s, dims", c->call.kernel, mode_names[c->mode]);
  for (int32_t i = 0; i < 6; i++)
    printf(" %lld", (long long)c->call.dim[i]);
  printf(": %lld bytes %s, of %lld\n", (long long)bytes, what, (long long)of_bytes);
  check_failures++;
}

/* Products of few rows read large weights where they lie. */
static bool reads_in_place(const CaseCall *c) {
  return (strcmp(c->call.kernel, "linear") == 0 || strcmp(c->call.kernel, "linear_bias") == 0) &&
         c->call.dim[0] <= FEW_ROWS;
}

/* With one thread: which threads of a larger team get a task is the system's choice. */
static void check_case(const KernelCase *from, Mode mode, Threads *alone) {
  CaseCall c;
  CHECK(case_make(from, mode, 7, &c));
  int32_t scratch = c.call.operand_count - 1;
  int64_t given = c.call.bytes[scratch], bytes = work_bytes(&c, 1);
  uint8_t *work = c.call.operand[scratch];
  memset(work, PATTERN, (size_t)given);
  call_run(&c.call, KERNEL_FAST, alone);
  int64_t untouched = untouched_bytes(work, bytes);
  if (untouched > UNTOUCHED_BYTES && !reads_in_place(&c)) say(&c, "untouched", untouched, bytes);
  while (given > bytes && work[given - 1] == PATTERN)
    given--;
  if (given > bytes) say(&c, "beyond its part touched", given - bytes, bytes);
  call_free(&c.call);
}

static bool has_scratch(const char *kernel) {
  return contract_find(kernel)->row->workspace != NULL;
}

/* Codes are multiplied as bf16, whatever the mode: only widened products fill their scratch. */
static bool multiplies_codes(const char *kernel) {
  return strncmp(kernel, "linear_fp8", strlen("linear_fp8")) == 0;
}

/* Blocks of large products are bounded, and small ones are small. */
static void test_sizes(void) {
  const uint32_t f32[] = {DTYPE_F32, DTYPE_F32, DTYPE_F32},
                 bf16[] = {DTYPE_BF16, DTYPE_BF16, DTYPE_BF16};
  const int64_t large[] = {65536, 8192, 28672, 0}, small[] = {10, 8, 8, 0};
  WorkspaceUse use = {KERNEL_TARGET_CPU, large, bf16, 2, false};
  CHECK(workspace_linear(&use) <= WORK_PRODUCT_MOST);
  CHECK(workspace_linear(&use) > WORK_PRODUCT_MOST * 9 / 10);
  CHECK(workspace_linear_dw(&use) <= WORK_PRODUCT_MOST);
  use.dims = small;
  use.dtypes = f32;
  CHECK_INT(workspace_linear(&use), 16 * 8 * 4); /* x is read where it is */
  CHECK_INT(workspace_linear_dw(&use), (16 + 16) * 10 * 4);
  use.dtypes = bf16; /* a tile's line is 16 units */
  CHECK_INT(workspace_linear(&use), (16 + 16) * 16 * 4);
}

/* As many parts as there are tasks. */
static void test_threads(void) {
  const uint32_t f32[KERNEL_OPERANDS_MAX] = {DTYPE_F32};
  const int64_t one[] = {1, 64, 1, 1, 32, 32, 32, 32}, many[] = {4, 64, 2, 2, 32, 64, 64, 64};
  WorkspaceUse use = {KERNEL_TARGET_CPU, one, f32, 1, false};
  int64_t part = workspace_attention(&use), backward = workspace_attention_backward(&use);
  use.threads = 4;
  CHECK_INT(workspace_attention(&use), part);
  CHECK_INT(workspace_attention_backward(&use), backward);
  use.dims = many;
  CHECK_INT(workspace_attention(&use), 4 * part);
  CHECK_INT(workspace_attention_backward(&use), 4 * backward);
}

int main(void) {
  const ProductChoice *choice = product_choice();
  if (choice->problem[0] != 0 || choice->f32 == PRODUCT_REFERENCE) {
    printf("no fast kernels: %s\n", choice->problem);
    return 77;
  }
  bool widened = choice->bf16 == PRODUCT_AVX2 || choice->bf16 == PRODUCT_AVX512;
  Threads *alone = threads_new(1, NULL);
  TEST("the list's cases touch their scratch, and nothing beyond") {
    for (size_t i = 0; i < KERNEL_CASES; i++)
      if (has_scratch(kernel_cases[i].kernel) &&
          (widened || !multiplies_codes(kernel_cases[i].kernel)))
        check_case(&kernel_cases[i], MODE_F32, alone);
  }
  TEST("so do the shapes of jobs, and of bf16 where it is widened") {
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
      check_case(&jobs[i], MODE_F32, alone);
      if (widened) check_case(&jobs[i], MODE_BF16, alone);
    }
  }
  TEST("sizes by hand") test_sizes();
  TEST("threads that can have no task have no scratch") test_threads();
  threads_free(alone);
  CHECK_DONE();
}
