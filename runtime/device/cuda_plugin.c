/* cuda_plugin.c -- finds and loads the CUDA back end. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/cuda/plugin.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const CudaPlugin *loaded;
static Status problem;

/* The program's folder; "" when it is not known. */
static void own_folder(char folder[4096]) {
  ssize_t length = readlink("/proc/self/exe", folder, 4095);
  folder[length < 0 ? 0 : length] = '\0';
  char *slash = strrchr(folder, '/');
  if (slash != NULL) *slash = '\0';
}

static void load(void) {
  static const char *const places[] = {"", "../lib/lockstep/"};
  char folder[4096], path[4200];
  void *object = NULL;
  own_folder(folder);
  for (size_t i = 0; i < sizeof places / sizeof *places && object == NULL; i++) {
    (void)snprintf(path, sizeof path, "%s/%slockstep_cuda.so", folder, places[i]);
    if (access(path, F_OK) != 0) continue;
    object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (object != NULL) continue;
    status_fail(&problem, STATUS_WORLD, "the CUDA back end cannot be loaded: %s", dlerror());
    return;
  }
  if (object == NULL) {
    status_fail(&problem, STATUS_USER,
                "this build has no CUDA back end: lockstep_cuda.so is not in %s; ./bootstrap build "
                "makes it where nvcc is",
                folder);
    return;
  }
  const CudaPlugin *(*plugin)(void) = NULL;
  *(void **)&plugin = dlsym(object, CUDA_PLUGIN_SYMBOL);
  if (plugin == NULL || plugin()->version != CUDA_PLUGIN_VERSION)
    status_fail(&problem, STATUS_USER, "%s is of another build: build both again", path);
  else
    loaded = plugin();
}

const CudaPlugin *cuda_plugin(Status *status) {
  pthread_once(&once, load);
  if (loaded == NULL) *status = problem;
  return loaded;
}
