/* The device seam on processors: what device.h promises, whoever runs the queues.
 * LINK: runtime */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "compiler/draft/lane.h"
#include "runtime/device/device.h"
#include "tests/unit/check.h"

enum { ALL_LANES = (1u << LANES_OF_DEVICE) - 1, RING = 256, MANY = 5 * RING, LONG_S = 600 };

#define LANES_HERE .lane_count = LANES_OF_DEVICE, .main_lane = LANE_COMPUTE

/* The ways in which queues can be served: the same must come of all of them. */
static const DeviceSetup ways[] = {
    {LANES_HERE},
    {LANES_HERE, .queues_mask = 1u << LANE_DP},
    {LANES_HERE, .queues_mask = ALL_LANES},
    {LANES_HERE, .queues_mask = ALL_LANES, .issues_only = true},
    {LANES_HERE, .queues_mask = 0, .issues_only = true},
    {LANES_HERE, .queues_mask = ALL_LANES, .issues_only = true, .delay_most_ns = 20000,
     .delay_seed = 7},
};
enum { WAYS = sizeof ways / sizeof *ways };

static Status status;

static Device *open_way(const DeviceSetup *setup) {
  status = (Status){0};
  Device *device = device_cpu_open(setup, &status);
  if (device == NULL) exit(1);
  return device;
}

static Queue *on(Device *device, Lane lane) {
  return device->ops->queue(device, lane);
}

static bool issue(Device *device, Lane lane, WorkRun *run, void *context, uint64_t number) {
  Work work = {.run = run, .context = context, .microbatch = (int64_t)number};
  return device->ops->issue(on(device, lane), &work, number, &status);
}

static bool wait_for(Device *device, Lane lane, Lane other, uint64_t number) {
  return device->ops->wait(on(device, lane), on(device, other), number, &status);
}

static void nap(long us) {
  nanosleep(&(struct timespec){0, us * 1000}, NULL);
}

/* ---- works */

/* The works that a queue has run, in order. */
typedef struct Log {
  int64_t number[MANY];
  int32_t count;
} Log;

static bool note(const Work *work, Queue *queue, Status *why) {
  (void)queue, (void)why;
  Log *log = work->context;
  log->number[log->count++] = work->microbatch;
  return true;
}

/* A number that no two orders of works leave equal; nothing but waits protects it. */
static bool stir(const Work *work, Queue *queue, Status *why) {
  (void)queue, (void)why;
  uint64_t *x = work->context;
  *x = (*x ^ (uint64_t)work->microbatch) * 0x9e3779b97f4a7c15u;
  return true;
}

static bool raise_flag(const Work *work, Queue *queue, Status *why) {
  (void)queue, (void)why;
  atomic_store((atomic_bool *)work->context, true);
  return true;
}

/* Fails rather than hangs. */
static bool await_flag(const Work *work, Queue *queue, Status *why) {
  (void)queue;
  time_t end = time(NULL) + LONG_S;
  while (!atomic_load((atomic_bool *)work->context)) {
    if (time(NULL) > end) return status_fail(why, STATUS_OURS, "nobody raises the flag");
    nap(50);
  }
  return true;
}

static bool fail_now(const Work *work, Queue *queue, Status *why) {
  (void)work, (void)queue;
  return status_fail(why, STATUS_USER, "this work fails");
}

static bool count_up(const Work *work, Queue *queue, Status *why) {
  (void)queue, (void)why;
  atomic_fetch_add((atomic_int *)work->context, 1);
  return true;
}

static bool nap_and_count(const Work *work, Queue *queue, Status *why) {
  nap(500);
  return count_up(work, queue, why);
}

/* A work that lasts until its device has failed. */
typedef struct Last {
  Device *device;
  atomic_int count;
} Last;

static bool await_failure(const Work *work, Queue *queue, Status *why) {
  Last *last = work->context;
  time_t end = time(NULL) + LONG_S;
  while (last->device->ops->query(queue, UINT64_MAX - 1) != PROGRESS_FAILED) {
    if (time(NULL) > end) return status_fail(why, STATUS_OURS, "nobody ends the device");
    nap(50);
  }
  atomic_fetch_add(&last->count, 1);
  return true;
}

/* ---- order */

static void test_order(void) {
  static Log log[2];
  for (int way = 0; way < WAYS; way++) {
    Device *device = open_way(&ways[way]);
    log[0].count = log[1].count = 0;
    bool issued = true;
    for (uint64_t i = 0; i < MANY; i++)
      issued = issued && issue(device, LANE_COMPUTE, note, &log[0], 2 * i) &&
               issue(device, LANE_DP, note, &log[1], 2 * i + 1);
    CHECK(issued && device->ops->finish(device, &status));
    for (int k = 0; k < 2; k++) {
      CHECK_INT(log[k].count, MANY);
      for (int32_t i = 0; i < log[k].count; i++)
        if (log[k].number[i] != 2 * i + k) CHECK_INT(log[k].number[i], 2 * i + k);
    }
    device->ops->close(device);
  }
}

