#include "tests/unit/cuda_stand_in.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORKS = 64, STREAMS = 8, RANGES = 8 };

/* Drivers from R580 on fail to register so much in one call. */
#define REGISTER_MOST ((size_t)512 << 30)

struct CUstream_st {
  CudaWorks before;  /* of what comes next in it */
  CudaWorks outside; /* the same before it was captured */
  bool is_captured, is_origin;
};

struct CUevent_st {
  CudaWorks before;
  float at_ms;
  bool is_recorded, is_captured;
};

/* A captured graph: works, and for each the works that must come before it. */
struct CUgraph_st {
  CudaWorks works, before[WORKS];
};

struct CUgraphExec_st {
  struct CUgraph_st graph;
};

static struct CUstream_st *streams[STREAMS];
static CudaWorks before[WORKS];
static _Atomic CudaWorks done; /* threads of host queues ask */
static struct CUgraph_st *capturing;
static cudaError_t broken;
static _Thread_local cudaError_t last = cudaSuccess;
static int wrongs, open_count;
static CudaStandInHook *on_instantiated, *on_launched, *on_copied;
static bool has_times;
static float now_ms;
static bool lacks_memory_operations;

/* Memory of the host that is registered. */
typedef struct LockedRange {
  uint8_t *at; /* NULL: none */
  size_t size_bytes;
} LockedRange;
static LockedRange locked[RANGES];
static uint64_t lock_limit = UINT64_MAX;

static cudaError_t wrong(cudaError_t error, const char *why) {
  printf("CUDA's contract: %s\n", why);
  wrongs++;
  return error;
}

void cuda_stand_in_launch(void *stream, int number) {
  struct CUstream_st *in = stream;
  CudaWorks work = (CudaWorks)1 << number;
  if (cudaGetLastError() != cudaSuccess)
    (void)wrong(cudaErrorUnknown, "a launch finds the answer of an earlier call as its error");
  if (in->is_captured) {
    capturing->works |= work;
    capturing->before[number] = in->before;
  } else {
    before[number] = in->before;
  }
  in->before |= work;
}

CudaWorks cuda_stand_in_before(int number) {
  return before[number];
}

void cuda_stand_in_do(CudaWorks works) {
  for (int i = 0; i < WORKS; i++)
    if ((works >> i & 1u) != 0 && (before[i] & ~(done | works)) != 0)
      (void)wrong(cudaErrorUnknown, "a work is done before its turn");
  done |= works;
}

void cuda_stand_in_break(int error) {
  broken = (cudaError_t)error;
}

void cuda_stand_in_hooks(CudaStandInHook *instantiated, CudaStandInHook *launched,
                         CudaStandInHook *copied) {
  on_instantiated = instantiated, on_launched = launched, on_copied = copied;
}

void cuda_stand_in_times(bool allowed) {
  has_times = allowed;
}

void cuda_stand_in_at(float ms) {
  now_ms = ms;
}

void cuda_stand_in_lock_limit(uint64_t bytes) {
  lock_limit = bytes;
}

void cuda_stand_in_memory_operations(bool has) {
  lacks_memory_operations = !has;
}

void cuda_stand_in_clear(void) {
  memset(before, 0, sizeof before);
  broken = last = cudaSuccess;
  done = 0;
  for (int i = 0; i < STREAMS; i++)
    if (streams[i] != NULL) *streams[i] = (struct CUstream_st){.before = 0};
}

int cuda_stand_in_wrongs(void) {
  int count = wrongs;
  wrongs = 0;
  return count;
}

int cuda_stand_in_open(void) {
  return open_count;
}

static void *opened(size_t size_bytes) {
  open_count++;
  return calloc(1, size_bytes);
}

static cudaError_t closed(void *at) {
  open_count--;
  free(at);
  return cudaSuccess;
}

/* NOLINTBEGIN(readability-identifier-naming): the names are the library's */

const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorLaunchFailure      ? "unspecified launch failure"
         : error == cudaErrorECCUncorrectable ? "uncorrectable ECC error encountered"
         : error == cudaErrorHostMemoryAlreadyRegistered
             ? "part or all of the requested memory range is already mapped"
             : "an error";
}

cudaError_t cudaGetLastError(void) {
  cudaError_t error = last;
  last = cudaSuccess;
  return error;
}

/* True if these are over. */
static cudaError_t answer(CudaWorks works) {
  if ((works & ~done) == 0) return cudaSuccess;
  return last = cudaErrorNotReady;
}

