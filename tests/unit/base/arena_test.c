/* Pages of an arena come when they are used, if asked, and are counted.
 * LINK: runtime */
#include <unistd.h>

#include "runtime/device/arena.h"
#include "tests/unit/check.h"

enum { PAGES = 5000 }; /* more than are looked at together */

static void test_untouched(void) {
  size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  Status status = {0};
  Arena arena;
  CHECK(arena_open_untouched(&arena, PAGES * page_bytes, &status));
  TEST("nothing is there before it is used")
  CHECK_INT(arena_touched_bytes(&arena), 0);
  TEST("a byte takes its page, at either end and far inside") {
    arena.base[0] = 1;
    arena.base[4500 * page_bytes] = 1;
    arena.base[PAGES * page_bytes - 1] = 1;
    CHECK_INT(arena_touched_bytes(&arena), 3 * page_bytes);
  }
  TEST("the same page counts once, and what is read is used") {
    arena.base[1] = 1;
    volatile uint8_t byte = arena.base[7 * page_bytes];
    CHECK_INT(byte, 0);
    CHECK_INT(arena_touched_bytes(&arena), 4 * page_bytes);
  }
  TEST("what is written beyond the end shows") {
    arena.base[PAGES * page_bytes] = 1;
    CHECK_INT(arena_touched_bytes(&arena), 5 * page_bytes);
  }
  arena_close(&arena);
}

static void test_ready(void) {
  size_t size_bytes = (size_t)PAGES * 4096;
  Status status = {0};
  Arena arena;
  TEST("all pages of an arena for speed are there at once") {
    CHECK(arena_open(&arena, size_bytes, &status));
    CHECK(arena_touched_bytes(&arena) >= size_bytes);
    arena_close(&arena);
  }
}

int main(void) {
  test_untouched();
  test_ready();
  CHECK_DONE();
}
