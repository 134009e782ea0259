/* cudnn_graph.h -- builds graphs of cuDNN's operations. The first call that fails is remembered,
 * and those after it do nothing. All sums are in f32. */
#ifndef LOCKSTEP_CUDNN_GRAPH_H
#define LOCKSTEP_CUDNN_GRAPH_H

#include <stdbool.h>

#include "kernels/cuda/cudnn_api.h"

enum {
  DNN_OPERATIONS_MAX = 32,
  DNN_DESCRIPTORS_MAX = 160,
  DNN_ALIGN_BYTES = 16, /* of every address that is bound to a tensor */
  DNN_VIRTUAL_FIRST = 1000
};

typedef struct DnnGraph {
  const DnnApi *api;
  int status; /* DNN_DONE, or of the first call that failed */
  DnnDescriptor made[DNN_DESCRIPTORS_MAX], operation[DNN_OPERATIONS_MAX];
  int32_t made_count, operation_count, virtual_count;
  DnnDescriptor whole; /* the whole graph, once it is finished */
} DnnGraph;

typedef struct DnnTensor {
  int64_t id; /* by which an address is bound to it; 0: none, it is kept nowhere (virtual) */
  int32_t type;
  bool is_value; /* one number in memory of the host */
  int64_t size[4], stride[4];
} DnnTensor;

void dnn_graph_start(DnnGraph *graph, const DnnApi *api);
/* Also where building failed. */
void dnn_graph_free(DnnGraph *graph);

DnnDescriptor dnn_tensor(DnnGraph *graph, const DnnTensor *tensor);

/* c = a b, of the last two dims; heads of b are shared where it has fewer. */
void dnn_matmul(DnnGraph *graph, DnnDescriptor a, DnnDescriptor b, DnnDescriptor c);
/* y of x and b, and where `mode` is DNN_SELECT of t; NULL: it has none. */
void dnn_pointwise(DnnGraph *graph, int mode, DnnDescriptor x, DnnDescriptor b, DnnDescriptor t,
                   DnnDescriptor y);
/* y = each element's number along `axis` of x. */
void dnn_index(DnnGraph *graph, int64_t axis, DnnDescriptor x, DnnDescriptor y);
/* Over the dims that are shorter in y. */
void dnn_reduce(DnnGraph *graph, int operator, DnnDescriptor x, DnnDescriptor y);
/* y is x's memory with other sizes and strides. */
void dnn_reshape(DnnGraph *graph, DnnDescriptor x, DnnDescriptor y);

/* Finishes the graph of all operations; for the GPU of `handle`, or for a described one where it is
 * NULL. False: see graph->status. */
bool dnn_graph_finish(DnnGraph *graph, DnnHandle *handle);

#endif
