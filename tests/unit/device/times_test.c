/* When the works of a CUDA device ran, by a stand-in of CUPTI or by events. 77 where CUDA's headers
 * are missing.
 * LINK: runtime */
#include <stdio.h>

#if __has_include(<cuda_runtime_api.h>) && __has_include(<cupti.h>)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/cupti.h"
#include "runtime/device/cuda/ranges.h"
#include "tests/unit/check.h"
#include "tests/unit/cuda_stand_in.h"
#include "tests/unit/cupti_stand_in.h"

enum { COMPUTE, BESIDE, LANES, CALL = 10, MOST = 16, COPIED = 50 };

static Device *device;
static Status status;
static char heard[512];

/* ---- what streams.c needs of its neighbours */

void range_begin(const char *name) {
  (void)name;
}

void range_end(void) {}

/* ---- works */

static const PlanRecord kernel = {.comm = PLAN_NONE}, communication = {.comm = 0};
static bool captures;
static int nodes[MOST], nodes_count;

static void hear(void *context, uint64_t number, int64_t start_ns, int64_t end_ns) {
  const size_t used = strlen(heard);
  (void)context;
  (void)snprintf(heard + used, sizeof heard - used, "%d %lld-%lld, ", (int)number,
                 (long long)start_ns, (long long)end_ns);
}

static Queue *on(uint32_t lane) {
  return device->ops->queue(device, lane);
}

/* A kernel that runs for 5 ns from 10 x its number on; of number 2 there are a clear, and another
 * one that ends last and comes first. */
static void launch_activities(int number) {
  const CuptiActivity one = {'k', 0, 10 * number, 10 * number + 5};
  const CuptiActivity clear = {'s', 0, 18, 19}, late = {'k', 0, 26, 29};
  if (captures) {
    cupti_stand_in_node((uintptr_t)number + 1, 0);
    nodes[nodes_count++] = number;
    return;
  }
  if (number == 2) cupti_stand_in_launch(&late, 1);
  cupti_stand_in_launch(&one, 1);
  if (number == 2) cupti_stand_in_launch(&clear, 1);
}

static bool launch(const Work *work, Queue *queue, Status *why) {
  (void)why;
  cuda_stand_in_launch(device->ops->stream(queue), (int)work->microbatch);
  launch_activities((int)work->microbatch);
  return true;
}

static void *of_a_thread(void *number) {
  launch_activities(*(const int *)number);
  return NULL;
}