/* From queue to queue and back, each after the one before. */
static bool issue_chain(Device *device, uint64_t *x, uint64_t number_first, uint64_t count) {
  static const Lane lanes[] = {LANE_COMPUTE, LANE_DP, LANE_PP, LANE_DP};
  for (uint64_t i = 0; i < count; i++) {
    Lane lane = lanes[i % 4], before = lanes[(i + 3) % 4];
    if (i > 0 && !wait_for(device, lane, before, number_first + i - 1)) return false;
    if (!issue(device, lane, stir, x, number_first + i)) return false;
  }
  return true;
}

static uint64_t stirred(uint64_t x, uint64_t number_first, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    x = (x ^ (number_first + i)) * 0x9e3779b97f4a7c15u;
  return x;
}

static void test_waits(void) {
  for (int way = 0; way < WAYS; way++) {
    Device *device = open_way(&ways[way]);
    uint64_t x = 1;
    CHECK(issue_chain(device, &x, 0, MANY) && device->ops->finish(device, &status));
    CHECK(x == stirred(1, 0, MANY));
    device->ops->close(device);
  }
}

static void test_full(void) {
  for (int way = 1; way < WAYS; way++) { /* one queue cannot wait for itself */
    if (ways[way].queues_mask == 0) continue;
    Device *device = open_way(&ways[way]);
    atomic_bool flag = false;
    atomic_int count = 0;
    bool issued = issue(device, LANE_DP, await_flag, &flag, 0) &&
                  issue(device, LANE_COMPUTE, raise_flag, &flag, 0);
    for (uint64_t i = 1; i <= 2 * RING; i++)
      issued = issued && issue(device, LANE_DP, count_up, &count, i);
    CHECK(issued && device->ops->finish(device, &status));
    CHECK_TEXT(status.text, "");
    CHECK_INT(count, 2 * RING);
    device->ops->close(device);
  }
}

static void test_one_queue(void) {
  Device *device = open_way(&ways[0]);
  CHECK(on(device, LANE_DP) == on(device, LANE_COMPUTE));
  CHECK_INT(device->ops->lane(on(device, LANE_DP)), LANE_COMPUTE);
  atomic_int count = 0;
  CHECK(issue(device, LANE_DP, count_up, &count, 5));
  CHECK_INT(count, 1); /* at once */
  CHECK_INT(device->ops->query(on(device, LANE_DP), 5), PROGRESS_PASSED);
  CHECK(!issue(device, LANE_DP, fail_now, NULL, 6));
  CHECK_TEXT(status.text, "this work fails");
  device->ops->close(device);
}

static void test_copy(void) {
  for (int way = 0; way < WAYS; way++) {
    Device *device = open_way(&ways[way]);
    uint64_t from = 3, to[2] = {0, 9};
    bool issued =
        issue(device, LANE_COMPUTE, stir, &from, 0) && wait_for(device, LANE_CP, LANE_COMPUTE, 0) &&
        device->ops->copy(on(device, LANE_CP), to, &from, sizeof from, 1, &status) &&
        wait_for(device, LANE_COMPUTE, LANE_CP, 1) && issue(device, LANE_COMPUTE, stir, to, 2);
    CHECK(issued && device->ops->finish(device, &status));
    CHECK(from == stirred(3, 0, 1) && to[0] == stirred(from, 2, 1) && to[1] == 9);
    device->ops->close(device);
  }
}

/* ---- capture */

static void test_replay(void) {
  for (int way = 0; way < WAYS; way++) {
    Device *device = open_way(&ways[way]);
    uint64_t x = 1;
    const uint64_t count = MANY, first = 100;
    CHECK(issue(device, LANE_DP, stir, &x, 7) && device->ops->finish(device, &status));
    uint64_t before = x;
    CHECK(device->ops->capture(device, &status) && issue_chain(device, &x, first, count));
    Graph *graph = device->ops->captured(device, &status);
    CHECK(graph != NULL && device->ops->finish(device, &status));
    CHECK(x == before); /* nothing has run */
    for (uint64_t i = 0; graph != NULL && i < 2; i++) {
      uint64_t number = 10 * count * (i + 1);
      CHECK(device->ops->replay(device, graph, number, &status));
      CHECK(device->ops->finish(device, &status));
      CHECK_INT(device->ops->query(on(device, LANE_COMPUTE), number), PROGRESS_PASSED);
    }
    device->ops->graph_free(graph);
    uint64_t replayed = x;
    x = before;
    CHECK(issue_chain(device, &x, 30 * count, count) && device->ops->finish(device, &status));
    CHECK(x == stirred(before, 30 * count, count)); /* the device goes on as before */
    /* A work is the same in every replay: its number is the mark's, not its own. */
    CHECK(replayed == stirred(stirred(before, first, count), first, count));
    device->ops->close(device);
  }
}

