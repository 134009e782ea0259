/* program.c -- matrix products and attention by tiles, and a checksum of each result.
 *
 * Built twice by `run`, from the objects of the release build: for this processor, whose tiles are
 * emulated in plain C; and with -DON_TILES for a machine without a system, whose registers compute.
 * Both must print the same. */
#include "kernels/cpu/tile.h"
#include "kernels/kernel.h"
#include "kernels/product.h"

void cpu_linear_avx512(const KernelArgs *args);
void cpu_linear_dx_avx512(const KernelArgs *args);
void cpu_linear_dw_avx512(const KernelArgs *args);
void cpu_attention_avx512(const KernelArgs *args);
void cpu_attention_backward_avx512(const KernelArgs *args);

enum { SCRATCH_BYTES = 16 << 20, MEMORY_BYTES = 64 << 20 };

/* ---- the machine */

#ifdef ON_TILES
static const ProductChoice choice = {.f32 = PRODUCT_AVX512, .bf16 = PRODUCT_AMX_BF16};
static unsigned char *const memory = (unsigned char *)0x4000000;

/* The emulator prints what goes to this port, and ends when it reads its word at the other. */
static void put(char c) {
  __asm__ volatile("outb %0, $0xe9" ::"a"(c));
}
static int finish(void) {
  for (const char *at = "Shutdown"; *at != '\0'; at++)
    __asm__ volatile("outb %0, %1" ::"a"(*at), "d"((uint16_t)0x8900));
  for (;;)
    __asm__ volatile("hlt");
}

void *memset(void *to, int byte, size_t count) {
  for (size_t i = 0; i < count; i++)
    ((unsigned char *)to)[i] = (unsigned char)byte;
  return to;
}
void *memmove(void *to, const void *from, size_t count) {
  const unsigned char *source = from;
  unsigned char *target = to;
  for (size_t i = 0; i < count && target <= source; i++)
    target[i] = source[i];
  for (size_t i = count; i-- > 0 && target > source;)
    target[i] = source[i];
  return to;
}
void *memcpy(void *to, const void *from, size_t count) {
  return memmove(to, from, count);
}
int memcmp(const void *a, const void *b, size_t count) {
  const unsigned char *x = a, *y = b;
  size_t i = 0;
  while (i < count && x[i] == y[i])
    i++;
  return i < count ? x[i] - y[i] : 0;
}
float fmaf(float x, float y, float sum) {
  __asm__("vfmadd231ss %2, %1, %0" : "+x"(sum) : "x"(x), "x"(y));
  return sum;
}

#else
#include <stdio.h>

static const ProductChoice choice = {.f32 = PRODUCT_AVX512, .bf16 = PRODUCT_AMX_EMULATED};
static unsigned char memory[MEMORY_BYTES] __attribute__((aligned(64)));

static void put(char c) {
  (void)putchar(c);
}
static int finish(void) {
  return 0;
}
#endif

/* The same on both sides: ln(1 + x) = x - x^2 / 2 + ... */
float logf(float x) {
  uint32_t bits = tile_bits(x), exponent = bits >> 23;
  float rest = tile_float((bits & 0x7fffffu) | 0x3f800000u) - 1, power = rest, sum = 0;
  for (int i = 1; i < 24; i++, power *= -rest)
    sum += power / (float)i;
  return sum + 0.69314718f * (float)((int32_t)exponent - 127);
}

/* ---- what the kernels ask of the rest of the program */

const ProductChoice *product_choice(void) {
  return &choice;
}

int32_t threads_count(const Threads *team) {
  (void)team;
  return 1;
}
void threads_run(Threads *team, int64_t tasks, ThreadsTask *run, void *context) {
  (void)team;
  for (int64_t task = 0; task < tasks; task++)
    run(context, task, 0);
}

static void say(const char *text) {
  while (*text != '\0')
    put(*text++);
}

/* No case may fall back to the plain kernels. */
#define PLAIN(name)                                                                                \
  void reference_##name(const KernelArgs *args) {                                                  \
    (void)args;                                                                                    \
    say("the plain " #name " ran\n");                                                              \
  }
PLAIN(linear)
PLAIN(linear_bias)
PLAIN(linear_dx)
PLAIN(linear_dw)
PLAIN(linear_db)
PLAIN(attention)
PLAIN(attention_backward)
PLAIN(attention_apart)
PLAIN(attention_apart_backward)

/* ---- memory and numbers */

static size_t used;

/* Zeros, aligned to cache lines. */
static void *take(int64_t bytes) {
  void *taken = memory + used;
  used += ((size_t)bytes + 63) / 64 * 64;
  return memset(taken, 0, (size_t)bytes);
}

/* bf16 of 2^-11 to 2, of either sign: sums of their products round. */
static void *numbers(int64_t count) {
  static uint32_t random = 1;
  uint16_t *taken = take(2 * count);
  for (int64_t i = 0; i < count; i++) {
    random = random * 1664525u + 1013904223u;
    uint32_t exponent = 127 - (random >> 9) % 12;
    taken[i] = (uint16_t)(exponent << 7 | (random >> 16 & 0x807fu));
  }
  return taken;
}

/* " 12" */
static void say_number(int64_t number) {
  char digits[24];
  int count = 0;
  do
    digits[count++] = (char)('0' + number % 10);
  while (number /= 10);
  put(' ');
  while (count > 0)
    put(digits[--count]);
}

