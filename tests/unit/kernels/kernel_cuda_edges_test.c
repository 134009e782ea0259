/* LINK: runtime kernels_cuda_host -- the kernels for GPUs, run on this processor, where operands
 * are at addresses that only their elements divide, and with numbers that are none. */
#include "kernels/cuda/host/order.h"
#include "kernels/cuda/variants.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_compare.h"

/* Copies of the operands, each one element after a multiple of 16 bytes; scratch at one. */
typedef struct Moved {
  void *base[KERNEL_OPERANDS_MAX], *at[KERNEL_OPERANDS_MAX];
} Moved;

static Moved move(const CaseCall *c) {
  const Call *call = &c->call;
  Moved moved = {0};
  for (int32_t i = 0; i < call->operand_count; i++) {
    int32_t same = 0;
    while (call->operand[same] != call->operand[i])
      same++;
    size_t first = case_is_scratch(c, i) ? 0 : (size_t)dtype_bytes((DType)call->dtype[i]);
    if (same == i) {
      moved.base[i] = malloc((size_t)call->bytes[i] + first);
      if (moved.base[i] == NULL) abort();
      memcpy((char *)moved.base[i] + first, call->operand[i], (size_t)call->bytes[i]);
    }
    moved.at[i] = (char *)moved.base[same] + first;
  }
  return moved;
}

static void move_back(const CaseCall *c, Moved *moved) {
  for (int32_t i = 0; i < c->call.operand_count; i++)
    memcpy(c->call.operand[i], moved->at[i], (size_t)c->call.bytes[i]);
  for (int32_t i = 0; i < c->call.operand_count; i++)
    free(moved->base[i]);
}

static bool run_moved(CaseCall *c) {
  const Kernel *kernel = &kernels_cuda()[c->contract->id];
  void *control[KERNEL_CONTROLS_MAX];
  const char *why = "";
  Moved moved = move(c);
  control_addresses(c->contract, &c->call.control, control);
  KernelArgs args = call_args(&c->call, control);
  args.operand = moved.at;
  bool done = kernel->run(&args, &why) == KERNEL_DONE;
  if (!done) printf("%s: %s\n", c->call.kernel, why);
  move_back(c, &moved);
  return done;
}

static void check_moved(const KernelCase *of, Mode mode) {
  CaseCall plain, other;
  CHECK(case_make(of, mode, 3, &plain) && case_make(of, mode, 3, &other));
  plain.call.accumulate = other.call.accumulate = (of - kernel_cases) % 2 > 0;
  call_run(&plain.call, KERNEL_REFERENCE, NULL);
  bool good = run_moved(&other) && same_control(&plain.call.control, &other.call.control);
  for (int32_t i = 0; good && i < plain.call.operand_count; i++)
    good = compare(&plain, &other, i);
  if (!good) printf("  %s, %s, case %d\n", of->kernel, mode_names[mode], (int)(of - kernel_cases));
  CHECK(good);
  call_free(&plain.call), call_free(&other.call);
}

/* The first case of that kernel with these sizes. */
static void make(CaseCall *c, const char *kernel, Mode mode, const int64_t *dim, int32_t dims) {
  KernelCase of = {.kernel = kernel};
  for (int32_t i = 0; i < dims; i++)
    of.dim[i] = dim[i];
  CHECK(case_make(&of, mode, 1, c));
}

static void run(CaseCall *c) {
  const char *why = "";
  CHECK(call_try(&c->call, &kernels_cuda()[c->contract->id], NULL, &why));
}

/* One query of 40 is NaN: its row is NaN, and no other row. */
static void check_no_number(Mode mode) {
  enum { SEQ = 40, HEAD = 24, BAD = 17 };
  CaseCall c;
  make(&c, "attention", mode, (const int64_t[]){1, SEQ, 1, 1, HEAD, HEAD, HEAD, HEAD}, 8);
  c.call.attr[0] = 1, c.call.attr[1] = 0.2;
  c.call.attr[4] = c.call.attr[6] = SEQ * 0.5;
  c.call.attr[8] = 1, c.call.attr[9] = SEQ;
  call_set(&c.call, 0, BAD * HEAD, NAN);
  run(&c);
  for (int64_t i = 0; i < SEQ * HEAD; i++)
    CHECK(isnan(call_get(&c.call, 3, i)) == (i / HEAD == BAD));
  for (int64_t i = 0; i < SEQ; i++)
    CHECK(isnan(call_get(&c.call, 4, i)) == (i == BAD));
  call_free(&c.call);
}

