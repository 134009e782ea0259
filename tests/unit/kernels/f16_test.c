/* Conversions of fp16: every value to f32 and back, by f16.h and by the fast kernels, and every
 * tie, against what NumPy 2.4 makes of them. LINK: kernels */
#include "kernels/math/f16.h"
#include "kernels/product.h"
#include "tests/unit/check.h"
#include "tests/unit/kernel_call.h"

enum { CODES = 1 << 16, TIES = 0x7c00, FLOATS = 1 << 24, BLOCK = 1 << 14 };

/* Sums of results, each times a number of its place; NaN count as 0, because their payloads are not
 * NumPy's. */
static const uint64_t widened = 0x65d53f5811000000, narrowed = 0xc2ffecbd8f92fc00,
                      ties = 0x2d0c0d54a7bdbc00;

typedef struct Sum {
  uint64_t sum, count;
} Sum;

static void add(Sum *s, uint32_t result) {
  s->sum += result * ((s->count * 2654435761u + 1) & 0xffffffffu);
  s->count++;
}

static float of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static bool is_nan(float value) {
  return value != value;
}

/* Halfway between the numbers of `code` and the next; of the largest, to 65,536. */
static uint32_t tie_bits(uint16_t code) {
  float next = code == TIES - 1 ? 65536 : f16_to_float((uint16_t)(code + 1));
  return bits_of((f16_to_float(code) + next) / 2);
}

static void test_scalar(void) {
  Sum wide = {0}, narrow = {0}, tie = {0};
  int32_t lost = 0;
  for (uint32_t code = 0; code < CODES; code++) {
    float value = f16_to_float((uint16_t)code);
    add(&wide, is_nan(value) ? 0 : bits_of(value));
    uint32_t back = f16_from_float(value), quiet = is_nan(value) ? code | 0x200 : code;
    lost += back != quiet;
  }
  CHECK_INT(lost, 0);
  CHECK(wide.sum == widened);
  for (uint32_t i = 0; i < FLOATS; i++) {
    float value = of_bits(i << 8);
    add(&narrow, is_nan(value) ? 0 : f16_from_float(value));
  }
  CHECK(narrow.sum == narrowed);
  for (uint32_t code = 0; code < TIES; code++)
    for (uint32_t bits = tie_bits((uint16_t)code) - 1, end = bits + 3; bits < end; bits++)
      add(&tie, f16_from_float(of_bits(bits)));
  CHECK(tie.sum == ties);
}

static void test_edges(void) {
  CHECK_INT(f16_from_float(65504.0f), 0x7bff);
  CHECK_INT(f16_from_float(65519.996f), 0x7bff);
  CHECK_INT(f16_from_float(65520.0f), 0x7c00);
  CHECK_INT(f16_from_float(-1e30f), 0xfc00);
  CHECK_INT(f16_from_float(INFINITY), 0x7c00);
  CHECK_INT(f16_from_float(0x1p-24f), 1);
  CHECK_INT(f16_from_float(0x1p-25f), 0); /* a tie, to even */
  CHECK_INT(f16_from_float(0x1.000002p-25f), 1);
  CHECK_INT(f16_from_float(-0x1p-25f), 0x8000);
  CHECK_INT(f16_from_float(0x1.ffcp-15f),
            0x400); /* a tie: the largest subnormal to the least normal */
  CHECK_INT(f16_from_float(of_bits(0x7f800001)), 0x7e00); /* a NaN that would become infinity */
  CHECK_INT(f16_from_float(of_bits(0xffffe000)), 0xffff);
}

static Threads *team;

/* `cast` from `from` to `to` gives what f16.h does, to the bit; `count` is no multiple of 16. */
static int32_t cast_differs(const void *x, DType from, DType to, int64_t count) {
  Call call = {.kernel = "cast", .dim = {count}};
  call_add(&call, from, count);
  call_add(&call, to, count);
  memcpy(call.operand[0], x, (size_t)call.bytes[0]);
  call_run(&call, KERNEL_FAST, team);
  int32_t differ = 0;
  for (int64_t i = 0; i < count; i++)
    differ += to == DTYPE_F16
                  ? ((uint16_t *)call.operand[1])[i] != f16_from_float(((const float *)x)[i])
                  : bits_of(((float *)call.operand[1])[i]) !=
                        bits_of(f16_to_float(((const uint16_t *)x)[i]));
  call_free(&call);
  return differ;
}

static void test_fast(void) {
  static uint16_t code[CODES];
  static float value[BLOCK - 3];
  for (uint32_t i = 0; i < CODES; i++)
    code[i] = (uint16_t)i;
  CHECK_INT(cast_differs(code, DTYPE_F16, DTYPE_F32, CODES), 0);
  CHECK_INT(cast_differs(code + 1, DTYPE_F16, DTYPE_F32, 31), 0);
  int32_t differ = 0;
  for (uint32_t first = 0; first < FLOATS; first += BLOCK - 3) {
    for (uint32_t i = 0; i < BLOCK - 3; i++)
      value[i] = of_bits((first + i) << 8);
    differ += cast_differs(value, DTYPE_F32, DTYPE_F16, BLOCK - 3);
  }
  for (uint32_t c = 0, n = 0; c < TIES; c++)
    for (uint32_t bits = tie_bits((uint16_t)c) - 1, end = bits + 3; bits < end; bits++) {
      value[n++] = of_bits(bits);
      if (n == BLOCK - 3 || (c == TIES - 1 && bits == end - 1)) {
        differ += cast_differs(value, DTYPE_F32, DTYPE_F16, n);
        n = 0;
      }
    }
  CHECK_INT(differ, 0);
}

int main(void) {
  TEST("all values, and ties, as NumPy converts them") test_scalar();
  TEST("the edges") test_edges();
  team = threads_new(2, NULL);
  CHECK(team);
  TEST("fast kernels convert as f16.h") test_fast();
  threads_free(team);
  CHECK_DONE();
}
