/* prepare.c -- what the fast paths create once, before the first step. */
#include "kernels/variants.h"

void cpu_prepare(Threads *threads) {
  (void)threads;
}