/* Keys of -inf have no weight, in any warp; a NaN among them is not hidden. `finite`: the row of
 * the only other key; -1: none. */
static void check_weightless(int32_t finite, double key) {
  enum { CONTEXT = 40, HEAD = 8, PLACE = 30 };
  CaseCall c;
  make(&c, "attention_cached", MODE_F32, (const int64_t[]){1, 1, 1, 1, HEAD, HEAD, CONTEXT}, 7);
  c.call.attr[0] = 1;
  *(int32_t *)c.call.operand[3] = PLACE;
  for (int64_t i = 0; i < HEAD; i++)
    call_set(&c.call, 0, i, 1);
  for (int64_t i = 0; i < CONTEXT * HEAD; i++)
    call_set(&c.call, 1, i, i / HEAD == finite ? key : -INFINITY);
  run(&c);
  for (int64_t i = 0; i < HEAD; i++) {
    const double out = call_get(&c.call, 4, i);
    if (isnan(key)) CHECK(isnan(out));
    if (!isnan(key)) CHECK(out == (finite < 0 ? 0 : call_get(&c.call, 2, finite * HEAD + i)));
  }
  call_free(&c.call);
}

/* Every kernel of attention on a GPU whose blocks have so much shared memory, on its small cases.
 */
static void check_attention_within(int64_t shared_bytes) {
  cuda_host_shared_most(shared_bytes);
  for (size_t i = 0; i < KERNEL_CASES; i++) {
    const KernelCase *of = &kernel_cases[i];
    const bool is_attention = strncmp(of->kernel, "attention", 9) == 0 &&
                              strcmp(of->kernel, "attention_cached") != 0 &&
                              strcmp(of->kernel, "attention_merge") != 0;
    if (!is_attention || of->dim[0] * of->dim[1] > 40) continue;
    for (Mode mode = MODE_F32; mode <= MODE_F16; mode++)
      check_moved(of, mode);
  }
  cuda_host_shared_most(227 * 1024);
}

/* So many logits of a row are -inf that some threads have no others. */
static void check_no_logits(Mode mode) {
  enum { HELD = 16400, LEFT = 3 }; /* a row that takes the most threads */
  CaseCall c;
  make(&c, "cross_entropy", mode, (const int64_t[]){1, HELD, HELD}, 3);
  for (int64_t i = 0; i < HELD; i++)
    call_set(&c.call, 0, i, i < LEFT ? 0 : -INFINITY);
  *(int32_t *)c.call.operand[1] = 1;
  c.call.accumulate = false;
  run(&c);
  CHECK_NEAR(call_get(&c.call, 2, 0), log(LEFT), 1e-6);
  call_free(&c.call);
}

int main(void) {
  case_target = KERNEL_TARGET_CUDA;
  cuda_host_order(1);
  TEST("operands at odd elements")
  for (size_t i = 0; i < KERNEL_CASES; i++)
    for (Mode mode = MODE_F32; mode <= MODE_F16; mode++)
      check_moved(&kernel_cases[i], mode);
  TEST("a query that is no number is not hidden")
  for (Mode mode = MODE_F32; mode <= MODE_F16; mode++)
    check_no_number(mode);
  TEST("attention where a block has little shared memory, or none for tensor cores") {
    check_attention_within(48 * 1024);
    check_attention_within(0);
  }
  TEST("keys of -inf have no weight") {
    check_weightless(17, 0.5);
    check_weightless(0, 0.5);
    check_weightless(-1, 0);
    check_weightless(17, NAN);
  }
  TEST("logits of -inf are no part of the sum")
  for (Mode mode = MODE_F32; mode <= MODE_F16; mode++)
    check_no_logits(mode);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* 16 million fibers */
  TEST("more rows than a grid's y has tiles") {
    CaseCall c; /* nothing is added up, for a processor's sake */
    make(&c, "linear", MODE_BF16, (const int64_t[]){65536 * 64, 0, 1, 0}, 4);
    call_set(&c.call, 2, 65536 * 64 - 1, 1);
    run(&c);
    CHECK(call_get(&c.call, 2, 65536 * 64 - 1) == 0);
    call_free(&c.call);
  }
#endif
  CHECK_DONE();
}
