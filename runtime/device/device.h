/* device.h -- the seam between the replay and the processor that a rank runs on.
 *
 * A device has queues, one for each lane that runs beside the others; what is issued to a queue
 * runs in order. Work is numbered by the plan: numbers ascend from issue to issue on one queue, and
 * a mark (queue, number) is passed when the work of that number is done. Issuing never blocks on
 * work that only a later issue could make possible, so one thread may issue a whole program in list
 * order.
 *
 * The host never writes through an address of the device's memory, nor reads there: it copies on a
 * queue from memory that the device reaches, or opens a window between works.
 *
 * Every implementation has every entry. An asynchronous failure is reported by the next call that
 * can fail; after a failure work is dropped, marks are passed, and nothing runs any more. */
#ifndef LOCKSTEP_DEVICE_H
#define LOCKSTEP_DEVICE_H

#include "runtime/device/arena.h"
#include "runtime/device/files.h"
#include "runtime/plan/limits.h"

typedef struct Device Device;
typedef struct Queue Queue;
typedef struct Graph Graph; /* work that was captured */
typedef struct Work Work;

/* Runs the work: on a processor it returns when the work is done, on a GPU when it is in the
 * queue's stream. False: `status` says why. */
typedef bool WorkRun(const Work *work, Queue *queue, Status *status);

/* The queue keeps a copy. */
struct Work {
  WorkRun *run;
  void *context;
  const PlanRecord *record;
  const PlanRecord *fused[FUSED_MOST]; /* with it, in order, up to the first NULL; their operands
                                          are after the record's own */
  int32_t layer;
  int64_t microbatch;
  void *operand[FUSED_OPERANDS_MAX];
};

/* False: the issued work may never end; `status` says why. */
typedef bool DeviceLook(void *context, Status *status);

/* A work ran from start to end, of the monotonic clock, in ns. */
typedef void DeviceHeard(void *context, uint64_t number, int64_t start_ns, int64_t end_ns);

typedef struct DeviceSetup {
  uint32_t lane_count, main_lane;
  uint32_t queues_mask; /* bit per lane that has its own queue; the main lane always has */
  uint32_t host_mask;   /* of these, lanes whose work the host's processor does */
  /* Called again and again by a thread that waits for the device; NULL: not called. If it returns
   * false, that is a failure of the device. */
  DeviceLook *look;
  void *look_context;
  /* The name of a work in a profiler's timeline, a text that stays valid; NULL: works have no
   * names. */
  const char *(*name)(const Work *work);
  /* Told when works ran, while the device listens: of the works of one lane one after another, from
   * some thread. Where works cannot be timed one by one (`coarse`), it is called for the first of
   * several works of one call, with the time of all of them. A call has that many numbers. NULL:
   * works are not timed. */
  DeviceHeard *heard;
  void *heard_context;
  uint64_t call_numbers;
  /* For tests: every queue has its own thread, which waits up to so long before each work; the seed
   * chooses queues that wait only a small part of it. */
  bool issues_only;
  int64_t delay_most_ns;
  uint64_t delay_seed;
} DeviceSetup;

enum { DEVICE_WINDOW_BYTES = 1 << 24 };

/* The waiter for a mark. */
typedef enum MarkFor { MARK_FOR_QUEUES, MARK_FOR_HOST, MarkFor_COUNT } MarkFor;

typedef enum Progress { PROGRESS_PENDING, PROGRESS_PASSED, PROGRESS_FAILED } Progress;

