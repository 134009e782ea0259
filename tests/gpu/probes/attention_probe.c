/* attention_probe -- cuDNN's fused attention through its C graph API, on the device at hand.
 *
 *   attention_probe RESULTS.jsonl PLANS/
 *
 * In this order: the device's own description (to be kept as test data for planning without it);
 * small shapes against fp64, with plans made here; the same with the plans that attention_plan
 * made ahead of time (PLANS/); whether a pass can be captured in a CUDA graph and whether the
 * backward pass repeats bit for bit; the times of the model shapes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/common/record.h"
#include "tests/gpu/common/text_file.h"
#include "tests/gpu/probes/sdpa_cases.h"
#include "tests/gpu/probes/sdpa_check.h"
#include "tests/gpu/probes/sdpa_run.h"

static const size_t ARENA_BYTES = (size_t)4 << 30;

typedef struct {
  Device device;
  cudnnHandle_t handle;
  Results *results;
} Probe;

/* The two plans of a shape, made here or loaded. */
typedef struct {
  CudnnGraph forward_graph, backward_graph;
  PlanList forward, backward;
} SdpaPlans;

static bool make_plans(Probe *probe, const SdpaShape *shape, int wanted, SdpaPlans *plans) {
  PlanTarget target = {.handle = probe->handle};
  sdpa_forward(&plans->forward_graph, shape);
  sdpa_backward(&plans->backward_graph, shape);
  TRY(graph_finish(&plans->forward_graph, probe->handle));
  TRY(graph_finish(&plans->backward_graph, probe->handle));
  TRY(plan_make(&plans->forward_graph, &target, wanted, &plans->forward));
  return plan_make(&plans->backward_graph, &target, wanted, &plans->backward);
}

static bool load_one(Probe *probe, const char *folder, const SdpaShape *shape, const char *pass,
                     PlanList *list) {
  char shape_name[96], name[128], path[1024];
  sdpa_name(shape, shape_name, sizeof shape_name);
  snprintf(name, sizeof name, "%s %s", shape_name, pass);
  sdpa_plan_path(folder, name, path, sizeof path);
  char *json = text_file_read(path);
  TRY(json);
  bool ok = plan_load(probe->handle, json, &list->plans[0]);
  free(json);
  list->count = ok ? 1 : 0;
  return ok;
}

static void plans_init(SdpaPlans *plans) {
  *plans = (SdpaPlans){0};
  graph_init(&plans->forward_graph);
  graph_init(&plans->backward_graph);
}

static void plans_free(SdpaPlans *plans) {
  plan_list_free(&plans->forward);
  plan_list_free(&plans->backward);
  graph_free(&plans->forward_graph);
  graph_free(&plans->backward_graph);
}

static int64_t largest_workspace(const SdpaPlans *plans) {
  int64_t largest_bytes = 0;
  const PlanList *lists[] = {&plans->forward, &plans->backward};
  for (int l = 0; l < 2; l++)
    for (int i = 0; i < lists[l]->count; i++)
      if (lists[l]->plans[i].workspace_bytes > largest_bytes)
        largest_bytes = lists[l]->plans[i].workspace_bytes;
  return largest_bytes;
}

static SdpaRun run_of(const Probe *probe, const SdpaShape *shape, const SdpaBuffers *buffers,
                      const CudnnPlan *plan) {
  return (SdpaRun){probe->handle, probe->device.stream, shape, buffers, plan};
}

/* Both passes once, and the differences from fp64 in the record. */
static bool check_plans(Probe *probe, const SdpaShape *shape, const SdpaPlans *plans) {
  SdpaBuffers buffers;
  TRY(sdpa_take_buffers(&probe->device, shape, largest_workspace(plans), &buffers));
  SdpaRun forward = run_of(probe, shape, &buffers, &plans->forward.plans[0]);
  SdpaRun backward = run_of(probe, shape, &buffers, &plans->backward.plans[0]);
  TRY(sdpa_run_forward(&forward));
  TRY(sdpa_run_backward(&backward));
  TRY_CUDA(cudaStreamSynchronize(probe->device.stream));
  SdpaDifferences differences;
  bool ok = sdpa_check(shape, &buffers, &differences);
  record_number(probe->results, "o_relative_rms", difference_relative_rms(&differences.o));
  record_number(probe->results, "stats_max_error", differences.stats.max_error);
  record_number(probe->results, "d_q_relative_rms", difference_relative_rms(&differences.d_q));
  record_number(probe->results, "d_k_relative_rms", difference_relative_rms(&differences.d_k));
  record_number(probe->results, "d_v_relative_rms", difference_relative_rms(&differences.d_v));
  return ok;
}

