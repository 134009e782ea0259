#include "runtime/device/cudnn_library.h"

#include <pthread.h>
#include <stdbool.h>

#include "runtime/process/library.h"

/* From 9.6 on cuDNN clears what engines add up d_q in; before, its callers had to (NVIDIA's
 * cudnn-frontend, scaled_dot_product_flash_attention.h). */
enum { VERSION_LEAST = 90600 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static DnnApi api;
static bool is_loaded;

static bool find_calls(const char *path, Status *status) {
  const char *const places[] = {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"};
  const LibraryCall calls[] = {
      {"cudnnGetVersion", &api.get_version},
      {"cudnnGetErrorString", &api.status_string},
      {"cudnnCreate", &api.create},
      {"cudnnSetStream", &api.set_stream},
      {"cudnnBackendCreateDescriptor", &api.descriptor_create},
      {"cudnnBackendDestroyDescriptor", &api.descriptor_destroy},
      {"cudnnBackendFinalize", &api.finalize},
      {"cudnnBackendSetAttribute", &api.set},
      {"cudnnBackendGetAttribute", &api.get},
      {"cudnnBackendExecute", &api.execute},
  };
  const Library dnn = {
      .name = "cuDNN",
      .places = path != NULL ? &path : places,
      .place_count = path != NULL ? 1 : sizeof places / sizeof *places,
      .calls = calls,
      .call_count = sizeof calls / sizeof *calls,
      .missing = "install cuDNN 9.6 or later, or add its folder to LD_LIBRARY_PATH",
      .older = "install version 9.6 or later",
  };
  return library_load(&dnn, status);
}

const DnnApi *cudnn_library(const char *path, Status *status) {
  pthread_mutex_lock(&lock);
  if (!is_loaded && find_calls(path, status)) {
    size_t version = api.get_version();
    is_loaded = version >= VERSION_LEAST ||
                status_fail(status, STATUS_USER,
                            "cuDNN %zu is too old: install version 9.6 or later", version);
  }
  const DnnApi *found = is_loaded ? &api : NULL;
  pthread_mutex_unlock(&lock);
  return found;
}
