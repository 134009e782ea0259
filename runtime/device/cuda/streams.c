/* streams.c -- a device whose queues are CUDA streams; those of lanes of the host are threads
 * (host_queue.h).
 *
 * Work is issued on the calling thread: kernels enqueue themselves. A mark is an event, recorded
 * after the work if the caller has announced a waiter, else when something first waits for it. Work
 * that is in the stream by then is waited for, too, which is more than necessary but cannot
 * deadlock, because all of it was issued before; the same if this many marks have followed that the
 * event is in use again. Only await, finish, windows and work of the host block; they poll with
 * short sleeps, so that a watchdog can end them. */
#include "runtime/device/cuda/streams.h"

#include <stdlib.h>
#include <time.h>

#include "runtime/device/cuda/ranges.h"

enum { LOOK_AGAIN_NS = 20000 };

/* ---- failures */

bool streams_tell(Cuda *cuda, Status *status) {
  *status = cuda->status;
  if (cuda->is_told) status->code = STATUS_ECHO;
  cuda->is_told = true;
  return false;
}

static bool streams_fail(Cuda *cuda, const Status *why, Status *status) {
  if (!cuda->failed) cuda->status = *why;
  cuda->failed = true;
  return streams_tell(cuda, status);
}

/* Nothing of a capture has run: it is lost, and the device is not. Its first failure is kept. */
static bool spoil(Cuda *cuda, const Status *why, Status *status) {
  if (!cuda->is_spoiled) cuda->spoiled = *why;
  cuda->is_spoiled = true;
  *status = cuda->spoiled;
  return false;
}

bool streams_done(Cuda *cuda, cudaError_t error, const char *what, Status *status) {
  Status why = {0};
  if (cuda_done(error, what, &why)) return true;
  if (!cuda->is_capturing) return streams_fail(cuda, &why, status);
  (void)cudaGetLastError(); /* kernels would take it for their own */
  return spoil(cuda, &why, status);
}

/* ---- issuing */

/* That work is not over is no failure. A library may keep it as the last error all the same, and
 * kernels ask for that one when they have been launched. */
static cudaError_t asked(cudaError_t answer) {
  if (answer == cudaErrorNotReady) (void)cudaGetLastError();
  return answer;
}

void streams_note(Queue *queue, uint64_t number) {
  Cuda *cuda = queue->cuda;
  if (cuda->is_capturing && cuda->captured_first == 0) cuda->captured_first = number;
  queue->issued = number;
  queue->has_work = true;
}

static bool refuse_in_capture(Cuda *cuda, const char *text, Status *status) {
  Status why = {0};
  (void)status_fail(&why, STATUS_OURS, "%s", text);
  return spoil(cuda, &why, status);
}

/* The pause between two polls. False: the end cannot come any more. */
static bool pause_looking(Cuda *cuda, Status *status) {
  Status why = {0};
  if (cuda->setup.look != NULL && !cuda->setup.look(cuda->setup.look_context, &why))
    return streams_fail(cuda, &why, status);
  nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
  return true;
}

/* False: a work of the host has failed, or is captured. True: there is room for another. */
static bool may_push(const Queue *queue, Status *status) {
  Cuda *cuda = queue->cuda;
  Status why = {0};
  if (cuda->is_capturing)
    return refuse_in_capture(cuda, "work of the host cannot be captured", status);
  while (!host_queue_has_room(queue->host))
    if (!pause_looking(cuda, status)) return false;
  return !host_queue_failed(queue->host, &why) || streams_fail(cuda, &why, status);
}

static bool push_work(Queue *queue, const Work *work, uint64_t number, Status *status) {
  if (!may_push(queue, status)) return false;
  host_queue_work(queue->host, work, number);
  streams_note(queue, number);
  return true;
}

static bool push_copy(Queue *queue, void *to, const void *from, uint64_t size_bytes,
                      uint64_t number, Status *status) {
  if (!may_push(queue, status)) return false;
  host_queue_copy(queue->host, to, from, size_bytes, number);
  streams_note(queue, number);
  return true;
}

/* An error of the GPU is returned by a later call, which then looks like its cause. */
static void doubt(const Queue *queue, Status *why) {
  if (queue->cuda->is_capturing || why->code == STATUS_ECHO) return;
  cudaError_t error = asked(cudaStreamQuery(queue->stream));
  if (error == cudaSuccess || error == cudaErrorNotReady) return;
  Status said = *why;
  (void)status_fail(why, said.code,
                    "%s; or work before it, which CUDA_LAUNCH_BLOCKING=1 tells apart", said.text);
}

