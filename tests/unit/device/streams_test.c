/* Queues as streams of CUDA: what they ask of its runtime, by a stand-in that knows what has to be
 * over before a work runs. 77 where CUDA's headers are missing.
 * LINK: runtime */
#include <stdio.h>

#if __has_include(<cuda_runtime_api.h>)
#include "runtime/device/cuda/cuda.h"
#include "runtime/device/cuda/ranges.h"
#include "tests/unit/check.h"
#include "tests/unit/cuda_stand_in.h"

enum { COMPUTE, BESIDE, HOST, LANES, MANY = 300, FAILS = 1000 };

static Device *device;
static Status status;
static int looks;

/* ---- what streams.c needs of its neighbours */

void range_begin(const char *name) {
  (void)name;
}

void range_end(void) {}

/* ---- works */

static Queue *on(uint32_t lane) {
  return device->ops->queue(device, lane);
}

static CudaWorks works(int first, int last) {
  return ((CudaWorks)2 << last) - ((CudaWorks)1 << first);
}

static bool launch(const Work *work, Queue *queue, Status *why) {
  (void)why;
  cuda_stand_in_launch(device->ops->stream(queue), (int)work->microbatch);
  return true;
}

static bool issue(uint32_t lane, int number) {
  const Work work = {.run = launch, .microbatch = number};
  return device->ops->issue(on(lane), &work, (uint64_t)number, &status);
}

static bool mark(uint32_t lane, MarkFor whom) {
  return device->ops->mark(on(lane), whom, &status);
}

static bool wait_for(uint32_t lane, uint32_t other, int number) {
  return device->ops->wait(on(lane), on(other), (uint64_t)number, &status);
}

/* Gives up at the third look. */
static bool give_up(void *context, Status *why) {
  (void)context;
  return ++looks < 3 || status_fail(why, STATUS_ECHO, "another rank ended");
}

static void begin(DeviceLook *look) {
  looks = 0;
  status = (Status){0};
  cuda_stand_in_clear();
  device = cuda_device_open(&(DeviceSetup){.lane_count = LANES,
                                           .main_lane = COMPUTE,
                                           .queues_mask = 1u << BESIDE | 1u << HOST,
                                           .host_mask = 1u << HOST,
                                           .look = look},
                            &status);
}

static void end(void) {
  device->ops->close(device);
  CHECK_INT(cuda_stand_in_open(), 0);
  CHECK_INT(cuda_stand_in_wrongs(), 0);
}

/* ---- marks */

static void test_marks(void) {
  begin(NULL);
  CHECK(issue(BESIDE, 1) && mark(BESIDE, MARK_FOR_QUEUES) && issue(BESIDE, 2));
  CHECK(wait_for(COMPUTE, BESIDE, 1) && issue(COMPUTE, 3));
  CHECK_INT(cuda_stand_in_before(3), works(1, 1));
  CHECK(wait_for(COMPUTE, BESIDE, 2) && issue(COMPUTE, 4)); /* not said to be waited for */
  CHECK_INT(cuda_stand_in_before(4), works(1, 3));
  end();
}

/* Step after step: the host waits for one while the device has the next. */
static void test_host(void) {
  begin(NULL);
  CHECK(issue(COMPUTE, 1) && mark(COMPUTE, MARK_FOR_HOST) && issue(COMPUTE, 2));
  for (int i = 0; i < MANY; i++)
    CHECK(mark(COMPUTE, MARK_FOR_QUEUES));
  CHECK_INT(device->ops->query(on(COMPUTE), 1), PROGRESS_PENDING);
  cuda_stand_in_do(works(1, 1));
  CHECK(device->ops->await(on(COMPUTE), 1, &status));
  CHECK_INT(device->ops->query(on(COMPUTE), 2), PROGRESS_PENDING);
  cuda_stand_in_do(works(2, 2));
  CHECK_INT(device->ops->query(on(COMPUTE), 2), PROGRESS_PASSED);
  CHECK(issue(COMPUTE, 3) && mark(COMPUTE, MARK_FOR_HOST));
  CHECK_INT(device->ops->query(on(COMPUTE), 3), PROGRESS_PENDING);
  CHECK(issue(COMPUTE, 4)); /* the answer is no error of it */
  end();
}

/* A mark whose event is in use again is passed later, and never too early. */
static void test_reuse(void) {
  begin(NULL);
  CHECK(issue(BESIDE, 1) && mark(BESIDE, MARK_FOR_QUEUES) && issue(BESIDE, 2));
  for (int i = 0; i < MANY; i++)
    CHECK(mark(BESIDE, MARK_FOR_QUEUES));
  CHECK(wait_for(COMPUTE, BESIDE, 1) && issue(COMPUTE, 3));
  CHECK_INT(cuda_stand_in_before(3), works(1, 2));
  end();
}

/* ---- captures */

