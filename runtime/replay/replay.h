/* replay.h -- runs the programs of a plan for one rank.
 *
 * Binding resolves everything that depends on the rank (class, coordinates, kernels, addresses);
 * running then only reads tables: it allocates nothing and decides nothing. The calling thread
 * issues the records in list order to the queues of their lanes (device.h); the plan's edges order
 * the queues. A class whose programs have one lane has one queue, on which work runs as it is
 * issued. */
#ifndef LOCKSTEP_REPLAY_H
#define LOCKSTEP_REPLAY_H

#include "kernels/kernel.h"
#include "runtime/comm/comm.h"
#include "runtime/device/device.h"
#include "runtime/observe/steplog.h"
#include "runtime/plan/mesh.h"
#include "runtime/plan/plan_control.h"
#include "runtime/plan/plan_losses.h"
#include "runtime/plan/walk.h"
#include "runtime/process/status.h"
#include "runtime/replay/hostile.h"
#include "runtime/watch/flight.h"

typedef struct ReplaySetup {
  const Plan *plan;
  const Mesh *mesh;
  int32_t rank;
  uint8_t *arena[Tier_COUNT]; /* as large as the class says; NULL: the plan has no such tier */
  Comm *comm;
  CommLanes comm_beside; /* a lane without one runs on the calling thread, with `comm` */
  Threads *threads;
  int32_t host_threads; /* of a team for lanes of the host; 0: one */
  const Kernel
      *kernels[Processor_COUNT]; /* each by KernelId; NULL: this process has no kernels for it */
  DeviceOpen *open_device;       /* NULL: device_cpu_open */
  /* Told of the device arena while kernels are prepared, when it has no content yet: they may be
   * tried there. NULL, 0: no more; what they left is cleared. NULL: they are not. */
  void (*lend)(void *memory, uint64_t size_bytes);
  Flight *flight;   /* the running work is recorded there; NULL: it is not recorded */
  bool graphs;      /* runs after the first are graphs if replay_graph.h allows it */
  DeviceLook *look; /* as in DeviceSetup */
  void *look_context;
  bool hears;             /* times of works will be asked for: replay_heard.h */
  bool ends_on_all_lanes; /* no run overlaps with the next one, because steps are timed */
  /* For tests: every queue has its own thread, which waits up to so long before each work. */
  bool issues_only;
  int64_t delay_most_ns;
  uint64_t delay_seed;
} ReplaySetup;

/* Counts for a record since the plan was bound. */
typedef struct ReplayCount {
  int64_t runs;
  int64_t sent_bytes; /* by this rank, as comm.h counts */
} ReplayCount;

/* The result of a kernel's prepare for a record. */
typedef struct ReplayKernel {
  void *state;
  uintptr_t addresses; /* the addresses of its operands in all calls, or-ed together */
  bool is_used;
  bool is_prepared;
} ReplayKernel;

/* A record and those that are fused with it, in order; of fewer than two none. */
typedef struct ReplayFused {
  const PlanRecord *record[FUSED_MOST];
  int32_t count;
  KernelFused how;
} ReplayFused;

/* The records of one launch (PlanLaunch), in list order, with this rank's addresses. */
typedef struct ReplayLaunch {
  Work *work;
  KernelArgs *args;
  uint32_t count;
  bool is_awaited;
} ReplayLaunch;

/* Looks at records before and after they run (replay_look.h). */
typedef struct ReplayWatch ReplayWatch;
void replay_watch(ReplayWatch *watch, const Work *work, bool is_over);

/* Each operand of a load is its own copy, called a part; what waits for a record waits for its
 * last part. Works are numbered by parts of records of calls, in list order. */
enum { REPLAY_PARTS = 16, REPLAY_LAST_PART = REPLAY_PARTS - 1 };

/* A call of a program, as often as it runs. */
typedef struct ReplayCall {
  const PlanCall *call;
  const PlanLaunch *launch; /* the launch that it is part of; NULL */
  int32_t microbatch;
} ReplayCall;