static bool cuda_issue(Queue *queue, const Work *work, uint64_t number, Status *status) {
  Cuda *cuda = queue->cuda;
  Status why = {0};
  if (cuda->failed) return streams_tell(cuda, status);
  if (queue->host != NULL) return push_work(queue, work, number, status);
  if (cuda->setup.name != NULL) range_begin(cuda->setup.name(work));
  times_begin(cuda->times, queue->lane, queue->stream, work, number);
  bool issued = work->run(work, queue, &why);
  times_end(cuda->times);
  if (cuda->setup.name != NULL) range_end();
  if (!issued) doubt(queue, &why);
  if (!issued && cuda->is_capturing) {
    (void)cudaGetLastError();
    return spoil(cuda, &why, status);
  }
  if (!issued) return streams_fail(cuda, &why, status);
  streams_note(queue, number);
  return true;
}

/* CUDA refuses a copy that crosses from one registered piece of the host's memory to the next. */
static cudaError_t copy_pieces(uint8_t *to, const uint8_t *from, uint64_t size_bytes,
                               cudaStream_t stream) {
  cudaError_t error = cudaSuccess;
  for (uint64_t copied = 0, piece; copied < size_bytes && error == cudaSuccess; copied += piece) {
    piece = cuda_piece_bytes(from + copied, cuda_piece_bytes(to + copied, size_bytes - copied));
    error = cudaMemcpyAsync(to + copied, from + copied, piece, cudaMemcpyDefault, stream);
  }
  return error;
}

static bool cuda_copy(Queue *queue, void *to, const void *from, uint64_t size_bytes,
                      uint64_t number, Status *status) {
  Cuda *cuda = queue->cuda;
  if (cuda->failed) return streams_tell(cuda, status);
  if (queue->host != NULL) return push_copy(queue, to, from, size_bytes, number, status);
  times_begin(cuda->times, queue->lane, queue->stream, NULL, number);
  cudaError_t error = copy_pieces(to, from, size_bytes, queue->stream);
  times_end(cuda->times);
  streams_note(queue, number);
  return streams_done(cuda, error, "issue a copy", status);
}

/* An event after all work that was issued. NULL: it cannot be recorded. */
static const Mark *new_mark(Queue *queue, MarkFor whom, Status *status) {
  Marks *marks = &queue->marks[whom];
  Mark *mark = &marks->at[marks->count % marks->room];
  if (!streams_done(queue->cuda, cudaEventRecord(mark->event, queue->stream), "record an event",
                    status))
    return NULL;
  mark->number = queue->issued;
  marks->count++;
  return mark;
}

static bool cuda_mark(Queue *queue, MarkFor whom, Status *status) {
  if (queue->cuda->failed) return streams_tell(queue->cuda, status);
  if (queue->host != NULL) return true; /* every number is a mark */
  return new_mark(queue, whom, status) != NULL;
}

/* The first event after work `number`: an event that was recorded already, or a new one. NULL:
 * there is nothing to wait for. */
static const Mark *mark_of(Queue *queue, uint64_t number, Status *status) {
  const Mark *best = NULL;
  for (MarkFor whom = 0; whom < MarkFor_COUNT; whom++) {
    const Marks *marks = &queue->marks[whom];
    uint64_t at = marks->count > marks->room ? marks->count - marks->room : 0;
    while (at < marks->count && marks->at[at % marks->room].number < number)
      at++;
    const Mark *mark = &marks->at[at % marks->room];
    if (at < marks->count && (best == NULL || mark->number < best->number)) best = mark;
  }
  if (best != NULL || !queue->has_work) return best;
  return new_mark(queue, MARK_FOR_QUEUES, status);
}

/* Between a stream and a queue of the host, or two of these. */
static bool wait_across(Queue *queue, Queue *other, uint64_t number, Status *status) {
  Cuda *cuda = queue->cuda;
  if (cuda->is_capturing)
    return refuse_in_capture(cuda, "work of the host cannot be captured", status);
  if (queue->host != NULL && other->host != NULL)
    return status_fail(status, STATUS_OURS, "two lanes of the host wait for each other");
  if (queue->host == NULL)
    return streams_done(cuda, host_queue_awaited_by(other->host, queue->stream, number),
                        "wait for the host", status);
  return may_push(queue, status) &&
         streams_done(cuda, host_queue_wait(queue->host, other->stream), "record an event", status);
}

