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

int main(void) {
  (void)snprintf(path, sizeof path, "/tmp/lockstep_products_%d", (int)getpid());
  check_choosing();
  check_keeping();
  check_running();
  choices_clear();
  CHECK_DONE();
}
