#include "kernels/cuda/cudnn_graph.h"

void dnn_graph_start(DnnGraph *graph, const DnnApi *api) {
  *graph = (DnnGraph){.api = api, .status = DNN_DONE};
}

void dnn_graph_free(DnnGraph *graph) {
  while (graph->made_count > 0)
    (void)graph->api->descriptor_destroy(graph->made[--graph->made_count]);
}

static bool done(DnnGraph *graph, int status) {
  if (graph->status == DNN_DONE) graph->status = status;
  return graph->status == DNN_DONE;
}

static DnnDescriptor make(DnnGraph *graph, int kind) {
  DnnDescriptor made = NULL;
  if (!done(graph, graph->made_count < DNN_DESCRIPTORS_MAX ? DNN_DONE : DNN_BAD_PARAM) ||
      !done(graph, graph->api->descriptor_create(kind, &made)))
    return NULL;
  return graph->made[graph->made_count++] = made;
}

static void set(DnnGraph *graph, DnnDescriptor of, int attribute, int type, int64_t count,
                const void *values) {
  if (graph->status == DNN_DONE)
    (void)done(graph, graph->api->set(of, attribute, type, count, values));
}

static void set_type(DnnGraph *graph, DnnDescriptor of, int attribute, int32_t type) {
  set(graph, of, attribute, DNN_AS_DATA_TYPE, 1, &type);
}

static void set_part(DnnGraph *graph, DnnDescriptor of, int attribute, DnnDescriptor part) {
  set(graph, of, attribute, DNN_AS_DESCRIPTOR, 1, &part);
}

static DnnDescriptor finish(DnnGraph *graph, DnnDescriptor descriptor) {
  if (graph->status == DNN_DONE) (void)done(graph, graph->api->finalize(descriptor));
  return descriptor;
}

static void add(DnnGraph *graph, DnnDescriptor operation) {
  (void)finish(graph, operation);
  if (done(graph, graph->operation_count < DNN_OPERATIONS_MAX ? DNN_DONE : DNN_BAD_PARAM))
    graph->operation[graph->operation_count++] = operation;
}

DnnDescriptor dnn_tensor(DnnGraph *graph, const DnnTensor *tensor) {
  const int64_t align = DNN_ALIGN_BYTES;
  const bool is_virtual = tensor->id == 0;
  int64_t id = is_virtual ? DNN_VIRTUAL_FIRST + graph->virtual_count++ : tensor->id;
  DnnDescriptor made = make(graph, DNN_TENSOR);
  set(graph, made, DNN_TENSOR_ID, DNN_AS_INT64, 1, &id);
  set_type(graph, made, DNN_TENSOR_TYPE, tensor->type);
  set(graph, made, DNN_TENSOR_SIZES, DNN_AS_INT64, 4, tensor->size);
  set(graph, made, DNN_TENSOR_STRIDES, DNN_AS_INT64, 4, tensor->stride);
  set(graph, made, DNN_TENSOR_ALIGNMENT, DNN_AS_INT64, 1, &align);
  set(graph, made, DNN_TENSOR_IS_VIRTUAL, DNN_AS_BOOLEAN, 1, &is_virtual);
  if (tensor->is_value) set(graph, made, DNN_TENSOR_IS_VALUE, DNN_AS_BOOLEAN, 1, &tensor->is_value);
  return finish(graph, made);
}

void dnn_matmul(DnnGraph *graph, DnnDescriptor a, DnnDescriptor b, DnnDescriptor c) {
  DnnDescriptor matmul = make(graph, DNN_MATMUL);
  set_type(graph, matmul, DNN_MATMUL_PRECISION, DNN_F32);
  (void)finish(graph, matmul);
  DnnDescriptor operation = make(graph, DNN_OPERATION_MATMUL);
  set_part(graph, operation, DNN_OPERATION_MATMUL_A, a);
  set_part(graph, operation, DNN_OPERATION_MATMUL_B, b);
  set_part(graph, operation, DNN_OPERATION_MATMUL_C, c);
  set_part(graph, operation, DNN_OPERATION_MATMUL_MATMUL, matmul);
  add(graph, operation);
}