typedef struct DeviceOps {
  bool copies_are_work; /* a thread of the queue makes copies, so they may be issued as work */
  /* The lane's queue, or the main lane's if the lane has none. */
  Queue *(*queue)(Device *device, uint32_t lane);
  uint32_t (*lane)(const Queue *queue); /* the lane that the queue belongs to */
  void *(*stream)(const Queue *queue);  /* on a GPU the stream for kernels; NULL on a processor */
  /* False: a failure of other work has code STATUS_ECHO, unless it has not been reported yet.
   */
  bool (*issue)(Queue *queue, const Work *work, uint64_t number, Status *status);
  /* Like issue, for work of the host (loading, files). Refused while capturing. */
  bool (*host)(Queue *queue, const Work *work, uint64_t number, Status *status);
  /* Both are in memory that the device can access, and do not overlap. */
  bool (*copy)(Queue *queue, void *to, const void *from, uint64_t size_bytes, uint64_t number,
               Status *status);
  /* The mark of what was issued to the queue last will be asked for: it is passed when that work is
   * done. Without this call it may be passed only when later work is done, too. */
  bool (*mark)(Queue *queue, MarkFor whom, Status *status);
  /* Work issued to `queue` from now on starts after the mark is passed. */
  bool (*wait)(Queue *queue, const Queue *other, uint64_t number, Status *status);
  Progress (*query)(const Queue *queue, uint64_t number);
  /* Runs what is due on the calling thread; returns when all issued work is done. */
  bool (*finish)(Device *device, Status *status);
  /* From here to `captured` nothing runs: issues, copies and waits are kept; host work, waits for
   * what was issued before, and a capture inside are refused. */
  bool (*capture)(Device *device, Status *status);
  /* NULL: something in it was refused, or it cannot be made a graph: `status` says why. What was
   * issued in between is dropped, and the device is as before the capture. Freed by graph_free. */
  Graph *(*captured)(Device *device, Status *status);
  /* Issues what was captured; `number_first` takes the place of the first work's number. */
  bool (*replay)(Device *device, const Graph *graph, uint64_t number_first, Status *status);
  void (*graph_free)(Graph *graph);
  /* Runs what is due on the calling thread; returns when the mark is passed. */
  bool (*await)(Queue *queue, uint64_t number, Status *status);
  /* Lets the host read and write `size_bytes` of the device's memory, at most DEVICE_WINDOW_BYTES,
   * while no work uses them. A processor returns the bytes themselves; another device a copy, which
   * `close_window` writes back unless it was opened for reading only. One window can be open at a
   * time. NULL, false: `status` says why. */
  void *(*open_window)(Device *device, void *at, uint64_t size_bytes, Access access,
                       Status *status);
  bool (*close_window)(Device *device, Status *status);
  /* Between runs, when all work has ended: from here on works are timed, or no more. When it is
   * switched off, all that ran meanwhile has been told. False: what was told does not count;
   * `status` says why. */
  bool (*listen)(Device *device, bool on, Status *status);
  /* The reason why times are of calls and not of works; NULL: they are of works. */
  const char *(*coarse)(const Device *device);
  /* Drops queued work; a running work ends first. */
  void (*abort)(Device *device);
  void (*close)(Device *device); /* the device is freed */
} DeviceOps;

/* The first member of every implementation's struct. */
struct Device {
  const DeviceOps *ops;
};

/* A place in an arena of some tier, for the host to read and write while no work uses it: of the
 * device's memory and of a file through a window, of its own directly. */
typedef struct TierWindow {
  Device *device;
  Tier tier;
  uint8_t *at;
} TierWindow;

static inline void *tier_window_open(const TierWindow *of, uint64_t size_bytes, Access access,
                                     Status *status) {
  if (of->tier == TIER_FILE) return tier_file_window(of->at, size_bytes, access, status);
  if (of->tier != TIER_DEVICE) return of->at;
  return of->device->ops->open_window(of->device, of->at, size_bytes, access, status);
}

static inline bool tier_window_close(const TierWindow *of, Status *status) {
  if (of->tier == TIER_FILE) return tier_file_window_close(of->at, status);
  return of->tier != TIER_DEVICE || of->device->ops->close_window(of->device, status);
}

/* Opens a device of some kind. */
typedef Device *DeviceOpen(const DeviceSetup *setup, Status *status);

/* Queues as FIFOs of this process: cpu.c. NULL when it cannot start its threads. */
DeviceOpen device_cpu_open;

#endif
