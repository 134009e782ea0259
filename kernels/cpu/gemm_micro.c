/* gemm_micro.c -- the inner kernels: an 8 x 48 tile in 24 registers of sixteen floats. */
#include "kernels/cpu/checked.h"
#include "kernels/cpu/gemm.h"

#if defined(__AVX512F__)

/* Pairs that are read where they are may be at any even address. Inlined into what is not checked,
 * it must not be either: the address sanitizer would mark its variable in the caller's frame. */
ALWAYS_INLINE CHECKED_BEFORE float unit_at(const char *from) {
  float unit;
  memcpy(&unit, from, sizeof unit);
  return unit;
}

/* All that a micro kernel reads and writes: the rows of a are side by side in a panel, or apart. */
static inline void check_tile(const char *a, Apart apart, const float *b, int64_t units,
                              int64_t vectors, float *tile) {
  if (units == 0) return;
  bool in_panel = apart.unit == PANEL_ROWS * apart.row;
  if (in_panel) check_read(a, (size_t)(units * apart.unit));
  for (int i = 0; i < PANEL_ROWS; i++) {
    if (!in_panel) check_read(a + i * apart.row, (size_t)units * sizeof(float));
    check_write(tile + i * PANEL_COLUMNS, (size_t)(vectors * LANES) * sizeof(float));
  }
  check_read(b, (size_t)(units * vectors * LANES) * sizeof(float));
}

/* Per unit: `vectors` loads of b, eight broadcasts of a, 8 * vectors multiply-adds. Two pointers
 * and three strides reach all rows by addresses that an instruction can have. */
#define MICRO(name, vectors, extra_target, multiply_add)                                           \
  extra_target CHECKED_BEFORE static void name(const char *a, Apart apart, const float *b,         \
                                               int64_t units, float *tile) {                       \
    check_tile(a, apart, b, units, vectors, tile);                                                 \
    __m512 sum[PANEL_ROWS][vectors];                                                               \
    const char *half[] = {a, a + 4 * apart.row};                                                   \
    UNROLL for (int i = 0; i < PANEL_ROWS; i++) {                                                  \
      UNROLL for (int j = 0; j < vectors; j++) sum[i][j] = _mm512_setzero_ps();                    \
    }                                                                                              \
    for (int64_t u = 0; u < units; u++, b += (vectors)*LANES) {                                    \
      __m512 column[vectors];                                                                      \
      UNROLL for (int j = 0; j < vectors; j++) column[j] = _mm512_loadu_ps(b + j * LANES);         \
      UNROLL for (int i = 0; i < PANEL_ROWS; i++) {                                                \
        __m512 row = _mm512_set1_ps(unit_at(half[i / 4] + i % 4 * apart.row));                     \
        UNROLL for (int j = 0; j < vectors; j++) sum[i][j] =                                       \
            multiply_add(row, column[j], sum[i][j]);                                               \
      }                                                                                            \
      half[0] += apart.unit, half[1] += apart.unit;                                                \
    }                                                                                              \
    UNROLL for (int i = 0; i < PANEL_ROWS; i++) {                                                  \
      UNROLL for (int j = 0; j < vectors; j++)                                                     \
          _mm512_storeu_ps(tile + i * PANEL_COLUMNS + j * LANES, sum[i][j]);                       \
    }                                                                                              \
  }

#define DOT_PAIRS(x, y, sum) _mm512_dpbf16_ps(sum, (__m512bh)(x), (__m512bh)(y))
#define PAIRS_TARGET         __attribute__((target("avx512bf16")))

MICRO(micro_f32_1, 1, , _mm512_fmadd_ps)
MICRO(micro_f32_2, 2, , _mm512_fmadd_ps)
MICRO(micro_f32_3, 3, , _mm512_fmadd_ps)
MICRO(micro_pairs_1, 1, PAIRS_TARGET, DOT_PAIRS)
MICRO(micro_pairs_2, 2, PAIRS_TARGET, DOT_PAIRS)
MICRO(micro_pairs_3, 3, PAIRS_TARGET, DOT_PAIRS)

