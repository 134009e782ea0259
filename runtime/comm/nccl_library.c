/* nccl_library.c -- finds and loads NCCL. */
#include <pthread.h>

#include "runtime/comm/nccl_api.h"
#include "runtime/process/library.h"

enum { VERSION_LEAST = 22700 }; /* older versions do not reliably accept fewer ids than ranks */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static NcclApi api;
static Status problem;
static bool is_loaded;

static bool find_calls(void) {
  static const char *const places[] = {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2"};
  const LibraryCall calls[] = {
      {"ncclGetVersion", &api.get_version},
      {"ncclGetUniqueId", &api.get_unique_id},
      {"ncclCommInitRankScalable", &api.init_rank},
      {"ncclCommFinalize", &api.finalize},
      {"ncclCommDestroy", &api.destroy},
      {"ncclCommAbort", &api.abort},
      {"ncclCommGetAsyncError", &api.async_error},
      {"ncclGetErrorString", &api.error_string},
      {"ncclGroupStart", &api.group_start},
      {"ncclGroupEnd", &api.group_end},
      {"ncclAllReduce", &api.all_reduce},
      {"ncclAllGather", &api.all_gather},
      {"ncclReduceScatter", &api.reduce_scatter},
      {"ncclBroadcast", &api.broadcast},
      {"ncclReduce", &api.reduce},
      {"ncclSend", &api.send},
      {"ncclRecv", &api.receive},
  };
  const LibraryCall more[] = {{"ncclCommSplit", &api.split},
                              {"ncclCommRegister", &api.hold},
                              {"ncclCommDeregister", &api.let_go}};
  const Library nccl = {
      .name = "NCCL",
      .places = places,
      .place_count = sizeof places / sizeof *places,
      .calls = calls,
      .call_count = sizeof calls / sizeof *calls,
      .more = more,
      .more_count = sizeof more / sizeof *more,
      .missing = "install libnccl2, or add its folder to LD_LIBRARY_PATH",
      .older = "install 2.27 or later",
  };
  bool loaded = library_load(&nccl, &problem);
  if (api.let_go == NULL) api.hold = NULL;
  return loaded;
}

static void load(void) {
  int version = 0;
  if (!find_calls()) return;
  is_loaded = api.get_version(&version) == NCCL_DONE && version >= VERSION_LEAST;
  if (!is_loaded)
    status_fail(&problem, STATUS_USER, "NCCL %d.%d.%d is too old: install 2.27 or later",
                version / 10000, version / 100 % 100, version % 100);
}

const NcclApi *nccl_library(Status *status) {
  pthread_once(&once, load);
  if (is_loaded) return &api;
  *status = problem;
  return NULL;
}
