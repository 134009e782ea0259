/* measure.h -- the clock by which products are chosen (kernels/cuda/products_timed.h), and the
 * memory that they are tried in. */
#ifndef LOCKSTEP_DEVICE_CUDA_MEASURE_H
#define LOCKSTEP_DEVICE_CUDA_MEASURE_H

#include <stdint.h>

/* CudaPlugin.lend. */
void cuda_lend(void *memory, uint64_t size_bytes);

#endif
