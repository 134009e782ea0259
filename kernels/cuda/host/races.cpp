/* races.cpp -- ends the program where a kernel's threads touch the same memory, one of them writing
 * it, and no barrier orders the two; and where a vector is not at a multiple of its size.
 *
 * The kernels are compiled as for the thread sanitizer, which calls a function before each access:
 * here are those functions. Threads of a block are ordered by its barriers, lanes of a warp also by
 * their exchanges, blocks of a launch by nothing, launches by the stream. What a barrier orders may
 * still be wrong, but then the order of fibers, drawn at random, shows it. */
#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "kernels/cuda/host/shim.h"

namespace {

enum { PAGE_BYTES = 4096, WORD_BYTES = 4, WORDS = PAGE_BYTES / WORD_BYTES };

const uint32_t MANY = UINT32_MAX;

/* The threads that have touched some memory since the last ordering between them. */
struct Touch {
  uint32_t run; /* even: launch of global memory; odd: block of shared memory; 0: nobody */
  uint32_t block, warp, thread;
  uint32_t block_turn, warp_turn; /* the last ones */
};

struct Touches {
  Touch read, written;
};

/* Most accesses are whole words, and a word has one entry. Where a part of a word is accessed
 * (bf16, codes), its four bytes have one each until the word is written whole, or the launch ends.
 */
struct Page {
  uint32_t launch; /* of the last look at `is_shared`: the next launch may use the page otherwise */
  bool is_shared, has_split;
  bool is_split[WORDS];
  Touches word[WORDS];
  std::unique_ptr<Touches[]> byte; /* of words that are split */
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
    if (page->has_split) std::fill_n(page->is_split, (size_t)WORDS, false);
    page->has_split = false;
  }
  return page;
}

void split(Page *in, uintptr_t word) {
  if (in->byte == nullptr) in->byte.reset(new Touches[PAGE_BYTES]);
  std::fill_n(&in->byte[word * WORD_BYTES], (size_t)WORD_BYTES, in->word[word]);
  in->is_split[word] = in->has_split = true;
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

void touch_one(const Page *in, Touches *at, const Touch &now, bool writes) {
  if (!is_before(at->written, now) || (writes && !is_before(at->read, now)))
    shim::fail(in->is_shared ? "threads race for shared memory" : "threads race for memory");
  if (writes)
    at->written = now;
  else
    add(&at->read, now);
}

void touch_word(Page *in, uintptr_t first, uintptr_t end, const Touch &now, bool writes) {
  uintptr_t word = first / WORD_BYTES;
  bool is_whole = end - first == WORD_BYTES;
  if (!is_whole && !in->is_split[word]) split(in, word);
  if (!in->is_split[word]) {
    touch_one(in, &in->word[word], now, writes);
    return;
  }
  for (uintptr_t byte = first; byte < end; byte++)
    touch_one(in, &in->byte[byte], now, writes);
  if (!is_whole || !writes) return;
  /* An access that is ordered after this write is ordered after all earlier reads, too. */
  in->word[word] = {{}, now};
  in->is_split[word] = false;
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
    uintptr_t page_at = address - address % PAGE_BYTES;
    for (; address < end && address < page_at + PAGE_BYTES;) {
      uintptr_t next = std::min(end, (address | (WORD_BYTES - 1)) + 1);
      touch_word(in, address - page_at, next - page_at, now, writes);
      address = next;
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
