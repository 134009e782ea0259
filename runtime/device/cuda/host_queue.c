#include "runtime/device/cuda/host_queue.h"

#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RING = 256, SPINS = 200, LOOK_AGAIN_NS = 20000 };

/* Streams compare the word as a signed number: nothing that is issued has a larger one. */
static const uint64_t beyond_all = INT64_MAX;

typedef CUresult StreamWaitValue(CUstream stream, CUdeviceptr word, cuuint64_t value,
                                 unsigned flags);
typedef CUresult GetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);

typedef enum HostEntryKind { ENTRY_WORK, ENTRY_COPY, ENTRY_WAIT } HostEntryKind;

typedef struct HostEntry {
  HostEntryKind kind;
  uint64_t number;
  Work work;
  void *to; /* of a copy */
  const void *from;
  uint64_t size_bytes;
  cudaEvent_t event; /* of this place in the ring, for waits */
} HostEntry;

struct HostQueue {
  Queue *queue;
  int device;
  StreamWaitValue *wait_value;
  pthread_t thread;
  bool has_thread;
  pthread_mutex_t lock; /* for sleeping and for `status` */
  pthread_cond_t wake;
  Status status; /* of the first failure */
  _Atomic bool stop, aborted, failed;
  _Atomic(DeviceHeard *) heard; /* NULL: works are not timed */
  void *heard_context;
  _Atomic uint64_t pushed, done;
  _Atomic uint64_t *word; /* pinned: number of the last work that is over, plus 1 */
  CUdeviceptr word_there; /* the same as the GPU addresses it */
  HostEntry ring[RING];
};

/* ---- the thread */

static void fail(HostQueue *host, const Status *why) {
  pthread_mutex_lock(&host->lock);
  if (!atomic_load(&host->failed)) host->status = *why;
  atomic_store(&host->failed, true);
  pthread_mutex_unlock(&host->lock);
}

static bool is_dropping(const HostQueue *host) {
  return atomic_load(&host->aborted) || atomic_load(&host->failed);
}

