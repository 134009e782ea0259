/* Records are JSON, one a line, whole, whatever is in them. */
#include <stdlib.h>
#include <unistd.h>

#include "tests/gpu/common/probe.h"
#include "tests/gpu/common/record.h"
#include "tests/gpu/common/text_file.h"
#include "tests/unit/check.h"

static bool fails(void) {
  FAIL("%d is not %s", 7, "seven");
}

int main(void) {
  char path[] = "/tmp/record_test_XXXXXX";
  int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);

  TEST("a failed case carries its reason, and the next one does not") {
    Results *results = results_open(path);
    record_begin(results, "unit", "first \"case\"");
    record_text(results, "text", "tab\there, back\\slash");
    record_number(results, "time_us", 1.5);
    record_number(results, "nothing", (double)NAN);
    record_integer(results, "large", INT64_C(1) << 60);
    record_end(results, fails());
    record_begin(results, "unit", "second");
    record_bool(results, "flag", true);
    record_end(results, true);
    CHECK(!results_close(results));
    char *text = text_file_read(path);
    CHECK_TEXT(text,
               "{\"probe\": \"unit\", \"case\": \"first \\\"case\\\"\", "
               "\"text\": \"tab\\u0009here, back\\\\slash\", \"time_us\": 1.5, \"nothing\": null, "
               "\"large\": 1152921504606846976, \"ok\": false, "
               "\"error\": \"record_test.c:11: 7 is not seven\"}\n"
               "{\"probe\": \"unit\", \"case\": \"second\", \"flag\": true, \"ok\": true}\n");
    free(text);
  }
  TEST("results that all ended well say so") {
    Results *results = results_open(path);
    record_begin(results, "unit", "only");
    record_end(results, true);
    CHECK(results_close(results));
  }
  TEST("a file that is not there is a failure with its name") {
    CHECK(text_file_read("/nonexistent/file") == NULL);
    CHECK(strstr(probe_failure(), "/nonexistent/file: No such file") != NULL);
  }
  remove(path);
  CHECK_DONE();
}
