#include "runtime/device/cuda/cupti.h"

#if __has_include(<cupti.h>)

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/device/cuda/join.h"
#include "runtime/process/library.h"

enum { BUFFER_BYTES = 1 << 20, BUFFER_ALIGN = 8 };

typedef struct CuptiApi {
  CUptiResult(CUPTIAPI *version)(uint32_t *version);
  CUptiResult(CUPTIAPI *result_text)(CUptiResult result, const char **text);
  CUptiResult(CUPTIAPI *subscribe)(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                                   void *data);
  CUptiResult(CUPTIAPI *enable_callback)(uint32_t enable, CUpti_SubscriberHandle handle,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id);
  CUptiResult(CUPTIAPI *register_buffers)(CUpti_BuffersCallbackRequestFunc wanted,
                                          CUpti_BuffersCallbackCompleteFunc completed);
  CUptiResult(CUPTIAPI *register_clock)(CUpti_TimestampCallbackFunc clock);
  CUptiResult(CUPTIAPI *enable)(CUpti_ActivityKind kind);
  CUptiResult(CUPTIAPI *disable)(CUpti_ActivityKind kind);
  CUptiResult(CUPTIAPI *flush)(uint32_t flag);
  CUptiResult(CUPTIAPI *next)(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record);
  CUptiResult(CUPTIAPI *dropped)(CUcontext context, uint32_t stream, size_t *count);
  CUptiResult(CUPTIAPI *push)(CUpti_ExternalCorrelationKind kind, uint64_t id);
  CUptiResult(CUPTIAPI *pop)(CUpti_ExternalCorrelationKind kind, uint64_t *last);
  CUptiResult(CUPTIAPI *node_id)(CUgraphNode node, uint64_t *id);
} CuptiApi;

typedef struct Listener {
  bool is_taken, listens, captures;
  /* the context in which its thread launches; NULL: not known yet */
  _Atomic(CUcontext) context;
  _Atomic uint64_t under_way;     /* external id of the work that is being issued; 0: none */
  _Atomic uint64_t under_capture; /* number of that work in a capture, plus 1; 0: none */
} Listener;

static struct {
  pthread_mutex_t window; /* held while one begins or ends: switching takes several calls */
  pthread_mutex_t lock;   /* of the rest but the atomics; CUPTI's callbacks take it */
  CuptiApi api;
  bool is_tried, is_open, with_calls;
  Status problem;
  CUpti_SubscriberHandle subscriber;
  Join join;
  Listener listener[JOIN_DEVICES_MAX];
  uint32_t listening;
} cupti = {.window = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

/* The device whose work the calling thread issues, plus 1; 0: none, as in threads of NCCL. */
static _Thread_local uint32_t issuing;
static _Thread_local bool has_pushed; /* in a callback, for the time of a launch */

static bool good(CUptiResult result, const char *what, Status *status) {
  const char *text = "an error that it does not name";
  if (result == CUPTI_SUCCESS) return true;
  (void)cupti.api.result_text(result, &text);
  return status_fail(status, STATUS_WORLD, "CUPTI cannot %s: %s", what, text);
}

/* ---- records */

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *records) {
  *buffer = aligned_alloc(BUFFER_ALIGN, BUFFER_BYTES);
  *size = *buffer != NULL ? BUFFER_BYTES : 0;
  *records = 0; /* as many as fit */
}

