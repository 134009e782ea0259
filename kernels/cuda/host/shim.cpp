/* shim.cpp -- blocks of fibers. */
#include "kernels/cuda/host/shim.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <ucontext.h>
#include <vector>

#include "kernels/cuda/host/order.h"
#include "kernels/math/f16.h"

#ifndef SHIM_ASAN /* of the kernels that it runs: this file itself is compiled without */
#define SHIM_ASAN 0
#endif
#if SHIM_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

__thread Index threadIdx, blockIdx, blockDim, gridDim;

namespace shim {
__thread Running running;
int64_t shared_most_bytes = 227 * 1024; /* an H100's */

namespace {

enum { STACK_BYTES = 1 << 17, WARP = 32, WARPS_MAX = 32, PAGE_BYTES = 4096, THREADS_MAX = 1024 };
/* Stacks are allocated a multiple of a page apart. Their tops differ by some lines of a cache,
 * because otherwise the frames of all fibers compete for the same few sets. */
enum { STACK_COLOURS = 128, COLOUR_BYTES = 320 };

/* A fiber is made once for each thread of a block and runs one body after another. Switching is a
 * jump by the compiler's own functions: a context of the system asks the kernel for the signal mask
 * each time, and the sanitizers intercept both it and longjmp, at the cost of the fiber's whole
 * shadow. The address sanitizer is told of each switch. The thread sanitizer is not told: fibers
 * run one after another, as one thread to it; it keeps no stack of calls here (CMakeLists.txt),
 * which fibers would mix up. */
#define SWITCHES __attribute__((noinline))

typedef void *Jump[5]; /* what __builtin_setjmp needs */

enum class State : uint8_t { READY, AT_BLOCK_BARRIER, AT_WARP_BARRIER, DONE };

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  Jump at; /* where it continues */
  bool is_begun = false;
  void *fake_stack; /* the address sanitizer's */
  Index index;      /* threadIdx */
};

/* Of the threads of a block, apart from their fibers, because the scheduler reads all of them after
 * each turn. */
struct Waiting {
  State state[THREADS_MAX];
  unsigned mask[THREADS_MAX]; /* of the warp barrier that the thread waits at */
};

/* One launch of one host thread. */
struct Grid {
  const char *name;
  bool has_barriers;
  Body *body;
  const void *kernel;
  unsigned thread_count, current;
  uint64_t *slots; /* 32 a warp */
  uint32_t block_turn, warp_turn[WARPS_MAX];
  const char *frame; /* of launch: what is pushed on its stack belongs to the thread that runs */
};

/* A lane's part of a product of matrices. */
struct Fragments {
  uint32_t a[4], b[2];
  float sum[4];
};

/* Whole pages; under a sanitizer, which looks for accesses past the end, only the requested bytes.
 */
struct Shared {
  std::unique_ptr<char, void (*)(void *)> bytes{nullptr, free};
  size_t size_bytes = 0;
  uint32_t block = 0; /* that it was last cleared for */
};

thread_local std::vector<Fiber> fibers;
thread_local Grid grid;
thread_local Waiting waiting;
thread_local Fragments fragments[THREADS_MAX];
thread_local Jump scheduler_at;
thread_local std::map<const void *, Shared> shared_memory;
thread_local uint32_t launches_begun, blocks_begun;
thread_local uint64_t random_state = 1;
#if SHIM_ASAN
thread_local const void *scheduler_stack;
thread_local size_t scheduler_stack_bytes;
thread_local void *scheduler_fake_stack;
#endif

uint64_t draw(uint64_t below) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint64_t)((unsigned __int128)random_state * below >> 64);
}

Index thread_at(unsigned i) {
  return {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
}

void begin_turn(unsigned i) {
  unsigned warp = i / WARP;
  grid.current = i;
  threadIdx = grid.has_barriers ? fibers[i].index : thread_at(i);
  running = {{launches_begun, blocks_begun, i, warp, grid.block_turn, grid.warp_turn[warp]},
             nullptr,
             grid.frame};
  if (!grid.has_barriers) return;
  running.own_low = fibers[i].stack.get();
  running.own_high = running.own_low + STACK_BYTES;
}

SWITCHES void to_scheduler() {
#if SHIM_ASAN
  __sanitizer_start_switch_fiber(&fibers[grid.current].fake_stack, scheduler_stack,
                                 scheduler_stack_bytes);
#endif
  if (__builtin_setjmp(fibers[grid.current].at) == 0) __builtin_longjmp(scheduler_at, 1);
#if SHIM_ASAN
  __sanitizer_finish_switch_fiber(fibers[grid.current].fake_stack, nullptr, nullptr);
#endif
}

void fiber_main() {
#if SHIM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
#endif
  for (;;) {
    grid.body(grid.kernel);
    waiting.state[grid.current] = State::DONE;
    to_scheduler();
  }
}

void prepare(unsigned i) {
  Fiber &fiber = fibers[i];
  fiber.index = thread_at(i);
  waiting.state[i] = State::READY;
  if (fiber.is_begun) return;
  fiber.stack.reset(new char[STACK_BYTES]);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = STACK_BYTES - i % STACK_COLOURS * COLOUR_BYTES;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, fiber_main, 0);
}

