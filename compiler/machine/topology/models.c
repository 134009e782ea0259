#include "compiler/machine/topology/models.h"

typedef struct NicModel {
  uint32_t vendor_id, device_id;
  const char *name;
  double rate_gbit_s;
} NicModel;

#define GPU(vendor, device, model, memory, units, pcie, link)                                      \
  {vendor, device, model, memory, units, pcie, link},
#define NIC(vendor, device, model, rate)
static const GpuModel gpus[] = {
#include "compiler/machine/topology/gpus.def"
};
#undef GPU
#undef NIC
#define GPU(vendor, device, model, memory, units, pcie, link)
#define NIC(vendor, device, model, rate) {vendor, device, model, rate},
static const NicModel nics[] = {
#include "compiler/machine/topology/gpus.def"
};

const GpuModel *gpu_model(uint32_t vendor_id, uint32_t device_id) {
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
    if (gpus[i].vendor_id == vendor_id && gpus[i].device_id == device_id) return &gpus[i];
  return NULL;
}

static const NicModel *nic_model(uint32_t vendor_id, uint32_t device_id) {
  for (size_t i = 0; i < sizeof nics / sizeof *nics; i++)
    if (nics[i].vendor_id == vendor_id && nics[i].device_id == device_id) return &nics[i];
  return NULL;
}

/* Gigatransfers a second of each generation, and GB/s of a lane: 8b/10b, then 128b/130b, then
 * flits. */
static const double rates[][2] = {{2.5, 0.25},
                                  {5, 0.5},
                                  {8, 8.0 / 8 * 128 / 130},
                                  {16, 16.0 / 8 * 128 / 130},
                                  {32, 32.0 / 8 * 128 / 130},
                                  {64, 7.563}};

double pcie_gb_s(double gigatransfers_s, int32_t lanes) {
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    if (gigatransfers_s > rates[i][0] - 0.1 && gigatransfers_s < rates[i][0] + 0.1)
      return rates[i][1] * lanes;
  return 0;
}

double pcie_generation_gb_s(int32_t generation) {
  return generation >= 1 && generation <= 6 ? rates[generation - 1][1] * 16 : 0;
}

static void complete_gpu(Device *device) {
  const GpuModel *model = gpu_model(device->vendor_id, device->device_id);
  if (model) device->is_c2c |= model->pcie_generation == 0;
  if (device->is_c2c) device->pcie_gb_s = 0; /* its PCIe link is for configuration */
  if (!model) return;
  if (!device->model) device->model = model->name;
  if (device->memory_bytes == 0) device->memory_bytes = (int64_t)model->memory_gb * 1000000000;
  if (device->sms == 0) device->sms = model->units;
}

static void complete_nic(Device *device) {
  const NicModel *model = nic_model(device->vendor_id, device->device_id);
  if (!model) return;
  device->is_fabric = true;
  if (!device->model) device->model = model->name;
  if (device->rate_gbit_s > 0 || model->rate_gbit_s <= 0) return;
  device->rate_gbit_s = model->rate_gbit_s;
  device->is_rate_nominal = true;
}

void device_complete(Device *device) {
  if (device->kind == DEVICE_GPU) complete_gpu(device);
  if (device->kind == DEVICE_NIC) complete_nic(device);
}
