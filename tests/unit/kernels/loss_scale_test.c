/* loss_scale_test.c -- the kernel loss_scale against torch, DeepSpeed and Megatron.
 *
 * LINK: kernels */
#include <math.h>
#include <stdio.h>

#include "kernels/kernel.h"
#include "kernels/math/loss_scale.h"
#include "runtime/plan/control.h"
#include "runtime/plan/loss_scales.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

/* A step of the kernel on these values. */
static void step(Control *control, const double *attrs, bool overflows) {
  Call call = {.kernel = "loss_scale", .control = *control};
  memcpy(call.attr, attrs, LOSS_SCALE_ATTRS * sizeof *attrs);
  call.control.grad_norm = overflows ? (double)INFINITY : 1;
  call_run(&call, KERNEL_REFERENCE, NULL);
  *control = call.control;
}

/* ---- as torch._amp_update_scale_, recorded by loss_scale/record.py */

enum { SEQUENCES = 10000, STEPS = 40 };

static uint32_t below(uint64_t *state, uint32_t count) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % count);
}

static uint32_t hash(uint32_t value, const void *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    value = (value ^ ((const uint8_t *)data)[i]) * 16777619u;
  return value;
}

static uint32_t hash_of_sequence(uint64_t state) {
  static const double growths[] = {2, 4, 1.5, 1.1}, backoffs[] = {0.5, 0.25, 0.9, 0.3};
  double init = ldexp(1, (int)below(&state, 160) - 32), growth = growths[below(&state, 4)];
  double backoff = backoffs[below(&state, 4)];
  uint32_t window = 1 + below(&state, 6), often = 1 + below(&state, 4), value = 2166136261u;
  Control control = {.loss_scale = init, .hysteresis_left = 1};
  for (int i = 0; i < STEPS; i++) {
    step(&control, (const double[]){window, growth, backoff, 1, 0, 0, 0}, below(&state, 8) < often);
    float scale = (float)control.loss_scale;
    int32_t good = (int32_t)control.good_steps;
    value = hash(hash(value, &scale, sizeof scale), &good, sizeof good);
  }
  return value;
}

static void test_torch(void) {
  static uint32_t recorded[SEQUENCES];
  int32_t differences = 0;
  TEST("10,000 sequences have the scales of torch._amp_update_scale_") {
    FILE *file = fopen(SOURCE_FOLDER "/tests/unit/kernels/loss_scale/torch.bin", "rb");
    CHECK(file != NULL);
    CHECK_INT(fread(recorded, sizeof *recorded, SEQUENCES, file), SEQUENCES);
    (void)fclose(file);
    for (uint64_t i = 0; i < SEQUENCES; i++)
      differences += hash_of_sequence(i) != recorded[i];
    CHECK_INT(differences, 0);
  }
}

/* ---- the words, at a window of 3 */

static void follows(const char *word, int32_t row, const double *scales) {
  static const char overflows[] = "IIoooIooooooI";
  double number[LOSS_SCALE_NUMBERS];
  memcpy(number, loss_scale_rows[row].number, sizeof number);
  number[LOSS_SCALE_OF_WINDOW] = 3;
  Control control = {.loss_scale = number[LOSS_SCALE_OF_INIT],
                     .good_steps = -(int64_t)number[LOSS_SCALE_OF_LATE],
                     .hysteresis_left = (int64_t)number[LOSS_SCALE_OF_HYSTERESIS]};
  for (int i = 0; overflows[i] != '\0'; i++) {
    if (control.loss_scale != scales[i] * number[LOSS_SCALE_OF_INIT] / 64)
      printf("%s, step %d\n", word, i);
    CHECK_NEAR(control.loss_scale, scales[i] * number[LOSS_SCALE_OF_INIT] / 64, 0);
    step(&control, number + LOSS_SCALE_OF_WINDOW, overflows[i] == 'I');
  }
  CHECK_INT(control.skipped, 4);
  CHECK_INT(control.skipped_in_row, 1);
}

static void test_words(void) {
  static const double two[] = {64, 64, 32, 32, 32, 64, 64, 64, 64, 128, 128, 128, 256};
  static const double late[] = {64, 64, 32, 32, 32, 32, 16, 16, 16, 16, 32, 32, 32};
  static const double one[] = {64, 32, 16, 16, 16, 32, 16, 16, 16, 32, 32, 32, 64};
  TEST("the words have the scales of those whose names they are") {
    follows("dynamic", 0, two);
    follows("torch", 1, one);
    follows("deepspeed", 2, late);
    follows("megatron", 3, two);
  }
}

static void test_bounds(void) {
  TEST("the scale stops at min, and never grows into infinity") {
    Control control = {.loss_scale = 4, .hysteresis_left = 1};
    for (int i = 0; i < 5; i++)
      step(&control, (const double[]){2, 2, 0.5, 1, 3, 0, 0}, true);
    CHECK_NEAR(control.loss_scale, 3, 0);
    control.loss_scale = ldexp(1, 127);
    for (int i = 0; i < 5; i++)
      step(&control, (const double[]){1, 2, 0.5, 1, 3, 0, 0}, false);
    CHECK_NEAR(control.loss_scale, ldexp(1, 127), 0);
  }
  TEST("with refill a good step restores hysteresis") {
    Control control = {.loss_scale = 64, .hysteresis_left = 2};
    for (int i = 0; i < 6; i++)
      step(&control, (const double[]){100, 2, 0.5, 2, 1, 0, 1}, i % 2 == 0);
    CHECK_NEAR(control.loss_scale, 64, 0);
    CHECK_INT(control.hysteresis_left, 2);
  }
  TEST("a number stays, and its overflows are counted") {
    const double *constant = loss_scale_rows[LOSS_SCALE_CONSTANT].number + LOSS_SCALE_OF_WINDOW;
    Control control = {.loss_scale = 1024};
    for (int i = 0; i < 3000; i++)
      step(&control, constant, i % 3 > 0);
    CHECK_NEAR(control.loss_scale, 1024, 0);
    CHECK_INT(control.skipped, 2000);
    CHECK_INT(control.skipped_in_row, 2);
  }
}

/* ---- the norm, and what multiplies gradients */

static void test_norm(void) {
  TEST("the norm and the factor of updates are of gradients without the scale") {
    double partial[] = {9. * 1024 * 1024, 16. * 1024 * 1024};
    Call call = {.kernel = "grad_norm", .operand_count = 1, .dim = {2}, .attr = {2}};
    call.operand[0] = partial, call.dtype[0] = DTYPE_F64, call.bytes[0] = sizeof partial;
    call.control = (Control){.loss_scale = 1024, .targets = 1};
    call_run(&call, KERNEL_REFERENCE, NULL);
    CHECK_NEAR(call.control.grad_norm, 5, 0);
    CHECK_NEAR(call.control.clip_scale, 2 / (5 + 1e-6) / 1024, 0);
    call.attr[0] = 0;
    call_run(&call, KERNEL_REFERENCE, NULL);
    CHECK_NEAR(call.control.clip_scale, 1. / 1024, 0);
    CHECK_INT(call.control.updates, 2);
  }
}

int main(void) {
  test_torch();
  test_words();
  test_bounds();
  test_norm();
  CHECK_DONE();
}
