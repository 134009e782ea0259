/* The messages for a library that is missing, or older than what is asked of it.
 * LINK: runtime */
#include <unistd.h>

#include "runtime/process/library.h"
#include "tests/unit/check.h"

typedef double Function(double x);
static Function *cosine, *absent, *sine;

static bool load_of(const char *const *places, size_t place_count, const LibraryCall *calls,
                    size_t count, Status *status) {
  const LibraryCall more[] = {{"sin", &sine}, {"no_such_function", &absent}};
  const Library library = {.name = "libm",
                           .places = places,
                           .place_count = place_count,
                           .calls = calls,
                           .call_count = count,
                           .more = more,
                           .more_count = 2,
                           .missing = "install it",
                           .older = "install a newer one"};
  *status = (Status){0};
  return library_load(&library, status);
}

static bool load(const char *place, const LibraryCall *calls, size_t count, Status *status) {
  return load_of(&place, 1, calls, count, status);
}

/* The second of two places has no library. */
static void check_broken(const LibraryCall *calls) {
  char path[64];
  const char *const places[] = {path, "libno-such-library.so.7"};
  Status status;
  (void)snprintf(path, sizeof path, "/tmp/lockstep_broken_%d.so", (int)getpid());
  FILE *file = fopen(path, "w");
  CHECK(file != NULL && fputs("this is no library, whatever its name says, and so long that the "
                              "loader reads a header",
                              file) >= 0);
  if (file != NULL) (void)fclose(file);
  CHECK(!load_of(places, 2, calls, 1, &status));
  CHECK(strstr(status.text, path) != NULL);
  CHECK(strstr(status.text, "no-such-library") == NULL);
  (void)unlink(path);
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
  TEST("one that is there and broken is named, though it is not anywhere else") {
    check_broken(calls);
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
