/* What is said where a library is missing, or older than what is asked of it.
 * LINK: runtime */
#include "runtime/library.h"
#include "tests/unit/check.h"

typedef double Function(double x);
static Function *cosine, *absent, *sine;

static bool load(const char *place, const LibraryCall *calls, size_t count, Status *status) {
  const LibraryCall more[] = {{"sin", &sine}, {"no_such_function", &absent}};
  const Library library = {.name = "libm",
                           .places = &place,
                           .place_count = 1,
                           .calls = calls,
                           .call_count = count,
                           .more = more,
                           .more_count = 2,
                           .missing = "install it",
                           .older = "install a newer one"};
  *status = (Status){0};
  return library_load(&library, status);
}

int main(void) {
  const LibraryCall calls[] = {{"cos", &cosine}, {"no_such_function", &absent}};
  Status status;
  TEST("one that is not there is named, with what to do") {
    CHECK(!load("libno-such-library.so.7", calls, 1, &status));
    CHECK_TEXT(status.text,
               "libm cannot be loaded (libno-such-library.so.7: cannot open shared object file: No "
               "such file or directory): install it");
    CHECK_INT(status.code, STATUS_USER);
  }
  TEST("one that lacks a call is named with the call") {
    CHECK(!load("libm.so.6", calls, 2, &status));
    CHECK_TEXT(status.text, "this libm has no no_such_function: install a newer one");
    CHECK_INT(status.code, STATUS_USER);
  }
  TEST("calls that older ones lack are there or NULL") {
    absent = cosine = sine = NULL;
    CHECK(load("libm.so.6", calls, 1, &status));
    CHECK(cosine != NULL && cosine(0) == 1);
    CHECK(sine != NULL && sine(0) == 0);
    CHECK(absent == NULL);
  }
  CHECK_DONE();
}
