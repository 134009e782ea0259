/* Codes of eight bits against numbers recorded from PyTorch 2.15 (float8_e4m3fn and float8_e5m2, of
 * clamped numbers), scales, and that fast kernels and kernels for GPUs make the same bits.
 * LINK: runtime kernels_cuda_host */
#include "kernels/cuda/variants.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

static uint64_t fnv(uint64_t hash, const void *data, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    hash = (hash ^ ((const uint8_t *)data)[i]) * 1099511628211u;
  return hash;
}
static const uint64_t fnv_start = 1469598103934665603u;

static void code(uint64_t *hash, float value, int is_e5m2) {
  uint8_t made = fp8_from_float(value, is_e5m2);
  *hash = fnv(*hash, &made, 1);
}

/* Recorded: the values of all codes; the codes of all finite numbers of bf16. */
static void check_recorded(int is_e5m2, int finite, uint64_t values, uint64_t patterns) {
  uint64_t hash = fnv_start;
  int count = 0;
  for (int i = 0; i < 256; i++) {
    float value = fp8_to_float((uint8_t)i, is_e5m2);
    if (!isfinite(value)) continue;
    count++;
    hash = fnv(hash, &value, sizeof value);
    CHECK_INT(fp8_from_float(value, is_e5m2), i);
  }
  CHECK_INT(count, finite);
  CHECK(hash == values);
  hash = fnv_start;
  for (uint32_t i = 0; i < 65536; i++)
    if (isfinite(fp8_of_bits(i << 16))) code(&hash, fp8_of_bits(i << 16), is_e5m2);
  CHECK(hash == patterns);
}

/* Halfway between neighbours, one step above and below, and around the largest. */
static void check_ties(int is_e5m2, uint64_t recorded) {
  static float ties[256];
  int count = 0, last = is_e5m2 ? 0x7b : 0x7e;
  float largest = fp8_to_float((uint8_t)last, is_e5m2);
  for (int i = 0; i < last; i++)
    ties[count++] =
        (fp8_to_float((uint8_t)i, is_e5m2) + fp8_to_float((uint8_t)(i + 1), is_e5m2)) / 2;
  ties[count++] = (float)((double)largest * 1.03571428);
  ties[count++] = largest + 16;
  ties[count++] = 3e38f;
  uint64_t hash = fnv_start;
  for (int sign = 1; sign >= -1; sign -= 2)
    for (int step = 0; step < 3; step++)
      for (int i = 0; i < count; i++) {
        float tie = ties[i];
        if (step == 1) tie = nextafterf(tie, INFINITY);
        if (step == 2) tie = nextafterf(tie, -INFINITY);
        code(&hash, (float)sign * tie, is_e5m2);
      }
  CHECK(hash == recorded);
}

static void check_others(void) {
  CHECK_INT(fp8_from_float(INFINITY, 0), 0x7e);
  CHECK_INT(fp8_from_float(-INFINITY, 1), 0xfb);
  CHECK_INT(fp8_from_float(NAN, 0) & 0x7f, 0x7f);
  CHECK_INT(fp8_from_float(NAN, 1) & 0x7f, 0x7f);
  CHECK(isnan(fp8_to_float(0x7f, 0)) && isnan(fp8_to_float(0xff, 1)));
  CHECK(isinf(fp8_to_float(0x7c, 1)));
}

/* The largest power of two with which the highest magnitude fits. */
static void check_scales(void) {
  for (int is_e5m2 = 0; is_e5m2 < 2; is_e5m2++)
    for (uint32_t exponent = 43; exponent < 255; exponent++)
      for (uint32_t mantissa = 0; mantissa < 0x800000; mantissa += 0x7ffff) {
        uint32_t highest = exponent << 23 | mantissa;
        double largest = is_e5m2 ? 57344 : 448, s = ldexp(1, fp8_exponent(highest, is_e5m2));
        double fits = (double)fp8_of_bits(highest) * s;
        CHECK(fits <= largest && 2 * fits > largest);
        CHECK((double)fp8_scale(highest, is_e5m2) * s == 1);
      }
  CHECK_INT(fp8_exponent(0, 0), 0);
  CHECK_INT(fp8_exponent(1, 0), FP8_EXPONENT_MOST);
  CHECK(isnan(fp8_scale(fp8_bits(INFINITY), 0)) && isnan(fp8_scale(fp8_bits(NAN), 1)));
}

/* Every code times every scale is a number of bf16, and none is a subnormal one. */
static void check_exact(void) {
  for (int is_e5m2 = 0; is_e5m2 < 2; is_e5m2++)
    for (int exponent = -FP8_EXPONENT_MOST; exponent <= 110; exponent++)
      for (int i = 0; i < 256; i++) {
        float value = fp8_to_float((uint8_t)i, is_e5m2) * fp8_power(exponent);
        if (!isfinite(value)) continue;
        CHECK((fp8_bits(value) & 0xffffu) == 0);
        CHECK(value == 0 || fabsf(value) >= 0x1p-126f);
      }
}

enum { FAST, HOST, TARGETS };

static void run(Call *call, int target, Threads *team) {
  const char *why = "";
  if (target == FAST)
    call_run(call, KERNEL_FAST, team);
  else
    CHECK(call_try(call, &kernels_cuda()[KERNEL_quantise], NULL, &why));
}

