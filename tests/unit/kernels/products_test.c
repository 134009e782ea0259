/* Products through cublasLt, as the stand-in has it: which algorithm a record gets, what is kept of
 * it, and the message where there is none.
 * LINK: kernels_cuda_host runtime lt_stand_in */
#include <unistd.h>

#include "kernels/cuda/choices.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"
#include "tests/unit/lt_stand_in.h"

enum { ROWS = 8, IN = 64, OUT = 16, WORK_BYTES = 1 << 16 };

static char path[64];

static const int64_t dims[] = {ROWS, IN, OUT, 0};

static bool prepare(KernelId id, int64_t align_bytes, bool has_work, void **state,
                    const char **why) {
  const Kernel *kernel = &lt_stand_in_kernels()[id];
  const uint32_t dtype[] = {DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32};
  const int64_t bytes[] = {4 * OUT * IN, 4 * OUT * IN, 4 * OUT * IN, WORK_BYTES};
  const KernelUse use = {.dtype = dtype,
                         .bytes = bytes,
                         .dim = dims,
                         .operand_count = has_work ? 4 : 3,
                         .dim_count = 4,
                         .threads = 1,
                         .align_bytes = align_bytes};
  return kernel->prepare(kernel, &use, state, why) == KERNEL_DONE;
}

static void release(KernelId id, void *state) {
  lt_stand_in_kernels()[id].release(state);
}

/* The last choice that was added, as the file has it. */
static void last_line(char line[640]) {
  char why[CHOICES_WHY_BYTES];
  CHECK(choices_write(path, why));
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  line[0] = '\0';
  while (file != NULL && fgets(line, 640, file) != NULL)
    continue;
  if (file != NULL) fclose(file);
}

static int32_t added(void) {
  int32_t number = 0;
  (void)choices_count(&number);
  return number;
}

static bool run(const float *x, const float *w, float *y, void *work, void *state,
                const char **why) {
  void *const operand[] = {(void *)(uintptr_t)x, (void *)(uintptr_t)w, y, work};
  const int64_t bytes[] = {ROWS * IN * 4, OUT * IN * 4, ROWS * OUT * 4, WORK_BYTES};
  const uint32_t dtype[] = {DTYPE_F32, DTYPE_F32, DTYPE_F32, DTYPE_F32};
  const KernelArgs args = {.operand = operand,
                           .dtype = dtype,
                           .bytes = bytes,
                           .dim = dims,
                           .operand_count = 4,
                           .state = state};
  return lt_stand_in_kernels()[KERNEL_linear].run(&args, why) == KERNEL_DONE;
}

static void check_choosing(void) {
  const char *why = "";
  void *state = NULL;
  char line[640];
  TEST("a shape is asked for once") {
    for (int i = 0; i < 3; i++) {
      CHECK(prepare(KERNEL_linear, 16, true, &state, &why));
      CHECK(state != NULL);
      release(KERNEL_linear, state);
      CHECK_INT(added(), 1);
    }
  }
  TEST("with scratch the sum is split, and the file says so") {
    last_line(line);
    CHECK(strstr(line, "m 16 n 8 k 64 TN f32 to f32 plain align 16") != NULL);
    CHECK(strstr(line, "algorithm 66 tile 0 stages 0 split 2 workspace 1024 =") != NULL);
    CHECK(strstr(line, "cublasLt 130100 on stand-in GPU\n") != NULL);
  }
  TEST("without scratch it is not") {
    CHECK(prepare(KERNEL_linear, 16, false, &state, &why));
    release(KERNEL_linear, state);
    last_line(line);
    CHECK(strstr(line, "split 1 workspace 0 =") != NULL);
  }
  TEST("addresses that are less aligned get another algorithm") {
    CHECK(prepare(KERNEL_linear, 4, true, &state, &why));
    release(KERNEL_linear, state);
    last_line(line);
    CHECK(strstr(line, "align 4") != NULL && strstr(line, ": algorithm 1 ") != NULL);
  }
}

