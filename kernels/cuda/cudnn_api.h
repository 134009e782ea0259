/* cudnn_api.h -- the calls of cuDNN's graph API that attention makes, by address: the library is
 * loaded when a job needs it, and tests put another in its place. Types and numbers are those of
 * cudnn_graph.h (9 and later); tests/unit/device/cudnn_library_test.c holds them to the header
 * where there is one. */
#ifndef LOCKSTEP_CUDNN_API_H
#define LOCKSTEP_CUDNN_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct DnnHandle DnnHandle; /* cudnnHandle_t: of one GPU, for one thread at a time */
typedef void *DnnDescriptor;        /* cudnnBackendDescriptor_t */

/* The first of each thousand, which are alike. */
enum { DNN_DONE = 0, DNN_BAD_PARAM = 2000, DNN_NOT_SUPPORTED = 3000, DNN_INTERNAL = 4000 };

/* Types of tensors. A boolean is a byte. */
enum { DNN_F32 = 0, DNN_F16 = 2, DNN_I32 = 4, DNN_BF16 = 9, DNN_BOOLEAN = 11 };

/* Kinds of descriptors. */
enum {
  DNN_POINTWISE = 0,
  DNN_ENGINE = 2,
  DNN_CONFIG = 3, /* an engine and how it is set */
  DNN_HEURISTICS = 4,
  DNN_PLAN = 5,
  DNN_OPERATION_POINTWISE = 13,
  DNN_GRAPH = 15,
  DNN_PACK = 16, /* the addresses of one call */
  DNN_TENSOR = 17,
  DNN_MATMUL = 18,
  DNN_OPERATION_MATMUL = 19,
  DNN_REDUCTION = 21,
  DNN_OPERATION_REDUCTION = 22,
  DNN_OPERATION_RESHAPE = 31,
  DNN_DEVICE = 38 /* the properties of a GPU */
};

/* Types of attributes. */
enum {
  DNN_AS_HANDLE = 0,
  DNN_AS_DATA_TYPE = 1,
  DNN_AS_BOOLEAN = 2,
  DNN_AS_INT64 = 3,
  DNN_AS_ADDRESS = 6,
  DNN_AS_HEURISTICS_MODE = 8,
  DNN_AS_POINTWISE_MODE = 14,
  DNN_AS_DESCRIPTOR = 15,
  DNN_AS_REDUCTION = 18,
  DNN_AS_CHAR = 24
};

/* Attributes. */
enum {
  DNN_POINTWISE_MODE = 0,
  DNN_POINTWISE_PRECISION = 1,
  DNN_POINTWISE_AXIS = 9,
  DNN_HEURISTICS_MODE = 200,
  DNN_HEURISTICS_GRAPH = 201,
  DNN_HEURISTICS_RESULTS = 202,
  DNN_HEURISTICS_DEVICE = 204,
  DNN_CONFIG_ENGINE = 300,
  DNN_CONFIG_WORKSPACE = 303,
  DNN_PLAN_HANDLE = 400,
  DNN_PLAN_CONFIG = 401,
  DNN_PLAN_WORKSPACE = 402,
  DNN_PLAN_DEVICE = 407,
  DNN_OPERATION_POINTWISE_POINTWISE = 750,
  DNN_OPERATION_POINTWISE_X = 751,
  DNN_OPERATION_POINTWISE_B = 752,
  DNN_OPERATION_POINTWISE_Y = 753,
  DNN_OPERATION_POINTWISE_T = 758,
  DNN_GRAPH_HANDLE = 800,
  DNN_GRAPH_OPERATIONS = 801,
  DNN_TENSOR_ALIGNMENT = 900,
  DNN_TENSOR_TYPE = 901,
  DNN_TENSOR_SIZES = 902,
  DNN_TENSOR_STRIDES = 903,
  DNN_TENSOR_ID = 906,
  DNN_TENSOR_IS_VIRTUAL = 907,
  DNN_TENSOR_IS_VALUE = 908,
  DNN_PACK_IDS = 1000,
  DNN_PACK_ADDRESSES = 1001,
  DNN_PACK_WORKSPACE = 1003,
  DNN_ENGINE_INDEX = 1301,
  DNN_MATMUL_PRECISION = 1500,
  DNN_OPERATION_MATMUL_A = 1520,
  DNN_OPERATION_MATMUL_B = 1521,
  DNN_OPERATION_MATMUL_C = 1522,
  DNN_OPERATION_MATMUL_MATMUL = 1523,
  DNN_REDUCTION_OPERATOR = 1600,
  DNN_REDUCTION_PRECISION = 1601,
  DNN_OPERATION_REDUCTION_X = 1610,
  DNN_OPERATION_REDUCTION_Y = 1611,
  DNN_OPERATION_REDUCTION_REDUCTION = 1612,
  DNN_OPERATION_RESHAPE_X = 2200,
  DNN_OPERATION_RESHAPE_Y = 2201,
  DNN_DEVICE_JSON = 2702
};

/* Values of attributes. */
enum {
  DNN_ADD = 0,
  DNN_MULTIPLY = 1,
  DNN_DIVIDE = 6,
  DNN_SUBTRACT = 9,
  DNN_EXP = 13,
  DNN_LOG = 15,
  DNN_IDENTITY = 21,
  DNN_AT_LEAST = 303, /* x >= b */
  DNN_INDEX = 501,    /* the number along an axis */
  DNN_SELECT = 601    /* t ? x : b */
};
enum { DNN_SUM = 0, DNN_LARGEST = 3 };
enum { DNN_FALLBACK = 2, DNN_BEST = 3 };

/* As in cudnn_graph.h. `stream` is a cudaStream_t. */
typedef struct DnnApi {
  size_t (*get_version)(void);
  const char *(*status_string)(int status);
  int (*create)(DnnHandle **handle);
  int (*set_stream)(DnnHandle *handle, void *stream);
  int (*descriptor_create)(int kind, DnnDescriptor *descriptor);
  int (*descriptor_destroy)(DnnDescriptor descriptor);
  int (*finalize)(DnnDescriptor descriptor);
  int (*set)(DnnDescriptor descriptor, int attribute, int type, int64_t count, const void *values);
  int (*get)(const DnnDescriptor descriptor, int attribute, int type, int64_t wanted,
             int64_t *count, void *values);
  int (*execute)(DnnHandle *handle, DnnDescriptor plan, DnnDescriptor pack);
} DnnApi;

#endif