/* Records of later versions begin as these do. */
static void take_record(const CUpti_Activity *record) {
  Join *join = &cupti.join;
  if (record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
    const CUpti_ActivityExternalCorrelation *r = (const void *)record;
    if (r->externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
      join_name(join, r->correlationId, r->externalId);
  } else if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const CUpti_ActivityKernel9 *r = (const void *)record;
    join_activity(join, &(JoinActivity){r->graphNodeId, (int64_t)r->start, (int64_t)r->end,
                                        r->correlationId});
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    const CUpti_ActivityMemcpy5 *r = (const void *)record;
    join_activity(join, &(JoinActivity){r->graphNodeId, (int64_t)r->start, (int64_t)r->end,
                                        r->correlationId});
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
    const CUpti_ActivityMemcpyPtoP4 *r = (const void *)record;
    join_activity(join, &(JoinActivity){r->graphNodeId, (int64_t)r->start, (int64_t)r->end,
                                        r->correlationId});
  } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
    const CUpti_ActivityMemset4 *r = (const void *)record;
    join_activity(join, &(JoinActivity){r->graphNodeId, (int64_t)r->start, (int64_t)r->end,
                                        r->correlationId});
  }
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid_bytes) {
  CUpti_Activity *record = NULL;
  (void)context, (void)stream, (void)size;
  pthread_mutex_lock(&cupti.lock);
  while (valid_bytes > 0 && cupti.api.next(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
    take_record(record);
  pthread_mutex_unlock(&cupti.lock);
  free(buffer);
}

/* The clock that all other times of a run use. */
static uint64_t CUPTIAPI clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- callbacks */

/* A node is created while a work is captured, perhaps by a thread of NCCL's, or copied when the
 * graph is made executable. */
static void see_node(CUpti_CallbackId id, const CUpti_GraphData *data) {
  uint64_t node = 0, original = 0, number = 0;
  if (cupti.api.node_id(data->node, &node) != CUPTI_SUCCESS) return;
  for (uint32_t i = 0; i < JOIN_DEVICES_MAX && number == 0; i++)
    if (issuing == 0 || issuing == i + 1) number = atomic_load(&cupti.listener[i].under_capture);
  const bool is_copy = id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
  if (is_copy && cupti.api.node_id(data->originalNode, &original) != CUPTI_SUCCESS) return;
  pthread_mutex_lock(&cupti.lock);
  if (is_copy)
    join_copied_node(&cupti.join, node, original);
  else if (number != 0)
    join_node(&cupti.join, node, number - 1);
  pthread_mutex_unlock(&cupti.lock);
}

/* NCCL launches from threads of its own, which have no external id: they get that of the work that
 * is being issued in their context. */
static void see_launch(const CUpti_CallbackData *call) {
  uint64_t external = 0;
  if (issuing != 0) {
    atomic_store(&cupti.listener[issuing - 1].context, call->context);
    return;
  }
  if (call->callbackSite == CUPTI_API_EXIT) {
    if (has_pushed) (void)cupti.api.pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL);
    has_pushed = false;
    return;
  }
  for (uint32_t i = 0; i < JOIN_DEVICES_MAX && external == 0; i++)
    if (atomic_load(&cupti.listener[i].context) == call->context)
      external = atomic_load(&cupti.listener[i].under_way);
  has_pushed = external != 0 &&
               cupti.api.push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, external) == CUPTI_SUCCESS;
}

static void CUPTIAPI called(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *data) {
  (void)user;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE)
    see_node(id, ((const CUpti_ResourceData *)data)->resourceDescriptor);
  else
    see_launch(data);
}

/* ---- opening */

static bool find_calls(const char *path, Status *status) {
#define CUPTI_TEXT(number) #number
#define CUPTI_FILE(major)  "libcupti.so." CUPTI_TEXT(major)
#if CUDART_VERSION >= 13000
#define FILE_NAME CUPTI_FILE(13)
#else
#define FILE_NAME CUPTI_FILE(12)
#endif
  const char *const places[] = {FILE_NAME, "/usr/local/cuda/extras/CUPTI/lib64/" FILE_NAME,
                                "/usr/local/cuda/lib64/" FILE_NAME};
  CuptiApi *api = &cupti.api;
  const LibraryCall calls[] = {
      {"cuptiGetVersion", &api->version},
      {"cuptiGetResultString", &api->result_text},
      {"cuptiSubscribe", &api->subscribe},
      {"cuptiEnableCallback", &api->enable_callback},
      {"cuptiActivityRegisterCallbacks", &api->register_buffers},
      {"cuptiActivityRegisterTimestampCallback", &api->register_clock},
      {"cuptiActivityEnable", &api->enable},
      {"cuptiActivityDisable", &api->disable},
      {"cuptiActivityFlushAll", &api->flush},
      {"cuptiActivityGetNextRecord", &api->next},
      {"cuptiActivityGetNumDroppedRecords", &api->dropped},
      {"cuptiActivityPushExternalCorrelationId", &api->push},
      {"cuptiActivityPopExternalCorrelationId", &api->pop},
      {"cuptiGetGraphNodeId", &api->node_id},
  };
  const Library library = {
      .name = "CUPTI",
      .places = path != NULL ? &path : places,
      .place_count = path != NULL ? 1 : sizeof places / sizeof *places,
      .calls = calls,
      .call_count = sizeof calls / sizeof *calls,
      .missing = "install the CUPTI of the CUDA toolkit, or add its folder to LD_LIBRARY_PATH",
      .older = "install that of the toolkit that built lockstep_cuda.so",
  };
  return library_load(&library, status);
}

