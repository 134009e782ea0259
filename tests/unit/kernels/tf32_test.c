/* Products that round their inputs to tf32: fast kernels, kernels for GPUs and the stand-in of
 * cublasLt against the plain ones; plain linears against plain linears of rounded numbers.
 * LINK: runtime kernels_cuda_host lt_stand_in */
#include <unistd.h>

#include "kernels/cuda/choices.h"
#include "kernels/cuda/variants.h"
#include "kernels/math/tf32.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_against.h"
#include "tests/unit/lt_stand_in.h"

static float of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t rounded_bits(uint32_t bits) {
  float value = tf32_round(of_bits(bits));
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static void check_rounding(void) {
  static const uint32_t pairs[][2] = {
      {0x3f800000, 0x3f800000}, {0x3f800fff, 0x3f800000}, {0x3f801000, 0x3f800000}, /* a tie */
      {0x3f801001, 0x3f802000}, {0x3f803000, 0x3f804000}, /* a tie to even, up */
      {0xbf803000, 0xbf804000}, {0x3fffffff, 0x40000000}, {0x7f7fefff, 0x7f7fe000},
      {0x7f7ff000, 0x7f800000}, {0x7f800000, 0x7f800000}, {0xff800000, 0xff800000},
      {0x7fffffff, 0x7fffffff}, {0x7f800001, 0x7f800001}, /* NaN with their payloads */
      {0x00000fff, 0x00000000}, {0x00001001, 0x00002000}, /* subnormals */
      {0x80000000, 0x80000000}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
    CHECK_INT(rounded_bits(pairs[i][0]), pairs[i][1]);
}

typedef bool RunOther(CaseCall *c);

static Threads *team;

static bool run_fast(CaseCall *c) {
  call_run(&c->call, KERNEL_FAST, team);
  return true;
}

static bool run_on_host(CaseCall *c) {
  const char *why = "";
  return call_try(&c->call, &kernels_cuda()[c->contract->id], NULL, &why);
}

static bool run_through_library(CaseCall *c) {
  const char *why = "";
  const Kernel *kernel = &lt_stand_in_kernels()[c->contract->id];
  const KernelUse use = case_use(c);
  KernelArgs args = call_args(&c->call, NULL);
  bool done = kernel->prepare(kernel, &use, &args.state, &why) == KERNEL_DONE;
  if (!done) return !printf("%s\n", why);
  done = kernel->run(&args, &why) == KERNEL_DONE;
  kernel->release(args.state);
  return done;
}

static void round_inputs(CaseCall *c, bool rounds) {
  c->call.tf32 = rounds;
  c->call.attr[c->contract->attr_count] = rounds;
}

/* `differs` counts the results that are not those of exact fp32. */
static void check_case(const KernelCase *from, RunOther *run, int64_t *differs) {
  CaseCall plain, other, exact, *all[] = {&plain, &other, &exact};
  uint64_t seed = 3000 + (uint64_t)(from - kernel_cases);
  for (int i = 0; i < 3; i++) {
    CHECK(case_make(from, MODE_F32, seed, all[i]));
    round_inputs(all[i], i < 2);
  }
  call_run(&plain.call, KERNEL_REFERENCE, NULL);
  call_run(&exact.call, KERNEL_REFERENCE, NULL);
  bool good = run(&other);
  for (int32_t i = 0; good && i < plain.call.operand_count; i++)
    good = compare(&plain, &other, i);
  if (!good) printf("  %s, case %d\n", from->kernel, (int)(from - kernel_cases));
  CHECK(good);
  *differs += !same_bytes(&plain, &exact);
  for (int i = 0; i < 3; i++)
    call_free(&all[i]->call);
}

static void check_kernels(KernelTarget target, RunOther *run, KernelRole only) {
  int64_t count = 0, differs = 0;
  case_target = target, case_tf32 = true;
  for (size_t i = 0; i < KERNEL_CASES; i++) {
    const KernelContract *contract = contract_find(kernel_cases[i].kernel);
    if (!contract->may_be_tf32 || (only != ROLE_NONE && contract->row->role != only)) continue;
    check_case(&kernel_cases[i], run, &differs);
    count++;
  }
  case_target = KERNEL_TARGET_CPU, case_tf32 = false;
  CHECK(count > 20 && differs > count / 2);
}

/* Rounding once more changes nothing, so rounded numbers have exact results in tf32. */
static void check_exact(KernelVariant variant) {
  for (size_t i = 0; i < KERNEL_CASES; i++) {
    CaseCall rounding, exact;
    if (contract_find(kernel_cases[i].kernel)->row->role != ROLE_LINEAR) continue;
    if (!contract_find(kernel_cases[i].kernel)->may_be_tf32) continue;
    case_tf32 = true;
    CHECK(case_make(&kernel_cases[i], MODE_F32, 7, &rounding));
    CHECK(case_make(&kernel_cases[i], MODE_F32, 7, &exact));
    case_tf32 = false;
    round_inputs(&rounding, true);
    for (int32_t k = 0; k < 2; k++)
      for (int64_t e = 0; e < call_count(&exact.call, k); e++)
        call_set(&exact.call, k, e, (double)tf32_round((float)call_get(&exact.call, k, e)));
    call_run(&rounding.call, variant, team);
    call_run(&exact.call, variant, team);
    for (int32_t k = 2; k < exact.call.operand_count; k++)
      if (!case_is_scratch(&exact, k))
        CHECK(memcmp(rounding.call.operand[k], exact.call.operand[k],
                     (size_t)exact.call.bytes[k]) == 0);
    call_free(&rounding.call), call_free(&exact.call);
  }
}

int main(void) {
  team = threads_new(2, NULL);
  if (team == NULL) return 1;
  TEST("to nearest, ties to even") check_rounding();
  TEST("fast kernels") check_kernels(KERNEL_TARGET_CPU, run_fast, ROLE_NONE);
  TEST("kernels for GPUs") check_kernels(KERNEL_TARGET_CUDA, run_on_host, ROLE_NONE);
  TEST("through cublasLt, by its compute type") {
    check_kernels(KERNEL_TARGET_CUDA, run_through_library, ROLE_LINEAR);
    char line[1024] = "", why[CHOICES_WHY_BYTES], path[] = "/tmp/lockstep-tf32-XXXXXX";
    int file = mkstemp(path);
    CHECK(file >= 0 && choices_write(path, why));
    FILE *lines = fopen(path, "r");
    CHECK(lines != NULL && fgets(line, sizeof line, lines) != NULL);
    CHECK(strstr(line, " tf32 to f32 ") != NULL);
    if (lines != NULL) fclose(lines);
    choices_clear();
    CHECK(choices_read(path, why));
    close(file), unlink(path);
  }
  TEST("as linears of rounded numbers, to the bit") {
    check_exact(KERNEL_REFERENCE);
    check_exact(KERNEL_FAST);
  }
  threads_free(team);
  CHECK_DONE();
}