static bool cuda_wait(Queue *queue, const Queue *other, uint64_t number, Status *status) {
  Cuda *cuda = queue->cuda;
  if (queue == other) return true;
  if (cuda->failed) return streams_tell(cuda, status);
  if (cuda->is_capturing && (cuda->captured_first == 0 || number < cuda->captured_first))
    return refuse_in_capture(cuda, "a wait for work that is not captured cannot be captured",
                             status);
  if (queue->host == NULL) times_wait(cuda->times, queue->lane, queue->stream);
  if (queue->host != NULL || other->host != NULL)
    return wait_across(queue, &cuda->queues[other->lane], number, status);
  const Mark *mark = mark_of(&cuda->queues[other->lane], number, status);
  if (mark == NULL) return !cuda->failed && !cuda->is_spoiled;
  return streams_done(cuda, cudaStreamWaitEvent(queue->stream, mark->event, 0), "wait for an event",
                      status);
}

static Queue *cuda_queue(Device *device, uint32_t lane) {
  return ((Cuda *)device)->of[lane];
}

static uint32_t cuda_lane(const Queue *queue) {
  return queue->lane;
}

static void *cuda_stream(const Queue *queue) {
  return queue->stream;
}

/* ---- waiting */

/* True if a queue of the host has failed; the device has then, too. */
static bool host_failed(Cuda *cuda) {
  Status why = {0};
  for (uint32_t lane = 0; lane < cuda->setup.lane_count; lane++)
    if (cuda->queues[lane].host != NULL && host_queue_failed(cuda->queues[lane].host, &why)) {
      if (!cuda->failed) cuda->status = why;
      cuda->failed = true;
    }
  return cuda->failed;
}

static const char unfinished[] = "finish its work (CUDA_LAUNCH_BLOCKING=1 has the record named)";

static Progress cuda_query(const Queue *queue, uint64_t number) {
  Status status;
  Cuda *cuda = queue->cuda;
  if (cuda->failed || host_failed(cuda)) return PROGRESS_FAILED;
  if (queue->host != NULL)
    return host_queue_passed(queue->host, number) ? PROGRESS_PASSED : PROGRESS_PENDING;
  const Mark *mark = mark_of(&cuda->queues[queue->lane], number, &status);
  if (mark == NULL) return cuda->failed ? PROGRESS_FAILED : PROGRESS_PENDING;
  cudaError_t error = asked(cudaEventQuery(mark->event));
  if (error == cudaErrorNotReady) return PROGRESS_PENDING;
  if (error == cudaSuccess) return PROGRESS_PASSED;
  Status why = {0};
  (void)cuda_done(error, unfinished, &why);
  if (!cuda->failed) cuda->status = why;
  cuda->failed = true;
  return PROGRESS_FAILED;
}

static bool cuda_await(Queue *queue, uint64_t number, Status *status) {
  Progress progress;
  while ((progress = cuda_query(queue, number)) == PROGRESS_PENDING) {
    if (!pause_looking(queue->cuda, status)) return false;
  }
  return progress == PROGRESS_PASSED || streams_tell(queue->cuda, status);
}

/* Until the queue has nothing to do. */
static bool drain(const Queue *queue, Status *status) {
  Cuda *cuda = queue->cuda;
  cudaError_t error;
  while (queue->host != NULL) {
    if (host_failed(cuda)) return streams_tell(cuda, status);
    if (host_queue_is_idle(queue->host)) return true;
    if (!pause_looking(cuda, status)) return false;
  }
  while ((error = asked(cudaStreamQuery(queue->stream))) == cudaErrorNotReady) {
    if (cuda->failed || host_failed(cuda)) return streams_tell(cuda, status);
    if (!pause_looking(cuda, status)) return false;
  }
  return streams_done(cuda, error, unfinished, status);
}

bool streams_finish(Device *device, Status *status) {
  Cuda *cuda = (Cuda *)device;
  for (uint32_t lane = 0; lane < cuda->setup.lane_count; lane++)
    if (cuda->of[lane]->lane == lane && !drain(cuda->of[lane], status)) return false;
  return !cuda->failed || streams_tell(cuda, status);
}

/* Loads and files: run after the work issued before, while nothing of this queue runs. */
static bool cuda_host(Queue *queue, const Work *work, uint64_t number, Status *status) {
  Cuda *cuda = queue->cuda;
  if (cuda->is_capturing)
    return refuse_in_capture(cuda, "work of the host cannot be captured", status);
  return drain(queue, status) && cuda_issue(queue, work, number, status);
}

