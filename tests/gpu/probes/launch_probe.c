/* launch_probe -- a chain of 300 small kernels, launched one by one and replayed as one graph.
 *
 * 300 is about one training step of GPT-2 124M. Kernels this small make the time all overhead, so
 * the difference is what a captured step saves; the result is checked against fp64.
 */
#include <stdio.h>
#include <time.h>

#include "tests/gpu/common/device.h"
#include "tests/gpu/common/record.h"
#include "tests/gpu/probes/kernels.h"

enum { KERNELS = 300, COUNT = 4096, ROUNDS = 21 };
static const float FACTOR = 0.99f, OFFSET = 0.01f;

typedef struct {
  Device *device;
  float *x;
  cudaGraphExec_t graph;
} Chain;

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static bool launch_all(void *context) {
  const Chain *chain = context;
  for (int i = 0; i < KERNELS; i++)
    TRY_CUDA(kernel_axpb(chain->x, COUNT, FACTOR, OFFSET, chain->device->stream));
  return true;
}

static bool launch_graph(void *context) {
  const Chain *chain = context;
  TRY_CUDA(cudaGraphLaunch(chain->graph, chain->device->stream));
  return true;
}

static bool capture(Chain *chain, double *instantiate_us) {
  cudaStream_t stream = chain->device->stream;
  cudaGraph_t graph = NULL;
  TRY_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  bool launched = launch_all(chain);
  TRY_CUDA(cudaStreamEndCapture(stream, &graph));
  TRY(launched);
  double start_us = now_us();
  TRY_CUDA(cudaGraphInstantiate(&chain->graph, graph, 0));
  TRY_CUDA(cudaGraphUpload(chain->graph, stream));
  TRY_CUDA(cudaStreamSynchronize(stream));
  *instantiate_us = now_us() - start_us;
  TRY_CUDA(cudaGraphDestroy(graph));
  return true;
}

/* The same chain in fp64, from the pattern; fp32 errs by at most one ulp of 1 a kernel. */
static bool check(const Chain *chain, const Pattern *pattern, Difference *difference) {
  static float got[COUNT];
  TRY_CUDA(cudaMemcpy(got, chain->x, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < COUNT; i++) {
    double x = pattern_at(pattern, i);
    for (int kernel = 0; kernel < KERNELS; kernel++)
      x = x * (double)FACTOR + (double)OFFSET;
    difference_add(difference, (double)got[i], x, KERNELS * 0x1p-23);
  }
  if (difference->outside > 0) FAIL("the chain is off by up to %.3g", difference->max_error);
  return true;
}

/* Medians of: the time to submit one chain, and the time until it is done. */
static bool time_rounds(Chain *chain, bool (*run)(void *), double *submit_us, double *total_us) {
  double submits_us[ROUNDS], totals_us[ROUNDS];
  for (int i = -2; i < ROUNDS; i++) { /* two rounds of warm-up */
    TRY_CUDA(cudaStreamSynchronize(chain->device->stream));
    double start_us = now_us();
    TRY(run(chain));
    double submitted_us = now_us();
    TRY_CUDA(cudaStreamSynchronize(chain->device->stream));
    if (i < 0) continue;
    submits_us[i] = submitted_us - start_us;
    totals_us[i] = now_us() - start_us;
  }
  *submit_us = median(submits_us, ROUNDS);
  *total_us = median(totals_us, ROUNDS);
  return true;
}

static bool measure(Results *results, Chain *chain, bool (*run)(void *)) {
  Pattern pattern = {TYPE_FP32, 31, 1.0f};
  double instantiate_us = 0.0, submit_us = 0.0, total_us = 0.0;
  TRY(chain->x = device_take_pattern(chain->device, &pattern, COUNT));
  if (run == launch_graph) {
    TRY(capture(chain, &instantiate_us));
    record_number(results, "instantiate_us", instantiate_us);
  }
  Difference difference = {0};
  TRY(run(chain));
  TRY_CUDA(cudaStreamSynchronize(chain->device->stream));
  TRY(check(chain, &pattern, &difference));
  TRY(time_rounds(chain, run, &submit_us, &total_us));
  record_integer(results, "kernels", KERNELS);
  record_number(results, "submit_us", submit_us);
  record_number(results, "total_us", total_us);
  record_number(results, "submit_per_kernel_us", submit_us / KERNELS);
  record_number(results, "total_per_kernel_us", total_us / KERNELS);
  record_number(results, "max_error", difference.max_error);
  return true;
}

static void run_chain(Results *results, Device *device, const char *name, bool (*run)(void *)) {
  Chain chain = {.device = device};
  record_begin(results, "launch", name);
  bool ok = measure(results, &chain, run);
  if (chain.graph) (void)cudaGraphExecDestroy(chain.graph);
  device_reset(device);
  record_end(results, ok);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: launch_probe RESULTS.jsonl\n");
    return PROBE_USAGE;
  }
  static Device device;
  device_open(&device, 1 << 20);
  Results *results = results_open(argv[1]);
  if (!results) return PROBE_FAILED;
  run_chain(results, &device, "launched one by one", launch_all);
  run_chain(results, &device, "replayed as a graph", launch_graph);
  return results_close(results) ? PROBE_PASSED : PROBE_FAILED;
}