/* As NCCL does: a thread of the library launches. */
static bool launch_elsewhere(const Work *work, Queue *queue, Status *why) {
  int number = (int)work->microbatch;
  pthread_t thread;
  (void)why;
  cuda_stand_in_launch(device->ops->stream(queue), number);
  CHECK(pthread_create(&thread, NULL, of_a_thread, &number) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  return true;
}

static bool issue(uint32_t lane, int number, bool communicates) {
  const Work work = {.run = communicates ? launch_elsewhere : launch,
                     .record = communicates ? &communication : &kernel,
                     .microbatch = number};
  cuda_stand_in_at((float)number);
  return device->ops->issue(on(lane), &work, (uint64_t)number, &status);
}

/* The executable graph has other nodes than the captured one. */
static void instantiate(void) {
  for (int i = 0; i < nodes_count; i++)
    cupti_stand_in_node(100 + (uintptr_t)nodes[i], (uintptr_t)nodes[i] + 1);
}

static void launch_graph(void) {
  CuptiActivity of[MOST];
  for (int i = 0; i < nodes_count; i++)
    of[i] = (CuptiActivity){'k', 100 + (uint64_t)nodes[i], 10 * nodes[i], 10 * nodes[i] + 5};
  cupti_stand_in_launch(of, nodes_count);
}

static void launch_copy(void) {
  const CuptiActivity copy = {'c', 0, 10 * COPIED, 10 * COPIED + 5};
  cupti_stand_in_launch(&copy, 1);
}

static void begin(void) {
  status = (Status){0};
  nodes_count = 0, captures = false, heard[0] = '\0';
  cuda_stand_in_clear();
  cuda_stand_in_hooks(instantiate, launch_graph, launch_copy);
  device = cuda_device_open(&(DeviceSetup){.lane_count = LANES,
                                           .main_lane = COMPUTE,
                                           .queues_mask = 1u << BESIDE,
                                           .heard = hear,
                                           .call_numbers = CALL},
                            &status);
}

static bool listen(bool is_on) {
  if (is_on) heard[0] = '\0';
  cuda_stand_in_do(~(CudaWorks)0);
  return device->ops->listen(device, is_on, &status);
}

static void end(void) {
  device->ops->close(device);
  CHECK_INT(cuda_stand_in_open(), 0);
  CHECK_INT(cuda_stand_in_wrongs(), 0);
  CHECK_INT(cupti_stand_in_wrongs(), 0);
}

/* ---- by CUPTI */

static void test_works(void) {
  char from[4] = "abc", to[4] = "";
  begin();
  CHECK(device->ops->coarse(device) == NULL);
  CHECK(issue(COMPUTE, 0, false)); /* nobody listens yet */
  CHECK(listen(true));
  CHECK(issue(COMPUTE, 1, false) && issue(BESIDE, 3, true) && issue(COMPUTE, 2, false));
  CHECK(device->ops->copy(on(COMPUTE), to, from, sizeof to, COPIED, &status));
  CHECK(listen(false));
  CHECK_TEXT(heard, "1 10-15, 2 18-29, 3 30-35, 50 500-505, ");
  CHECK(issue(COMPUTE, 4, false) && listen(true) && issue(COMPUTE, 5, false) && listen(false));
  CHECK_TEXT(heard, "5 50-55, ");
  end();
}

/* A node that a thread of NCCL's adds to a graph has the number of the work that is captured. */
static void test_graph(void) {
  begin();
  CHECK(issue(COMPUTE, 0, false));
  cuda_stand_in_do(1);
  CHECK(device->ops->capture(device, &status));
  captures = true;
  CHECK(issue(COMPUTE, 1, false) && issue(COMPUTE, 2, true) && issue(COMPUTE, 3, false));
  captures = false;
  Graph *graph = device->ops->captured(device, &status);
  CHECK(graph != NULL);
  CHECK(device->ops->replay(device, graph, 20, &status)); /* nobody listens */
  CHECK(listen(true) && device->ops->replay(device, graph, 41, &status) && listen(false));
  CHECK_TEXT(heard, "41 10-15, 42 20-25, 43 30-35, ");
  device->ops->graph_free(graph);
  end();
}

/* Records that give ids may come only with records of calls. */
static void test_names(void) {
  begin();
  cupti_stand_in_set(CUPTI_NAMES_ONLY_WITH_CALLS);
  CHECK(listen(true) && issue(COMPUTE, 1, false) && !listen(false));
  CHECK_INT(status.code, STATUS_DONE);
  CHECK(listen(true) && issue(COMPUTE, 1, false) && listen(false));
  CHECK_TEXT(heard, "1 10-15, ");
  cupti_stand_in_set(CUPTI_SOUND);
  end();
}

/* ---- by events: the stand-in's time of each event, in ms, is the number of the work */

/* Two works of a call have one time; a communication its own; and so has what follows a wait. */
static void check_calls(const char *reason) {
  CHECK(strstr(device->ops->coarse(device), reason) != NULL);
  CHECK(listen(true));
  int64_t base_ns = 0;
  CHECK(issue(COMPUTE, 11, false) && issue(COMPUTE, 12, false) && issue(COMPUTE, 13, true));
  CHECK(issue(COMPUTE, 15, false) && device->ops->wait(on(COMPUTE), on(BESIDE), 1, &status));
  CHECK(issue(COMPUTE, 17, false) && issue(COMPUTE, 21, false));
  cuda_stand_in_at(29);
  CHECK(listen(false));
  int number[5] = {0};
  long long start[5] = {0}, stop[5] = {0};
  CHECK_INT(sscanf(heard, "%d %lld-%lld, %d %lld-%lld, %d %lld-%lld, %d %lld-%lld, %d %lld-%lld,",
                   &number[0], &start[0], &stop[0], &number[1], &start[1], &stop[1], &number[2],
                   &start[2], &stop[2], &number[3], &start[3], &stop[3], &number[4], &start[4],
                   &stop[4]),
            15);
  static const int numbers[] = {11, 13, 15, 17, 21}, starts[] = {11, 13, 15, 17, 21},
                   stops[] = {13, 15, 15, 21, 29};
  base_ns = start[0] - 11000000;
  for (int i = 0; i < 5; i++) {
    CHECK_INT(number[i], numbers[i]);
    CHECK_INT(start[i] - base_ns, 1000000LL * starts[i]);
    CHECK_INT(stop[i] - base_ns, 1000000LL * stops[i]);
  }
  Status why = {0};
  CHECK(!device->ops->capture(device, &why));
  CHECK(strstr(why.text, "timed by events") != NULL);
}

/* In a process of its own, for CUPTI is opened once. */
static void without(const char *path, CuptiFlaw flaw, const char *reason) {
  int ended = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    cupti_stand_in_set(flaw);
    (void)cupti_open(path, &status);
    begin();
    cuda_stand_in_times(true);
    check_calls(reason);
    end();
    fflush(stdout);
    _exit(check_failures > 0);
  }
  CHECK(waitpid(child, &ended, 0) == child);
  CHECK_INT(ended, 0);
}

static void test_without(void) {
  without("/nonexistent/libcupti.so", CUPTI_SOUND, "CUPTI cannot be loaded");
  without(CUPTI_STAND_IN, CUPTI_OF_ANOTHER_VERSION, "was built for version");
  without(CUPTI_STAND_IN, CUPTI_HAS_A_SUBSCRIBER, "another subscriber");
}

/* Last, for the device has no CUPTI any more. */
static void test_drops(void) {
  begin();
  CHECK(listen(true) && issue(COMPUTE, 1, false));
  cupti_stand_in_set(CUPTI_DROPS);
  CHECK(!listen(false));
  CHECK_TEXT(status.text, "CUPTI dropped 1 records");
  cuda_stand_in_times(true);
  check_calls("CUPTI dropped 1 records");
  end();
}

int main(void) {
  TEST("without CUPTI, calls are timed by events") test_without();
  CHECK(cupti_open(CUPTI_STAND_IN, &status));
  TEST("a work lasts from its first activity to its last, whoever launches them") test_works();
  TEST("works of a graph have the numbers of the replay") test_graph();
  TEST("external ids that come only with records of calls are asked for") test_names();
  TEST("dropped records do not count, and calls are timed from then on") test_drops();
  CHECK_DONE();
}

#else

int main(void) {
  printf("skipped: the headers of CUDA and CUPTI are not here\n");
  return 77;
}

#endif