SWITCHES void resume(unsigned i) {
  begin_turn(i);
#if SHIM_ASAN
  __sanitizer_start_switch_fiber(&scheduler_fake_stack, fibers[i].stack.get(), STACK_BYTES);
#endif
  if (__builtin_setjmp(scheduler_at) == 0) {
    Fiber &fiber = fibers[grid.current];
    if (fiber.is_begun) __builtin_longjmp(fiber.at, 1);
    fiber.is_begun = true;
    setcontext(&fiber.context);
  }
#if SHIM_ASAN
  __sanitizer_finish_switch_fiber(scheduler_fake_stack, nullptr, nullptr);
#endif
}

/* Lanes of a warp that are where its lane `i` waits. */
unsigned waiting_lanes(unsigned i) {
  unsigned first = i / WARP * WARP, lanes = 0;
  for (unsigned k = first; k < first + WARP && k < grid.thread_count; k++)
    if (waiting.state[k] == State::AT_WARP_BARRIER && waiting.mask[k] == waiting.mask[i])
      lanes |= 1u << (k - first);
  return lanes;
}

/* Lets those continue whose barrier is complete; false: nobody can. */
bool release() {
  bool any = false, all_at_block = true;
  for (unsigned i = 0; i < grid.thread_count; i++)
    all_at_block &= waiting.state[i] == State::AT_BLOCK_BARRIER;
  for (unsigned i = 0; all_at_block && i < grid.thread_count; i++)
    waiting.state[i] = State::READY, any = true;
  grid.block_turn += all_at_block;
  for (unsigned first = 0; first < grid.thread_count; first += WARP)
    for (unsigned i = first; i < first + WARP && i < grid.thread_count; i++) {
      if (waiting.state[i] != State::AT_WARP_BARRIER) continue;
      unsigned mask = waiting.mask[i];
      if ((waiting_lanes(i) & mask) != mask) continue;
      for (unsigned k = first; k < first + WARP && k < grid.thread_count; k++)
        if (mask >> (k - first) & 1u) waiting.state[k] = State::READY, any = true;
      grid.warp_turn[first / WARP]++;
    }
  return any;
}

void run_fibers() {
  std::vector<unsigned> ready;
  for (unsigned i = 0; i < grid.thread_count; i++)
    prepare(i);
  for (;;) {
    ready.clear();
    unsigned done = 0;
    for (unsigned i = 0; i < grid.thread_count; i++) {
      if (waiting.state[i] == State::READY) ready.push_back(i);
      done += waiting.state[i] == State::DONE;
    }
    if (done == grid.thread_count) break;
    if (ready.empty() && !release()) fail("some threads wait at a barrier that others never reach");
    for (size_t left = ready.size(); left > 0; left--) {
      std::swap(ready[draw(left)], ready[left - 1]);
      resume(ready[left - 1]);
    }
  }
}

void run_block() {
  static const char slots_site = 0;
  blocks_begun++;
  if (grid.has_barriers) {
    grid.slots = (uint64_t *)shared(&slots_site, (grid.thread_count + WARP) * sizeof *grid.slots);
    run_fibers();
    return;
  }
  for (unsigned i = 0; i < grid.thread_count; i++) {
    begin_turn(i);
    grid.body(grid.kernel);
  }
}

} // namespace

void fail(const char *why) {
  fprintf(stderr, "kernel %s, block (%u,%u,%u): %s\n", grid.name, blockIdx.x, blockIdx.y,
          blockIdx.z, why);
  abort();
}

bool is_shared(const void *page) {
  for (const auto &one : shared_memory) {
    const char *bytes = one.second.bytes.get();
    if ((const char *)page >= bytes && (const char *)page < bytes + one.second.size_bytes)
      return true;
  }
  return false;
}

unsigned lane() {
  return grid.current % WARP;
}

uint64_t *warp_slots() {
  return &grid.slots[grid.current / WARP * WARP];
}

