/* init.c -- initial values: element i is a function of the job's seed, the tensor's key and i. */
#include "kernels/philox.h"
#include "kernels/reference/access.h"

void reference_init_normal(const KernelArgs *args) {
  Tensor out = tensor(args, 0);
  uint64_t key = philox_mix(args->control->seed, args->key);
  int64_t n = args->dim[0];
  for (int64_t first = 0; first < n; first += 4) {
    uint32_t word[4];
    double normal[4];
    philox4(key, 0, (uint64_t)first / 4, word);
    philox_normal4(word, normal);
    for (int64_t i = first; i < n && i < first + 4; i++)
      store(out, i, args->attr[0] + args->attr[1] * normal[i - first]);
  }
}

void reference_init_uniform(const KernelArgs *args) {
  Tensor out = tensor(args, 0);
  uint64_t key = philox_mix(args->control->seed, args->key);
  double low = args->attr[0], high = args->attr[1];
  int64_t n = args->dim[0];
  for (int64_t first = 0; first < n; first += 4) {
    uint32_t word[4];
    philox4(key, 0, (uint64_t)first / 4, word);
    for (int64_t i = first; i < n && i < first + 4; i++)
      store(out, i, low + (high - low) * philox_uniform(word[i - first]));
  }
}

void reference_init_constant(const KernelArgs *args) {
  Tensor out = tensor(args, 0);
  for (int64_t i = 0; i < args->dim[0]; i++)
    store(out, i, args->attr[0]);
}
