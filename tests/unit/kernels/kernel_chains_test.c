/* LINK: runtime kernels_cuda_host lt_stand_in -- three records of which the first is a product, on
 * a GPU by the shim and by the stand-in of cublasLt: with the second in the end of the product, and
 * with the other two in one pass, whichever is faster by the stand-in's clock; against the plain
 * kernels. The choice is kept, and taken from another rank. */
#include <unistd.h>

#include "kernels/contract/fusions.h"
#include "kernels/cuda/choices.h"
#include "kernels/cuda/variants.h"
#include "tests/unit/fused_against.h"
#include "tests/unit/lt_stand_in.h"

enum { ROWS = 24, IN = 16, OUT = 40, MOST = 3, SLOWER_NS = 20000000, MEMORY_BYTES = 80 << 20 };

/* The operand that each record after the first reads, and which result of the record before it that
 * is. The second writes over the product. */
typedef struct Chain {
  const char *kernel[MOST];
  int32_t made[2], read[2];
} Chain;

static const Chain norm = {{"linear_bias", "add", "layernorm"}, {3, 2}, {1, 0}};
static const Chain bias = {{"linear_dx", "gelu_backward", "linear_db"}, {2, 2}, {0, 0}};
static uint8_t memory[MEMORY_BYTES];

typedef struct Made {
  CaseCall of[MOST];
  const Kernel *kernel[MOST];
  KernelArgs args[MOST];
  KernelUse use[MOST];
  KernelFused fused;
} Made;

static void make(const Chain *chain, Mode mode, Made *m) {
  *m = (Made){0};
  const bool is_norm = chain == &norm;
  const int64_t width = is_norm ? OUT : IN;
  for (int32_t i = 0; i < MOST; i++) {
    KernelCase of = {.kernel = chain->kernel[i], .dim = {ROWS, width}};
    if (i == 0) set_dims(&of, (const int64_t[]){ROWS, IN, OUT, 0}, 4);
    if (i == 1 && is_norm) add_dims(&of, ROWS * width);
    if (i == 1 && !is_norm) of.dim[0] = ROWS * width, of.dim[1] = 0;
    if (i == 2 && is_norm) of.attr[0] = 1e-5;
    CHECK(case_make(&of, mode, 3 + (uint64_t)i, &m->of[i]));
  }
  share(&m->of[1], chain->read[0], &m->of[0], chain->made[0]);
  share(&m->of[1], 2, &m->of[0], chain->made[0]);
  share(&m->of[2], chain->read[1], &m->of[1], chain->made[1]);
}

static void bind(Made *m) {
  const char *why = "";
  for (int32_t i = 0; i < MOST; i++) {
    m->kernel[i] = &lt_stand_in_kernels()[m->of[i].contract->id];
    m->args[i] = call_args(&m->of[i].call, NULL);
    m->use[i] = case_use(&m->of[i]);
    CHECK(m->kernel[i]->prepare(m->kernel[i], &m->use[i], &m->args[i].state, &why) == KERNEL_DONE);
  }
  CHECK(m->kernel[0]->fuse(m->kernel, m->use, MOST, &m->fused, &why) == KERNEL_DONE);
  CHECK(m->fused.run != NULL);
}

static void run_fused(const Made *m) {
  const char *why = "";
  if (m->fused.run != NULL) CHECK(m->fused.run(&m->fused, m->args, &why) == KERNEL_DONE);
}

static void free_all(Made *m) {
  if (m->fused.release != NULL) m->fused.release(m->fused.state);
  for (int32_t i = MOST - 1; i >= 0; i--) {
    if (m->kernel[i] != NULL && m->kernel[i]->release != NULL)
      m->kernel[i]->release(m->args[i].state);
    call_free(&m->of[i].call);
  }
}

static bool are_near_all(const Made *want, const Made *got) {
  bool good = true;
  for (int32_t i = 1; i < MOST; i++) {
    const Pair a = {{want->of[i]}}, b = {{got->of[i]}};
    for (int32_t k = 0; k < want->of[i].call.operand_count; k++)
      good = good && (case_is_scratch(&want->of[i], k) || is_near(&a, &b, 0, k));
  }
  return good;
}

/* The time of the last product tells which one ran. */
static bool ran_in_end(void) {
  return lt_stand_in_took_ns() > SLOWER_NS;
}

static bool file_says(const char *path, const char *text) {
  char why[CHOICES_WHY_BYTES], line[640];
  bool found = false;
  CHECK(choices_write(path, why));
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    found = found || strstr(line, text) != NULL;
  if (file != NULL) (void)fclose(file);
  return found;
}

/* As the plain kernels make it, by the way that the clock prefers. */
static void check_way(const Chain *chain, Mode mode, bool is_slow) {
  Made plain, got;
  choices_clear();
  lt_stand_in_slows(is_slow ? SLOWER_NS : 0);
  products_lend(&lt_stand_in_clock, memory, sizeof memory);
  make(chain, mode, &plain), make(chain, mode, &got);
  for (int32_t i = 0; i < MOST; i++)
    call_run(&plain.of[i].call, KERNEL_REFERENCE, NULL);
  bind(&got);
  products_lend(NULL, NULL, 0);
  run_fused(&got);
  CHECK_INT(lt_stand_in_took_ns() > SLOWER_NS, false);
  CHECK(are_near_all(&plain, &got));
  free_all(&got), free_all(&plain);
  lt_stand_in_slows(0);
}

/* The way of a file, without lent memory; and that of another rank. */
static void check_kept(void) {
  char path[64], why[CHOICES_WHY_BYTES];
  Made m;
  LtChoice choice;
  (void)snprintf(path, sizeof path, "/tmp/lockstep_chains_%d", (int)getpid());
  check_way(&norm, MODE_F32, true);
  CHECK(file_says(path, " apart "));
  choices_clear();
  CHECK(choices_read(path, why));
  lt_stand_in_slows(SLOWER_NS);
  make(&norm, MODE_F32, &m);
  bind(&m);
  run_fused(&m);
  CHECK(!ran_in_end());
  for (int32_t i = 0; choices_at(i, &choice); i++)
    if (choice.apart_ns > 0) {
      choice.apart_ns = 2 * choice.took_ns;
      CHECK(choices_add(&choice));
    }
  CHECK(products_settle());
  run_fused(&m);
  CHECK(ran_in_end());
  free_all(&m);
  lt_stand_in_slows(0);
  (void)unlink(path);
}

int main(void) {
  case_target = KERNEL_TARGET_CUDA;
  TEST("an addition in the end of a product, or in one pass with the norm after it")
  for (int way = 0; way < 2; way++)
    check_way(&norm, MODE_F32, way > 0);
  TEST("GELU's slope in the end of a product, or in one pass with the gradient of the bias")
  for (int way = 0; way < 2; way++)
    check_way(&bias, way == 0 ? MODE_F32 : MODE_BF16, way > 0);
  TEST("the faster way is kept, and is the same for all ranks") check_kept();
  TEST("every call is one that the library takes") CHECK_INT(lt_stand_in_faults(), 0);
  CHECK_DONE();
}