/* Records have the layout of one version. */
static bool has_version(Status *status) {
  uint32_t version = 0;
  if (!good(cupti.api.version(&version), "tell its version", status)) return false;
  return version == CUPTI_API_VERSION ||
         status_fail(status, STATUS_USER,
                     "CUPTI has version %u, and lockstep_cuda.so was built for version %u: install "
                     "that of the toolkit that built it",
                     version, (unsigned)CUPTI_API_VERSION);
}

static bool subscribe(Status *status) {
  const CuptiApi *api = &cupti.api;
  static const CUpti_CallbackId nodes[] = {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                           CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};
  CUptiResult result = api->subscribe(&cupti.subscriber, called, NULL);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    return status_fail(status, STATUS_WORLD,
                       "CUPTI has another subscriber: a profiler or debugger runs this process");
  bool done = good(result, "subscribe", status);
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes && done; i++)
    done = good(api->enable_callback(1, cupti.subscriber, CUPTI_CB_DOMAIN_RESOURCE, nodes[i]),
                "tell of nodes of graphs", status);
  return done && good(api->register_clock(clock_ns), "take a clock", status) &&
         good(api->register_buffers(give_buffer, take_buffer), "take buffers", status);
}

bool cupti_open(const char *path, Status *status) {
  pthread_mutex_lock(&cupti.lock);
  if (!cupti.is_tried)
    cupti.is_open = find_calls(path, &cupti.problem) && has_version(&cupti.problem) &&
                    subscribe(&cupti.problem);
  cupti.is_tried = true;
  const bool is_open = cupti.is_open;
  if (!is_open) *status = cupti.problem;
  pthread_mutex_unlock(&cupti.lock);
  return is_open;
}

bool cupti_add(uint32_t *device, Status *status) {
  pthread_mutex_lock(&cupti.lock);
  uint32_t at = 0;
  while (at < JOIN_DEVICES_MAX && cupti.listener[at].is_taken)
    at++;
  const bool found = cupti.is_open && at < JOIN_DEVICES_MAX;
  if (found) cupti.listener[at].is_taken = true;
  if (!found && cupti.is_tried && !cupti.is_open)
    *status = cupti.problem;
  else if (!found)
    (void)status_fail(status, STATUS_OURS, "CUPTI was not opened before the GPU");
  pthread_mutex_unlock(&cupti.lock);
  *device = at;
  return found;
}

void cupti_remove(uint32_t device) {
  Listener *listener = &cupti.listener[device];
  Status status;
  if (listener->listens) (void)cupti_tell(device, NULL, NULL, &status);
  pthread_mutex_lock(&cupti.lock);
  listener->is_taken = listener->captures = false;
  atomic_store(&listener->context, NULL);
  pthread_mutex_unlock(&cupti.lock);
}

/* ---- windows */

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

/* Calls of the driver that kernels, copies and clears come from. */
static const CUpti_CallbackId launches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoDAsync_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoDAsync_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeerAsync_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async,
    CUPTI_DRIVER_TRACE_CBID_cuMemsetD32Async_ptsz,
};

static bool switch_records(bool on, Status *status) {
  const CuptiApi *api = &cupti.api;
  bool done = true;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && done; i++)
    done = good((on ? api->enable : api->disable)(kinds[i]), "switch records", status);
  if (cupti.with_calls && done)
    done = good((on ? api->enable : api->disable)(CUPTI_ACTIVITY_KIND_DRIVER), "switch records",
                status);
  for (size_t i = 0; i < sizeof launches / sizeof *launches && done; i++)
    done = good(api->enable_callback(on, cupti.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i]),
                "switch callbacks", status);
  return done;
}

