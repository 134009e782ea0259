/* streams.h -- a device whose queues are CUDA streams. Shared by the files of streams.c. */
#ifndef LOCKSTEP_DEVICE_CUDA_STREAMS_H
#define LOCKSTEP_DEVICE_CUDA_STREAMS_H

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/host_queue.h"
#include "runtime/device/cuda/times.h"

enum { EVENTS_FOR_QUEUES = 256, EVENTS_FOR_HOST = 8 };

/* Everything up to `number` is done when the event has completed. */
typedef struct Mark {
  uint64_t number;
  cudaEvent_t event;
} Mark;

/* The last ones, in the order of their numbers. What the host waits for is not overwritten by what
 * queues wait for, of which a step may have any number. */
typedef struct Marks {
  Mark *at;
  uint32_t room;
  uint64_t count; /* how many events were recorded */
} Marks;

typedef struct Cuda Cuda;

struct Queue {
  Cuda *cuda;
  uint32_t lane;
  cudaStream_t stream;
  HostQueue *host; /* instead of a stream; NULL */
  uint64_t issued; /* number of the last work */
  bool has_work;
  Mark for_queues[EVENTS_FOR_QUEUES], for_host[EVENTS_FOR_HOST];
  Marks marks[MarkFor_COUNT];
};

struct Graph {
  cudaGraphExec_t exec;
  uint64_t number_first, span; /* numbers that one replay takes */
};

struct Cuda {
  Device base;
  DeviceSetup setup;
  Queue *of[PLAN_LANES_MAX];
  Queue queues[PLAN_LANES_MAX];
  bool is_capturing, is_spoiled;
  Status spoiled; /* why the capture under way is */
  uint64_t captured_first;
  bool failed, is_told;
  Status status; /* of the first failure */
  Times *times;  /* NULL: nobody asks for them */
  void *window;  /* DEVICE_WINDOW_BYTES, pinned */
  void *window_at;
  uint64_t window_bytes;
  Access window_access;
};

/* False; `status` is the device's first failure, in full only the first time that it is reported.
 */
bool streams_tell(Cuda *cuda, Status *status);

/* True if `error` is success; otherwise the device has failed, or the capture under way is lost. */
bool streams_done(Cuda *cuda, cudaError_t error, const char *what, Status *status);

/* The queue has work up to `number`. */
void streams_note(Queue *queue, uint64_t number);

/* Waits until no queue has anything to do. */
bool streams_finish(Device *device, Status *status);

bool streams_open_queues(Cuda *cuda, Status *status);
void streams_close_queue(Queue *queue);

/* As in DeviceOps. */
bool streams_capture(Device *device, Status *status);
Graph *streams_captured(Device *device, Status *status);
bool streams_replay(Device *device, const Graph *graph, uint64_t number_first, Status *status);
void streams_graph_free(Graph *graph);

#endif
