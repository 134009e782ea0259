/* LINK: json
 * JSON from outside: values, places of errors, and the limits. */
#include <errno.h>
#include <stdlib.h>

#include "runtime/json/json.h"
#include "tests/unit/check.h"

static JsonFault fault;

static json_t *read_text(const char *text) {
  fault = (JsonFault){0};
  return json_read(text, strlen(text), &fault);
}

static char *repeated(const char *begin, const char *text, size_t times) {
  size_t length = strlen(text), head = strlen(begin);
  char *all = malloc(head + length * times + 1);
  if (!all) abort();
  memcpy(all, begin, head + 1);
  for (size_t i = 0; i < times; i++)
    memcpy(all + head + i * length, text, length + 1);
  return all;
}

static void test_values(void) {
  TEST("keys of an object, by type") {
    json_t *value = read_text("{\"a\": 7, \"b\": \"x\", \"c\": 1.5}");
    CHECK(value != NULL);
    CHECK_INT(json_whole(value, "a", -1), 7);
    CHECK_INT(json_whole(value, "c", -1), -1);
    CHECK_INT(json_whole(value, "none", -1), -1);
    CHECK_TEXT(json_text(value, "b"), "x");
    CHECK(json_text(value, "a") == NULL);
    json_decref(value);
  }
}

static void test_refused(void) {
  TEST("an error has its place") {
    CHECK(read_text("{\"a\": 7,}") == NULL);
    CHECK_INT(fault.first_byte, 8);
    CHECK(read_text("{} x") == NULL);
    CHECK(read_text("") == NULL);
    CHECK(read_text("\"\\u0000\"") == NULL);
    CHECK(read_text("[\"a") == NULL);
    CHECK(read_text("\"\\") == NULL);
    CHECK(read_text("[99999999999999999999]") == NULL);
  }
  TEST("a key that occurs twice") {
    CHECK(read_text("{\"a\": 1, \"a\": 2}") == NULL);
    CHECK(strstr(fault.why, "duplicate") != NULL);
  }
  TEST("depth and number of values are limited, also inside strings they do not count") {
    char *deep = repeated("", "[", 40), *many = repeated("[", "1,", JSON_VALUES_MAX);
    CHECK(read_text(deep) == NULL);
    CHECK_TEXT(fault.why, "brackets nest too deep");
    CHECK(read_text(many) == NULL);
    CHECK_TEXT(fault.why, "too many values");
    free(deep);
    free(many);
    json_t *value = read_text("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[[[\"]");
    CHECK(value != NULL);
    json_decref(value);
  }
  TEST("a file that is absent or too long") {
    int failure;
    CHECK(json_read_file("/nowhere/x.json", 100, &failure, &fault) == NULL);
    CHECK_INT(failure, ENOENT);
    CHECK(json_read_file("/proc/self/exe", 100, &failure, &fault) == NULL);
    CHECK_INT(failure, 0);
  }
}

int main(void) {
  test_values();
  test_refused();
  CHECK_DONE();
}
