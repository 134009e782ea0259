/* races.cpp -- ends the program where a kernel's threads touch the same memory, one of them writing
 * it, and no barrier orders the two; and where a vector is not at a multiple of its size.
 *
 * The kernels are compiled as for the thread sanitizer, which calls a function before each access:
 * here are those functions. Threads of a block are ordered by its barriers, lanes of a warp also by
 * their exchanges, blocks of a launch by nothing, launches by the stream. What a barrier orders may
 * still be wrong, but then the order of fibers, drawn at random, shows it. */
#include <iterator>
#include <unordered_map>

#include "kernels/cuda/host/shim.h"

namespace {

enum { PAGE_BYTES = 4096, UNIT_BYTES = 1, UNITS = PAGE_BYTES / UNIT_BYTES }; /* codes are bytes */

const uint32_t MANY = UINT32_MAX;

/* The threads that have touched a unit of memory since the last ordering between them. */
struct Touch {
  uint32_t run; /* even: launch of global memory; odd: block of shared memory; 0: nobody */
  uint32_t block, warp, thread;
  uint32_t block_turn, warp_turn; /* the last ones */
};

struct Page {
  uint32_t launch; /* of the last look at `is_shared`: the next launch may use the page otherwise */
  bool is_shared;
  Touch read[UNITS], written[UNITS];
};

/* Pages stay between launches, because most cases touch the same few; `run` tells touches apart. */
enum { PAGES_MOST = 2048 };
thread_local std::unordered_map<uintptr_t, Page> pages;
__thread uintptr_t page_number; /* the last one that was found */
__thread Page *page;

__thread uint32_t forgotten; /* the launch that last took room for its pages */

/* Drops the pages that this launch has not touched. */
void forget(uint32_t launch) {
  forgotten = launch;
  for (auto at = pages.begin(); at != pages.end();)
    at = at->second.launch != launch ? pages.erase(at) : std::next(at);
}

Page *page_of(uintptr_t address, uint32_t launch) {
  if (page != nullptr && page_number == address / PAGE_BYTES && page->launch == launch) return page;
  page_number = address / PAGE_BYTES;
  auto found = pages.find(page_number);
  if (found == pages.end()) {
    if (pages.size() >= PAGES_MOST && forgotten != launch) forget(launch);
    found = pages.try_emplace(page_number).first;
  }
  page = &found->second;
  if (page->launch != launch) {
    page->is_shared = shim::is_shared((const void *)(page_number * PAGE_BYTES));
    page->launch = launch;
  }
  return page;
}

bool is_before(const Touch &then, const Touch &now) {
  return then.run != now.run || (then.block == now.block &&
                                 (then.thread == now.thread || then.block_turn < now.block_turn ||
                                  (then.warp == now.warp && then.warp_turn < now.warp_turn)));
}

void add(Touch *all, const Touch &now) {
  if (is_before(*all, now)) {
    *all = now;
    return;
  }
  all->thread = MANY;
  if (all->warp != now.warp || all->block != now.block) all->warp = MANY;
  if (all->block != now.block) all->block = MANY;
  if (all->block_turn < now.block_turn) all->block_turn = now.block_turn;
  if (all->warp_turn < now.warp_turn) all->warp_turn = now.warp_turn;
}

void touch(const void *at, size_t size_bytes, bool writes, size_t align_bytes) {
  const shim::Running &running = shim::running;
  if (running.own_high == nullptr) return;
  const char *low = running.own_low;
  if (low == nullptr) low = (const char *)__builtin_frame_address(0);
  if ((const char *)at >= low && (const char *)at < running.own_high) return;
  const shim::Place &place = running.place;
  uintptr_t address = (uintptr_t)at, end = address + size_bytes;
  if (address % align_bytes != 0) shim::fail("a vector is not at a multiple of its size");
  while (address < end) {
    Page *in = page_of(address, place.launch);
    Touch now = {in->is_shared ? 2 * place.block + 1 : 2 * place.launch,
                 place.block,
                 place.warp,
                 place.thread,
                 place.block_turn,
                 place.warp_turn};
    uintptr_t unit = address % PAGE_BYTES / UNIT_BYTES;
    for (; address < end && unit < UNITS; unit++, address += UNIT_BYTES) {
      Touch *written = &in->written[unit], *read = &in->read[unit];
      if (!is_before(*written, now) || (writes && !is_before(*read, now)))
        shim::fail(in->is_shared ? "threads race for shared memory" : "threads race for memory");
      if (writes)
        *written = now;
      else
        add(read, now);
    }
  }
}

} // namespace

extern "C" {
#define ACCESS(bytes)                                                                              \
  void __tsan_read##bytes(void *at) {                                                              \
    touch(at, bytes, false, bytes);                                                                \
  }                                                                                                \
  void __tsan_write##bytes(void *at) {                                                             \
    touch(at, bytes, true, bytes);                                                                 \
  }                                                                                                \
  void __tsan_unaligned_read##bytes(void *at) {                                                    \
    touch(at, bytes, false, 1);                                                                    \
  }                                                                                                \
  void __tsan_unaligned_write##bytes(void *at) {                                                   \
    touch(at, bytes, true, 1);                                                                     \
  }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
void __tsan_read_range(void *at, size_t size_bytes) {
  touch(at, size_bytes, false, 1);
}
void __tsan_write_range(void *at, size_t size_bytes) {
  touch(at, size_bytes, true, 1);
}
void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
}
