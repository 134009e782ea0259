/* cuda_host_rank.c -- lockstep-rank, and tests of a GPU, whose GPUs are this processor: linked in
 * place of the loader of the CUDA back end. */
#include "tests/parity/cuda_host.h"

const CudaPlugin *cuda_plugin(Status *status) {
  (void)status;
  return cuda_host_plugin(0);
}
