/* The peak that MFU refers to, beside other work on the machine. LINK: runtime */
#include "runtime/metrics/peak.h"
#include "tests/unit/check.h"

/* A machine of 100 GFLOP/s, on which the products whose bit is set take a second longer. */
typedef struct Machine {
  int32_t products, last_size;
  uint64_t disturbed;
} Machine;

static double product(void *context, int32_t size) {
  Machine *m = (Machine *)context;
  const bool waits = m->disturbed >> m->products & 1;
  m->products++;
  m->last_size = size;
  return 2.0 * size * size * size / 100e9 + (waits ? 1 : 0);
}

int main(void) {
  TEST("a quiet machine: all sizes, as many of each as its time allows") {
    Machine m = {0};
    CHECK_NEAR(peak_of(product, &m).flops_per_s, 100e9, 1);
    CHECK_INT(m.last_size, 1024);
  }
  TEST("the first product waits for a processor: the next ones say how fast the machine is") {
    Machine m = {.disturbed = 1};
    const Peak peak = peak_of(product, &m);
    CHECK_NEAR(peak.flops_per_s, 100e9, 1);
    CHECK_INT(peak.size, 64);
  }
  TEST("three of four products wait") {
    Machine m = {.disturbed = 0x7};
    CHECK_NEAR(peak_of(product, &m).flops_per_s, 100e9, 1);
  }
  CHECK_DONE();
}