/* Maps the works of a program's run to records (replay_heard.h). */
typedef struct ReplayHearing {
  StepLog *log; /* NULL: nobody asks */
  const PlanProgram *program;
  ReplayCall *call;
  uint64_t count;
  _Atomic uint64_t first;         /* number of the run's first call's first record */
  uint64_t place[PLAN_LANES_MAX]; /* of the work reported last on a lane, in parts, plus 1 */
} ReplayHearing;

/* True if a program's runs may be graphs; decided once. */
typedef enum ReplayFit { FIT_UNKNOWN, FIT_GRAPH, FIT_ISSUED } ReplayFit;

/* A program as a graph (replay_graph.h). */
typedef struct ReplayGraph {
  Graph *graph; /* NULL: none was made */
  ReplayFit fit;
  uint64_t number_first, span;
  uint64_t calls_first; /* number of the first call's first record */
  ReplayCount *counted;
  int64_t runs; /* of the program */
  Status why;   /* code not 0: it could not be captured, and is issued: the reason */
} ReplayGraph;

/* The results of a run of a program. */
typedef struct ReplayLeft {
  Control control;    /* slots of kinds lasting, out and in_out */
  int64_t sent_bytes; /* by this rank since it was bound */
} ReplayLeft;

typedef struct Replay {
  ReplaySetup setup;
  const PlanClass *class;
  PlanSlots slots;
  uint64_t slots_mask; /* bit of each slot that the plan has */
  PlanLosses losses;
  uint8_t *control;      /* the block, an address of the device */
  uint8_t *control_ring; /* on the host: an in and an out block for each of control_depth runs */
  ReplayLeft left[CONTROL_DEPTH_MAX];
  uint64_t end_number[CONTROL_DEPTH_MAX]; /* of the mark at a run's end */
  int64_t started, collected;             /* runs of programs */
  int64_t loads[ProgramKind_COUNT];       /* micro-batches that each loads */
  int64_t microbatches;                   /* of the program that has most */
  int64_t *sample_first; /* of each micro-batch, in the step's batch: kernels read it by address */
  int32_t replicas;
  int32_t replica;
  /* parallel to the plan's tables of the same names, with this rank's coordinates filled in */
  const Kernel **kernel; /* by processor, then by the plan's number: replay_kernel */
  uint8_t **binding_at;  /* addresses in the arenas of their tiers */
  uint64_t *operand_offset;
  void **control_at;       /* addresses of slots on the device: of each record those of its row */
  uint32_t *control_first; /* of each record, in control_at */
  uint32_t *operand_dtype;
  int64_t *operand_bytes;
  const double **attr;    /* of each record, as this rank has them */
  double *varied;         /* attributes that differ from the plan's table */
  ReplayKernel *prepared; /* of each record */
  ReplayFused *fused;     /* of each record that is the first of several */
  ReplayLaunch *launch;   /* of each launch; empty: of another class */
  ReplayCount *count;     /* of each record */
  bool *awaited;          /* of each record: another queue may wait for it */
  uint64_t records_most;  /* of a segment of the plan */
  uint32_t main_lane;
  uint32_t queues_mask;    /* bit of each lane that has a queue beside the main lane's */
  Threads *threads_beside; /* a team of one for them; NULL: there are none */
  Threads *threads_host;   /* a team for lanes of the host; NULL: there are none */
  Device *device;
  uint64_t numbers; /* of work so far: the next run's first */
  /* Of the latest run of each program and the run before it: the number of its first call's first
   * record; 0: there was none. */
  uint64_t run_first[ProgramKind_COUNT][2];
  bool after_snapshot;           /* no training step was started since the latest */
  uint32_t snapshot_lane;        /* the lane of its copies, */
  uint64_t snapshot_number;      /* and that of the last one */
  uint64_t last[PLAN_LANES_MAX]; /* number of the last work on each queue */
  ReplayGraph graph[ProgramKind_COUNT];
  uint64_t device_bytes;     /* of the device arena */
  uint64_t high_water_bytes; /* end of the highest arena byte that a record has named so far */
  Hostile hostile;
  /* Parameters are loaded after init: records of purpose init do nothing, and leave the zeros that
   * init has filled their tensors with. */
  bool loads_parameters;
  ReplayWatch *watch; /* NULL: nobody looks */
  ReplayHearing hearing;
  /* A program that may continue beside its next run (plan_seam.h); NULL: all lanes are empty. */
  const PlanProgram *open;
  uint32_t parted_mask;              /* lanes with their own queues that communicate */
  int64_t lane_sent[PLAN_LANES_MAX]; /* by each of them, up to the end of a run for the main lane */
} Replay;

