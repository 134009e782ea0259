/* rank_stop.h: a stop text is found in pieces exactly where it is in the text.
 * LINK: runtime */
#include <stdlib.h>
#include <unistd.h>

#include "runtime/rank/rank_stop.h"
#include "tests/unit/check.h"

enum { IDS = 6, ROUNDS = 300, TOKENS = 40, TEXT_BYTES = 256, STOP_MOST = 5 };

static const char *const pieces[IDS] = {"a", "b", "ab", "ba", "aab", ""};
static char path[] = "/tmp/lockstep_stop_XXXXXX";

/* is_cut: half of the pieces are missing. */
static void write_file(const char *stop, bool is_cut) {
  FILE *file = fopen(path, "wb");
  const StopHead head = {(uint32_t)strlen(stop), IDS};
  uint64_t end = 0;
  CHECK(file != NULL && fwrite(&head, sizeof head, 1, file) == 1);
  CHECK(fwrite(&end, sizeof end, 1, file) == 1);
  for (int i = 0; i < 2 * IDS; i++) {
    end += strlen(pieces[i % IDS]);
    CHECK(fwrite(&end, sizeof end, 1, file) == 1);
  }
  CHECK(fputs(stop, file) >= 0);
  for (int i = 0; i < (is_cut ? IDS : 2 * IDS); i++)
    CHECK(fputs(pieces[i % IDS], file) >= 0);
  CHECK(fclose(file) == 0);
}

static void check_text(const StopText *stop, const char *wanted) {
  char text[TEXT_BYTES] = "";
  size_t length = 0;
  uint32_t matched = 0;
  bool found = false;
  for (int i = 0; i < TOKENS && !found; i++) {
    const int64_t id = rand() % IDS;
    length += (size_t)snprintf(text + length, sizeof text - length, "%s", pieces[id]);
    found = stop_takes(stop, &matched, id, i == 0);
    CHECK_INT(found, strstr(text, wanted) != NULL);
  }
}

int main(void) {
  Status status = {0};
  StopText stop;
  const int made = mkstemp(path);
  CHECK(made >= 0 && close(made) == 0);
  TEST("texts that overlap with themselves, in pieces of any length") {
    for (int round = 0; round < ROUNDS; round++) {
      char wanted[STOP_MOST + 1] = "";
      for (int i = 0, length = 1 + rand() % STOP_MOST; i < length; i++)
        wanted[i] = rand() % 2 == 0 ? 'a' : 'b';
      write_file(wanted, false);
      CHECK(stop_open(&stop, path, &status));
      check_text(&stop, wanted);
      stop_close(&stop);
    }
  }
  TEST("a file that is cut off; none at all") {
    write_file("ab", true);
    CHECK(!stop_open(&stop, path, &status));
    stop_close(&stop);
    CHECK(unlink(path) == 0 && stop_open(&stop, path, &status));
    CHECK_INT(stop.length, 0);
    stop_close(&stop);
  }
  CHECK_DONE();
}