/* ---- streams */

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0, *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  if (flags != cudaStreamNonBlocking || priority > 0 || priority < -5)
    return wrong(cudaErrorInvalidValue, "a stream that waits for others, or of no priority");
  int i = 0;
  while (i < STREAMS - 1 && streams[i] != NULL)
    i++;
  *stream = streams[i] = opened(sizeof **stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  for (int i = 0; i < STREAMS; i++)
    if (streams[i] == stream) streams[i] = NULL;
  return closed(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (broken != cudaSuccess) return broken;
  if (stream->is_captured)
    return wrong(cudaErrorStreamCaptureUnsupported, "a stream is asked while it is captured");
  return answer(stream->before);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  if (flags != 0 || !event->is_recorded)
    return wrong(cudaErrorInvalidValue, "a wait for an event that is not recorded");
  if (event->is_captured && capturing == NULL)
    return wrong(cudaErrorCapturedEvent, "a wait for an event of a capture that is over");
  if (stream->is_captured && !event->is_captured)
    return wrong(cudaErrorStreamCaptureIsolation, "a capture waits for what is outside");
  if (event->is_captured && !stream->is_captured)
    *stream = (struct CUstream_st){.outside = stream->before, .is_captured = true};
  stream->before |= event->before;
  return cudaSuccess;
}

/* A stream that waits for a word of the host: how many numbers are over, by when. */
typedef struct AwaitedWord {
  const uint64_t *word;
  uint64_t value;
} AwaitedWord;

static AwaitedWord awaited[STREAMS];

bool cuda_stand_in_waits(void *stream) {
  for (int i = 0; i < STREAMS; i++)
    if (streams[i] == stream && awaited[i].word != NULL)
      return (int64_t)(__atomic_load_n(awaited[i].word, __ATOMIC_ACQUIRE) - awaited[i].value) < 0;
  return false;
}

static CUresult wait_value(CUstream stream, CUdeviceptr word, cuuint64_t value, unsigned flags) {
  for (int i = 0; i < STREAMS; i++)
    if (streams[i] == stream) awaited[i] = (AwaitedWord){(const uint64_t *)(uintptr_t)word, value};
  if (flags == CU_STREAM_WAIT_VALUE_GEQ) return CUDA_SUCCESS;
  (void)wrong(cudaErrorInvalidValue, "a wait for something else than a number that grows");
  return CUDA_ERROR_INVALID_VALUE;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  if (attribute != CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS || device != 0) {
    (void)wrong(cudaErrorInvalidValue, "an attribute that nobody knows");
    return CUDA_ERROR_INVALID_VALUE;
  }
  *value = !lacks_memory_operations;
  return CUDA_SUCCESS;
}

/* By the version of CUDA that has the form of the call which is wanted. */
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **at, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found) {
  CUresult (*const wait)(CUstream, CUdeviceptr, cuuint64_t, unsigned) = wait_value;
  CUresult (*const get)(int *, CUdevice_attribute, CUdevice) = get_attribute;
  *found = cudaDriverEntryPointSuccess;
  if (flags == cudaEnableDefault && version == 11070 && strcmp(symbol, "cuStreamWaitValue64") == 0)
    memcpy(at, &wait, sizeof wait);
  else if (flags == cudaEnableDefault && version == 2000 &&
           strcmp(symbol, "cuDeviceGetAttribute") == 0)
    memcpy(at, &get, sizeof get);
  else
    return wrong(cudaErrorInvalidValue, "a call of the driver that nobody knows");
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : wrong(cudaErrorInvalidDevice, "a device that is not there");
}

/* ---- events */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  if (flags != cudaEventDisableTiming && !has_times)
    return wrong(cudaErrorInvalidValue, "an event that takes times");
  *event = opened(sizeof **event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return closed(event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (broken != cudaSuccess) return broken;
  *event = (struct CUevent_st){stream->before, now_ms, true, stream->is_captured};
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return answer(event->before);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  if (!from->is_recorded || !to->is_recorded || answer(from->before | to->before) != cudaSuccess)
    return wrong(cudaErrorNotReady, "a time of what is not over");
  *ms = to->at_ms - from->at_ms;
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (broken != cudaSuccess) return broken;
  if (event->is_captured) return wrong(cudaErrorCapturedEvent, "an event of a capture is asked");
  return answer(event->before);
}

/* ---- captures */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  if (capturing != NULL || mode == cudaStreamCaptureModeGlobal)
    return wrong(cudaErrorIllegalState, "two captures, or one that others' calls end");
  capturing = opened(sizeof *capturing);
  *stream = (struct CUstream_st){.outside = stream->before, .is_captured = true, .is_origin = true};
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) {
  bool is_joined = true;
  if (capturing == NULL || !stream->is_origin)
    return wrong(cudaErrorIllegalState, "the end of no capture");
  for (int i = 0; i < STREAMS; i++) {
    if (streams[i] == NULL || !streams[i]->is_captured) continue;
    is_joined = is_joined && (streams[i]->before & ~stream->before) == 0;
    if (streams[i] != stream) *streams[i] = (struct CUstream_st){.before = streams[i]->outside};
  }
  *stream = (struct CUstream_st){.before = stream->outside};
  *graph = is_joined ? capturing : NULL;
  if (!is_joined) (void)closed(capturing);
  capturing = NULL;
  return is_joined ? cudaSuccess
                   : wrong(cudaErrorStreamCaptureUnjoined, "a stream of a capture stays outside");
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return closed(graph);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  if (flags != 0) return wrong(cudaErrorInvalidValue, "a graph with flags");
  *exec = opened(sizeof **exec);
  (*exec)->graph = *graph;
  if (on_instantiated != NULL) on_instantiated();
  return cudaSuccess;
}

