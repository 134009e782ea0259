/* cluster_file.h -- what files of specs/clusters and specs/devices say. Private to the room. */
#ifndef LOCKSTEP_CLUSTER_FILE_H
#define LOCKSTEP_CLUSTER_FILE_H

#include "compiler/job/job_room.h"
#include "compiler/job/lua/sandbox.h"

enum {
  CLUSTER_NODES,
  CLUSTER_DEVICES,
  CLUSTER_CORES,
  CLUSTER_MEMORY,
  CLUSTER_INTRA,
  CLUSTER_INTER,
  CLUSTER_INTRA_LATENCY,
  CLUSTER_INTER_LATENCY,
  CLUSTER_BLOCK,
  CLUSTER_TAPER,
  CLUSTER_HOST,
  CLUSTER_HOST_BANDWIDTH,
  CLUSTER_HOST_LINK,
  CLUSTER_DISK,
  CLUSTER_DISK_READ,
  CLUSTER_DISK_WRITE,
  CLUSTER_INTRA_RING, /* the share of intra that large collectives reach */
  CLUSTER_INTER_RING,
  CLUSTER_NUMBERS
};
enum {
  DEVICE_MEMORY,
  DEVICE_RESERVE,
  DEVICE_RATES, /* of choices.h, in their order */
  DEVICE_BANDWIDTH = DEVICE_RATES + RATES,
  DEVICE_CORES, /* the rates are of this many cores: the device is a processor */
  DEVICE_HOST_LINK,
  DEVICE_PRODUCT, /* what products reach of the peak in bf16, else fp16; as the next two */
  DEVICE_ATTENTION,
  DEVICE_ATTENTION_BACKWARD,
  DEVICE_COPY, /* of the bandwidth */
  DEVICE_MULTIPROCESSORS,
  DEVICE_KERNEL,
  DEVICE_POWER,
  DEVICE_SWITCH_SUMS, /* of sums that NVSwitches add up */
  DEVICE_NUMBERS
};
enum {
  FACT_DEVICE,
  FACT_HWLOC,
  FACT_NCCL_TOPO,
  FACT_SWITCHES,
  FACT_DRAINED,
  FACT_HOSTS,
  FACT_NETWORK,
  FACT_TEXTS
};

/* The values of a chain of files; the later file wins. */
typedef struct Facts {
  double number[CLUSTER_NUMBERS];
  bool is_known[CLUSTER_NUMBERS];
  Span span[CLUSTER_NUMBERS];
  int32_t depth[CLUSTER_NUMBERS]; /* 0: the file that the job names; -1: the job */
  const char *text[FACT_TEXTS];   /* of clusters; paths are below the folder of the command */
  Span text_span[FACT_TEXTS];
  int32_t text_depth[FACT_TEXTS];
  const char *gpu;  /* of devices: its name, as NVML has it; NULL: it is none of NVIDIA's */
  const Raw *types; /* of clusters; NULL: one type */
  const SpecFile *types_file;
} Facts;

/* The device of the library that has this name of NVML's. NULL: none. */
const char *facts_device_of(Compile *c, lua_State *L, const char *gpu);

/* kind: "clusters" or "devices". False: reported. */
bool facts_read(Compile *c, lua_State *L, const char *kind, const char *name, const char *directory,
                Span at, Facts *facts);

/* Fills cluster->software, of GPUs from the file of specs/software that the job names. False:
 * reported. */
bool software_read(Compile *c, lua_State *L, const Job *job, Cluster *cluster);

/* One of facts->types: { "dgx-a100", nodes = 4 }. */
bool facts_read_type(Compile *c, lua_State *L, const Facts *all, int32_t number, Facts *facts);

/* Puts the rates of cluster.calibration in place of those of files. `machine`: this one, if the
 * ranks are on it; `gpu`: what the ranks run on, NULL: processors. False: reported. */
bool calibration_take(Compile *c, const Job *job, const Machine *machine, const char *gpu,
                      Facts *facts, Cluster *cluster);

#endif
