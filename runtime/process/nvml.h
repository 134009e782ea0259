/* nvml.h -- the calls of NVML, the library of NVIDIA's driver, by address. They are declared as its
 * header has them: the header comes with CUDA, the library with the driver. */
#ifndef LOCKSTEP_PROCESS_NVML_H
#define LOCKSTEP_PROCESS_NVML_H

#include <stdbool.h>

enum { NVML_DONE = 0, NVML_SM_CLOCK = 1, NVML_MEMORY_CLOCK = 2, NVML_APPLICATIONS = 1 };
enum { NVML_UNCORRECTED = 1, NVML_SINCE_LOADED = 0, NVML_OF_CHIP = 0 };
enum { NVML_SLOWDOWN = 0x8, NVML_SOFT_HEAT = 0x20, NVML_HEAT = 0x40, NVML_BRAKE = 0x80 };
enum { NVML_WHY_BYTES = 120 };

typedef void *NvmlDevice;
typedef unsigned long long NvmlCount;
typedef struct NvmlMemory {
  NvmlCount total, free, used;
} NvmlMemory;

/* nvmlPciInfo_t of version 3. */
typedef struct NvmlPci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32]; /* "00000000:1B:00.0" */
} NvmlPci;

typedef struct Nvml {
  void *library;
  int (*init)(void);
  int (*shutdown)(void);
  const char *(*error_text)(int);
  int (*count)(unsigned *);
  int (*handle)(unsigned, NvmlDevice *);
  int (*memory)(NvmlDevice, NvmlMemory *);
  /* NULL if an older library or device lacks them */
  int (*handle_at)(const char *pci, NvmlDevice *);
  int (*most_clock)(NvmlDevice, int, unsigned *);
  int (*clock)(NvmlDevice, int, int, unsigned *);
  int (*clock_now)(NvmlDevice, int, unsigned *);
  int (*milliwatts)(NvmlDevice, unsigned *);
  int (*celsius)(NvmlDevice, int, unsigned *);
  int (*errors)(NvmlDevice, int, int, NvmlCount *);
  int (*rows)(NvmlDevice, unsigned *, unsigned *, unsigned *, unsigned *);
  int (*slowed)(NvmlDevice, NvmlCount *);
  int (*name)(NvmlDevice, char *, unsigned);
  int (*uuid)(NvmlDevice, char *, unsigned);
  int (*pci)(NvmlDevice, NvmlPci *);
  int (*capability)(NvmlDevice, int *major, int *minor);
  int (*cores)(NvmlDevice, unsigned *);
} Nvml;

/* Loads and initialises it: nvml_close gives it back. False: `why` says what is missing. */
bool nvml_open(Nvml *nvml, char why[NVML_WHY_BYTES]);
void nvml_close(Nvml *nvml);

#endif
