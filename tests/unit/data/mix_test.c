/* The source of each sample of a mix.
 * LINK: samples */
#include <math.h>
#include <stdlib.h>

#include "runtime/data/mix.h"
#include "tests/unit/check.h"

enum { SOURCES_MOST = 40, POSITIONS = 4000 };

/* Each source has its share of every prefix of the stream, and its samples come in order. */
static void check_mix(const double *weight, int32_t count) {
  int64_t seen[SOURCES_MOST] = {0};
  double sum = 0, farthest = 0;
  Mix mix;
  for (int32_t i = 0; i < count; i++)
    sum += weight[i];
  CHECK(mix_make(&mix, weight, count));
  for (int64_t at = 0; at < POSITIONS; at++) {
    int64_t nth;
    const int32_t source = mix_at(&mix, at, &nth);
    CHECK(source >= 0 && source < count && nth == seen[source]);
    seen[source]++;
    for (int32_t i = 0; i < count; i++)
      farthest = fmax(farthest, fabs((double)seen[i] - (double)(at + 1) * weight[i] / sum));
  }
  CHECK(farthest <= 2);
  mix_free(&mix);
}

int main(void) {
  TEST("each beginning of the stream has the shares of the sources") {
    double equal[SOURCES_MOST], falling[SOURCES_MOST], apart[SOURCES_MOST];
    for (int32_t i = 0; i < SOURCES_MOST; i++) {
      equal[i] = 0.1;
      falling[i] = 1 / (double)(i + 1);
      apart[i] = pow(1.7, i);
    }
    for (int32_t count = 1; count <= SOURCES_MOST; count += 3) {
      check_mix(equal, count);
      check_mix(falling, count);
      check_mix(apart, count);
    }
    check_mix((double[]){5, 1}, 2);
    check_mix((double[]){1, 1e9, 3}, 3);
    check_mix((double[]){1, 2, 1, 1, 3, 2, 2}, 7);
  }
  TEST("a place far down the stream is found without those before it") {
    Mix mix;
    int64_t nth = 0, before = 0;
    const int64_t far = (int64_t)1 << 60;
    CHECK(mix_make(&mix, (double[]){5, 1}, 2));
    int32_t ones = 0;
    for (int64_t at = far; at < far + 6; at++)
      if (mix_at(&mix, at, &nth) == 1) ones++, before = nth;
    CHECK_INT(ones, 1);
    CHECK(llabs(before - far / 6) <= far >> 40);
    mix_free(&mix);
  }
  CHECK_DONE();
}
