/* streams_open.c -- makes a stream and its events, or a queue of the host, for each lane. */
#include "runtime/device/cuda/streams.h"

void streams_close_queue(Queue *queue) {
  for (MarkFor whom = 0; whom < MarkFor_COUNT; whom++)
    for (uint32_t i = 0; i < queue->marks[whom].room; i++)
      if (queue->marks[whom].at[i].event != NULL)
        (void)cudaEventDestroy(queue->marks[whom].at[i].event);
  if (queue->stream != NULL) (void)cudaStreamDestroy(queue->stream);
}

/* Communication gets priority over computation: it is short, and peers wait for it. */
static bool open_queue(Cuda *cuda, uint32_t lane, Status *status) {
  Queue *queue = &cuda->queues[lane];
  int least = 0, greatest = 0;
  cuda->of[lane] = queue;
  if (!cuda_done(cudaDeviceGetStreamPriorityRange(&least, &greatest), "ask for priorities", status))
    return false;
  int priority = lane == cuda->setup.main_lane ? least : greatest;
  if (!cuda_done(cudaStreamCreateWithPriority(&queue->stream, cudaStreamNonBlocking, priority),
                 "make a stream", status))
    return false;
  queue->marks[MARK_FOR_QUEUES] = (Marks){queue->for_queues, EVENTS_FOR_QUEUES, 0};
  queue->marks[MARK_FOR_HOST] = (Marks){queue->for_host, EVENTS_FOR_HOST, 0};
  for (MarkFor whom = 0; whom < MarkFor_COUNT; whom++)
    for (uint32_t i = 0; i < queue->marks[whom].room; i++)
      if (!cuda_done(
              cudaEventCreateWithFlags(&queue->marks[whom].at[i].event, cudaEventDisableTiming),
              "make an event", status))
        return false;
  return true;
}

bool streams_open_queues(Cuda *cuda, Status *status) {
  const DeviceSetup *setup = &cuda->setup;
  for (uint32_t lane = 0; lane < setup->lane_count; lane++)
    cuda->queues[lane].cuda = cuda, cuda->queues[lane].lane = lane;
  if (!open_queue(cuda, setup->main_lane, status)) return false;
  for (uint32_t lane = 0; lane < setup->lane_count; lane++) {
    if (lane == setup->main_lane) continue;
    cuda->of[lane] = cuda->of[setup->main_lane];
    if ((setup->host_mask >> lane & 1u) != 0) {
      cuda->of[lane] = &cuda->queues[lane];
      cuda->of[lane]->host = host_queue_open(cuda->of[lane], status);
      if (cuda->of[lane]->host == NULL) return false;
    } else if ((setup->queues_mask >> lane & 1u) != 0 && !open_queue(cuda, lane, status)) {
      return false;
    }
  }
  return cuda_done(cudaHostAlloc(&cuda->window, DEVICE_WINDOW_BYTES, cudaHostAllocDefault),
                   "pin a window", status);
}