/* ---- windows */

static void *cuda_open_window(Device *device, void *at, uint64_t size_bytes, Access access,
                              Status *status) {
  Cuda *cuda = (Cuda *)device;
  if (size_bytes > DEVICE_WINDOW_BYTES) {
    status_fail(status, STATUS_OURS, "a window of %llu bytes", (unsigned long long)size_bytes);
    return NULL;
  }
  if (!streams_finish(device, status)) return NULL;
  cudaError_t error = cudaMemcpy(cuda->window, at, size_bytes, cudaMemcpyDefault);
  if (!streams_done(cuda, error, "read its memory", status)) return NULL;
  cuda->window_at = at, cuda->window_bytes = size_bytes, cuda->window_access = access;
  return cuda->window;
}

static bool cuda_close_window(Device *device, Status *status) {
  Cuda *cuda = (Cuda *)device;
  if (cuda->window_access == ACCESS_READ) return true;
  return streams_done(
      cuda, cudaMemcpy(cuda->window_at, cuda->window, cuda->window_bytes, cudaMemcpyDefault),
      "write its memory", status);
}

/* ---- times */

/* At the end of a window all that is in a stream must be over: CUPTI delivers no buffer before. */
static bool cuda_listen(Device *device, bool on, Status *status) {
  Cuda *cuda = (Cuda *)device;
  for (uint32_t lane = 0; lane < cuda->setup.lane_count && !on; lane++)
    if (cuda->queues[lane].stream != NULL) times_wait(cuda->times, lane, cuda->queues[lane].stream);
  if (!on && !streams_finish(device, status)) return false;
  for (uint32_t lane = 0; lane < cuda->setup.lane_count; lane++)
    if (cuda->queues[lane].host != NULL)
      host_queue_listen(cuda->queues[lane].host, on ? cuda->setup.heard : NULL,
                        cuda->setup.heard_context);
  return times_listen(cuda->times, on, cuda->of[cuda->setup.main_lane]->stream, status);
}

static const char *cuda_coarse(const Device *device) {
  return times_coarse(((const Cuda *)device)->times);
}

/* ---- beginning and end */

static void cuda_abort(Device *device) {
  Cuda *cuda = (Cuda *)device;
  Status status;
  (void)streams_fail(cuda, &(Status){.code = STATUS_ECHO}, &status);
  for (uint32_t lane = 0; lane < cuda->setup.lane_count; lane++)
    if (cuda->queues[lane].host != NULL) host_queue_abort(cuda->queues[lane].host);
}

static void cuda_close(Device *device) {
  Cuda *cuda = (Cuda *)device;
  for (uint32_t lane = 0; lane < cuda->setup.lane_count; lane++)
    host_queue_close(cuda->queues[lane].host); /* first: streams may be waiting for it */
  for (uint32_t lane = 0; lane < cuda->setup.lane_count; lane++)
    streams_close_queue(&cuda->queues[lane]);
  if (cuda->window != NULL) (void)cudaFreeHost(cuda->window);
  times_close(cuda->times);
  free(cuda);
}

Device *cuda_device_open(const DeviceSetup *setup, Status *status) {
  static const DeviceOps ops = {
      .queue = cuda_queue,
      .lane = cuda_lane,
      .stream = cuda_stream,
      .issue = cuda_issue,
      .host = cuda_host,
      .copy = cuda_copy,
      .mark = cuda_mark,
      .wait = cuda_wait,
      .query = cuda_query,
      .finish = streams_finish,
      .capture = streams_capture,
      .captured = streams_captured,
      .replay = streams_replay,
      .graph_free = streams_graph_free,
      .await = cuda_await,
      .open_window = cuda_open_window,
      .close_window = cuda_close_window,
      .listen = cuda_listen,
      .coarse = cuda_coarse,
      .abort = cuda_abort,
      .close = cuda_close,
  };
  Cuda *cuda = calloc(1, sizeof *cuda);
  if (cuda == NULL) {
    status_fail(status, STATUS_WORLD, "not enough memory for a device");
    return NULL;
  }
  cuda->base.ops = &ops;
  cuda->setup = *setup;
  if (setup->heard != NULL) cuda->times = times_open(setup, status);
  const bool has_times = setup->heard == NULL || cuda->times != NULL;
  if (has_times && streams_open_queues(cuda, status)) return &cuda->base;
  cuda_close(&cuda->base);
  return NULL;
}
