#include "tests/gpu/probes/cudnn_graph.h"

static const cudnnDataType_t FP32 = CUDNN_DATA_FLOAT;

void graph_init(CudnnGraph *graph) {
  *graph = (CudnnGraph){.next_virtual_id = FIRST_VIRTUAL_ID};
}

void graph_free(CudnnGraph *graph) {
  for (int i = graph->count - 1; i >= 0; i--)
    (void)cudnnBackendDestroyDescriptor(graph->all[i]);
  graph->count = 0;
}

static bool create(CudnnGraph *graph, cudnnBackendDescriptorType_t type, Descriptor *out) {
  if (graph->count == GRAPH_DESCRIPTORS) FAIL("more than %d descriptors", GRAPH_DESCRIPTORS);
  TRY_CUDNN(cudnnBackendCreateDescriptor(type, out));
  graph->all[graph->count++] = *out;
  return true;
}

static bool set(Descriptor descriptor, cudnnBackendAttributeName_t name,
                cudnnBackendAttributeType_t type, int64_t count, const void *values) {
  TRY_CUDNN(cudnnBackendSetAttribute(descriptor, name, type, count, values));
  return true;
}

static bool set_descriptor(Descriptor descriptor, cudnnBackendAttributeName_t name,
                           Descriptor value) {
  if (!value) FAIL("attribute %d has no descriptor", (int)name);
  return set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static bool finalize(Descriptor descriptor) {
  TRY_CUDNN(cudnnBackendFinalize(descriptor));
  return true;
}

static bool finish_op(CudnnGraph *graph, Descriptor op) {
  if (graph->op_count == GRAPH_OPS) FAIL("more than %d operations", GRAPH_OPS);
  TRY(finalize(op));
  graph->ops[graph->op_count++] = op;
  return true;
}

static bool make_tensor(CudnnGraph *graph, const TensorSpec *spec, Descriptor *out) {
  enum { ALIGNMENT_BYTES = 16 };
  int64_t alignment = ALIGNMENT_BYTES;
  int64_t id = spec->kind == TENSOR_VIRTUAL ? graph->next_virtual_id++ : spec->id;
  bool is_virtual = spec->kind == TENSOR_VIRTUAL;
  TRY(create(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR, out));
  TRY(set(*out, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id));
  TRY(set(*out, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &spec->type));
  TRY(set(*out, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, spec->dims));
  TRY(set(*out, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, spec->strides));
  TRY(set(*out, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment));
  TRY(set(*out, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual));
  if (spec->kind == TENSOR_BY_VALUE) {
    bool by_value = true;
    TRY(set(*out, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &by_value));
  }
  return finalize(*out);
}

Descriptor graph_tensor(CudnnGraph *graph, const TensorSpec *spec) {
  Descriptor tensor = NULL;
  if (!graph->failed) graph->failed = !make_tensor(graph, spec, &tensor);
  return tensor;
}

static bool add_matmul(CudnnGraph *graph, Descriptor a, Descriptor b, Descriptor c) {
  Descriptor matmul, op;
  TRY(create(graph, CUDNN_BACKEND_MATMUL_DESCRIPTOR, &matmul));
  TRY(set(matmul, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &FP32));
  TRY(finalize(matmul));
  TRY(create(graph, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, &op));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, a));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, b));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, c));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_MATMUL_DESC, matmul));
  return finish_op(graph, op);
}

void graph_matmul(CudnnGraph *graph, Descriptor a, Descriptor b, Descriptor c) {
  if (!graph->failed) graph->failed = !add_matmul(graph, a, b, c);
}

static bool add_pointwise(CudnnGraph *graph, const PointwiseSpec *spec) {
  Descriptor pointwise, op;
  TRY(create(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, &pointwise));
  TRY(set(pointwise, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &spec->mode));
  TRY(set(pointwise, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &spec->compute));
  if (spec->axis != NO_AXIS)
    TRY(set(pointwise, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &spec->axis));
  TRY(finalize(pointwise));
  TRY(create(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, &op));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, pointwise));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, spec->x));
  if (spec->b) TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, spec->b));
  if (spec->t) TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, spec->t));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, spec->y));
  return finish_op(graph, op);
}

void graph_pointwise(CudnnGraph *graph, const PointwiseSpec *spec) {
  if (!graph->failed) graph->failed = !add_pointwise(graph, spec);
}

static bool add_reduce(CudnnGraph *graph, cudnnReduceTensorOp_t mode, Descriptor x, Descriptor y) {
  Descriptor reduction, op;
  TRY(create(graph, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, &reduction));
  TRY(set(reduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode));
  TRY(set(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &FP32));
  TRY(finalize(reduction));
  TRY(create(graph, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, &op));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction));
  return finish_op(graph, op);
}

void graph_reduce(CudnnGraph *graph, cudnnReduceTensorOp_t op, Descriptor x, Descriptor y) {
  if (!graph->failed) graph->failed = !add_reduce(graph, op, x, y);
}

static bool add_reshape(CudnnGraph *graph, Descriptor x, Descriptor y) {
  Descriptor op;
  TRY(create(graph, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, &op));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x));
  TRY(set_descriptor(op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y));
  return finish_op(graph, op);
}

void graph_reshape(CudnnGraph *graph, Descriptor x, Descriptor y) {
  if (!graph->failed) graph->failed = !add_reshape(graph, x, y);
}

bool graph_finish(CudnnGraph *graph, cudnnHandle_t handle) {
  if (graph->failed) return false;
  TRY(create(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, &graph->graph));
  if (handle)
    TRY(set(graph->graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle));
  TRY(set(graph->graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
          graph->op_count, graph->ops));
  return finalize(graph->graph);
}
