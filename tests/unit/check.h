/* check.h -- the whole test harness: named tests, checks that print what they saw. */
#ifndef LOCKSTEP_TESTS_CHECK_H
#define LOCKSTEP_TESTS_CHECK_H

#include <math.h>
#include <stdio.h>
#include <string.h>

static int check_failures;
static const char *check_test_name = "";

#define TEST(sentence) for (int once_ = (check_test_name = (sentence), 1); once_; once_ = 0)

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s:%d: \"%s\": failed: %s\n", __FILE__, __LINE__, check_test_name, #condition);      \
      check_failures++;                                                                            \
    }                                                                                              \
  } while (0)

#define CHECK_INT(got, want)                                                                       \
  do {                                                                                             \
    long long got_ = (long long)(got), want_ = (long long)(want);                                  \
    if (got_ != want_) {                                                                           \
      printf("%s:%d: \"%s\": %s is %lld, want %lld\n", __FILE__, __LINE__, check_test_name, #got,  \
             got_, want_);                                                                         \
      check_failures++;                                                                            \
    }                                                                                              \
  } while (0)

#define CHECK_NEAR(got, want, tolerance)                                                           \
  do {                                                                                             \
    double got_ = (double)(got), want_ = (double)(want);                                           \
    if (!(fabs(got_ - want_) <= (tolerance))) {                                                    \
      printf("%s:%d: \"%s\": %s is %.17g, want %.17g +- %g\n", __FILE__, __LINE__,                 \
             check_test_name, #got, got_, want_, (double)(tolerance));                             \
      check_failures++;                                                                            \
    }                                                                                              \
  } while (0)

#define CHECK_TEXT(got, want)                                                                      \
  do {                                                                                             \
    const char *got_ = (got), *want_ = (want);                                                     \
    if (strcmp(got_, want_) != 0) {                                                                \
      printf("%s:%d: \"%s\": got\n  %s\nwant\n  %s\n", __FILE__, __LINE__, check_test_name, got_,  \
             want_);                                                                               \
      check_failures++;                                                                            \
    }                                                                                              \
  } while (0)

#define CHECK_DONE()                                                                               \
  do {                                                                                             \
    if (check_failures) printf("%d checks failed\n", check_failures);                              \
    return check_failures ? 1 : 0;                                                                 \
  } while (0)

#endif
