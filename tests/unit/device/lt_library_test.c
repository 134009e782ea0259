/* The table of cublasLt's calls against its header, and against the library where it is installed:
 * 77 where it is not.
 * LINK: runtime */
#include "runtime/device/lt_library.h"
#include "tests/unit/check.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

_Static_assert(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t), "algorithms");
_Static_assert(sizeof(LtCandidate) == sizeof(cublasLtMatmulHeuristicResult_t) &&
                   offsetof(LtCandidate, workspace_bytes) ==
                       offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
                   offsetof(LtCandidate, status) ==
                       offsetof(cublasLtMatmulHeuristicResult_t, state),
               "candidates");
_Static_assert(LT_DONE == (int)CUBLAS_STATUS_SUCCESS &&
                   LT_INVALID == (int)CUBLAS_STATUS_INVALID_VALUE &&
                   LT_NOT_SUPPORTED == (int)CUBLAS_STATUS_NOT_SUPPORTED,
               "results");
_Static_assert(LT_F32 == (int)CUDA_R_32F && LT_BF16 == (int)CUDA_R_16BF &&
                   LT_E4M3 == (int)CUDA_R_8F_E4M3 && LT_E5M2 == (int)CUDA_R_8F_E5M2 &&
                   LT_F16 == (int)CUDA_R_16F && LT_COMPUTE_F32 == (int)CUBLAS_COMPUTE_32F &&
                   LT_COMPUTE_TF32 == (int)CUBLAS_COMPUTE_32F_FAST_TF32,
               "types");
_Static_assert(LT_PLAIN == (int)CUBLAS_OP_N && LT_TRANSPOSED == (int)CUBLAS_OP_T &&
                   LT_EPILOGUE_NONE == (int)CUBLASLT_EPILOGUE_DEFAULT &&
                   LT_EPILOGUE_BIAS == (int)CUBLASLT_EPILOGUE_BIAS &&
                   LT_EPILOGUE_GELU == (int)CUBLASLT_EPILOGUE_GELU &&
                   LT_EPILOGUE_GELU_BIAS == (int)CUBLASLT_EPILOGUE_GELU_BIAS &&
                   LT_EPILOGUE_GELU_AUX == (int)CUBLASLT_EPILOGUE_GELU_AUX &&
                   LT_EPILOGUE_GELU_AUX_BIAS == (int)CUBLASLT_EPILOGUE_GELU_AUX_BIAS &&
                   LT_EPILOGUE_DGELU == (int)CUBLASLT_EPILOGUE_DGELU &&
                   LT_REDUCE_IN_F32 == (int)CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE &&
                   LT_REDUCE_IN_RESULT == (int)CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE,
               "what is asked for");
_Static_assert(LT_TRANSPOSE_A == (int)CUBLASLT_MATMUL_DESC_TRANSA &&
                   LT_TRANSPOSE_B == (int)CUBLASLT_MATMUL_DESC_TRANSB &&
                   LT_EPILOGUE == (int)CUBLASLT_MATMUL_DESC_EPILOGUE &&
                   LT_BIAS == (int)CUBLASLT_MATMUL_DESC_BIAS_POINTER &&
                   LT_AUX == (int)CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER &&
                   LT_AUX_LEAD == (int)CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD &&
                   LT_SCALE_A == (int)CUBLASLT_MATMUL_DESC_A_SCALE_POINTER &&
                   LT_SCALE_B == (int)CUBLASLT_MATMUL_DESC_B_SCALE_POINTER &&
                   LT_FAST_SUMS == (int)CUBLASLT_MATMUL_DESC_FAST_ACCUM &&
                   LT_SCALE_MODE_A == (int)CUBLASLT_MATMUL_DESC_A_SCALE_MODE &&
                   LT_SCALE_MODE_B == (int)CUBLASLT_MATMUL_DESC_B_SCALE_MODE &&
                   LT_SCALE_ONE == (int)CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F &&
                   LT_SCALE_VECTORS == (int)CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F &&
                   LT_SCALE_SQUARES == (int)CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
               "attributes of operations");
_Static_assert(LT_WORKSPACE_MOST == (int)CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
                   LT_REDUCTIONS == (int)CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
                   LT_ALIGN_A == (int)CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
                   LT_ALIGN_D == (int)CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
               "attributes of preferences");
