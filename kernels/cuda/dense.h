/* dense.h -- whether a broadcast is none: two tensors of one shape, element by element. */
#ifndef LOCKSTEP_CUDA_DENSE_H
#define LOCKSTEP_CUDA_DENSE_H

#include "kernels/kernel.h"

/* True if a kernel of two operands combines them one by one, without repeating any: as many
 * elements as this, and all of this dtype. */
static inline bool combines_all(const KernelUse *use, int64_t elements, uint32_t dtype) {
  int64_t axes = use->dim[0], inner = 1;
  bool is_dense = true;
  for (int64_t i = axes; i > 0; i--) {
    is_dense = is_dense && (use->dim[i] == 1 || use->dim[axes + i] == inner);
    inner *= use->dim[i];
  }
  for (int i = 0; i < 3; i++)
    is_dense = is_dense && use->dtype[i] == dtype;
  return is_dense && inner == elements;
}

#endif
