/* times.h -- when the works of a device's streams ran: by CUPTI (cupti.h), work by work; or, where
 * it cannot be used, by events around the works of one call of a segment on a lane, between two
 * waits. Events around single kernels would make small ones several times as long. */
#ifndef LOCKSTEP_DEVICE_CUDA_TIMES_H
#define LOCKSTEP_DEVICE_CUDA_TIMES_H

#include "runtime/device/cuda/cuda.h"

typedef struct Times Times;

/* For a device whose setup wants to hear of times. NULL: no memory. */
Times *times_open(const DeviceSetup *setup, Status *status);
void times_close(Times *times); /* NULL is allowed, here and below */

/* NULL: works are timed one by one; otherwise the reason why calls are. */
const char *times_coarse(const Times *times);

/* Between runs, when `stream` and all others are done. False: what was told does not count. */
bool times_listen(Times *times, bool on, cudaStream_t stream, Status *status);

/* Around the launches of a work, a copy if it is NULL, to the lane's stream. */
void times_begin(Times *times, uint32_t lane, cudaStream_t stream, const Work *work,
                 uint64_t number);
/* Around the launch of a graph, whose works have numbers larger by this than when captured. */
void times_begin_graph(Times *times, uint64_t more);
void times_end(Times *times);
/* Before the lane's stream waits for another one. */
void times_wait(Times *times, uint32_t lane, cudaStream_t stream);
/* False: the device's works could not be timed in a graph; `status` says why. */
bool times_capture(Times *times, bool on, Status *status);

#endif
