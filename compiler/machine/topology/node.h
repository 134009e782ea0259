/* node.h -- what one machine is: packages, NUMA nodes, cores, PCI tree, GPUs, NICs and the links
 * between them.
 *
 * Every source is read into this one description (read.h), every screen is drawn from it
 * (picture.h), and placement asks it which GPUs form a fast domain, which NIC and cores are near a
 * GPU, and which class and bandwidth a path between two devices has. Everything lives in the arena
 * it was made in; indices refer to the HostNode's own lists. */
#ifndef LOCKSTEP_NODE_H
#define LOCKSTEP_NODE_H

#include "compiler/base/base.h"

/* More than this in one machine is a mistake in the file. */
enum {
  CPUS_MOST = 4096,
  NUMA_MOST = 1024,
  DEVICES_MOST = 4096,
  GPUS_MOST = 128,
  NICS_MOST = 128,
  NVSWITCHES_MOST = 64
};

typedef struct CpuSet {
  uint64_t words[CPUS_MOST / 64]; /* by the operating system's numbers */
} CpuSet;

typedef struct Package {
  int32_t os_index;
} Package;

typedef struct NumaNode {
  int32_t os_index;     /* -1: the source says none */
  int32_t package;      /* -1: the source does not say */
  int64_t memory_bytes; /* 0: the source does not say */
  CpuSet *cpus;         /* none: memory alone, of a GPU or an expander */
} NumaNode;

typedef struct Core {
  int32_t package, numa; /* -1: unknown */
  CpuSet *cpus;          /* its hardware threads */
} Core;

typedef enum DeviceKind { DEVICE_BRIDGE, DEVICE_GPU, DEVICE_NIC, DEVICE_NVSWITCH } DeviceKind;

/* A device on the PCI bus that matters for training, or a bridge above one. */
typedef struct Device {
  DeviceKind kind;
  int32_t number; /* GPU0, NIC0 ...: among its kind; as the driver counts, else in order of PCI
                     addresses */
  int32_t source_number; /* the driver's, -1: the source does not say */
  const char *name;      /* mlx5_0, nvml0; NULL: the source does not say */
  const char *pci;       /* "0000:1b:00.0" as the source writes it, in small letters; NULL: none */
  const char *model;     /* or NULL */
  uint32_t vendor_id, device_id; /* of PCI; 0: the source does not say */
  int32_t parent;                /* the bridge above it; -1: it is at the host bridge */
  int32_t host;                  /* its host bridge, -1: unknown */
  int32_t package, numa;         /* the nearest; -1: several are equally near, or it is unknown */
  double pcie_gb_s;              /* of its own link, one direction, as negotiated; 0: unknown */
  int64_t memory_bytes;          /* of a GPU; 0: unknown */
  int32_t sms;                   /* of a GPU: multiprocessors or compute units; 0: unknown */
  double rate_gbit_s;            /* of a NIC; 0: unknown */
  bool is_rate_nominal;          /* not from the source, but the rate of its model */
  bool is_fabric;                /* of a NIC: InfiniBand, RoCE, Slingshot, EFA, Omni-Path */
  bool is_down;                  /* of a NIC: the source says so of all its ports */
  bool is_c2c;                   /* of a GPU: joined to its processor by NVLink-C2C, not by PCIe */
  int32_t instances;             /* of a GPU: parts that the driver shows as devices (MIG) */
} Device;

typedef enum LinkKind { LINKS_NVLINK, LINKS_XGMI } LinkKind;

/* A bundle of links between two GPUs, or a GPU and an NVSwitch. One entry for both directions. */
typedef struct FastLink {
  LinkKind kind;
  int32_t a, b;  /* devices, a < b */
  int32_t count; /* 0: unknown */
  double gb_s;   /* all of them, one direction; 0: unknown */
} FastLink;

/* Nearest first. NV to SYS as nvidia-smi topo -m has them; NVS is NV through NVSwitches. */
typedef enum LinkClass {
  LINK_SELF,
  LINK_NV,
  LINK_NVS,
  LINK_XGMI,
  LINK_PIX,  /* at most one PCIe bridge */
  LINK_PXB,  /* several PCIe bridges, no host bridge */
  LINK_PHB,  /* one host bridge */
  LINK_NODE, /* host bridges of one NUMA node */
  LINK_SYS,  /* another NUMA node, or unknown */
} LinkClass;

typedef enum CpuMaker { CPU_UNKNOWN, CPU_INTEL, CPU_AMD, CPU_IBM, CPU_ARM } CpuMaker;