GemmMicro *CPU(gemm_micro)(bool pairs, int64_t vectors) {
  static GemmMicro *const micro[2][3] = {{micro_f32_1, micro_f32_2, micro_f32_3},
                                         {micro_pairs_1, micro_pairs_2, micro_pairs_3}};
  return micro[pairs][vectors - 1];
}

#else

/* A quarter of the tile at most: 4 rows x 16 columns in 8 of the 16 registers. */
static void micro_part(const char *a, Apart apart, const float *b, int64_t stride, int64_t units,
                       float *tile) {
  __m256 sum[4][2];
  UNROLL for (int i = 0; i < 4; i++) sum[i][0] = sum[i][1] = _mm256_setzero_ps();
  for (int64_t u = 0; u < units; u++, a += apart.unit, b += stride) {
    __m256 low = _mm256_loadu_ps(b), high = _mm256_loadu_ps(b + 8);
    UNROLL for (int i = 0; i < 4; i++) {
      __m256 row = _mm256_broadcast_ss((const float *)(a + i * apart.row));
      sum[i][0] = _mm256_fmadd_ps(row, low, sum[i][0]);
      sum[i][1] = _mm256_fmadd_ps(row, high, sum[i][1]);
    }
  }
  UNROLL for (int i = 0; i < 4; i++) {
    _mm256_storeu_ps(tile + i * PANEL_COLUMNS, sum[i][0]);
    _mm256_storeu_ps(tile + i * PANEL_COLUMNS + 8, sum[i][1]);
  }
}

/* 4 rows x 24 columns in 12 registers, for whole panels. */
static void micro_half(const char *a, Apart apart, const float *b, int64_t units, float *tile) {
  __m256 sum[4][3];
  UNROLL for (int i = 0; i < 4; i++) {
    UNROLL for (int j = 0; j < 3; j++) sum[i][j] = _mm256_setzero_ps();
  }
  for (int64_t u = 0; u < units; u++, a += apart.unit, b += PANEL_COLUMNS) {
    __m256 column[3];
    UNROLL for (int j = 0; j < 3; j++) column[j] = _mm256_loadu_ps(b + 8 * j);
    UNROLL for (int i = 0; i < 4; i++) {
      __m256 row = _mm256_broadcast_ss((const float *)(a + i * apart.row));
      UNROLL for (int j = 0; j < 3; j++) sum[i][j] = _mm256_fmadd_ps(row, column[j], sum[i][j]);
    }
  }
  UNROLL for (int i = 0; i < 4; i++) {
    UNROLL for (int j = 0; j < 3; j++)
        _mm256_storeu_ps(tile + i * PANEL_COLUMNS + 8 * j, sum[i][j]);
  }
}

static void micro_1(const char *a, Apart apart, const float *b, int64_t units, float *tile) {
  for (int i = 0; i < PANEL_ROWS; i += 4)
    micro_part(a + i * apart.row, apart, b, LANES, units, tile + i * PANEL_COLUMNS);
}

static void micro_2(const char *a, Apart apart, const float *b, int64_t units, float *tile) {
  for (int i = 0; i < PANEL_ROWS; i += 4)
    for (int j = 0; j < 2 * LANES; j += LANES)
      micro_part(a + i * apart.row, apart, b + j, 2 * LANES, units, tile + i * PANEL_COLUMNS + j);
}

static void micro_3(const char *a, Apart apart, const float *b, int64_t units, float *tile) {
  for (int i = 0; i < PANEL_ROWS; i += 4)
    for (int j = 0; j < PANEL_COLUMNS; j += PANEL_COLUMNS / 2)
      micro_half(a + i * apart.row, apart, b + j, units, tile + i * PANEL_COLUMNS + j);
}

GemmMicro *CPU(gemm_micro)(bool pairs, int64_t vectors) {
  static GemmMicro *const micro[] = {micro_1, micro_2, micro_3};
  (void)pairs;
  return micro[vectors - 1];
}

#endif