/* `folder` NULL: with plans made here; else with those made ahead of time. */
static void run_check(Probe *probe, const SdpaShape *shape, const char *folder) {
  char shape_name[96], name[128];
  sdpa_name(shape, shape_name, sizeof shape_name);
  snprintf(name, sizeof name, "%s%s", shape_name, folder ? ", planned ahead" : "");
  record_begin(probe->results, "attention", name);
  record_text(probe->results, "kind", folder ? "ahead" : "check");
  SdpaPlans plans;
  plans_init(&plans);
  bool ok = folder ? load_one(probe, folder, shape, "forward", &plans.forward) &&
                         load_one(probe, folder, shape, "backward", &plans.backward)
                   : make_plans(probe, shape, 1, &plans);
  ok = ok && check_plans(probe, shape, &plans);
  plans_free(&plans);
  device_reset(&probe->device);
  record_end(probe->results, ok);
}

/* Captures the forward pass, replays it over a cleared result and compares the bytes. */
static bool capture_and_compare(Probe *probe, SdpaRun *forward, size_t o_bytes, char *before,
                                char *after) {
  cudaStream_t stream = probe->device.stream;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t executable = NULL;
  TRY(sdpa_run_forward(forward));
  TRY_CUDA(cudaStreamSynchronize(stream));
  TRY_CUDA(cudaMemcpy(before, forward->buffers->o, o_bytes, cudaMemcpyDeviceToHost));
  TRY_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  bool ran = sdpa_run_forward(forward);
  TRY_CUDA(cudaStreamEndCapture(stream, &graph));
  TRY(ran);
  TRY_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  TRY_CUDA(cudaMemsetAsync(forward->buffers->o, 0, o_bytes, stream));
  TRY_CUDA(cudaGraphLaunch(executable, stream));
  TRY_CUDA(cudaStreamSynchronize(stream));
  TRY_CUDA(cudaMemcpy(after, forward->buffers->o, o_bytes, cudaMemcpyDeviceToHost));
  (void)cudaGraphExecDestroy(executable);
  (void)cudaGraphDestroy(graph);
  if (memcmp(before, after, o_bytes) != 0) FAIL("the replayed pass gave other bytes");
  return true;
}

static bool try_capture(Probe *probe, const SdpaShape *shape, const SdpaPlans *plans) {
  SdpaBuffers buffers;
  TRY(sdpa_take_buffers(&probe->device, shape, largest_workspace(plans), &buffers));
  SdpaRun forward = run_of(probe, shape, &buffers, &plans->forward.plans[0]);
  size_t o_bytes = (size_t)sdpa_o_count(shape) * sizeof(uint16_t);
  char *before = malloc(o_bytes), *after = malloc(o_bytes);
  bool ok = before && after && capture_and_compare(probe, &forward, o_bytes, before, after);
  free(before);
  free(after);
  return ok;
}

/* Runs one engine's backward pass eight times on the same inputs; atomics show as other bits. */
static bool repeats_bitwise(Probe *probe, SdpaRun *backward, bool *repeats) {
  enum { RUNS = 8 };
  size_t size_bytes = (size_t)sdpa_qkv_count(backward->shape) * sizeof(uint16_t);
  char *first = malloc(size_bytes), *later = malloc(size_bytes);
  bool ok = first && later;
  *repeats = true;
  for (int i = 0; ok && i < RUNS; i++) {
    ok = sdpa_run_backward(backward) &&
         cudaStreamSynchronize(probe->device.stream) == cudaSuccess &&
         cudaMemcpy(i ? later : first, backward->buffers->d_qkv, size_bytes,
                    cudaMemcpyDeviceToHost) == cudaSuccess;
    if (ok && i && memcmp(first, later, size_bytes) != 0) *repeats = false;
  }
  free(first);
  free(later);
  return ok || probe_fail(__FILE__, __LINE__, "a backward pass failed");
}

static bool try_repeating(Probe *probe, const SdpaShape *shape, const SdpaPlans *plans) {
  SdpaBuffers buffers;
  TRY(sdpa_take_buffers(&probe->device, shape, largest_workspace(plans), &buffers));
  SdpaRun forward = run_of(probe, shape, &buffers, &plans->forward.plans[0]);
  TRY(sdpa_run_forward(&forward));
  for (int i = 0; i < plans->backward.count; i++) {
    SdpaRun backward = run_of(probe, shape, &buffers, &plans->backward.plans[i]);
    bool repeats = false;
    TRY(repeats_bitwise(probe, &backward, &repeats));
    char key[64];
    snprintf(key, sizeof key, "candidate_%d_engine_%lld_repeats", i,
             (long long)plans->backward.plans[i].engine);
    record_bool(probe->results, key, repeats);
  }
  return true;
}

