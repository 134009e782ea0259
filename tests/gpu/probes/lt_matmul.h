/* lt_matmul.h -- one MatmulCase through cuBLASLt. */
#ifndef GPU_LT_MATMUL_H
#define GPU_LT_MATMUL_H

#include <cublasLt.h>

#include "tests/gpu/common/device.h"
#include "tests/gpu/probes/matmul_case.h"

#define TRY_LT(call)                                                                               \
  do {                                                                                             \
    cublasStatus_t status_ = (call);                                                               \
    if (status_ != CUBLAS_STATUS_SUCCESS)                                                          \
      FAIL("%s -> %s", #call, cublasLtGetStatusString(status_));                                   \
  } while (0)

enum { LT_CANDIDATES = 16 };

/* Device addresses. Those an epilogue does not use are NULL; `bias` is read by BIAS and written by
 * the bias gradients, `aux` is written by GELU_AUX and read by DGELU. */
typedef struct {
  void *x, *weight, *d_y, *result, *bias, *aux, *workspace;
  size_t workspace_bytes;
} LtBuffers;

typedef struct {
  MatmulCase matmul;
  LtBuffers buffers;
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, result;
  cudaStream_t stream;
  cublasLtMatmulHeuristicResult_t candidates[LT_CANDIDATES];
  int candidate_count;
  int chosen; /* the candidate that lt_run uses */
} LtMatmul;

/* Describes the operation and the three matrices. Needs no device. Forget it in every case. */
bool lt_describe(LtMatmul *lt, const MatmulCase *matmul, const LtBuffers *buffers);
void lt_forget(LtMatmul *lt);

/* Asks the heuristics for up to LT_CANDIDATES algorithms, of any kind of reduction, though the
 * program takes only those in f32; fails when there is none. */
bool lt_find_candidates(LtMatmul *lt, cublasLtHandle_t handle);

/* The attribute that the chosen candidate reports of itself; -1: none. */
int64_t lt_reports(const LtMatmul *lt, cublasLtMatmulAlgoConfigAttributes_t attribute);
int64_t lt_arithmetic(const LtMatmul *lt); /* cublasLtNumericalImplFlags_t */

/* Enqueues it. The shape device_time wants: `context` is an LtMatmul. */
bool lt_run(void *context);

#endif