/* The struct must not move until it is freed. */
bool replay_bind(Replay *replay, const ReplaySetup *setup, Status *status);
void replay_free(Replay *replay);

/* The program of this rank's class, or NULL. */
const PlanProgram *replay_program(const Replay *replay, ProgramKind kind);

/* How often the plan's record of this index ran, and how much it sent. Not during a run. */
const ReplayCount *replay_count(const Replay *replay, uint32_t record);

/* The kernel for the processor of the record's lane; NULL: this process has none. */
const Kernel *replay_kernel(const Replay *replay, const PlanRecord *record);

/* The arguments of a kernel's prepare for a record. */
KernelUse replay_kernel_use(const Replay *replay, const PlanRecord *record);

/* The record of this call, ready to be issued, and the arguments of its kernel. */
Work replay_work(Replay *replay, const Position *at, const PlanRecord *record);
KernelArgs replay_kernel_args(const Replay *replay, const Work *work, Threads *threads,
                              void *stream);

/* Around a record that runs: what it may touch, and the threads that it has on this queue. */
void replay_allow(const Replay *replay, const Work *work, bool allowed);
Threads *replay_threads(const Replay *replay, const Queue *queue);

/* Issues a run of a program, which the host need not wait for. `samples` are the
 * micro-batches that it loads, one after another as they are staged, where the device reads them;
 * NULL for a program that loads nothing. They stay until the run is collected. At most
 * control_depth runs are started and not collected. False: STATUS_ECHO means that another rank
 * aborted the job. */
bool replay_start(Replay *replay, const PlanProgram *program, const Control *set,
                  const void *samples, Status *status);
/* Issues a run of the snapshot between runs of other programs. The next training step is issued
 * record by record, so that its updates wait for the copies; every other one may be a graph. Then
 * asks, or waits, until all copies are over. */
bool replay_snapshot(Replay *replay, const PlanProgram *program, Status *status);
bool replay_snapshot_is_over(const Replay *replay);
bool replay_snapshot_await(Replay *replay, Status *status);
/* Waits until all lanes are empty, but for a snapshot's: a program that follows itself continues
 * after its run has been collected. A run of another program does this itself. */
bool replay_settle(Replay *replay, Status *status);
/* Waits for the oldest run that was started and not collected. */
bool replay_collect(Replay *replay, ReplayLeft *left, Status *status);
/* The control block as the run that was collected last has left it. */
const uint8_t *replay_left_block(const Replay *replay);
/* Both, and waits until all lanes are empty. */
bool replay_run(Replay *replay, const PlanProgram *program, const Control *set, const void *samples,
                ReplayLeft *left, Status *status);

/* Sets the persistent slots between runs; they are 0 before the first. Others stay as they are. */
bool replay_read_lasting(const Replay *replay, Control *lasting, Status *status);
bool replay_write_lasting(const Replay *replay, const Control *lasting, Status *status);

/* The name of a work: the path of a record, and a description of any other work. */
const char *replay_work_name(const Work *work);

/* The next number after all that were used. */
uint64_t replay_next_number(Replay *replay);

/* Reports that the record's kernel could not be prepared or run; returns false. */
bool replay_kernel_fail(const Plan *plan, const PlanRecord *record, KernelStatus ended,
                        const char *why, Status *status);

/* A record that reads or writes a file: replay_file.c. A failure names the states. */
bool replay_run_file(const Replay *replay, const Work *work, Status *status);

#endif
