/* tile_check.c -- whether this processor's tiles compute what their definition says: asked once,
 * before they are used (product.c). */
#include "kernels/cpu/tile.h"

#if defined(__x86_64__)

typedef uint32_t TileBlock[TILE_SIDE][TILE_SIDE];

/* sum = a . b twice, the second time on top of what was stored; `file` as in tile.h. */
static inline __attribute__((always_inline)) void multiply_twice(TileFile *file, TileBlock a,
                                                                 TileBlock b, TileBlock sum) {
  enum { ROW_BYTES = sizeof(TileBlock) / TILE_SIDE };
  memset(sum, 0, sizeof(TileBlock));
  for (int i = 0; i < 2; i++) {
    TILE_LOAD(file, 0, sum, ROW_BYTES);
    TILE_LOAD(file, 4, a, ROW_BYTES);
    TILE_LOAD(file, 6, b, ROW_BYTES);
    TILE_DOT(file, 0, 4, 6);
    TILE_STORE(file, 0, sum, ROW_BYTES);
  }
}

/* Numbers whose sums round at nearly every step, so that another order of summing shows. */
bool tiles_agree(void) {
  TileBlock a, b, sum, wanted;
  TileFile file;
  uint32_t random = 1;
  for (int i = 0; i < TILE_SIDE * TILE_SIDE; i++) { /* two bf16 each, of 2^-15 to 2, either sign */
    random = random * 1664525u + 1013904223u;
    a[i / TILE_SIDE][i % TILE_SIDE] = 0x38003800u | (random & 0x87ff87ffu);
    b[i / TILE_SIDE][i % TILE_SIDE] = 0x38003800u | (random >> 7 & 0x87ff87ffu);
  }
  multiply_twice(&file, a, b, wanted);
  tiles_begin();
  multiply_twice(NULL, a, b, sum);
  tiles_end();
  return memcmp(sum, wanted, sizeof sum) == 0;
}

#else

bool tiles_agree(void) {
  return false;
}

#endif
