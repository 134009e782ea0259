#include "runtime/device/lt_library.h"

#include <pthread.h>

#include "runtime/process/library.h"

enum { VERSION_LEAST = 120000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LtApi api;
static bool is_loaded;

static bool find_calls(const char *path, Status *status) {
  const char *const places[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                "/usr/local/cuda/lib64/libcublasLt.so.13",
                                "/usr/local/cuda/lib64/libcublasLt.so.12"};
  const LibraryCall calls[] = {
      {"cublasLtGetVersion", &api.get_version},
      {"cublasLtGetStatusString", &api.status_string},
      {"cublasLtCreate", &api.create},
      {"cublasLtMatmulDescCreate", &api.operation_create},
      {"cublasLtMatmulDescSetAttribute", &api.operation_set},
      {"cublasLtMatmulDescDestroy", &api.operation_destroy},
      {"cublasLtMatrixLayoutCreate", &api.layout_create},
      {"cublasLtMatrixLayoutDestroy", &api.layout_destroy},
      {"cublasLtMatmulPreferenceCreate", &api.preference_create},
      {"cublasLtMatmulPreferenceSetAttribute", &api.preference_set},
      {"cublasLtMatmulPreferenceDestroy", &api.preference_destroy},
      {"cublasLtMatmulAlgoGetHeuristic", &api.heuristic},
      {"cublasLtMatmulAlgoCheck", &api.check},
      {"cublasLtMatmulAlgoConfigGetAttribute", &api.algorithm_get},
      {"cublasLtMatmul", &api.multiply},
  };
  const Library lt = {
      .name = "cublasLt",
      .places = path != NULL ? &path : places,
      .place_count = path != NULL ? 1 : sizeof places / sizeof *places,
      .calls = calls,
      .call_count = sizeof calls / sizeof *calls,
      .missing = "install libcublas 13 or 12, or add its folder to LD_LIBRARY_PATH; --kernels "
                 "reference does without it, slowly",
      .older = "install version 12 or later",
  };
  return library_load(&lt, status);
}

const LtApi *lt_library(const char *path, Status *status) {
  pthread_mutex_lock(&lock);
  if (!is_loaded && find_calls(path, status)) {
    size_t version = api.get_version();
    is_loaded =
        version >= VERSION_LEAST || status_fail(status, STATUS_USER,
                                                "cublasLt %zu is too old: install version 12 or "
                                                "later",
                                                version);
  }
  const LtApi *found = is_loaded ? &api : NULL;
  pthread_mutex_unlock(&lock);
  return found;
}
