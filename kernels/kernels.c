/* kernels.c -- the registry. */
#include <string.h>

#include "kernels/kernel.h"
#include "kernels/variants.h"

typedef struct Entry {
  const char *name;
  KernelFn variant[2]; /* indexed by KernelVariant */
} Entry;

static const Entry entries[] = {
#define KERNEL(name, variant, ...) {#name, {reference_##name, variant(name)}},
#include "kernels/kernels.def"
#undef KERNEL
};

KernelFn kernel_find(const char *name, KernelVariant variant) {
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
    if (strcmp(entries[i].name, name) == 0) return entries[i].variant[variant];
  return NULL;
}

void kernels_prepare(Threads *threads) {
  cpu_prepare(threads);
}