namespace {

float number_of(bool is_f16, uint32_t pair, int which) {
  const uint16_t bits = (uint16_t)(pair >> which * 16);
  if (is_f16) return f16_to_float(bits);
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* The whole product, from what all lanes have of it. */
void multiply_fragments(bool is_f16, Fragments *of) {
  enum { ROWS = 16, COLS = 8, DEPTH = 16 };
  float a[ROWS][DEPTH], b[DEPTH][COLS], sum[ROWS][COLS];
  for (int i = 0; i < WARP; i++)
    for (int w = 0; w < 4; w++)
      for (int h = 0; h < 2; h++) {
        const int col = i % 4 * 2 + h, row = i / 4;
        a[row + w % 2 * 8][col + w / 2 * 8] = number_of(is_f16, of[i].a[w], h);
        if (w < 2) b[col + w * 8][row] = number_of(is_f16, of[i].b[w], h);
        sum[row + w / 2 * 8][i % 4 * 2 + w % 2] = of[i].sum[w];
      }
  for (int r = 0; r < ROWS; r++)
    for (int d = 0; d < DEPTH; d++)
      for (int c = 0; c < COLS; c++)
        sum[r][c] += a[r][d] * b[d][c];
  for (int i = 0; i < WARP; i++)
    for (int w = 0; w < 4; w++)
      of[i].sum[w] = sum[i / 4 + w / 2 * 8][i % 4 * 2 + w % 2];
}

} // namespace

void multiply_add(bool is_f16, float *sum, const uint32_t *a, const uint32_t *b) {
  Fragments *of = &fragments[grid.current / WARP * WARP];
  Fragments *own = &of[lane()];
  memcpy(own->a, a, sizeof own->a);
  memcpy(own->b, b, sizeof own->b);
  memcpy(own->sum, sum, sizeof own->sum);
  warp_barrier(0xffffffffu);
  if (lane() == 0) multiply_fragments(is_f16, of);
  warp_barrier(0xffffffffu);
  memcpy(sum, own->sum, sizeof own->sum);
}

void *shared(const void *site, size_t size_bytes) {
  Shared &memory = shared_memory[site];
  if (memory.size_bytes < size_bytes) {
    void *bytes = nullptr;
    memory.size_bytes = size_bytes;
    if (!SHIM_ASAN) memory.size_bytes = (size_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    if (posix_memalign(&bytes, PAGE_BYTES, memory.size_bytes) != 0) fail("there is no memory");
    memory.bytes.reset((char *)bytes);
    memory.block = 0;
  }
  if (memory.block != blocks_begun) memset(memory.bytes.get(), 0xff, size_bytes);
  memory.block = blocks_begun;
  return memory.bytes.get();
}

void block_barrier() {
  if (!grid.has_barriers) fail("it has a barrier, and was launched as a kernel without");
  waiting.state[grid.current] = State::AT_BLOCK_BARRIER;
  to_scheduler();
}

void warp_barrier(unsigned mask) {
  if (!grid.has_barriers) fail("it has a warp exchange, and was launched as a kernel without");
  if (!(mask >> lane() & 1u)) fail("a thread is not of its own mask");
  waiting.mask[grid.current] = mask;
  waiting.state[grid.current] = State::AT_WARP_BARRIER;
  to_scheduler();
}

void launch(const char *name, dim3 blocks, dim3 block, bool has_barriers, Body *body,
            const void *kernel) {
  blockDim = {block.x, block.y, block.z};
  gridDim = {blocks.x, blocks.y, blocks.z};
  unsigned threads = block.x * block.y * block.z;
  grid = Grid{name, has_barriers, body, kernel, threads,
              0,    nullptr,      0,    {},     (const char *)__builtin_frame_address(0)};
  launches_begun++;
  if (threads == 0 || threads > 1024 || block.z > 64) fail("a block has 1 to 1024 threads");
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0 || blocks.y > 65535 || blocks.z > 65535 ||
      blocks.x > 0x7fffffffu)
    fail("the grid is empty, or larger than a GPU takes");
  if (has_barriers && threads % WARP != 0) fail("its last warp is not whole");
  if (has_barriers && fibers.size() < threads) fibers.resize(threads);
  uint64_t count = (uint64_t)blocks.x * blocks.y * blocks.z, start = draw(count);
  uint64_t stride = count % 3 != 0 ? 3 : count % 5 != 0 ? 5 : 1; /* visits all: no common factor */
  for (uint64_t i = 0; i < count; i++) {
    uint64_t at = (start + i * stride) % count;
    blockIdx = {(unsigned)(at % blocks.x), (unsigned)(at / blocks.x % blocks.y),
                (unsigned)(at / blocks.x / blocks.y)};
    grid.block_turn = 0;
    run_block();
  }
  grid.body = nullptr;
  running.own_high = nullptr;
}

} // namespace shim

extern "C" void cuda_host_order(uint64_t seed) {
  shim::random_state = seed * 2 + 1;
}

extern "C" void cuda_host_shared_most(int64_t bytes) {
  shim::shared_most_bytes = bytes;
}