static void test_capture(void) {
  begin(NULL);
  CHECK(issue(BESIDE, 0) && mark(BESIDE, MARK_FOR_QUEUES));
  cuda_stand_in_do(works(0, 0));
  CHECK(device->ops->capture(device, &status));
  CHECK(issue(COMPUTE, 1) && wait_for(BESIDE, COMPUTE, 1) && issue(BESIDE, 2) &&
        mark(BESIDE, MARK_FOR_QUEUES) && issue(BESIDE, 3));
  CHECK(wait_for(COMPUTE, BESIDE, 2) && issue(COMPUTE, 4) && wait_for(COMPUTE, BESIDE, 3) &&
        issue(COMPUTE, 5));
  Graph *graph = device->ops->captured(device, &status);
  CHECK(graph != NULL);
  for (int run = 1; graph != NULL && run <= 2; run++) {
    CHECK(device->ops->replay(device, graph, (uint64_t)(100 * run), &status));
    CHECK(mark(COMPUTE, MARK_FOR_HOST));
    CHECK_INT(cuda_stand_in_before(4), works(0, 2) & ~works(0, 0));
    CHECK_INT(cuda_stand_in_before(5), works(1, 4));
    CHECK_INT(device->ops->query(on(COMPUTE), (uint64_t)(100 * run + 4)), PROGRESS_PENDING);
    cuda_stand_in_do(works(1, 5));
    CHECK(device->ops->await(on(COMPUTE), (uint64_t)(100 * run + 4), &status));
  }
  device->ops->graph_free(graph);
  CHECK(device->ops->finish(device, &status));
  end();
}

static void test_capture_refuses(void) {
  begin(NULL);
  CHECK(issue(BESIDE, 0));
  cuda_stand_in_do(works(0, 0));
  CHECK(device->ops->capture(device, &status) && issue(COMPUTE, 1));
  CHECK(!wait_for(COMPUTE, BESIDE, 0));
  CHECK(device->ops->captured(device, &status) == NULL);
  CHECK_TEXT(status.text, "a wait for work that is not captured cannot be captured");
  CHECK(device->ops->capture(device, &status) && issue(COMPUTE, 1));
  CHECK(wait_for(BESIDE, COMPUTE, 1) && issue(BESIDE, 2)); /* nobody waits for it */
  CHECK(device->ops->captured(device, &status) == NULL);
  CHECK_INT(cuda_stand_in_wrongs(), 1);                     /* a stream stays outside */
  CHECK(issue(COMPUTE, 3) && mark(COMPUTE, MARK_FOR_HOST)); /* the device goes on */
  end();
}

/* ---- a lane of the host */

static _Atomic int ran_on_host;

static bool run_on_host(const Work *work, Queue *queue, Status *why) {
  ran_on_host = (int)work->microbatch;
  CHECK(device->ops->stream(queue) == NULL);
  return work->microbatch != FAILS || status_fail(why, STATUS_OURS, "update: it cannot");
}

static bool issue_on_host(int number) {
  const Work work = {.run = run_on_host, .microbatch = number};
  return device->ops->issue(on(HOST), &work, (uint64_t)number, &status);
}

/* Work of the host comes after a stream's, and a stream's after the host's. */
static void test_host_lane(void) {
  char from[4] = "abc", to[4] = "";
  begin(NULL);
  ran_on_host = 0;
  void *compute = device->ops->stream(on(COMPUTE));
  CHECK(issue(COMPUTE, 1) && wait_for(HOST, COMPUTE, 1) && issue_on_host(2));
  CHECK(mark(HOST, MARK_FOR_QUEUES) && wait_for(COMPUTE, HOST, 2));
  CHECK(cuda_stand_in_waits(compute));
  CHECK_INT(ran_on_host, 0);
  CHECK_INT(device->ops->query(on(HOST), 2), PROGRESS_PENDING);
  cuda_stand_in_do(works(1, 1));
  CHECK(device->ops->await(on(HOST), 2, &status));
  CHECK_INT(ran_on_host, 2);
  CHECK(!cuda_stand_in_waits(compute));
  CHECK(device->ops->copy(on(HOST), to, from, sizeof to, 3, &status));
  CHECK(device->ops->finish(device, &status));
  CHECK_TEXT(to, "abc");
  end();
}

/* More than its ring holds. */
static void test_host_many(void) {
  begin(NULL);
  for (int i = 1; i <= MANY; i++)
    CHECK(issue_on_host(i) && wait_for(COMPUTE, HOST, i) && wait_for(HOST, COMPUTE, i));
  CHECK(device->ops->finish(device, &status));
  CHECK_INT(ran_on_host, MANY);
  end();
}

static void test_host_fails(void) {
  begin(NULL);
  CHECK(issue_on_host(FAILS) && wait_for(COMPUTE, HOST, FAILS));
  CHECK(!device->ops->finish(device, &status));
  CHECK_TEXT(status.text, "update: it cannot");
  CHECK(!issue(COMPUTE, 1));
  CHECK(!cuda_stand_in_waits(device->ops->stream(on(COMPUTE)))); /* it is let go */
  end();
}