/* Numbers along an axis are i32, comparisons boolean, all else is computed in f32. */
static int32_t precision(int mode) {
  return mode == DNN_INDEX ? DNN_I32 : mode == DNN_AT_LEAST ? DNN_BOOLEAN : DNN_F32;
}

static DnnDescriptor pointwise(DnnGraph *graph, int mode, int64_t axis) {
  DnnDescriptor made = make(graph, DNN_POINTWISE);
  set(graph, made, DNN_POINTWISE_MODE, DNN_AS_POINTWISE_MODE, 1, &mode);
  set_type(graph, made, DNN_POINTWISE_PRECISION, precision(mode));
  if (mode == DNN_INDEX) set(graph, made, DNN_POINTWISE_AXIS, DNN_AS_INT64, 1, &axis);
  return finish(graph, made);
}

static void apply(DnnGraph *graph, DnnDescriptor how, DnnDescriptor x, DnnDescriptor b,
                  DnnDescriptor t, DnnDescriptor y) {
  DnnDescriptor operation = make(graph, DNN_OPERATION_POINTWISE);
  set_part(graph, operation, DNN_OPERATION_POINTWISE_POINTWISE, how);
  set_part(graph, operation, DNN_OPERATION_POINTWISE_X, x);
  if (b != NULL) set_part(graph, operation, DNN_OPERATION_POINTWISE_B, b);
  if (t != NULL) set_part(graph, operation, DNN_OPERATION_POINTWISE_T, t);
  set_part(graph, operation, DNN_OPERATION_POINTWISE_Y, y);
  add(graph, operation);
}

void dnn_pointwise(DnnGraph *graph, int mode, DnnDescriptor x, DnnDescriptor b, DnnDescriptor t,
                   DnnDescriptor y) {
  apply(graph, pointwise(graph, mode, 0), x, b, t, y);
}

void dnn_index(DnnGraph *graph, int64_t axis, DnnDescriptor x, DnnDescriptor y) {
  apply(graph, pointwise(graph, DNN_INDEX, axis), x, NULL, NULL, y);
}

void dnn_reduce(DnnGraph *graph, int operator, DnnDescriptor x, DnnDescriptor y) {
  DnnDescriptor reduction = make(graph, DNN_REDUCTION);
  set(graph, reduction, DNN_REDUCTION_OPERATOR, DNN_AS_REDUCTION, 1, &operator);
  set_type(graph, reduction, DNN_REDUCTION_PRECISION, DNN_F32);
  (void)finish(graph, reduction);
  DnnDescriptor operation = make(graph, DNN_OPERATION_REDUCTION);
  set_part(graph, operation, DNN_OPERATION_REDUCTION_X, x);
  set_part(graph, operation, DNN_OPERATION_REDUCTION_Y, y);
  set_part(graph, operation, DNN_OPERATION_REDUCTION_REDUCTION, reduction);
  add(graph, operation);
}

void dnn_reshape(DnnGraph *graph, DnnDescriptor x, DnnDescriptor y) {
  DnnDescriptor operation = make(graph, DNN_OPERATION_RESHAPE);
  set_part(graph, operation, DNN_OPERATION_RESHAPE_X, x);
  set_part(graph, operation, DNN_OPERATION_RESHAPE_Y, y);
  add(graph, operation);
}

bool dnn_graph_finish(DnnGraph *graph, DnnHandle *handle) {
  graph->whole = make(graph, DNN_GRAPH);
  if (handle != NULL) set(graph, graph->whole, DNN_GRAPH_HANDLE, DNN_AS_HANDLE, 1, &handle);
  set(graph, graph->whole, DNN_GRAPH_OPERATIONS, DNN_AS_DESCRIPTOR, graph->operation_count,
      graph->operation);
  (void)finish(graph, graph->whole);
  return graph->status == DNN_DONE;
}
