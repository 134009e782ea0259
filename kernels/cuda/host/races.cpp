/* races.cpp -- ends the program where a kernel's threads touch the same memory, one of them writing
 * it, and no barrier orders the two; and where a pack is not at a multiple of its size.
 *
 * The kernels are compiled as for the thread sanitizer, which calls a function before each access:
 * here are those functions. Threads of a block are ordered by its barriers, lanes of a warp also by
 * their exchanges, blocks of a launch by nothing, launches by the stream. What a barrier orders may
 * still be wrong, but then the order of fibers, drawn at random, shows it. */
#include <unordered_map>

#include "kernels/cuda/host/shim.h"

namespace {

enum { PAGE_BYTES = 4096, UNIT_BYTES = 2, UNITS = PAGE_BYTES / UNIT_BYTES };

const uint32_t MANY = UINT32_MAX;

/* The threads that have touched a unit of memory since the last ordering between them. */
struct Touch {
  uint32_t run; /* launch of global memory, block of shared memory; 0: nobody */
  uint32_t block, warp, thread;
  uint32_t block_turn, warp_turn; /* the last ones */
};

struct Page {
  bool is_shared;
  Touch read[UNITS], written[UNITS];
};

/* Touches of one launch; the next launch may use the same memory for something else. */
thread_local std::unordered_map<uintptr_t, Page> pages;
thread_local uint32_t launch;
thread_local uintptr_t page_number;
thread_local Page *page;

Page *page_of(uintptr_t address) {
  if (page != nullptr && page_number == address / PAGE_BYTES) return page;
  page_number = address / PAGE_BYTES;
  auto found = pages.find(page_number);
  if (found == pages.end()) {
    found = pages.emplace(page_number, Page{}).first;
    found->second.is_shared = shim::is_shared((const void *)(page_number * PAGE_BYTES));
  }
  return page = &found->second;
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
  shim::Place place;
  if (!shim::place(&place) || shim::is_own(at)) return;
  if (launch != place.launch) pages.clear(), page = nullptr;
  launch = place.launch;
  uintptr_t first = (uintptr_t)at;
  if (first % align_bytes != 0) shim::fail("a pack is not at a multiple of its size");
  for (uintptr_t address = first; address < first + size_bytes; address += UNIT_BYTES) {
    Page *in = page_of(address);
    uintptr_t unit = address % PAGE_BYTES / UNIT_BYTES;
    Touch now = {in->is_shared ? place.block : place.launch,
                 place.block,
                 place.warp,
                 place.thread,
                 place.block_turn,
                 place.warp_turn};
    Touch *written = &in->written[unit], *read = &in->read[unit];
    if (!is_before(*written, now) || (writes && !is_before(*read, now)))
      shim::fail(in->is_shared ? "threads race for shared memory" : "threads race for memory");
    if (writes)
      *written = now;
    else
      add(read, now);
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
