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

/* An access is described in registers: in memory, what was written in parts and is read whole
 * stalls. */
#define INLINE   __attribute__((always_inline)) inline
#define NOINLINE __attribute__((noinline))

namespace {

enum { PAGE_BYTES = 4096, WORD_BYTES = 4, WORDS = PAGE_BYTES / WORD_BYTES };

const uint32_t MANY = UINT32_MAX, SPLIT = UINT32_MAX;
const uint16_t MANY_HERE = UINT16_MAX;

/* The threads that have touched some memory since the last ordering between them. */
struct Touch {
  uint32_t run; /* even: launch of global memory; odd: block of shared memory; 0: nobody */
  uint32_t block;
  uint16_t warp, thread;
  uint32_t block_turn, warp_turn; /* the last ones */
};

/* Of a word that is split, `written.run` is SPLIT and nothing else counts. */
struct Touches {
  Touch read, written;
};

/* Most accesses are whole words, and a word has one entry. Where a part of a word is accessed
 * (bf16, codes), its four bytes have one each until the word is written whole, or the launch ends.
 */
struct Page {
  uint32_t launch; /* of the last look at `is_shared`: the next launch may use the page otherwise */
  bool is_shared, has_split;
  Touches word[WORDS];
  std::unique_ptr<Touches[]> byte; /* of words that are split */
};

/* Pages stay between launches, because most cases touch the same few; `run` tells touches apart. */
enum { PAGES_MOST = 2048 };
thread_local std::unordered_map<uintptr_t, Page> pages;

/* Pages that this launch has touched, each in the place of its number: a kernel goes to and fro
 * between a few. */
enum { FOUND = 256 };
struct Found {
  uintptr_t number;
  Page *page;
  uint32_t launch; /* 0: none */
  bool is_shared;
};
__thread Found found[FOUND];

__thread uint32_t forgotten; /* the launch that last took room for its pages */

/* Drops the pages that this launch has not touched. */
void forget(uint32_t launch) {
  forgotten = launch;
  for (auto at = pages.begin(); at != pages.end();)
    at = at->second.launch != launch ? pages.erase(at) : std::next(at);
}

void join(Page *page) {
  for (Touches &word : page->word)
    if (word.written.run == SPLIT) word = {};
  page->has_split = false;
}

/* A page that is new, that this launch has not touched, or that another one took the place of. */
NOINLINE const Found &find_page(uintptr_t number, uint32_t launch) {
  auto at = pages.find(number);
  if (at == pages.end()) {
    if (pages.size() >= PAGES_MOST && forgotten != launch) forget(launch);
    at = pages.try_emplace(number).first;
  }
  Page *page = &at->second;
  if (page->launch != launch) {
    page->is_shared = shim::is_shared((const void *)(number * PAGE_BYTES));
    page->launch = launch;
    if (page->has_split) join(page);
  }
  Found &place = found[number % FOUND];
  place = {number, page, launch, page->is_shared};
  return place;
}

INLINE const Found &page_of(uintptr_t address, uint32_t launch) {
  uintptr_t number = address / PAGE_BYTES;
  const Found &place = found[number % FOUND];
  return place.number == number && place.launch == launch ? place : find_page(number, launch);
}

NOINLINE void split(Page *in, uintptr_t word) {
  if (in->byte == nullptr) in->byte.reset(new Touches[PAGE_BYTES]);
  std::fill_n(&in->byte[word * WORD_BYTES], (size_t)WORD_BYTES, in->word[word]);
  in->word[word].written.run = SPLIT;
  in->has_split = true;
}

INLINE bool is_before(const Touch &then, const Touch &now) {
  return then.run != now.run || (then.block == now.block &&
                                 (then.thread == now.thread || then.block_turn < now.block_turn ||
                                  (then.warp == now.warp && then.warp_turn < now.warp_turn)));
}

INLINE void add(Touch *all, const Touch &now) {
  if (is_before(*all, now)) {
    *all = now;
    return;
  }
  all->thread = MANY_HERE;
  if (all->warp != now.warp || all->block != now.block) all->warp = MANY_HERE;
  if (all->block != now.block) all->block = MANY;
  if (all->block_turn < now.block_turn) all->block_turn = now.block_turn;
  if (all->warp_turn < now.warp_turn) all->warp_turn = now.warp_turn;
}

[[noreturn]] NOINLINE void race(const Found &in) {
  shim::fail(in.is_shared ? "threads race for shared memory" : "threads race for memory");
}

INLINE void touch_one(const Found &in, Touches *at, const Touch &now, bool writes) {
  if (!is_before(at->written, now) || (writes && !is_before(at->read, now))) race(in);
  if (writes)
    at->written = now;
  else
    add(&at->read, now);
}

/* A part of a word, or a word of which a part was touched before. */
NOINLINE void touch_bytes(const Found &in, uintptr_t first, uintptr_t end, Touch now, bool writes) {
  uintptr_t word = first / WORD_BYTES;
  if (in.page->word[word].written.run != SPLIT) split(in.page, word);
  for (uintptr_t byte = first; byte < end; byte++)
    touch_one(in, &in.page->byte[byte], now, writes);
  /* An access that is ordered after a write of the whole word is ordered after all earlier reads,
   * too. */
  if (end - first == WORD_BYTES && writes) in.page->word[word] = {{}, now};
}

INLINE Touch touch_now(const Found &in, const shim::Place &place) {
  return {in.is_shared ? 2 * place.block + 1 : 2 * place.launch,
          place.block,
          (uint16_t)place.warp,
          (uint16_t)place.thread,
          place.block_turn,
          place.warp_turn};
}

INLINE void touch_word(const Found &in, uintptr_t first, const Touch &now, bool writes) {
  Touches *at = &in.page->word[first / WORD_BYTES];
  if (at->written.run == SPLIT)
    touch_bytes(in, first, first + WORD_BYTES, now, writes);
  else
    touch_one(in, at, now, writes);
}

/* Parts of words, and what may lie on two pages. */
NOINLINE void touch_parts(uintptr_t address, size_t size_bytes, bool writes,
                          const shim::Place &place) {
  for (uintptr_t end = address + size_bytes, next; address < end; address = next) {
    const Found &in = page_of(address, place.launch);
    const Touch now = touch_now(in, place);
    const uintptr_t first = address % PAGE_BYTES;
    next = std::min(end, (address | (WORD_BYTES - 1)) + 1);
    if (next - address == WORD_BYTES)
      touch_word(in, first, now, writes);
    else
      touch_bytes(in, first, first + (next - address), now, writes);
  }
}

INLINE bool is_own(const char *at, const shim::Running &running) {
  const char *low = running.own_low;
  if (low == nullptr) low = (const char *)__builtin_frame_address(0);
  return at >= low && at < running.own_high;
}

/* Inlined where the length is known: aligned words are on one page. */
INLINE void touch(const void *at, size_t size_bytes, bool writes, size_t align_bytes) {
  const shim::Running &running = shim::running;
  if (running.own_high == nullptr || is_own((const char *)at, running)) return;
  const shim::Place &place = running.place;
  uintptr_t address = (uintptr_t)at;
  if (address % align_bytes != 0) shim::fail("a vector is not at a multiple of its size");
  if (align_bytes < WORD_BYTES) {
    touch_parts(address, size_bytes, writes, place);
    return;
  }
  const Found &in = page_of(address, place.launch);
  const Touch now = touch_now(in, place);
  for (size_t i = 0; i < size_bytes; i += WORD_BYTES)
    touch_word(in, address % PAGE_BYTES + i, now, writes);
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
