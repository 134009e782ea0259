/* streams_capture.c -- a run of a program as a CUDA graph: capture, and replay. */
#include <stdlib.h>

#include "runtime/device/cuda/streams.h"

/* Events recorded in a capture are invalid outside it. */
static void forget_marks(Cuda *cuda) {
  for (uint32_t lane = 0; lane < cuda->setup.lane_count; lane++)
    for (MarkFor whom = 0; whom < MarkFor_COUNT; whom++)
      cuda->queues[lane].marks[whom].count = 0;
}

bool streams_capture(Device *device, Status *status) {
  Cuda *cuda = (Cuda *)device;
  cudaStream_t main = cuda->of[cuda->setup.main_lane]->stream;
  if (cuda->is_capturing) return status_fail(status, STATUS_OURS, "a capture is under way");
  if (!streams_finish(device, status) || !times_capture(cuda->times, true, status)) return false;
  forget_marks(cuda);
  cuda->is_spoiled = false;
  cuda->captured_first = 0;
  cudaError_t error = cudaStreamBeginCapture(main, cudaStreamCaptureModeThreadLocal);
  cuda->is_capturing = cuda_done(error, "capture", status);
  if (!cuda->is_capturing) (void)times_capture(cuda->times, false, status);
  return cuda->is_capturing;
}

void streams_graph_free(Graph *graph) {
  if (graph == NULL) return;
  (void)cudaGraphExecDestroy(graph->exec);
  free(graph);
}

Graph *streams_captured(Device *device, Status *status) {
  Cuda *cuda = (Cuda *)device;
  Queue *main = cuda->of[cuda->setup.main_lane];
  cudaGraph_t captured = NULL;
  if (!cuda->is_capturing) {
    status_fail(status, STATUS_OURS, "nothing is being captured");
    return NULL;
  }
  cuda->is_capturing = false;
  (void)times_capture(cuda->times, false, status);
  forget_marks(cuda);
  cudaError_t error = cudaStreamEndCapture(main->stream, &captured);
  if (error != cudaSuccess) (void)cudaGetLastError();
  if (cuda->is_spoiled || !cuda_done(error, "end the capture", status)) {
    if (captured != NULL) (void)cudaGraphDestroy(captured);
    if (cuda->is_spoiled) *status = cuda->spoiled;
    cuda->is_spoiled = false;
    return NULL;
  }
  Graph *graph = calloc(1, sizeof *graph);
  if (graph == NULL) {
    (void)cudaGraphDestroy(captured);
    status_fail(status, STATUS_WORLD, "not enough memory to capture");
    return NULL;
  }
  graph->number_first = cuda->captured_first;
  graph->span = main->issued - cuda->captured_first;
  error = cudaGraphInstantiate(&graph->exec, captured, 0);
  (void)cudaGraphDestroy(captured);
  if (cuda_done(error, "make a graph", status)) return graph;
  (void)cudaGetLastError();
  free(graph);
  return NULL;
}

bool streams_replay(Device *device, const Graph *graph, uint64_t number_first, Status *status) {
  Cuda *cuda = (Cuda *)device;
  Queue *main = cuda->of[cuda->setup.main_lane];
  if (cuda->failed) return streams_tell(cuda, status);
  times_begin_graph(cuda->times, number_first - graph->number_first);
  cudaError_t error = cudaGraphLaunch(graph->exec, main->stream);
  times_end(cuda->times);
  if (!streams_done(cuda, error, "launch a graph", status)) return false;
  streams_note(main, number_first + graph->span);
  return true;
}
