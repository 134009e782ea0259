/* Text from outside in the files that are written, and their names.   LINK: base */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/base/base.h"
#include "tests/unit/check.h"

int main(void) {
  TEST("text in XML has no markup, control bytes or bytes that are not UTF-8") {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    print_xml_text("a<b & \"c\" \x01\xff \xc3\xa9", out);
    CHECK(fclose(out) == 0);
    CHECK(strcmp(text, "a&lt;b &amp; &quot;c&quot; ?? \xc3\xa9") == 0);
    free(text);
  }
  TEST("no file is renamed over a link or a device, which is written itself") {
    char link[64], target[] = "/tmp/lockstep-text-XXXXXX";
    CHECK(mkdtemp(target) != NULL);
    (void)snprintf(link, sizeof link, "%s/link", target);
    Arena *arena = arena_new();
    CHECK(strcmp(file_beside(arena, link), arena_printf(arena, "%s.new", link)) == 0);
    CHECK(symlink("/dev/null", link) == 0);
    CHECK(strcmp(file_beside(arena, link), link) == 0);
    CHECK(strcmp(file_beside(arena, "/dev/null"), "/dev/null") == 0);
    file_forget(link, link);
    CHECK(unlink(link) == 0);
    CHECK(rmdir(target) == 0);
    arena_free(arena);
  }
  TEST("text of any length is whole") {
    Arena *arena = arena_new();
    char text[2048] = "";
    for (size_t length = 500; length < sizeof text; length += 7) {
      memset(text, 'a', length);
      text[length - 1] = 'z', text[length] = 0;
      CHECK(strcmp(arena_printf(arena, "%s", text), text) == 0);
    }
    arena_free(arena);
  }
  return check_failures > 0;
}