bool cupti_listen(uint32_t device, Status *status) {
  pthread_mutex_lock(&cupti.window);
  cupti.listener[device].listens = true;
  const bool done = cupti.listening++ > 0 || switch_records(true, status);
  pthread_mutex_unlock(&cupti.window);
  return done;
}

/* If the library gives external ids only together with records of calls, the next window has these
 * switched on. */
static bool judge(size_t told, size_t dropped, Status *status) {
  const bool lacks_names =
      told == 0 && cupti.join.activities_count > 0 && cupti.join.names_count == 0;
  if (dropped > 0) return status_fail(status, STATUS_WORLD, "CUPTI dropped %zu records", dropped);
  if (cupti.join.is_short)
    return status_fail(status, STATUS_WORLD, "CUPTI or its reader had no room for records");
  if (!lacks_names) return true;
  const bool again = !cupti.with_calls;
  cupti.with_calls = true;
  return status_fail(status, again ? STATUS_DONE : STATUS_WORLD,
                     "CUPTI gives kernels without external ids");
}

static bool end_window(uint32_t device, DeviceHeard *heard, void *context, Status *status) {
  size_t dropped = 0;
  const bool is_last = --cupti.listening == 0;
  cupti.listener[device].listens = false;
  bool done = good(cupti.api.flush(0), "deliver its records", status) &&
              good(cupti.api.dropped(NULL, 0, &dropped), "count dropped records", status);
  if (is_last) done = switch_records(false, status) && done;
  pthread_mutex_lock(&cupti.lock);
  const size_t told = heard != NULL ? join_tell(&cupti.join, device, heard, context) : 1;
  if (done) done = judge(told, dropped, status);
  if (is_last) join_clear(&cupti.join);
  pthread_mutex_unlock(&cupti.lock);
  return done;
}

bool cupti_tell(uint32_t device, DeviceHeard *heard, void *context, Status *status) {
  pthread_mutex_lock(&cupti.window);
  const bool done = end_window(device, heard, context, status);
  pthread_mutex_unlock(&cupti.window);
  return done;
}

/* ---- works */

void cupti_begin(uint32_t device, uint64_t number) {
  Listener *listener = &cupti.listener[device];
  if (!listener->listens && !listener->captures) return;
  issuing = device + 1;
  if (listener->captures) {
    atomic_store(&listener->under_capture, number + 1);
    return;
  }
  atomic_store(&listener->under_way, join_external(device, number));
  (void)cupti.api.push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, join_external(device, number));
}

void cupti_end(uint32_t device) {
  Listener *listener = &cupti.listener[device];
  if (issuing == 0) return;
  issuing = 0;
  atomic_store(&listener->under_capture, 0);
  if (atomic_exchange(&listener->under_way, 0) == 0) return;
  (void)cupti.api.pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, NULL);
}

void cupti_capture(uint32_t device, bool on) {
  cupti.listener[device].captures = on;
}

#else /* a toolkit may come without it */

bool cupti_open(const char *path, Status *status) {
  (void)path;
  return status_fail(status, STATUS_USER, "lockstep_cuda.so was built without CUPTI's headers");
}

bool cupti_add(uint32_t *device, Status *status) {
  *device = 0;
  return cupti_open(NULL, status);
}

void cupti_remove(uint32_t device) {
  (void)device;
}

bool cupti_listen(uint32_t device, Status *status) {
  (void)device;
  return cupti_open(NULL, status);
}

bool cupti_tell(uint32_t device, DeviceHeard *heard, void *context, Status *status) {
  (void)device, (void)heard, (void)context;
  return cupti_open(NULL, status);
}

void cupti_begin(uint32_t device, uint64_t number) {
  (void)device, (void)number;
}

void cupti_end(uint32_t device) {
  (void)device;
}

void cupti_capture(uint32_t device, bool on) {
  (void)device, (void)on;
}

#endif
