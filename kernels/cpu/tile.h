/* tile.h -- the tile registers of AMX: sixteen rows of 64 bytes each, and their product.
 *
 * TILE_DOT(file, c, a, b) is c[16,16] += a[16,32] . b[32,16] of bf16, where a row of `a` has its 16
 * pairs along k and a row of `b` has one pair of each of its 16 columns. `file` is NULL for the
 * processor's registers. Elsewhere it is eight registers in memory, and the same is computed in
 * plain C, bit for bit as Intel's manual defines TDPBF16PS (Software Developer's Manual, volume 2):
 * products at even and at odd places along k are summed apart, each by fused multiply-adds from 0;
 * both sums are added, and the result to c. Denormals count as 0 wherever they come or go; NaNs
 * stay NaNs, with whichever bits.
 *
 * Register numbers are literals 0 to 7. The processor's are there between tiles_begin and
 * tiles_end of the same thread; the process has permission (product.c). */
#ifndef LOCKSTEP_KERNELS_CPU_TILE_H
#define LOCKSTEP_KERNELS_CPU_TILE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TILE_SIDE = 16, TILE_BYTES = 1024, TILES = 8 };

typedef struct TileFile {
  uint32_t unit[TILES][TILE_SIDE][TILE_SIDE];
} TileFile;

/* ---- in plain C */

/* The least normal float; and the least that rounds to it among floats without denormals. */
#define TILE_LEAST       0x1p-126f
#define TILE_LEAST_EXACT (0x1p-126 - 0x1p-151)

static inline float tile_flush(float x) {
  return fabsf(x) < TILE_LEAST ? copysignf(0, x) : x;
}

/* x * y + sum. The sum in double is exact wherever it is near the least normal float. */
static inline float tile_multiply_add(float x, float y, float sum) {
  double exact = (double)x * (double)y + (double)sum;
  float rounded = fmaf(x, y, sum);
  return fabs(exact) < TILE_LEAST_EXACT ? copysignf(0, rounded) : rounded;
}

static inline float tile_add(float x, float y) {
  return tile_flush(tile_flush(x) + tile_flush(y)); /* such sums are exact */
}

static inline float tile_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
static inline uint32_t tile_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* The two of a pair. */
static inline float tile_even(uint32_t pair) {
  return tile_flush(tile_float(pair << 16));
}
static inline float tile_odd(uint32_t pair) {
  return tile_flush(tile_float(pair & 0xffff0000u));
}

static inline void tile_dot_emulated(TileFile *file, int c, int a, int b) {
  for (int i = 0; i < TILE_SIDE; i++) {
    float even[TILE_SIDE] = {0}, odd[TILE_SIDE] = {0};
    for (int u = 0; u < TILE_SIDE; u++) {
      uint32_t left = file->unit[a][i][u];
      const uint32_t *right = file->unit[b][u];
      float left_even = tile_even(left), left_odd = tile_odd(left);
      for (int j = 0; j < TILE_SIDE; j++) {
        even[j] = tile_multiply_add(left_even, tile_even(right[j]), even[j]);
        odd[j] = tile_multiply_add(left_odd, tile_odd(right[j]), odd[j]);
      }
    }
    for (int j = 0; j < TILE_SIDE; j++) {
      uint32_t *sum = &file->unit[c][i][j];
      *sum = tile_bits(tile_add(tile_float(*sum), tile_add(even[j], odd[j])));
    }
  }
}

static inline void tile_load_emulated(TileFile *file, int t, const void *from, size_t stride) {
  for (size_t i = 0; i < TILE_SIDE; i++)
    memcpy(file->unit[t][i], (const char *)from + i * stride, sizeof file->unit[t][i]);
}

static inline void tile_store_emulated(const TileFile *file, int t, void *to, size_t stride) {
  for (size_t i = 0; i < TILE_SIDE; i++)
    memcpy((char *)to + i * stride, file->unit[t][i], sizeof file->unit[t][i]);
}

/* ---- on the processor, or in plain C. Strides are in bytes. */

/* tilezero and the like: assembly, for an intrinsic would need its file to be built for AMX. */
#define TILE_ZERO(file, t)                                                                         \
  do {                                                                                             \
    if (file)                                                                                      \
      memset((file)->unit[t], 0, sizeof(file)->unit[t]);                                           \
    else                                                                                           \
      __asm__ volatile("tilezero %%tmm" #t ::: "memory");                                          \
  } while (0)

#define TILE_LOAD(file, t, from, stride)                                                           \
  do {                                                                                             \
    if (file)                                                                                      \
      tile_load_emulated(file, t, from, stride);                                                   \
    else                                                                                           \
      __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"((size_t)(stride))          \
                       : "memory");                                                                \
  } while (0)

#define TILE_STORE(file, t, to, stride)                                                            \
  do {                                                                                             \
    if (file)                                                                                      \
      tile_store_emulated(file, t, to, stride);                                                    \
    else                                                                                           \
      __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"((size_t)(stride))        \
                       : "memory");                                                                \
  } while (0)

#define TILE_DOT(file, c, a, b)                                                                    \
  do {                                                                                             \
    if (file)                                                                                      \
      tile_dot_emulated(file, c, a, b);                                                            \
    else                                                                                           \
      __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::: "memory");               \
  } while (0)

/* All eight registers with sixteen rows of 64 bytes. Costs some tens of cycles. */
static inline void tiles_begin(void) {
  struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } config = {.palette = 1};
  for (int t = 0; t < TILES; t++) {
    config.row_bytes[t] = 4 * TILE_SIDE;
    config.rows[t] = TILE_SIDE;
  }
  __asm__ volatile("ldtilecfg %0" ::"m"(config));
}

/* Clears the registers, so that the system need not save them any more. */
static inline void tiles_end(void) {
  __asm__ volatile("tilerelease" ::: "memory");
}

/* True if the processor's tiles compute the functions above, in plain C, bit for bit. The process
 * must have permission. */
bool tiles_agree(void);

#endif
