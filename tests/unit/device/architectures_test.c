/* Which GPUs run kernels that were compiled for a list of architectures. */
#include "runtime/device/cuda/architectures.h"
#include "tests/unit/check.h"

int main(void) {
  TEST("code runs on later GPUs of its major version, and 90a on 9.0 alone") {
    CHECK(architectures_cover("80, 90a", 8, 0) && architectures_cover("80, 90a", 8, 9));
    CHECK(architectures_cover("80, 90a", 9, 0));
    CHECK(!architectures_cover("90a", 9, 1) && !architectures_cover("86", 8, 0));
    CHECK(!architectures_cover("80, 90a, 100", 12, 0) && !architectures_cover("80", 7, 5));
  }
  TEST("PTX is for every later GPU") {
    CHECK(architectures_cover("80, 90a, 80+PTX", 12, 0));
    CHECK(architectures_cover("90a, 80+PTX", 8, 6));
    CHECK(!architectures_cover("80, 80+PTX", 7, 5));
  }
  CHECK_DONE();
}
