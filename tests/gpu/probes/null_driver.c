/* null_driver.c -- a libcuda.so.1 that has no device, for planning attention where there is no GPU.
 *
 * cuDNN can plan for a device that is only described (the DEVICEPROP descriptor), but its
 * run-time-compiled engines, among them all fused attention, first look up driver functions:
 * without a libcuda.so.1 the heuristics answer "no engine". With this one they answer, compile the
 * kernel and give the plan's JSON. It was found by leaving functions out of a full stand-in:
 * cuDNN 9.19 looks up the 32 below by name and gives up when one is missing, calls those that load
 * a kernel and wants them to succeed, and survives a refusal from all others. Nothing is executed,
 * so a plan made with this says that cuDNN supports the shape and what workspace it wants; that the
 * plan runs is for the device to show. It is in no search path: put its folder in LD_LIBRARY_PATH
 * to use it.
 */
#include <stddef.h>

enum { SUCCESS = 0, STUB_LIBRARY = 34 }; /* CUDA_SUCCESS, CUDA_ERROR_STUB_LIBRARY of cuda.h */

/* Handles that are never followed, each its own value so that a mix-up shows in a debugger. */
static void *const LIBRARY = (void *)0x1000, *const KERNEL = (void *)0x2000;
static void *const MODULE = (void *)0x3000, *const FUNCTION = (void *)0x4000;

#define REFUSE(name)                                                                               \
  int name(void);                                                                                  \
  int name(void) {                                                                                 \
    return STUB_LIBRARY;                                                                           \
  }
#define ACCEPT(name)                                                                               \
  int name(void);                                                                                  \
  int name(void) {                                                                                 \
    return SUCCESS;                                                                                \
  }
#define GIVE(name, handle)                                                                         \
  int name(void **out);                                                                            \
  int name(void **out) {                                                                           \
    *out = handle;                                                                                 \
    return SUCCESS;                                                                                \
  }

/* Only the first argument of these is used; in the calling conventions of x86-64 and aarch64 the
 * caller's further ones do no harm. */
GIVE(cuLibraryLoadData, LIBRARY)
GIVE(cuLibraryGetKernel, KERNEL)
GIVE(cuLibraryGetModule, MODULE)
GIVE(cuKernelGetFunction, FUNCTION)
GIVE(cuModuleLoadData, MODULE)
GIVE(cuModuleLoadDataEx, MODULE)
GIVE(cuModuleGetFunction, FUNCTION)
ACCEPT(cuFuncSetAttribute)
ACCEPT(cuKernelSetAttribute)

REFUSE(cuCtxGetCurrent)
REFUSE(cuCtxGetLimit)
REFUSE(cuCtxPopCurrent)
REFUSE(cuCtxPushCurrent)
REFUSE(cuDeviceGet)
REFUSE(cuDeviceGetCount)
REFUSE(cuKernelGetAttribute)
REFUSE(cuLaunchCooperativeKernel)
REFUSE(cuLaunchKernel)
REFUSE(cuLaunchKernelEx)
REFUSE(cuLibraryLoadFromFile)
REFUSE(cuLibraryUnload)
REFUSE(cuLinkAddData)
REFUSE(cuLinkComplete)
REFUSE(cuLinkCreate)
REFUSE(cuLinkDestroy)
REFUSE(cuOccupancyMaxPotentialClusterSize)
REFUSE(cuStreamGetCtx)

int cuDriverGetVersion(int *version);
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return SUCCESS;
}

int cuGetErrorName(int error, const char **name);
int cuGetErrorName(int error, const char **name) {
  (void)error;
  *name = "CUDA_ERROR_STUB_LIBRARY";
  return SUCCESS;
}

int cuGetErrorString(int error, const char **text);
int cuGetErrorString(int error, const char **text) {
  (void)error;
  *text = "the null driver has no device";
  return SUCCESS;
}

/* The CUDA runtime asks these two for everything else, and reports "no device" when refused. */
int cuGetProcAddress(const char *name, void **function);
int cuGetProcAddress(const char *name, void **function) {
  (void)name;
  *function = NULL;
  return STUB_LIBRARY;
}

int cuGetProcAddress_v2(const char *name, void **function);
int cuGetProcAddress_v2(const char *name, void **function) {
  (void)name;
  *function = NULL;
  return STUB_LIBRARY;
}
