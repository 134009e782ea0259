/* cupti.h -- when works ran, by the activity records of CUPTI, NVIDIA's library for profilers: it
 * is loaded when a run asks for times, and never linked. CUPTI has one subscriber and one stream of
 * records for the whole process, with all GPUs of its ranks. */
#ifndef LOCKSTEP_DEVICE_CUDA_CUPTI_H
#define LOCKSTEP_DEVICE_CUDA_CUPTI_H

#include "runtime/device/device.h"

/* Loads CUPTI from `path` (NULL: where it is installed) and subscribes; to be called before the
 * process has a CUDA context. A second call has the first one's answer. False: `status` says why
 * there are no times by CUPTI. */
bool cupti_open(const char *path, Status *status);

/* A number for a device of this process. False: cupti_open has failed, or was not called. */
bool cupti_add(uint32_t *device, Status *status);
void cupti_remove(uint32_t device);

/* Begins a window of the device, all of whose work has ended; or ends it, and tells when the works
 * that were issued in it ran. False: the window does not count; `status` says why, with code
 * STATUS_DONE if the next one may. */
bool cupti_listen(uint32_t device, Status *status);
bool cupti_tell(uint32_t device, DeviceHeard *heard, void *context, Status *status);

/* All launches from here to cupti_end belong to the work: those of the calling thread, and those of
 * a library's threads in the same context. */
void cupti_begin(uint32_t device, uint64_t number);
void cupti_end(uint32_t device);

/* Works between these two calls are captured: nodes of the graph get their numbers. */
void cupti_capture(uint32_t device, bool on);

#endif