/* A question about one mid-sized shape. */
static void run_question(Probe *probe, const char *name, int wanted,
                         bool (*ask)(Probe *, const SdpaShape *, const SdpaPlans *)) {
  static const SdpaShape shape = {4, 12, 12, 1024, 64, true};
  SdpaPlans plans;
  plans_init(&plans);
  record_begin(probe->results, "attention", name);
  record_text(probe->results, "kind", "question");
  bool ok = make_plans(probe, &shape, wanted, &plans) && ask(probe, &shape, &plans);
  plans_free(&plans);
  device_reset(&probe->device);
  record_end(probe->results, ok);
}

static bool time_plans(Probe *probe, const SdpaShape *shape, const SdpaPlans *plans) {
  SdpaBuffers buffers;
  TRY(sdpa_take_buffers(&probe->device, shape, largest_workspace(plans), &buffers));
  SdpaRun forward = run_of(probe, shape, &buffers, &plans->forward.plans[0]);
  SdpaRun backward = run_of(probe, shape, &buffers, &plans->backward.plans[0]);
  double forward_us = 0.0, backward_us = 0.0;
  TRY(device_time(&probe->device, sdpa_run_forward, &forward, &forward_us));
  record_number(probe->results, "forward_us", forward_us);
  record_number(probe->results, "forward_tflops", sdpa_forward_flops(shape) / forward_us * 1e-6);
  TRY(device_time(&probe->device, sdpa_run_backward, &backward, &backward_us));
  record_number(probe->results, "backward_us", backward_us);
  record_number(probe->results, "backward_tflops", sdpa_backward_flops(shape) / backward_us * 1e-6);
  return true;
}

static void run_timing(Probe *probe, const SdpaShape *shape) {
  char name[96];
  sdpa_name(shape, name, sizeof name);
  record_begin(probe->results, "attention", name);
  record_text(probe->results, "kind", "timing");
  SdpaPlans plans;
  plans_init(&plans);
  bool ok = make_plans(probe, shape, 1, &plans);
  if (ok) {
    record_integer(probe->results, "forward_engine", plans.forward.plans[0].engine);
    record_integer(probe->results, "forward_workspace_bytes",
                   plans.forward.plans[0].workspace_bytes);
    record_integer(probe->results, "backward_engine", plans.backward.plans[0].engine);
    record_integer(probe->results, "backward_workspace_bytes",
                   plans.backward.plans[0].workspace_bytes);
    ok = time_plans(probe, shape, &plans);
  }
  plans_free(&plans);
  device_reset(&probe->device);
  record_end(probe->results, ok);
}

static void run_description(Probe *probe) {
  Descriptor description = NULL;
  record_begin(probe->results, "attention", "device description");
  record_text(probe->results, "kind", "description");
  record_integer(probe->results, "cudnn_version", (int64_t)cudnnGetVersion());
  bool ok = description_from_device(probe->handle, &description);
  char *json = ok ? description_json(description) : NULL;
  if (json) record_text(probe->results, "json", json);
  free(json);
  if (description) (void)cudnnBackendDestroyDescriptor(description);
  record_end(probe->results, ok && json);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: attention_probe RESULTS.jsonl PLANS-FOLDER\n");
    return PROBE_USAGE;
  }
  static Probe probe;
  device_open(&probe.device, ARENA_BYTES);
  cudnnStatus_t status = cudnnCreate(&probe.handle);
  if (status == CUDNN_STATUS_SUCCESS) status = cudnnSetStream(probe.handle, probe.device.stream);
  if (status != CUDNN_STATUS_SUCCESS) {
    fprintf(stderr, "cudnnCreate -> %s\n", cudnnGetErrorString(status));
    return PROBE_FAILED;
  }
  probe.results = results_open(argv[1]);
  if (!probe.results) return PROBE_FAILED;
  run_description(&probe);
  for (int i = 0; i < SDPA_CHECK_COUNT; i++)
    run_check(&probe, &SDPA_CHECKS[i], NULL);
  for (int i = 0; i < SDPA_CHECK_COUNT; i++)
    run_check(&probe, &SDPA_CHECKS[i], argv[2]);
  run_question(&probe, "captured in a CUDA graph", 1, try_capture);
  run_question(&probe, "backward repeats bit for bit", PLAN_CANDIDATES, try_repeating);
  for (int i = 0; i < SDPA_TIMING_COUNT; i++)
    run_timing(&probe, &SDPA_TIMINGS[i]);
  (void)cudnnDestroy(probe.handle);
  return results_close(probe.results) ? PROBE_PASSED : PROBE_FAILED;
}
