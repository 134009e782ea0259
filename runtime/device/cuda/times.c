#include "runtime/device/cuda/times.h"

#include <stdlib.h>
#include <time.h>

#include "runtime/device/cuda/cupti.h"

/* The works of one call on one lane, or one communication: from one event to the next. */
typedef struct TimedSpan {
  uint64_t number; /* of its first work */
  cudaEvent_t start, end;
} TimedSpan;

typedef struct LaneSpan {
  uint64_t call;
  int64_t open; /* index of its span; -1: none */
  bool is_comm;
} LaneSpan;

struct Times {
  DeviceHeard *heard;
  void *heard_context;
  uint64_t call_numbers;
  bool has_cupti, listens, has_replayed;
  uint32_t device;  /* cupti.h */
  Status coarse;    /* why CUPTI is not used */
  TimedSpan *spans; /* their events are made once */
  int64_t count, room;
  LaneSpan lane[PLAN_LANES_MAX];
  cudaEvent_t base;
  int64_t base_ns;
  cudaError_t error;
};

Times *times_open(const DeviceSetup *setup, Status *status) {
  Times *times = calloc(1, sizeof *times);
  if (times == NULL) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory for times");
    return NULL;
  }
  times->heard = setup->heard;
  times->heard_context = setup->heard_context;
  times->call_numbers = setup->call_numbers > 0 ? setup->call_numbers : 1;
  times->has_cupti = cupti_add(&times->device, &times->coarse);
  return times;
}

void times_close(Times *times) {
  if (times == NULL) return;
  if (times->has_cupti) cupti_remove(times->device);
  for (int64_t i = 0; i < times->room; i++) {
    if (times->spans[i].start != NULL) (void)cudaEventDestroy(times->spans[i].start);
    if (times->spans[i].end != NULL) (void)cudaEventDestroy(times->spans[i].end);
  }
  if (times->base != NULL) (void)cudaEventDestroy(times->base);
  free(times->spans);
  free(times);
}

const char *times_coarse(const Times *times) {
  return times == NULL || times->has_cupti ? NULL : times->coarse.text;
}

/* ---- events; the first error is kept, and the window does not count */

static bool did(Times *times, cudaError_t error) {
  if (times->error == cudaSuccess) times->error = error;
  if (error != cudaSuccess) (void)cudaGetLastError(); /* kernels would take it for their own */
  return times->error == cudaSuccess;
}

static bool make_room(Times *times) {
  if (times->count < times->room) return true;
  const int64_t larger = times->room > 0 ? 2 * times->room : 256;
  TimedSpan *spans = realloc(times->spans, (size_t)larger * sizeof *spans);
  if (spans == NULL) return did(times, cudaErrorMemoryAllocation);
  times->spans = spans;
  for (; times->room < larger; times->room++)
    spans[times->room] = (TimedSpan){.start = NULL};
  return true;
}

static void begin_span(Times *times, LaneSpan *lane, cudaStream_t stream, uint64_t number) {
  if (!make_room(times)) return;
  TimedSpan *span = &times->spans[times->count];
  if ((span->start == NULL && !did(times, cudaEventCreateWithFlags(&span->start, 0))) ||
      (span->end == NULL && !did(times, cudaEventCreateWithFlags(&span->end, 0))) ||
      !did(times, cudaEventRecord(span->start, stream)))
    return;
  span->number = number;
  lane->open = times->count++;
}

static void end_span(Times *times, LaneSpan *lane, cudaStream_t stream) {
  if (lane->open < 0) return;
  (void)did(times, cudaEventRecord(times->spans[lane->open].end, stream));
  lane->open = -1;
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The stream is empty, so the base event's time is nearly the host's when it is over. */
static bool listen_by_events(Times *times, cudaStream_t stream, Status *status) {
  times->error = cudaSuccess;
  times->count = 0;
  times->has_replayed = false;
  for (uint32_t lane = 0; lane < PLAN_LANES_MAX; lane++)
    times->lane[lane].open = -1;
  const bool done =
      (times->base != NULL || did(times, cudaEventCreateWithFlags(&times->base, 0))) &&
      did(times, cudaEventRecord(times->base, stream)) &&
      did(times, cudaEventSynchronize(times->base));
  times->base_ns = now_ns();
  return done || cuda_done(times->error, "time calls by events", status);
}

static bool since_base(Times *times, cudaEvent_t event, int64_t *ns) {
  float ms = 0;
  const bool done = did(times, cudaEventElapsedTime(&ms, times->base, event));
  *ns = times->base_ns + (int64_t)((double)ms * 1e6);
  return done;
}

/* All streams are done; each lane's last span ended when `times_listen` was asked. */
static bool tell_spans(Times *times, Status *status) {
  for (int64_t i = 0; i < times->count && times->error == cudaSuccess; i++) {
    const TimedSpan *span = &times->spans[i];
    int64_t start_ns = 0, end_ns = 0;
    if (since_base(times, span->start, &start_ns) && since_base(times, span->end, &end_ns))
      times->heard(times->heard_context, span->number, start_ns, end_ns);
  }
  if (times->has_replayed)
    return status_fail(status, STATUS_WORLD,
                       "a graph that was captured before has no events around its calls");
  return cuda_done(times->error, "time calls by events", status);
}

/* ---- either */

static bool tell_by_cupti(Times *times, Status *status) {
  Status why = {0};
  if (cupti_tell(times->device, times->heard, times->heard_context, &why)) return true;
  *status = why;
  if (why.code == STATUS_DONE) return false;
  cupti_remove(times->device);
  times->has_cupti = false;
  times->coarse = why;
  return false;
}

bool times_listen(Times *times, bool on, cudaStream_t stream, Status *status) {
  const bool did_listen = times != NULL && times->listens;
  if (times == NULL || on == did_listen) return true;
  times->listens = on;
  if (times->has_cupti)
    return on ? cupti_listen(times->device, status) : tell_by_cupti(times, status);
  return on ? listen_by_events(times, stream, status) : tell_spans(times, status);
}

void times_begin(Times *times, uint32_t lane, cudaStream_t stream, const Work *work,
                 uint64_t number) {
  if (times == NULL || (work != NULL && work->record == NULL)) return;
  if (times->has_cupti) cupti_begin(times->device, number);
  if (times->has_cupti || !times->listens || work == NULL) return;
  LaneSpan *at = &times->lane[lane];
  const uint64_t call = number / times->call_numbers;
  const bool is_comm = work->record->comm != PLAN_NONE;
  if (at->open >= 0 && at->call == call && at->is_comm == is_comm) return;
  end_span(times, at, stream);
  at->call = call, at->is_comm = is_comm;
  begin_span(times, at, stream, number);
}

void times_begin_graph(Times *times, uint64_t more) {
  if (times == NULL) return;
  if (times->has_cupti) cupti_begin(times->device, more);
  times->has_replayed = true;
}

void times_end(Times *times) {
  if (times != NULL && times->has_cupti) cupti_end(times->device);
}

void times_wait(Times *times, uint32_t lane, cudaStream_t stream) {
  if (times != NULL && times->listens && !times->has_cupti)
    end_span(times, &times->lane[lane], stream);
}

bool times_capture(Times *times, bool on, Status *status) {
  if (times == NULL) return true;
  if (times->has_cupti) cupti_capture(times->device, on);
  return times->has_cupti || !on ||
         status_fail(status, STATUS_WORLD, "its calls are timed by events, which a graph has not");
}