static void check_keeping(void) {
  const char *why = "";
  void *state = NULL;
  char line[640];
  char why_file[CHOICES_WHY_BYTES];
  TEST("what the file keeps is taken, and nothing is asked for") {
    choices_clear();
    CHECK(choices_read(path, why_file));
    lt_stand_in_knows(false);
    CHECK(prepare(KERNEL_linear, 16, true, &state, &why));
    release(KERNEL_linear, state);
    CHECK_INT(added(), 0);
  }
  TEST("a shape that the library has nothing for is one error") {
    CHECK(!prepare(KERNEL_linear_dx, 16, true, &state, &why));
    CHECK_TEXT(why, "cublasLt has no algorithm for it within the scratch that the plan gives");
    lt_stand_in_knows(true);
  }
  TEST("a kept algorithm that the library does not take is chosen anew") {
    char why_write[CHOICES_WHY_BYTES];
    CHECK(choices_write(path, why_write));
    FILE *file = fopen(path, "r+");
    CHECK(file != NULL && fgets(line, sizeof line, file) != NULL);
    char *equals = strchr(line, '=');
    CHECK(equals != NULL && equals[2] == '0');
    if (file != NULL && equals != NULL) {
      fseek(file, equals + 2 - line, SEEK_SET);
      fputc('f', file); /* what an algorithm of the library begins with */
      fclose(file);
    }
    choices_clear();
    CHECK(choices_read(path, why_file));
    CHECK(prepare(KERNEL_linear, 16, true, &state, &why));
    CHECK_INT(added(), 1);
    release(KERNEL_linear, state);
  }
  TEST("a file that says nothing is refused by line") {
    FILE *file = fopen(path, "a");
    CHECK(file != NULL);
    if (file != NULL) fputs("m 16 n\n", file), fclose(file);
    choices_clear();
    CHECK(!choices_read(path, why_file));
    CHECK(strstr(why_file, ":4 does not say how a product is made: delete the file") != NULL);
    (void)unlink(path);
  }
}

/* Eleven seconds pass at each look. */
static int64_t now_late(void) {
  static int64_t looks;
  return 11000000000 * looks++;
}

/* The fastest that keeps sums is taken, in what memory there is; not where bits must repeat. */
static void check_timing(void) {
  static _Alignas(256) uint8_t memory[1 << 18];
  const char *why = "";
  void *state = NULL, *other = NULL;
  char line[640], why_file[CHOICES_WHY_BYTES];
  TEST("of several algorithms the fastest is taken, and the file has its time") {
    choices_clear();
    products_lend(&lt_stand_in_clock, memory, sizeof memory);
    CHECK(prepare(KERNEL_linear, 16, true, &state, &why));
    last_line(line);
    CHECK(strstr(line, ": algorithm 66 tile 1 stages 0 split 2 ") != NULL);
    CHECK(strstr(line, " ns 2000000 first 3000000 driver 13000 cublasLt 130100 on ") != NULL);
  }
  TEST("what the file keeps is not timed again") {
    int64_t before = lt_stand_in_count();
    choices_clear();
    CHECK(choices_read(path, why_file));
    CHECK(prepare(KERNEL_linear, 16, true, &other, &why));
    CHECK_INT(lt_stand_in_count(), before);
    CHECK_INT(added(), 0);
    release(KERNEL_linear, other);
  }
  TEST("bound products take the choices of another rank") {
    LtChoice choice;
    static _Alignas(256) float x[ROWS * IN], w[OUT * IN], y[ROWS * OUT], work[WORK_BYTES / 4];
    products_lend(NULL, NULL, 0);
    CHECK(choices_at(0, &choice) && !choices_at(1, &choice));
    CHECK(run(x, w, y, work, state, &why));
    CHECK_INT(lt_stand_in_took_ns(), 2000000);
    choice.algorithm.data[7] = 2; /* the tile */
    CHECK(choices_add(&choice) && products_settle());
    CHECK_INT(added(), 1);
    CHECK(run(x, w, y, work, state, &why));
    CHECK_INT(lt_stand_in_took_ns(), 2500000);
    release(KERNEL_linear, state);
  }
  TEST("without room for the operands, and where bits must repeat, the first is taken") {
    for (int way = 0; way < 2; way++) {
      choices_clear();
      choices_hold(way == 1);
      products_lend(&lt_stand_in_clock, memory, way == 0 ? 1024 : sizeof memory);
      CHECK(prepare(KERNEL_linear, 16, true, &state, &why));
      last_line(line);
      CHECK(strstr(line, ": algorithm 66 tile 0 ") != NULL && strstr(line, " ns ") == NULL);
      release(KERNEL_linear, state);
    }
    choices_hold(false);
    products_lend(NULL, NULL, 0);
    (void)unlink(path);
  }
}

