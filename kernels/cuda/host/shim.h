/* shim.h -- CUDA C++ on a processor: what the sources of kernels/cuda need to be compiled by a host
 * compiler and run there, so that their index arithmetic, barriers and warp exchanges are tested
 * without a GPU.
 *
 * Blocks run one after another, in an order drawn at random. The threads of a block are fibers:
 * each runs up to the next barrier or warp exchange, then another one, drawn at random, continues.
 * Faults that a GPU would answer with a hang or with undefined values end the program with the
 * kernel's name: a barrier that some threads never reach, a warp exchange that some lanes leave
 * out. Shared memory is filled with NaN before each block. With races.cpp what threads do to memory
 * with no barrier between ends the program, too.
 *
 * Not shown: anything about speed. */
#ifndef LOCKSTEP_CUDA_SHIM_H
#define LOCKSTEP_CUDA_SHIM_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#define __global__ static
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct Index { /* a plain struct: what has a constructor costs a call at each use */
  unsigned x, y, z;
};
extern __thread Index threadIdx, blockIdx, blockDim, gridDim;

namespace shim {

/* Bytes of shared memory, the same for all threads of a block; filled with NaN (all bits set) when
 * a block first asks for `site`, which identifies one declaration. */
void *shared(const void *site, size_t size_bytes);

/* The fiber waits until every thread of the block is here. */
void block_barrier();
/* The fiber waits until every lane of `mask` is here. */
void warp_barrier(unsigned mask);
/* The buffer through which the lanes of this thread's warp exchange values: 32 of them. */
uint64_t *warp_slots();
unsigned lane();
/* The tensor core's sum += a b, 16 x 8 and 16 deep, of bf16 or fp16: each sum in f32, from what is
 * there on in the order of the depth. All lanes of the warp call it, with what PTX gives them of
 * mma.m16n8k16. */
void multiply_add(bool is_f16, float *sum, const uint32_t *a, const uint32_t *b);
/* Bytes of shared memory that a block may ask for, on a GPU with tensor cores; 0: without. */
extern int64_t shared_most_bytes;

typedef void Body(const void *kernel);

/* Runs `body` once for each thread of each block. `has_barriers` false: threads run through, and a
 * barrier is an error. */
void launch(const char *name, dim3 grid, dim3 block, bool has_barriers, Body *body,
            const void *kernel);

/* ---- for races.cpp */

/* The running thread, and its time: turns count the barriers that its block and its warp have
 * passed. */
struct Place {
  uint32_t launch, block; /* numbers: blocks count on from launch to launch */
  uint32_t thread, warp;
  uint32_t block_turn, warp_turn;
};

/* The thread of a block that runs, and its stack: memory that no other thread has. */
struct Running {
  Place place;
  const char *own_low;  /* NULL: wherever the stack is now */
  const char *own_high; /* NULL: no kernel runs */
};
extern __thread Running running;
/* True if all of a page is a block's own memory. */
bool is_shared(const void *page);
[[noreturn]] void fail(const char *why);

/* ---- */

template <class T> T exchange(unsigned mask, T value, unsigned from) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a register or two");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  warp_slots()[lane()] = bits;
  warp_barrier(mask);
  memcpy(&value, &warp_slots()[from & 31], sizeof value);
  warp_barrier(mask);
  return value;
}

} // namespace shim

static inline void __syncthreads() {
  shim::block_barrier();
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) {
  shim::warp_barrier(mask);
}
template <class T> T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return shim::exchange(mask, value, shim::lane() ^ (unsigned)lanes);
}
template <class T> T __shfl_sync(unsigned mask, T value, int from) {
  return shim::exchange(mask, value, (unsigned)from);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
  unsigned bits = 0;
  shim::warp_slots()[shim::lane()] = predicate != 0;
  shim::warp_barrier(mask);
  for (unsigned i = 0; i < 32; i++)
    if (mask >> i & 1u) bits |= (unsigned)shim::warp_slots()[i] << i;
  shim::warp_barrier(mask);
  return bits;
}
static inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}
static inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}
/* Never parts of a multiply-add, which a compiler makes of others. */
static inline float __fadd_rn(float a, float b) {
  volatile float x = a, y = b;
  return x + y;
}
static inline float __fmul_rn(float a, float b) {
  volatile float product = a * b;
  return product;
}

#endif
