/* cudnn_graph.h -- an operation graph of cuDNN's backend API, built in straight lines.
 *
 * The first call that fails is kept (probe_failure) and every later one does nothing, so a builder
 * needs no check after each step: graph_finish says whether all of it held. No device is needed.
 */
#ifndef GPU_CUDNN_GRAPH_H
#define GPU_CUDNN_GRAPH_H

#include <cudnn.h>
#include <stdint.h>

#include "tests/gpu/common/probe.h"

#define TRY_CUDNN(call)                                                                            \
  do {                                                                                             \
    cudnnStatus_t status_ = (call);                                                                \
    if (status_ != CUDNN_STATUS_SUCCESS) {                                                         \
      char text_[1024] = "";                                                                       \
      cudnnGetLastErrorString(text_, sizeof text_);                                                \
      FAIL("%s -> %s: %s", #call, cudnnGetErrorString(status_), text_);                            \
    }                                                                                              \
  } while (0)

typedef cudnnBackendDescriptor_t Descriptor;

enum { GRAPH_DESCRIPTORS = 192, GRAPH_OPS = 32, FIRST_VIRTUAL_ID = 1000 };

typedef struct {
  Descriptor all[GRAPH_DESCRIPTORS];
  int count;
  Descriptor ops[GRAPH_OPS];
  int op_count;
  Descriptor graph; /* set by graph_finish */
  int64_t next_virtual_id;
  bool failed;
} CudnnGraph;

/* A tensor is in memory (id, not virtual), a host scalar passed by value, or an intermediate. */
typedef enum { TENSOR_IN_MEMORY, TENSOR_BY_VALUE, TENSOR_VIRTUAL } TensorKind;

typedef struct {
  TensorKind kind;
  int64_t id; /* ignored for virtual tensors, which get one of their own */
  cudnnDataType_t type;
  int64_t dims[4];
  int64_t strides[4];
} TensorSpec;

/* y = mode(x, b, t) in `compute` precision; b, t NULL when the mode has no such input.
 * `axis` is for GEN_INDEX only, else NO_AXIS. */
typedef struct {
  cudnnPointwiseMode_t mode;
  cudnnDataType_t compute;
  Descriptor x, b, t, y;
  int64_t axis;
} PointwiseSpec;

enum { NO_AXIS = -1 };

void graph_init(CudnnGraph *graph);
void graph_free(CudnnGraph *graph);

Descriptor graph_tensor(CudnnGraph *graph, const TensorSpec *spec);
void graph_matmul(CudnnGraph *graph, Descriptor a, Descriptor b, Descriptor c);
void graph_pointwise(CudnnGraph *graph, const PointwiseSpec *spec);
void graph_reduce(CudnnGraph *graph, cudnnReduceTensorOp_t op, Descriptor x, Descriptor y);
void graph_reshape(CudnnGraph *graph, Descriptor x, Descriptor y);

/* `handle` is NULL where the graph is only planned for a described device. */
bool graph_finish(CudnnGraph *graph, cudnnHandle_t handle);

#endif