static void check_limit(void) {
  static _Alignas(256) uint8_t memory[1 << 18];
  const char *why = "";
  void *state = NULL, *other = NULL;
  char line[640];
  TEST("what begins after ten seconds of trying is not tried") {
    ProductClock late = lt_stand_in_clock;
    late.now_ns = now_late;
    choices_clear();
    products_lend(&late, memory, sizeof memory);
    CHECK(prepare(KERNEL_linear, 16, true, &state, &why));
    last_line(line);
    CHECK(strstr(line, " ns 2000000 first 3000000 ") != NULL);
    choices_clear();
    CHECK(prepare(KERNEL_linear_dx, 16, true, &other, &why));
    last_line(line);
    CHECK(strstr(line, ": algorithm 66 tile 0 ") != NULL && strstr(line, " ns ") == NULL);
    release(KERNEL_linear, state);
    release(KERNEL_linear_dx, other);
    products_lend(NULL, NULL, 0);
    (void)unlink(path);
  }
}

static void check_running(void) {
  const char *why = "";
  void *state = NULL;
  TEST("scratch is the plan's, and a call whose scratch moved off its alignment fails by name") {
    static _Alignas(256) float x[ROWS * IN], w[OUT * IN], y[ROWS * OUT], work[WORK_BYTES / 4];
    for (int i = 0; i < ROWS * IN; i++)
      x[i] = (float)(i % 7) - 3;
    for (int i = 0; i < OUT * IN; i++)
      w[i] = (float)(i % 5) - 2;
    choices_clear();
    int64_t before = lt_stand_in_count();
    CHECK(prepare(KERNEL_linear, 16, true, &state, &why));
    CHECK(run(x, w, y, work, state, &why));
    CHECK_INT(lt_stand_in_count(), before + 1);
    float want = 0;
    for (int i = 0; i < IN; i++)
      want += x[IN + i] * w[2 * IN + i];
    CHECK(y[OUT + 2] == want);
    CHECK(!run(x, w, y, (char *)work + 4, state, &why));
    CHECK_TEXT(why, "CUBLAS_STATUS_INVALID_VALUE");
    CHECK(!run(x + 1, w, y, work, state, &why));
    CHECK_TEXT(why, "CUBLAS_STATUS_NOT_SUPPORTED");
    release(KERNEL_linear, state);
  }
}

/* Prepares the record and runs it; `by_library`: the library makes it. */
static bool try_prepared(Call *call, const Kernel *kernel, bool *by_library, const char **why) {
  void *control[KERNEL_CONTROLS_MAX];
  const KernelUse use = {.dtype = call->dtype,
                         .bytes = call->bytes,
                         .dim = call->dim,
                         .attr = call->attr,
                         .operand_count = call->operand_count,
                         .dim_count = contract_of(kernel->id)->dim_count,
                         .threads = 1,
                         .align_bytes = 16};
  KernelArgs args = call_args(call, control);
  void *state = NULL;
  if (kernel->prepare(kernel, &use, &state, why) != KERNEL_DONE) return false;
  args.state = state;
  *by_library = state != NULL;
  const bool ran = kernel->run(&args, why) == KERNEL_DONE;
  release(kernel->id, state);
  return ran;
}