_Static_assert(LT_ALGORITHM_ID == (int)CUBLASLT_ALGO_CONFIG_ID &&
                   LT_ALGORITHM_TILE == (int)CUBLASLT_ALGO_CONFIG_TILE_ID &&
                   LT_ALGORITHM_SPLIT_K == (int)CUBLASLT_ALGO_CONFIG_SPLITK_NUM &&
                   LT_ALGORITHM_REDUCTION == (int)CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME &&
                   LT_ALGORITHM_STAGES == (int)CUBLASLT_ALGO_CONFIG_STAGES_ID,
               "attributes of algorithms");
#endif

static void check_descriptors(const LtApi *api) {
  const int32_t transposed = LT_TRANSPOSED, bias = LT_EPILOGUE_BIAS;
  const uint32_t in_f32 = LT_REDUCE_IN_F32, align = 16;
  const uint64_t most = 32 << 20;
  const void *address = &most;
  LtOperation *operation = NULL;
  LtLayout *layout = NULL;
  LtPreference *preference = NULL;
  CHECK_INT(api->operation_create(&operation, LT_COMPUTE_F32, LT_F32), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_TRANSPOSE_A, &transposed, sizeof transposed), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_TRANSPOSE_B, &transposed, sizeof transposed), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_EPILOGUE, &bias, sizeof bias), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_BIAS, &address, sizeof address), LT_DONE);
  const int32_t gelu = LT_EPILOGUE_GELU_AUX_BIAS;
  const int64_t lead = 768;
  CHECK_INT(api->operation_set(operation, LT_EPILOGUE, &gelu, sizeof gelu), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_AUX, &address, sizeof address), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_AUX_LEAD, &lead, sizeof lead), LT_DONE);
  const int8_t exact_sums = 0;
  CHECK_INT(api->operation_set(operation, LT_SCALE_A, &address, sizeof address), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_SCALE_B, &address, sizeof address), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_FAST_SUMS, &exact_sums, sizeof exact_sums), LT_DONE);
  const int32_t squares = LT_SCALE_SQUARES, vectors = LT_SCALE_VECTORS;
  CHECK_INT(api->operation_set(operation, LT_SCALE_MODE_A, &squares, sizeof squares), LT_DONE);
  CHECK_INT(api->operation_set(operation, LT_SCALE_MODE_B, &vectors, sizeof vectors), LT_DONE);
  CHECK_INT(api->operation_destroy(operation), LT_DONE);
  CHECK_INT(api->layout_create(&layout, LT_BF16, 768, 1024, 768), LT_DONE);
  CHECK_INT(api->layout_destroy(layout), LT_DONE);
  CHECK_INT(api->layout_create(&layout, LT_E4M3, 768, 1024, 768), LT_DONE);
  CHECK_INT(api->layout_destroy(layout), LT_DONE);
  CHECK_INT(api->operation_create(&operation, LT_COMPUTE_TF32, LT_F32), LT_DONE);
  CHECK_INT(api->operation_destroy(operation), LT_DONE);
  CHECK_INT(api->preference_create(&preference), LT_DONE);
  CHECK_INT(api->preference_set(preference, LT_WORKSPACE_MOST, &most, sizeof most), LT_DONE);
  CHECK_INT(api->preference_set(preference, LT_REDUCTIONS, &in_f32, sizeof in_f32), LT_DONE);
  for (int i = LT_ALIGN_A; i <= LT_ALIGN_D; i++)
    CHECK_INT(api->preference_set(preference, i, &align, sizeof align), LT_DONE);
  CHECK_INT(api->preference_destroy(preference), LT_DONE);
}

int main(void) {
  Status status = {0};
  TEST("a library that is not there is one error that says what to do") {
    CHECK(lt_library("/nowhere/libcublasLt.so.13", &status) == NULL);
    CHECK_INT(status.code, STATUS_USER);
    CHECK(strstr(status.text, "cublasLt cannot be loaded") != NULL);
    CHECK(strstr(status.text, "/nowhere/libcublasLt.so.13") != NULL);
    CHECK(strstr(status.text, "LD_LIBRARY_PATH") != NULL);
  }
  TEST("so is one that lacks a call") {
    CHECK(lt_library("libm.so.6", &status) == NULL);
    CHECK(strstr(status.text, "has no cublasLtGetVersion") != NULL);
  }
  const LtApi *api = lt_library(NULL, &status);
  if (api == NULL) {
    printf("skipped: %s\n", status.text);
    return check_failures > 0 ? 1 : 77;
  }
  TEST("the library takes what products ask for") {
    check_descriptors(api);
  }
  TEST("it has words for what it says no to") { /* no handle is made: without a GPU it leaks one */
    CHECK(strlen(api->status_string(LT_NOT_SUPPORTED)) > 0);
  }
  CHECK_DONE();
}
