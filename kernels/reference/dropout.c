/* dropout.c -- zeroes a share `rate` of the elements and scales the others by 1 / (1 - rate).
 *
 * Which ones depends on the job's seed, the op, the step and the element's number in the global
 * batch: the same mask comes out again in backward, in a recomputation, and on any number of ranks.
 */
#include "kernels/math/dropout.h"

#include "kernels/math/philox.h"
#include "kernels/reference/access.h"

void reference_dropout(const KernelArgs *args) {
  Tensor x = tensor(args, 0), y = tensor(args, 1);
  DropoutShape shape = dropout_shape(args);
  shape.sample_first = *args->sample_first;
  int64_t n = shape.batch * shape.seq * shape.outer * shape.part * shape.inner;
  uint64_t key = philox_mix(kernel_seed(args), args->key);
  uint32_t threshold = philox_threshold(args->attr[0]);
  double scale = 1 / (1 - args->attr[0]);
  for (int64_t i = 0; i < n; i++) {
    bool keep = philox_keep(key, kernel_step(args), dropout_element(&shape, i), threshold);
    store(y, i, keep ? load(x, i) * scale : 0);
  }
}
