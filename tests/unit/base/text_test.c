/* Text from outside in the files that are written.   LINK: base */
#include <stdlib.h>
#include <string.h>

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
  return check_failures > 0;
}