typedef struct FastPair {
  LinkClass link_class; /* LINK_SELF: no fast link */
  int32_t count;
  double gb_s;
} FastPair;

typedef struct HostNode {
  const char *name;   /* host or product; NULL: the source does not say */
  const char *source; /* "hwloc XML 2.0", "NCCL topology", "this machine" */
  const char *cpu;    /* model, or NULL */
  CpuMaker maker;
  int32_t memory_only_absent; /* NUMA nodes that the source counts and does not describe */
  CpuSet *barred;             /* CPUs that a cgroup does not allow; NULL: none */
  int32_t core_kinds;         /* how many kinds of cores differ in speed; 0: unknown */
  VEC(Package) packages;
  VEC(NumaNode) numas;
  VEC(Core) cores;
  VEC(Device) devices;
  VEC(FastLink) links;
  VEC(int32_t) gpus, nics, nvswitches; /* devices, by number */
  FastPair *pairs;                     /* gpus x gpus */
  int32_t *domains; /* of each GPU: GPUs that fast links connect have one number */
  int32_t domain_count;
} HostNode;

/* ---- making one: readers push packages, NUMA nodes, cores, devices and links, then finish. */

CpuSet *cpuset_new(Arena *arena);
bool cpuset_add(CpuSet *set, int64_t cpu); /* false: out of range */
bool cpuset_is_empty(const CpuSet *set);
bool cpuset_equal(const CpuSet *a, const CpuSet *b);
bool cpuset_is_within(const CpuSet *inner, const CpuSet *outer);
bool cpuset_take(CpuSet *into, const CpuSet *added); /* true: some were in it already */
void cpuset_remove(CpuSet *from, const CpuSet *removed);
int32_t cpuset_count(const CpuSet *set);
CpuSet *cpuset_first(Arena *arena, const CpuSet *set); /* the lowest alone */
CpuSet *cpuset_part(Arena *arena, const CpuSet *set, int32_t part, int32_t parts); /* of each run */
const char *cpuset_text(Arena *arena, const CpuSet *set); /* "0-55,112-167"; "none" */

/* Looks up models, numbers the devices, pairs the GPUs and finds their domains. Reports and returns
 * false when there are more GPUs or NICs than a machine has. */
bool node_finish(Compile *c, Span span, HostNode *node);

/* ---- asking one */

/* The nearest class of a path between two devices. Symmetric. */
LinkClass topology_link_class(const HostNode *node, int32_t a, int32_t b);

/* NVLinks or xGMI links between two GPUs, through switches too; 0: none, or the source does not
 * count them. */
int32_t topology_link_count(const HostNode *node, int32_t a, int32_t b);

/* GB/s (1e9 bytes) in one direction for a large message between two devices; 0: unknown. For the
 * constants and their sources see link.c. */
double topology_bandwidth(const HostNode *node, int32_t a, int32_t b);

/* True if the two are on one card: their addresses are equal up to the function. */
bool topology_is_same_card(const Device *a, const Device *b);

/* True if a NIC is used for training: it is of a fabric, and not down. */
bool topology_carries(const Device *nic);

/* The NICs that a GPU (by number) should use: those of the nearest class with at least half the
 * rate of the fastest of them, so that the board's management port is not one. Fills `is_rail` for
 * each NIC; returns the class. */
LinkClass topology_rails(const HostNode *node, int32_t gpu, bool *is_rail);

/* The NIC for a GPU that uses only one: on its socket, then the one with fewer GPUs before this
 * one, then the faster. A device, or -1 if the machine has no rail. */
int32_t topology_near_nic(const HostNode *node, int32_t gpu);

/* Cores near a device: those of its NUMA node, else of its package, else all. Returns how many;
 * fills `cores`, which has room for all, with indices. */
int32_t topology_near_cores(const HostNode *node, int32_t device, int32_t *cores);

/* "NV18", "PIX": as nvidia-smi writes it. `text` has 8 bytes. */
const char *topology_link_text(const HostNode *node, int32_t a, int32_t b, char *text);
const char *link_class_name(LinkClass link_class); /* "NVS", "PIX" */

/* ---- warnings: what a reader of the picture should look at */

typedef struct Warning {
  const char *name; /* "far-nic": stable, for programs */
  const char *text;
} Warning;
typedef struct Warnings {
  VEC(Warning) list;
} Warnings;
Warnings topology_warnings(Arena *arena, const HostNode *node);

#endif