static Call quantise_blocks(DType from, DType to, const int64_t dim[4]) {
  const int64_t rows = dim[0], cols = dim[1];
  Call call = {.kernel = "quantise", .dim = {rows, cols, dim[2], dim[3]}};
  call_add(&call, from, rows * cols);
  call_add(&call, to, rows * cols);
  call_add(&call, DTYPE_F32, dim[2] * dim[3]);
  call_add(&call, DTYPE_F64, rows * cols / 4096 + 1);
  return call;
}

static Call quantise_call(DType from, DType to, int64_t rows, int64_t cols) {
  return quantise_blocks(from, to, (const int64_t[]){rows, cols, 1, 1});
}

static void check_worked(int target, Threads *team) {
  static const float x[] = {0.013f, -0.7f, 1.9f, 1.792f, 0.0035f, 0, 0.25f, -2};
  static const uint8_t codes[] = {61, 235, 119, 118, 46, 0, 96, 248};
  Call call = quantise_call(DTYPE_F32, DTYPE_E4M3, 2, 4);
  memcpy(call.operand[0], x, sizeof x);
  run(&call, target, team);
  CHECK(memcmp(call.operand[1], codes, sizeof codes) == 0);
  CHECK(call_get(&call, 2, 0) == 1.0 / 128);
  ((float *)call.operand[0])[3] = -INFINITY;
  run(&call, target, team);
  CHECK(isnan(call_get(&call, 2, 0)) && ((uint8_t *)call.operand[1])[0] == 0x7f);
  memset(call.operand[0], 0, (size_t)call.bytes[0]);
  run(&call, target, team);
  CHECK(call_get(&call, 2, 0) == 1 && ((uint8_t *)call.operand[1])[0] == 0);
  call_free(&call);
}

/* Blocks down and across, whose bits are those of the plain kernel too. */
static void check_blocks(int target, Threads *team) {
  static const int64_t dims[][4] = {{256, 384, 256, 3}, {256, 384, 2, 384}, {256, 384, 2, 3}};
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    Call plain = quantise_blocks(DTYPE_BF16, DTYPE_E4M3, dims[i]);
    Call other = quantise_blocks(DTYPE_BF16, DTYPE_E4M3, dims[i]);
    call_fill(&plain, 0, i);
    for (int64_t e = 0; e < call_count(&plain, 0); e++)
      call_set(&plain, 0, e, call_get(&plain, 0, e) * pow(10, (double)(e % 977) / 100));
    memcpy(other.operand[0], plain.operand[0], (size_t)plain.bytes[0]);
    call_run(&plain, KERNEL_REFERENCE, NULL);
    run(&other, target, team);
    CHECK(memcmp(plain.operand[1], other.operand[1], (size_t)plain.bytes[1]) == 0);
    CHECK(memcmp(plain.operand[2], other.operand[2], (size_t)plain.bytes[2]) == 0);
    call_free(&plain), call_free(&other);
  }
}

/* At magnitudes from 1e-30 to 1e30, the bits of the plain kernel. */
static void check_bits(int target, Threads *team) {
  for (int i = 0; i < 24; i++) {
    Call plain = quantise_call(i % 2 ? DTYPE_BF16 : DTYPE_F32, i % 3 ? DTYPE_E4M3 : DTYPE_E5M2, 67,
                               131 + 8 * i);
    Call other = quantise_call(i % 2 ? DTYPE_BF16 : DTYPE_F32, i % 3 ? DTYPE_E4M3 : DTYPE_E5M2, 67,
                               131 + 8 * i);
    call_fill(&plain, 0, (uint64_t)i);
    for (int64_t e = 0; e < call_count(&plain, 0); e++)
      call_set(&plain, 0, e, call_get(&plain, 0, e) * pow(10, 2.5 * (i - 12)));
    memcpy(other.operand[0], plain.operand[0], (size_t)plain.bytes[0]);
    call_run(&plain, KERNEL_REFERENCE, NULL);
    run(&other, target, team);
    CHECK(memcmp(plain.operand[1], other.operand[1], (size_t)plain.bytes[1]) == 0);
    CHECK(memcmp(plain.operand[2], other.operand[2], (size_t)plain.bytes[2]) == 0);
    call_free(&plain), call_free(&other);
  }
}

int main(void) {
  Threads *team = threads_new(2, NULL);
  if (team == NULL) return 1;
  TEST("E4M3 as PyTorch has it") {
    check_recorded(0, 254, 0x5ca67c0247730043u, 0x7ba210cd338301b3u);
    check_ties(0, 0xe66951258e40d343u);
  }
  TEST("E5M2 as PyTorch has it") {
    check_recorded(1, 248, 0xe6d50c336f856923u, 0x9df97257618006e3u);
    check_ties(1, 0xfe43f59630e0cc27u);
  }
  TEST("infinities saturate and NaN stays") check_others();
  TEST("scales") check_scales();
  TEST("decoded numbers are exact in bf16") check_exact();
  for (int target = 0; target < TARGETS; target++) {
    TEST(target == FAST ? "quantise" : "quantise for GPUs") {
      check_worked(target, team);
      check_bits(target, team);
      check_blocks(target, team);
    }
  }
  threads_free(team);
  CHECK_DONE();
}