static void test_capture_refuses(void) {
  for (int way = 0; way < WAYS; way++) {
    Device *device = open_way(&ways[way]);
    const DeviceOps *ops = device->ops;
    atomic_int count = 0;
    Work work = {.run = count_up, .context = &count};
    CHECK(ops->host(on(device, LANE_CP), &work, 0, &status));
    CHECK(ops->captured(device, &status) == NULL);
    CHECK_TEXT(status.text, "nothing is being captured");
    CHECK(ops->capture(device, &status));
    CHECK(!ops->capture(device, &status));
    CHECK_TEXT(status.text, "a capture is under way");
    CHECK(!ops->host(on(device, LANE_CP), &work, 1, &status));
    CHECK_INT(status.code, STATUS_OURS);
    CHECK_TEXT(status.text, "work of the host cannot be captured");
    CHECK(ops->captured(device, &status) == NULL); /* it would lack that work */
    CHECK(ops->finish(device, &status));
    if (ways[way].queues_mask == ALL_LANES) {
      CHECK(ops->capture(device, &status) && issue(device, LANE_DP, count_up, &count, 10));
      CHECK(!wait_for(device, LANE_DP, LANE_CP, 0)); /* when it is replayed, that is long ago */
      CHECK(ops->captured(device, &status) == NULL);
      CHECK_TEXT(status.text, "the capture holds what cannot be captured");
    }
    CHECK(ops->capture(device, &status) && issue(device, LANE_DP, count_up, &count, 20));
    CHECK_INT(count, 1); /* the host's, before */
    ops->close(device);  /* with what it captures */
  }
}

/* ---- marks and ends */

static void test_query(void) {
  Device *device = open_way(&ways[2]);
  atomic_bool flag = false;
  CHECK(issue(device, LANE_DP, await_flag, &flag, 3));
  CHECK_INT(device->ops->query(on(device, LANE_DP), 3), PROGRESS_PENDING);
  atomic_store(&flag, true);
  CHECK(device->ops->finish(device, &status));
  CHECK_INT(device->ops->query(on(device, LANE_DP), 3), PROGRESS_PASSED);
  CHECK_INT(device->ops->query(on(device, LANE_DP), 4), PROGRESS_PENDING);
  device->ops->abort(device);
  CHECK_INT(device->ops->query(on(device, LANE_DP), 3), PROGRESS_FAILED);
  device->ops->close(device);
}

/* One fails while others wait for it: they end, and one call hears why. */
static void test_failure(void) {
  for (int way = 0; way < WAYS; way++) {
    Device *device = open_way(&ways[way]);
    atomic_int count = 0, others = 0;
    Status said[MANY + 1];
    int32_t refused = 0, reasons = 0;
    for (uint64_t i = 0; i < MANY; i++) {
      status = (Status){0};
      bool good = i == 300 ? issue(device, LANE_DP, fail_now, NULL, i)
                           : issue(device, LANE_DP, count_up, &count, i);
      good = good && wait_for(device, LANE_PP, LANE_DP, i) &&
             issue(device, LANE_PP, count_up, &others, i) &&
             wait_for(device, LANE_COMPUTE, LANE_PP, i) &&
             issue(device, LANE_COMPUTE, count_up, &others, i);
      if (!good) said[refused++] = status;
    }
    status = (Status){0};
    CHECK(!device->ops->finish(device, &status));
    said[refused++] = status;
    for (int32_t i = 0; i < refused; i++) {
      reasons += said[i].code == STATUS_USER;
      CHECK(said[i].code == STATUS_USER || said[i].code == STATUS_ECHO);
    }
    CHECK_INT(reasons, 1);
    CHECK_TEXT(said[0].text, "this work fails");
    CHECK_INT(count, 300); /* nothing after it */
    CHECK(others <= 600);  /* they may have been late: work not begun is dropped */
    device->ops->close(device);
  }
}

static void *abort_later(void *argument) {
  Last *last = argument;
  while (atomic_load(&last->count) < 5)
    nap(50);
  last->device->ops->abort(last->device);
  return NULL;
}

