#include "tests/gpu/probes/lt_matmul.h"

#define TRY_SET(operation, attribute, value)                                                       \
  TRY_LT(cublasLtMatmulDescSetAttribute(operation, attribute, &(value), sizeof(value)))

static cublasLtEpilogue_t lt_epilogue(MatmulEpilogue epilogue) {
  switch (epilogue) {
  case EPILOGUE_BIAS: return CUBLASLT_EPILOGUE_BIAS;
  case EPILOGUE_GELU_AUX_BIAS: return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
  case EPILOGUE_DGELU: return CUBLASLT_EPILOGUE_DGELU;
  case EPILOGUE_DGELU_BGRAD: return CUBLASLT_EPILOGUE_DGELU_BGRAD;
  case EPILOGUE_BGRAD: return CUBLASLT_EPILOGUE_BGRADB; /* d_y is B: see matmul_case.h */
  case EPILOGUE_NONE: break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

static cudaDataType_t lt_type(NumberType type) {
  return type == TYPE_BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

static bool describe_operation(LtMatmul *lt, const MatmulProblem *problem) {
  cublasComputeType_t compute =
      lt->matmul.compute == COMPUTE_TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  TRY_LT(cublasLtMatmulDescCreate(&lt->operation, compute, CUDA_R_32F));
  cublasOperation_t a = problem->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t b = problem->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = lt_epilogue(lt->matmul.epilogue);
  TRY_SET(lt->operation, CUBLASLT_MATMUL_DESC_TRANSA, a);
  TRY_SET(lt->operation, CUBLASLT_MATMUL_DESC_TRANSB, b);
  TRY_SET(lt->operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (lt->buffers.bias) {
    cudaDataType_t type = lt_type(lt->matmul.result);
    TRY_SET(lt->operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    TRY_SET(lt->operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, lt->buffers.bias);
  }
  if (lt->buffers.aux) {
    int64_t leading = problem->m;
    TRY_SET(lt->operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, lt->buffers.aux);
    TRY_SET(lt->operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, leading);
  }
  return true;
}

bool lt_describe(LtMatmul *lt, const MatmulCase *matmul, const LtBuffers *buffers) {
  *lt = (LtMatmul){.matmul = *matmul, .buffers = *buffers};
  MatmulProblem problem = matmul_problem(matmul);
  cudaDataType_t input = lt_type(matmul_input_type(matmul));
  cudaDataType_t result = lt_type(matmul->result);
  TRY(describe_operation(lt, &problem));
  TRY_LT(cublasLtMatrixLayoutCreate(&lt->a, input, (uint64_t)problem.a_rows,
                                    (uint64_t)problem.a_columns, problem.a_rows));
  TRY_LT(cublasLtMatrixLayoutCreate(&lt->b, input, (uint64_t)problem.b_rows,
                                    (uint64_t)problem.b_columns, problem.b_rows));
  TRY_LT(cublasLtMatrixLayoutCreate(&lt->result, result, (uint64_t)problem.m, (uint64_t)problem.n,
                                    problem.m));
  return true;
}

void lt_forget(LtMatmul *lt) {
  if (lt->operation) (void)cublasLtMatmulDescDestroy(lt->operation);
  if (lt->a) (void)cublasLtMatrixLayoutDestroy(lt->a);
  if (lt->b) (void)cublasLtMatrixLayoutDestroy(lt->b);
  if (lt->result) (void)cublasLtMatrixLayoutDestroy(lt->result);
  lt->operation = NULL;
  lt->a = lt->b = lt->result = NULL;
}

bool lt_find_candidates(LtMatmul *lt, cublasLtHandle_t handle) {
  lt->handle = handle;
  cublasLtMatmulPreference_t preference;
  TRY_LT(cublasLtMatmulPreferenceCreate(&preference));
  cublasStatus_t status = cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &lt->buffers.workspace_bytes,
      sizeof lt->buffers.workspace_bytes);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulAlgoGetHeuristic(handle, lt->operation, lt->a, lt->b, lt->result,
                                            lt->result, preference, LT_CANDIDATES, lt->candidates,
                                            &lt->candidate_count);
  (void)cublasLtMatmulPreferenceDestroy(preference);
  TRY_LT(status);
  if (lt->candidate_count == 0) FAIL("the heuristics know no algorithm for this matmul");
  return true;
}

int64_t lt_reports(const LtMatmul *lt, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  int32_t value = 0;
  size_t written = 0;
  cublasStatus_t status = cublasLtMatmulAlgoConfigGetAttribute(
      &lt->candidates[lt->chosen].algo, attribute, &value, sizeof value, &written);
  return status == CUBLAS_STATUS_SUCCESS ? value : -1;
}

int64_t lt_arithmetic(const LtMatmul *lt) {
  uint64_t flags = 0;
  size_t written = 0;
  cublasStatus_t status = cublasLtMatmulAlgoCapGetAttribute(&lt->candidates[lt->chosen].algo,
                                                            CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS,
                                                            &flags, sizeof flags, &written);
  return status == CUBLAS_STATUS_SUCCESS ? (int64_t)flags : -1;
}

bool lt_run(void *context) {
  const LtMatmul *lt = context;
  const LtBuffers *buffers = &lt->buffers;
  MatmulProblem problem = matmul_problem(&lt->matmul);
  const void *a = problem.weight_is_a ? buffers->weight : buffers->x;
  const void *b = lt->matmul.pass == PASS_FORWARD ? buffers->x : buffers->d_y;
  float one = 1.0f, beta = lt->matmul.accumulate ? 1.0f : 0.0f;
  TRY_LT(cublasLtMatmul(lt->handle, lt->operation, &one, a, lt->a, b, lt->b, &beta, buffers->result,
                        lt->result, buffers->result, lt->result, &lt->candidates[lt->chosen].algo,
                        buffers->workspace, buffers->workspace_bytes, lt->stream));
  return true;
}
