/* host_queue.h -- a queue of a CUDA device whose work the host's processor does: a thread of this
 * process, in order. Private to runtime/device/cuda.
 *
 * A stream waits for it by a word in pinned memory, which the thread advances (stream memory
 * operations); callbacks of streams would share one thread, and one that waits would stop them all.
 * The thread waits for a stream by an event that it polls. */
#ifndef LOCKSTEP_DEVICE_CUDA_HOST_QUEUE_H
#define LOCKSTEP_DEVICE_CUDA_HOST_QUEUE_H

#include "runtime/device/cuda/cuda.h"

typedef struct HostQueue HostQueue;

/* Works are run with `queue`. NULL: `status` says why. */
HostQueue *host_queue_open(Queue *queue, Status *status);

/* True if something can be pushed. One that is full empties itself: its thread waits only for work
 * that was issued earlier. */
bool host_queue_has_room(const HostQueue *host);

void host_queue_work(HostQueue *host, const Work *work, uint64_t number);
void host_queue_copy(HostQueue *host, void *to, const void *from, uint64_t size_bytes,
                     uint64_t number);
/* Work pushed later starts after the work that is in the stream now. */
cudaError_t host_queue_wait(HostQueue *host, cudaStream_t stream);

/* Work put into the stream later starts after work `number`. */
cudaError_t host_queue_awaited_by(HostQueue *host, cudaStream_t stream, uint64_t number);

/* From now on `heard` is called with the times of its works; NULL: nobody is. */
void host_queue_listen(HostQueue *host, DeviceHeard *heard, void *context);

bool host_queue_passed(const HostQueue *host, uint64_t number);
bool host_queue_is_idle(const HostQueue *host);
/* True if a work has failed, and writes the reason; what came later was dropped. */
bool host_queue_failed(HostQueue *host, Status *why);

/* Drops queued work, and releases streams that wait for it. */
void host_queue_abort(HostQueue *host);
void host_queue_close(HostQueue *host);

#endif
