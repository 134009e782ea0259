/* old_library.c -- NCCL, cublasLt and cuDNN as they were before the versions that are needed: they
 * have the calls, or with LACKS all but one, and say which version they are. */
#include <stddef.h>

/* NOLINTBEGIN(readability-identifier-naming): the libraries' names */
#define CALL(name)                                                                                 \
  int name(void) {                                                                                 \
    return 0;                                                                                      \
  }

int ncclGetVersion(int *version) {
  *version = 22605;
  return 0;
}
#ifndef LACKS
CALL(ncclCommInitRankScalable)
#endif
CALL(ncclGetUniqueId)
CALL(ncclCommFinalize)
CALL(ncclCommDestroy)
CALL(ncclCommAbort)
CALL(ncclCommGetAsyncError)
CALL(ncclGetErrorString)
CALL(ncclGroupStart)
CALL(ncclGroupEnd)
CALL(ncclAllReduce)
CALL(ncclAllGather)
CALL(ncclReduceScatter)
CALL(ncclBroadcast)
CALL(ncclReduce)
CALL(ncclSend)
CALL(ncclRecv)

size_t cublasLtGetVersion(void) {
  return 110903;
}
CALL(cublasLtGetStatusString)
CALL(cublasLtCreate)
CALL(cublasLtMatmulDescCreate)
CALL(cublasLtMatmulDescSetAttribute)
CALL(cublasLtMatmulDescDestroy)
CALL(cublasLtMatrixLayoutCreate)
CALL(cublasLtMatrixLayoutDestroy)
CALL(cublasLtMatmulPreferenceCreate)
CALL(cublasLtMatmulPreferenceSetAttribute)
CALL(cublasLtMatmulPreferenceDestroy)
CALL(cublasLtMatmulAlgoGetHeuristic)
CALL(cublasLtMatmulAlgoCheck)
CALL(cublasLtMatmulAlgoConfigGetAttribute)
CALL(cublasLtMatmul)

size_t cudnnGetVersion(void) {
  return 90501;
}
CALL(cudnnGetErrorString)
CALL(cudnnCreate)
CALL(cudnnSetStream)
CALL(cudnnBackendCreateDescriptor)
CALL(cudnnBackendDestroyDescriptor)
CALL(cudnnBackendFinalize)
CALL(cudnnBackendSetAttribute)
CALL(cudnnBackendGetAttribute)
CALL(cudnnBackendExecute)
/* NOLINTEND(readability-identifier-naming) */