/* " 6b15d29d984e21c4": FNV-1a of the bytes. */
static void say_checksum(const void *bytes, int64_t count) {
  uint64_t sum = 0xcbf29ce484222325u;
  for (int64_t i = 0; i < count; i++)
    sum = (sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
  put(' ');
  for (int shift = 60; shift >= 0; shift -= 4)
    put("0123456789abcdef"[sum >> shift & 15]);
}

/* ---- cases */

typedef struct LinearCase {
  int64_t rows, in, out, transposed;
  uint32_t result; /* DType */
} LinearCase;

static const LinearCase linear_cases[] = {
    {1, 1, 1, 0, DTYPE_F32},       {16, 32, 16, 0, DTYPE_F32},    {33, 65, 49, 0, DTYPE_BF16},
    {33, 65, 49, 1, DTYPE_F32},    {100, 130, 70, 0, DTYPE_BF16}, {97, 31, 300, 1, DTYPE_BF16},
    {20, 900, 33, 0, DTYPE_BF16},  {5, 5000, 17, 0, DTYPE_F32},   {256, 768, 96, 0, DTYPE_BF16},
    {129, 257, 97, 1, DTYPE_BF16},
};

/* x [rows,in], w [in,out] and y [rows,out]: one of them is made of the other two. */
static void run_linear(const LinearCase *c, char made, void kernel(const KernelArgs *)) {
  const int64_t x = c->rows * c->in, w = c->in * c->out, y = c->rows * c->out;
  const int64_t left = made == 'x' ? y : x, right = made == 'w' ? y : w;
  const int64_t result = made == 'x' ? x : made == 'y' ? y : w;
  const int64_t bytes[4] = {2 * left, 2 * right, result * dtype_bytes((DType)c->result),
                            SCRATCH_BYTES};
  const uint32_t dtype[4] = {DTYPE_BF16, DTYPE_BF16, c->result, DTYPE_F32};
  const int64_t dim[4] = {c->rows, c->in, c->out, c->transposed};
  used = 0;
  void *operand[4] = {numbers(left), numbers(right), take(bytes[2]), take(64)};
  kernel(&(KernelArgs){.operand = operand,
                       .dtype = dtype,
                       .bytes = bytes,
                       .dim = dim,
                       .operand_count = 4,
                       .accumulate = made == 'w'});
  say("linear ");
  put(made);
  for (int i = 0; i < 4; i++)
    say_number(dim[i]);
  say_checksum(operand[2], bytes[2]);
  put('\n');
}

typedef struct AttentionCase {
  int64_t batch, seq, heads, kv_heads, head;
  bool causal;
} AttentionCase;

static const AttentionCase attention_cases[] = {
    {1, 16, 1, 1, 32, true},  {2, 37, 3, 3, 64, true},   {1, 70, 4, 2, 64, true},
    {1, 50, 2, 1, 48, false}, {1, 130, 2, 2, 128, true}, {1, 260, 1, 1, 80, false},
};

/* q, k and v are side by side in each row of qkv, and so are their gradients. */
static void run_attention(const AttentionCase *c) {
  enum { B = DTYPE_BF16, F = DTYPE_F32 };
  const int64_t tokens = c->batch * c->seq, row = (c->heads + 2 * c->kv_heads) * c->head;
  const int64_t k = c->heads * c->head, v = k + c->kv_heads * c->head;
  const int64_t half = c->seq / 2;
  const double middle = (double)half;
  const double attr[] = {c->causal,        0.125,         0, 0, middle, 0, middle, 0,
                         (double)c->heads, (double)c->seq};
  const int64_t dim[] = {c->batch, c->seq, c->heads, c->kv_heads, c->head, row,
                         row,      row,    row,      row,         row};
  uint64_t control[2] = {0};
  void *const controls[2] = {&control[0], &control[1]};
  used = 0;
  uint16_t *qkv = numbers(tokens * row), *d_out = numbers(tokens * k);
  uint16_t *out = take(2 * tokens * k), *made = take(2 * tokens * row);
  float *lse = take(4 * tokens * c->heads);
  void *work = take(64);
  cpu_attention_avx512(&(KernelArgs){.operand = (void *[]){qkv, qkv + k, qkv + v, out, lse, work},
                                     .dtype = (const uint32_t[]){B, B, B, B, F, F},
                                     .bytes = (const int64_t[]){0, 0, 0, 0, 0, SCRATCH_BYTES},
                                     .dim = dim,
                                     .attr = attr,
                                     .operand_count = 6,
                                     .control = controls});
  cpu_attention_backward_avx512(&(KernelArgs){
      .operand = (void *[]){d_out, qkv, qkv + k, qkv + v, out, lse, made, made + k, made + v, work},
      .dtype = (const uint32_t[]){B, B, B, B, B, F, B, B, B, F},
      .bytes = (const int64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 0, SCRATCH_BYTES},
      .dim = dim,
      .attr = attr,
      .operand_count = 10,
      .control = controls});
  say("attention");
  for (int i = 0; i < 5; i++)
    say_number(dim[i]);
  say_checksum(out, 2 * tokens * k);
  say_checksum(lse, 4 * tokens * c->heads);
  say_checksum(made, 2 * tokens * row);
  put('\n');
}

int main(void) {
#ifdef ON_TILES
  const bool agree = tiles_agree();
#else
  const bool agree = true;
#endif
  say(agree ? "tiles compute what they should\n" : "tiles compute something else\n");
  for (size_t i = 0; i < sizeof linear_cases / sizeof *linear_cases; i++) {
    run_linear(&linear_cases[i], 'x', cpu_linear_dx_avx512);
    run_linear(&linear_cases[i], 'y', cpu_linear_avx512);
    run_linear(&linear_cases[i], 'w', cpu_linear_dw_avx512);
  }
  for (size_t i = 0; i < sizeof attention_cases / sizeof *attention_cases; i++)
    run_attention(&attention_cases[i]);
  return finish();
}