/* A host that waits for a stream that never ends lets go when the device is given up. */
static void test_host_abort(void) {
  begin(NULL);
  CHECK(issue(COMPUTE, 1) && wait_for(HOST, COMPUTE, 1) && issue_on_host(2));
  device->ops->abort(device);
  CHECK(!device->ops->finish(device, &status));
  end();
}

static void test_host_capture(void) {
  begin(NULL);
  CHECK(device->ops->capture(device, &status) && issue(COMPUTE, 1));
  CHECK(!issue_on_host(2));
  CHECK(device->ops->captured(device, &status) == NULL);
  CHECK_TEXT(status.text, "work of the host cannot be captured");
  CHECK(issue_on_host(3) && device->ops->await(on(HOST), 3, &status));
  end();
}

/* ---- waiting */

static bool nothing(const Work *work, Queue *queue, Status *why) {
  (void)work, (void)queue, (void)why;
  return true;
}

/* Work that never ends is given up wherever the host waits. */
static void test_looks(void) {
  const Work load = {.run = nothing};
  char bytes[8] = "";
  for (int way = 0; way < 4; way++) {
    begin(give_up);
    CHECK(issue(BESIDE, 1) && issue(COMPUTE, 2) && mark(COMPUTE, MARK_FOR_HOST));
    CHECK(way == 0   ? !device->ops->await(on(COMPUTE), 2, &status)
          : way == 1 ? !device->ops->finish(device, &status)
          : way == 2 ? !device->ops->host(on(BESIDE), &load, 3, &status)
                     : device->ops->open_window(device, bytes, 8, ACCESS_READ, &status) == NULL);
    CHECK_TEXT(status.text, "another rank ended");
    CHECK_INT(looks, 3);
    end();
  }
}

static void test_failure(void) {
  begin(NULL);
  CHECK(issue(COMPUTE, 1));
  cuda_stand_in_break(cudaErrorLaunchFailure);
  CHECK(!device->ops->finish(device, &status));
  CHECK_TEXT(status.text, "CUDA cannot finish its work (CUDA_LAUNCH_BLOCKING=1 has the record "
                          "named): unspecified launch failure");
  CHECK_INT(status.code, STATUS_WORLD);
  CHECK(!issue(COMPUTE, 2) && !mark(COMPUTE, MARK_FOR_QUEUES));
  CHECK_INT(status.code, STATUS_ECHO);
  end();
}

/* Where CUDA's own words do not tell what to do. */
static void test_hint(void) {
  begin(NULL);
  CHECK(issue(COMPUTE, 1) && mark(COMPUTE, MARK_FOR_HOST));
  cuda_stand_in_break(cudaErrorECCUncorrectable);
  CHECK(!device->ops->await(on(COMPUTE), 1, &status));
  CHECK(strstr(status.text, "uncorrectable ECC error encountered (the GPU's memory") != NULL);
  end();
  static const struct {
    cudaError_t error;
    const char *what_to_do;
  } of[] = {
      {cudaErrorDevicesUnavailable, "allow several with nvidia-smi -c DEFAULT"},
      {cudaErrorMemoryAllocation, "end what else runs on it"},
      {cudaErrorECCUncorrectable, "reset it with nvidia-smi -r"},
      {cudaErrorInsufficientDriver, "install a newer driver"},
      {cudaErrorNoKernelImageForDevice, "./bootstrap build"},
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    Status told = {0};
    CHECK(!cuda_done(of[i].error, "use the GPU", &told));
    CHECK(strstr(told.text, of[i].what_to_do) != NULL && strchr(told.text, '\n') == NULL);
  }
}

int main(void) {
  TEST("a wait for a mark does not wait for later work") test_marks();
  TEST("the host waits for a step and not for the next one") test_host();
  TEST("a mark whose event is used again is never passed too early") test_reuse();
  TEST("queues that a capture has forked off run so in its graph") test_capture();
  TEST("a capture refuses what is outside, and what nothing joins again") test_capture_refuses();
  TEST("a lane of the host: streams wait for it, and it for streams") test_host_lane();
  TEST("more work of the host than its ring holds") test_host_many();
  TEST("a work of the host that fails ends the device, and streams go on") test_host_fails();
  TEST("a device that is given up stops its host's lane") test_host_abort();
  TEST("a capture refuses work of the host") test_host_capture();
  TEST("whoever waits looks whether the end can still come") test_looks();
  TEST("damaged memory is reported as such") test_hint();
  TEST("an error of a stream ends the device, and its reason is told once") test_failure();
  CHECK_DONE();
}

#else

int main(void) {
  printf("skipped: CUDA's headers are not here\n");
  return 77;
}

#endif