/* Runs after what is in the stream; what an earlier launch has done does not count. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const struct CUgraph_st *graph = &exec->graph;
  CudaWorks earlier = stream->before & ~graph->works;
  for (int i = 0; i < WORKS; i++)
    if ((graph->works >> i & 1u) != 0) before[i] = earlier | graph->before[i];
  done &= ~graph->works;
  stream->before |= graph->works;
  if (on_launched != NULL) on_launched();
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return closed(exec);
}

/* ---- memory */

static cudaError_t failed(cudaError_t error) {
  return last = error;
}

/* True if some byte of both is the same. */
static bool overlaps(const LockedRange *range, const uint8_t *at, size_t size_bytes) {
  return range->at != NULL && at < range->at + range->size_bytes && range->at < at + size_bytes;
}

static LockedRange *locked_with(const void *at, size_t size_bytes) {
  for (int i = 0; i < RANGES; i++)
    if (overlaps(&locked[i], at, size_bytes)) return &locked[i];
  return NULL;
}

bool cuda_stand_in_locked(const void *at, size_t size_bytes) {
  const uint8_t *from = at, *end = from + size_bytes;
  while (from < end) {
    const LockedRange *range = locked_with(from, 1);
    if (range == NULL) return false;
    from = range->at + range->size_bytes;
  }
  return true;
}

/* Looks at its first and its last page. */
static bool is_touched(uint8_t *at, size_t size_bytes) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  unsigned char first = 0, final = 0;
  uint8_t *end = at + size_bytes - 1;
  return mincore(at - (uintptr_t)at % page, 1, &first) == 0 &&
         mincore(end - (uintptr_t)end % page, 1, &final) == 0 && (first & final & 1u) != 0;
}

static cudaError_t lock_range(uint8_t *at, size_t size_bytes) {
  uint64_t sum = size_bytes;
  int i = 0;
  for (int other = 0; other < RANGES; other++)
    sum += locked[other].size_bytes;
  if (sum > lock_limit || size_bytes >= REGISTER_MOST) return failed(cudaErrorMemoryAllocation);
  while (i < RANGES - 1 && locked[i].at != NULL)
    i++;
  locked[i] = (LockedRange){at, size_bytes};
  open_count++;
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void *at, size_t size_bytes, unsigned flags) {
  if (at == NULL || size_bytes == 0 || flags > 15) return failed(cudaErrorInvalidValue);
  if (flags > cudaHostRegisterMapped) return failed(cudaErrorNotSupported);
  if (locked_with(at, size_bytes) != NULL) return failed(cudaErrorHostMemoryAlreadyRegistered);
  if (!is_touched(at, size_bytes))
    (void)wrong(cudaErrorUnknown, "pages are locked before their first touch, where none may be");
  return lock_range(at, size_bytes);
}

cudaError_t cudaHostUnregister(void *at) {
  LockedRange *range = locked_with(at, 1);
  if (range == NULL || range->at != at)
    return wrong(cudaErrorHostMemoryNotRegistered, "memory is given back that is not registered");
  *range = (LockedRange){0};
  open_count--;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **at, size_t size_bytes, unsigned flags) {
  if (flags > 7) return failed(cudaErrorInvalidValue);
  *at = opened(size_bytes);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **there, void *at, unsigned flags) {
  if (flags != 0) return failed(cudaErrorInvalidValue);
  *there = at;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void *at) {
  return closed(at);
}

cudaError_t cudaMalloc(void **at, size_t size_bytes) {
  *at = opened(size_bytes);
  return cudaSuccess;
}

cudaError_t cudaFree(void *at) {
  return closed(at);
}

cudaError_t cudaMemset(void *at, int value, size_t size_bytes) {
  memset(at, value, size_bytes);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *all_bytes) {
  *free_bytes = *all_bytes = (size_t)80 << 30;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void) {
  return broken;
}

static cudaError_t copied(void *to, const void *from, size_t size_bytes) {
  memcpy(to, from, size_bytes);
  return cudaSuccess;
}

/* Ends in the registered range in which it begins, or begins in none. */
static bool is_in_one(const void *at, size_t size_bytes) {
  const LockedRange *range = locked_with(at, 1);
  return range == NULL || (const uint8_t *)at + size_bytes <= range->at + range->size_bytes;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size_bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
  (void)stream;
  if (kind != cudaMemcpyDefault) return wrong(cudaErrorInvalidValue, "a copy of a told direction");
  if (!is_in_one(to, size_bytes) || !is_in_one(from, size_bytes))
    return wrong(cudaErrorInvalidValue, "a copy crosses from one registered range to another");
  if (on_copied != NULL) on_copied();
  return copied(to, from, size_bytes);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size_bytes, enum cudaMemcpyKind kind) {
  (void)kind;
  for (int i = 0; i < STREAMS; i++)
    if (streams[i] != NULL && (streams[i]->is_captured || (streams[i]->before & ~done) != 0))
      return wrong(cudaErrorUnknown, "memory is copied beside works, for streams do not wait");
  return copied(to, from, size_bytes);
}

/* NOLINTEND(readability-identifier-naming) */