/* An error of the GPU ends the wait: whoever asks the GPU hears of it. */
static void wait_for_event(const HostQueue *host, cudaEvent_t event) {
  for (int32_t turn = 0; !is_dropping(host); turn++) {
    if (cudaEventQuery(event) != cudaErrorNotReady) return;
    /* clears "not ready", which later calls would report as their error */
    (void)cudaGetLastError();
    if (turn >= SPINS) nanosleep(&(struct timespec){0, LOOK_AGAIN_NS}, NULL);
  }
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static bool run_work(HostQueue *host, const HostEntry *entry, Status *why) {
  DeviceHeard *heard = atomic_load(&host->heard);
  const int64_t start_ns = heard != NULL ? now_ns() : 0;
  bool ran = true;
  if (entry->kind == ENTRY_COPY)
    memcpy(entry->to, entry->from, entry->size_bytes);
  else
    ran = entry->work.run(&entry->work, host->queue, why);
  if (heard != NULL && ran) heard(host->heard_context, entry->number, start_ns, now_ns());
  return ran;
}

static void run_entry(HostQueue *host, const HostEntry *entry) {
  Status why = {0};
  if (entry->kind == ENTRY_WAIT) {
    wait_for_event(host, entry->event);
    return;
  }
  if (!is_dropping(host) && !run_work(host, entry, &why)) fail(host, &why);
  if (!is_dropping(host)) atomic_store(host->word, entry->number + 1);
}

static bool is_empty(const HostQueue *host) {
  return atomic_load(&host->pushed) == atomic_load(&host->done);
}

static void *thread_main(void *argument) {
  HostQueue *host = argument;
  (void)cudaSetDevice(host->device);
  for (;;) {
    pthread_mutex_lock(&host->lock);
    while (is_empty(host) && !atomic_load(&host->stop))
      pthread_cond_wait(&host->wake, &host->lock);
    pthread_mutex_unlock(&host->lock);
    if (is_empty(host)) return NULL;
    uint64_t done = atomic_load(&host->done);
    run_entry(host, &host->ring[done % RING]);
    if (is_dropping(host)) atomic_store(host->word, beyond_all);
    atomic_store(&host->done, done + 1);
  }
}

/* ---- for the issuer */

bool host_queue_has_room(const HostQueue *host) {
  return atomic_load(&host->pushed) - atomic_load(&host->done) < RING;
}

static HostEntry *next_entry(HostQueue *host) {
  return &host->ring[atomic_load(&host->pushed) % RING];
}

static void push(HostQueue *host) {
  pthread_mutex_lock(&host->lock);
  atomic_fetch_add(&host->pushed, 1);
  pthread_cond_signal(&host->wake);
  pthread_mutex_unlock(&host->lock);
}

void host_queue_work(HostQueue *host, const Work *work, uint64_t number) {
  HostEntry *entry = next_entry(host);
  entry->kind = ENTRY_WORK;
  entry->number = number;
  entry->work = *work;
  push(host);
}

void host_queue_copy(HostQueue *host, void *to, const void *from, uint64_t size_bytes,
                     uint64_t number) {
  HostEntry *entry = next_entry(host);
  entry->kind = ENTRY_COPY;
  entry->number = number;
  entry->to = to, entry->from = from, entry->size_bytes = size_bytes;
  push(host);
}

cudaError_t host_queue_wait(HostQueue *host, cudaStream_t stream) {
  HostEntry *entry = next_entry(host);
  cudaError_t error = cudaEventRecord(entry->event, stream);
  if (error != cudaSuccess) return error;
  entry->kind = ENTRY_WAIT;
  push(host);
  return cudaSuccess;
}

cudaError_t host_queue_awaited_by(HostQueue *host, cudaStream_t stream, uint64_t number) {
  CUresult result =
      host->wait_value((CUstream)stream, host->word_there, number + 1, CU_STREAM_WAIT_VALUE_GEQ);
  return (cudaError_t)result; /* both APIs have the same numbers */
}

void host_queue_listen(HostQueue *host, DeviceHeard *heard, void *context) {
  if (heard != NULL) host->heard_context = context;
  atomic_store(&host->heard, heard);
}

bool host_queue_passed(const HostQueue *host, uint64_t number) {
  return atomic_load(host->word) > number;
}

bool host_queue_is_idle(const HostQueue *host) {
  return is_empty(host);
}

bool host_queue_failed(HostQueue *host, Status *why) {
  if (!atomic_load(&host->failed)) return false;
  pthread_mutex_lock(&host->lock);
  *why = host->status;
  pthread_mutex_unlock(&host->lock);
  return true;
}

void host_queue_abort(HostQueue *host) {
  atomic_store(&host->aborted, true);
  atomic_store(host->word, beyond_all);
}

/* ---- beginning and end */

void host_queue_close(HostQueue *host) {
  if (host == NULL) return;
  if (host->word != NULL) host_queue_abort(host);
  pthread_mutex_lock(&host->lock);
  atomic_store(&host->stop, true);
  pthread_cond_signal(&host->wake);
  pthread_mutex_unlock(&host->lock);
  if (host->has_thread) pthread_join(host->thread, NULL);
  for (int32_t i = 0; i < RING; i++)
    if (host->ring[i].event != NULL) (void)cudaEventDestroy(host->ring[i].event);
  if (host->word != NULL) (void)cudaFreeHost((void *)host->word);
  pthread_cond_destroy(&host->wake);
  pthread_mutex_destroy(&host->lock);
  free(host);
}

/* A call of the driver in the form that it has since that version, found by the runtime, so that
 * nothing is linked with the driver. NULL: not there, or `status` has failed. */
static void *find_call(const char *name, uint32_t since, Status *status) {
  enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  void *at = NULL;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &at, since, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint(name, &at, cudaEnableDefault, &found);
  (void)since; /* the latest form that this CUDA knows is the same */
#endif
  if (!cuda_done(error, "find stream memory operations", status)) return NULL;
  return found == cudaDriverEntryPointSuccess ? at : NULL;
}

/* Every driver from CUDA 11.7 has the call, but not each of them can do it for each GPU. */
static bool find_wait_value(HostQueue *host, Status *status) {
  enum { GET_SINCE = 2000, WAIT_SINCE = 11070 };
  GetAttribute *get_attribute = NULL;
  int can = 0;
  void *get = find_call("cuDeviceGetAttribute", GET_SINCE, status);
  void *wait = status->code == 0 ? find_call("cuStreamWaitValue64", WAIT_SINCE, status) : NULL;
  if (status->code != 0) return false;
  memcpy(&get_attribute, &get, sizeof get);
  memcpy(&host->wait_value, &wait, sizeof wait);
  return (get != NULL && wait != NULL &&
          get_attribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, host->device) ==
              CUDA_SUCCESS &&
          can != 0) ||
         status_fail(status, STATUS_WORLD,
                     "the driver has no stream memory operations of 64 bits for this GPU, by which "
                     "it waits for updates on the host: compile the job without offload");
}

/* Signals are handled by the main thread. */
static bool start_thread(HostQueue *host, Status *status) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failure = pthread_create(&host->thread, NULL, thread_main, host);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  host->has_thread = failure == 0;
  return host->has_thread ||
         status_fail(status, STATUS_WORLD, "cannot start a thread for a queue of the host: %s",
                     strerror(failure));
}

static bool open_parts(HostQueue *host, Status *status) {
  void *word = NULL, *there = NULL;
  if (!cuda_done(cudaGetDevice(&host->device), "tell which GPU it has", status) ||
      !find_wait_value(host, status) ||
      !cuda_done(cudaHostAlloc(&word, sizeof *host->word, cudaHostAllocDefault),
                 "pin a word for a queue of the host", status))
    return false;
  host->word = word;
  atomic_store(host->word, 0);
  if (!cuda_done(cudaHostGetDevicePointer(&there, word, 0), "address a word of the host", status))
    return false;
  host->word_there = (CUdeviceptr)(uintptr_t)there;
  for (int32_t i = 0; i < RING; i++)
    if (!cuda_done(cudaEventCreateWithFlags(&host->ring[i].event, cudaEventDisableTiming),
                   "make an event", status))
      return false;
  return start_thread(host, status);
}

HostQueue *host_queue_open(Queue *queue, Status *status) {
  HostQueue *host = calloc(1, sizeof *host);
  if (host == NULL) {
    (void)status_fail(status, STATUS_WORLD, "not enough memory for a queue of the host");
    return NULL;
  }
  host->queue = queue;
  pthread_mutex_init(&host->lock, NULL);
  pthread_cond_init(&host->wake, NULL);
  if (open_parts(host, status)) return host;
  host_queue_close(host);
  return NULL;
}
