/* models.h -- PCI ids of GPUs and NICs (gpus.def). */
#ifndef LOCKSTEP_MODELS_H
#define LOCKSTEP_MODELS_H

#include "compiler/machine/topology/node.h"

typedef struct GpuModel {
  uint32_t vendor_id, device_id;
  const char *name;
  int32_t memory_gb, units, pcie_generation;
  double link_gb_s;
} GpuModel;

/* NULL: not known. */
const GpuModel *gpu_model(uint32_t vendor_id, uint32_t device_id);

/* GB/s in one direction of a PCIe link, net of its line code; 0: no such rate. */
double pcie_gb_s(double gigatransfers_s, int32_t lanes);

/* The same for 16 lanes of a generation, 1 to 6. */
double pcie_generation_gb_s(int32_t generation);

/* Fills what the source left open of model, memory, units and rate; says whether a NIC is of a
 * fabric. */
void device_complete(Device *device);

#endif