/* Codes with scales of blocks against the plain kernel. True: the library multiplied them. */
static bool check_blocks(const char *kernel, const int64_t size[8], const DType dtypes[5]) {
  const int64_t rows = size[0], in = size[1], out = size[2];
  const bool is_dx = strstr(kernel, "_dx") != NULL, is_dw = strstr(kernel, "_dw") != NULL;
  const int64_t counts[] = {rows * (is_dx ? out : in), size[4] * size[5],
                            is_dw ? rows * out : in * out, size[6] * size[7],
                            is_dw ? in * out : rows * (is_dx ? in : out)};
  const KernelId id = contract_find(kernel)->id;
  const WorkspaceUse use = {KERNEL_TARGET_CUDA, size, (const uint32_t[]){0, 0, 0, 0, 0}, 1, false};
  Call plain = {.kernel = kernel}, library = {.kernel = kernel};
  Call *calls[] = {&plain, &library};
  for (int c = 0; c < 2; c++) {
    memcpy(calls[c]->dim, size, 8 * sizeof *size);
    for (int i = 0; i < 5; i++) {
      call_add(calls[c], dtypes[i], counts[i]);
      call_fill(calls[c], i, 7);
    }
    for (int i = 1; i < 4; i += 2)
      for (int64_t k = 0; k < counts[i]; k++)
        call_set(calls[c], i, k, ldexp(1, (int)((k * 7 + i) % 5) - 6));
    call_add(calls[c], DTYPE_F64, contract_workspace_bytes(contract_find(kernel), &use) / 8);
  }
  const char *why = "";
  const int64_t before = lt_stand_in_count();
  bool by_library = false;
  call_run(&plain, KERNEL_REFERENCE, NULL);
  CHECK(try_prepared(&library, &lt_stand_in_kernels()[id], &by_library, &why));
  CHECK_INT(lt_stand_in_count() - before, by_library);
  int64_t wrong = 0;
  for (int64_t i = 0; i < counts[4]; i++) {
    const double want = call_get(&plain, 4, i), got = call_get(&library, 4, i);
    wrong += !(fabs(got - want) <= 1e-2 * fabs(want) + 1e-2);
  }
  CHECK_INT(wrong, 0);
  call_free(&plain), call_free(&library);
  return by_library;
}

static void check_code_blocks(void) {
  static const DType bf16[] = {DTYPE_E4M3, DTYPE_F32, DTYPE_E4M3, DTYPE_F32, DTYPE_BF16};
  static const DType f32[] = {DTYPE_E4M3, DTYPE_F32, DTYPE_E4M3, DTYPE_F32, DTYPE_F32};
  static const DType e5m2[] = {DTYPE_E5M2, DTYPE_F32, DTYPE_E4M3, DTYPE_F32, DTYPE_F32};
  TEST("codes with a scale for each block go to the library, with scales in its order") {
    const int64_t wide[] = {128, 384, 256, 0, 128, 3, 2, 3};
    const int64_t wide_turned[] = {128, 384, 256, 1, 128, 3, 3, 2};
    const int64_t dx[] = {128, 384, 256, 0, 128, 2, 2, 3};
    const int64_t dx_turned[] = {128, 384, 256, 1, 128, 2, 3, 2};
    const int64_t dw[] = {256, 384, 128, 0, 2, 384, 2, 128};
    const int64_t dw_turned[] = {256, 384, 128, 1, 2, 384, 2, 128};
    CHECK(check_blocks("linear_fp8", wide, bf16));
    CHECK(check_blocks("linear_fp8", wide_turned, bf16));
    CHECK(check_blocks("linear_fp8_dx", dx, bf16));
    CHECK(check_blocks("linear_fp8_dx", dx_turned, bf16));
    CHECK(check_blocks("linear_fp8_dw", dw, f32));
    CHECK(check_blocks("linear_fp8_dw", dw_turned, f32));
  }
  TEST("a weight of one block has one scale, beside many of the other factor") {
    CHECK(check_blocks("linear_fp8", (const int64_t[]){128, 128, 128, 0, 128, 1, 1, 1}, bf16));
    CHECK(check_blocks("linear_fp8_dx", (const int64_t[]){128, 128, 128, 0, 128, 1, 1, 1}, bf16));
  }
  TEST("codes and blocks that the library does not get are multiplied by our kernel") {
    CHECK(!check_blocks("linear_fp8_dx", (const int64_t[]){128, 128, 128, 0, 128, 1, 1, 1}, e5m2));
    CHECK(!check_blocks("linear_fp8", (const int64_t[]){128, 128, 128, 0, 128, 2, 1, 1}, bf16));
    CHECK(!check_blocks("linear_fp8", (const int64_t[]){256, 128, 128, 0, 2, 1, 1, 1}, bf16));
  }
}

int main(void) {
  (void)snprintf(path, sizeof path, "/tmp/lockstep_products_%d", (int)getpid());
  check_choosing();
  check_keeping();
  check_timing();
  check_limit();
  check_running();
  choices_clear();
  check_code_blocks();
  CHECK_DONE();
}