/* The sixth work lasts until the abort: whatever the machine does, the others have not begun. */
static void test_abort(void) {
  Device *device = open_way(&ways[2]);
  pthread_t thread;
  Last last = {.device = device};
  bool issued = true;
  for (uint64_t i = 0; i < 200; i++)
    issued = issued && (i == 5 ? issue(device, LANE_DP, await_failure, &last, i)
                               : issue(device, LANE_DP, nap_and_count, &last.count, i));
  issued = issued && wait_for(device, LANE_COMPUTE, LANE_DP, 199) &&
           issue(device, LANE_COMPUTE, count_up, &last.count, 200);
  CHECK(issued && pthread_create(&thread, NULL, abort_later, &last) == 0);
  CHECK(!device->ops->finish(device, &status));
  CHECK_INT(status.code, STATUS_ECHO);
  CHECK_INT(last.count, 6); /* a work that was running has ended before finish returned */
  pthread_join(thread, NULL);
  nap(2000);
  CHECK_INT(last.count, 6);
  device->ops->close(device);
}

static void test_close(void) {
  for (int way = 1; way < WAYS; way++) {
    if (ways[way].queues_mask == 0) continue;
    Device *device = open_way(&ways[way]);
    Last last = {.device = device};
    bool issued = true;
    for (uint64_t i = 0; i < 100; i++)
      issued = issued &&
               (i == 99 ? issue(device, LANE_DP, await_failure, &last, i)
                        : issue(device, LANE_DP, nap_and_count, &last.count, i)) &&
               wait_for(device, LANE_COMPUTE, LANE_DP, i) &&
               issue(device, LANE_COMPUTE, nap_and_count, &last.count, i);
    CHECK(issued);
    device->ops->close(device);
    CHECK(last.count < 200); /* what waits for the last one has not run */
  }
}

/* ---- idleness */

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Sleeping takes a switch each time. */
static long switches(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

static bool take_a_moment(const Work *work, Queue *queue, Status *why) {
  (void)queue, (void)why;
  volatile int64_t *spin = work->context;
  for (int32_t i = 0; i < 30000; i++)
    *spin = *spin + 1;
  return true;
}

static void test_idle(void) {
  Device *device = open_way(&ways[2]);
  atomic_bool flag = false;
  int64_t spin = 0;
  CHECK(issue(device, LANE_DP, raise_flag, &flag, 0) && device->ops->finish(device, &status));
  nap(20000); /* until they sleep */
  double before_ms = cpu_ms();
  nap(200000);
  CHECK(cpu_ms() - before_ms < 50);
  long before = switches();
  bool issued = true;
  for (uint64_t i = 0; i < MANY; i++)
    issued = issued && issue(device, LANE_COMPUTE, take_a_moment, &spin, i);
  CHECK(issued && device->ops->finish(device, &status));
  long woken = switches() - before;
  CHECK(woken < MANY / 4); /* one for each work or more, if works woke all who sleep */
  device->ops->close(device);
}

/* ---- times */

typedef struct Heard {
  uint64_t last;
  int32_t count;
  bool is_wrong;
} Heard;

static void hear(void *context, uint64_t number, int64_t start_ns, int64_t end_ns) {
  Heard *heard = context;
  heard->is_wrong |= number <= heard->last || end_ns - start_ns < 500000;
  heard->last = number;
  heard->count++;
}

/* While the device listens, every work is told of once, with the time that it took. */
static void test_times(void) {
  for (int way = 0; way < WAYS; way++) {
    Heard heard = {0};
    atomic_int naps = 0;
    DeviceSetup setup = ways[way];
    setup.heard = hear, setup.heard_context = &heard;
    Device *device = open_way(&setup);
    for (uint64_t number = 1; number <= 4; number++) {
      if (number != 3) CHECK(device->ops->listen(device, number == 2, &status));
      CHECK(issue(device, LANE_DP, nap_and_count, &naps, number));
      if (number != 2) CHECK(device->ops->finish(device, &status));
    }
    CHECK(device->ops->coarse(device) == NULL);
    CHECK_INT(heard.count, 2);
    CHECK_INT(heard.last, 3);
    CHECK(!heard.is_wrong);
    device->ops->close(device);
  }
}

int main(void) {
  TEST("a queue runs in order, and takes more than its ring holds") test_order();
  TEST("waits order the queues") test_waits();
  TEST("who issues computes where another queue is full") test_full();
  TEST("a device of one queue runs at once") test_one_queue();
  TEST("copies are ordered as works are") test_copy();
  TEST("what was captured runs when it is replayed, as often") test_replay();
  TEST("a capture refuses what a replay could not repeat") test_capture_refuses();
  TEST("marks are asked without waiting") test_query();
  TEST("a failure ends all queues, and its reason is told once") test_failure();
  TEST("an abort drops what has not begun") test_abort();
  TEST("a device is closed with work pending") test_close();
  TEST("works are told of while the device listens") test_times();
  TEST("an idle queue costs nothing, and sleeps while others work") test_idle();
  CHECK_DONE();
}
