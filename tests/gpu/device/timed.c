#include "tests/gpu/device/timed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALIGN_BYTES = 256, ROUNDS = 5, CALLS = 10 };

static const CudaPlugin *cuda;
static Device *device;

static void stop(const char *why) {
  printf("%s\n", why);
  exit(1);
}

const CudaPlugin *timed_open(void) {
  Status status = {0};
  uint32_t count = 0;
  cuda = cuda_plugin(&status);
  if (cuda == NULL || !cuda->count(&count, &status) || !cuda->choose(0, &status)) {
    printf("skipped: %s\n", status.text);
    exit(status.code == STATUS_USER ? 77 : 1);
  }
  device = cuda->open(&(DeviceSetup){.lane_count = 1}, &status);
  if (device == NULL) stop(status.text);
  return cuda;
}

const Kernel *timed_kernels(KernelVariant variant) {
  Status status = {0};
  const Kernel *kernels = cuda->kernels(variant, &status);
  if (kernels == NULL) stop(status.text);
  return kernels;
}

/* A part of the GPU's memory, written through windows, which have a largest size. */
static void fill(const TimedRecord *record, int32_t i, TimedWrite *write) {
  Status status = {0};
  for (int64_t done = 0; done < record->bytes[i]; done += DEVICE_WINDOW_BYTES) {
    const int64_t left = record->bytes[i] - done;
    const size_t part = (size_t)(left < DEVICE_WINDOW_BYTES ? left : DEVICE_WINDOW_BYTES);
    char *at = (char *)record->operand[i] + done;
    void *window = device->ops->open_window(device, at, part, ACCESS_WRITE, &status);
    if (window == NULL) stop(status.text);
    write(record, i, window, part);
    if (!device->ops->close_window(device, &status)) stop(status.text);
  }
}

static void place_control(TimedRecord *record, void *at) {
  Status status = {0};
  void *window = device->ops->open_window(device, at, sizeof(Control), ACCESS_WRITE, &status);
  if (window == NULL) stop(status.text);
  memcpy(window, &record->control, sizeof(Control));
  if (!device->ops->close_window(device, &status)) stop(status.text);
  for (int32_t k = 0; k < record->contract->control_count; k++)
    record->slot[k] = control_value(at, record->contract->controls[k].slot);
}

static bool is_read(KernelAccess access) {
  return access == KERNEL_READ || access == KERNEL_UPDATE;
}

void timed_lay_out(TimedRecord *record, TimedWrite *write) {
  const KernelContract *contract = record->contract;
  const WorkspaceUse work = {KERNEL_TARGET_CUDA, record->dim, record->dtype, 1, false};
  int64_t offset[KERNEL_OPERANDS_MAX] = {0}, end = ALIGN_BYTES;
  Status status = {0};
  while (end < (int64_t)sizeof(Control))
    end += ALIGN_BYTES;
  for (int32_t i = 0; i < record->operand_count; i++) {
    record->bytes[i] =
        contract->operands[i].access == KERNEL_SCRATCH
            ? contract_workspace_bytes(contract, &work)
            : contract_elements(contract, i, record->dim) * dtype_bytes((DType)record->dtype[i]);
    offset[i] = end;
    end += (record->bytes[i] + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
  }
  if (!cuda->memory.map((size_t)end, &record->memory, &status)) stop(status.text);
  place_control(record, record->memory);
  for (int32_t i = 0; i < record->operand_count; i++) {
    record->operand[i] = (char *)record->memory + offset[i];
    if (is_read(contract->operands[i].access)) fill(record, i, write);
  }
}

void timed_free(TimedRecord *record) {
  cuda->memory.unmap(record->memory);
}

static double now_us(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static double round_us(const Kernel *kernel, const KernelArgs *args) {
  Status status = {0};
  const char *why = "";
  const double start = now_us();
  for (int i = 0; i < CALLS; i++)
    if (kernel->run(args, &why) != KERNEL_DONE) stop(why);
  if (!device->ops->finish(device, &status)) stop(status.text);
  return (now_us() - start) / CALLS;
}

double timed_call_us(const Kernel *kernel, const TimedRecord *record) {
  const KernelContract *contract = record->contract;
  const char *why = "";
  double least = 0;
  const KernelUse use = {.target = KERNEL_TARGET_CUDA,
                         .dtype = record->dtype,
                         .bytes = record->bytes,
                         .dim = record->dim,
                         .attr = record->attr,
                         .operand_count = record->operand_count,
                         .dim_count = contract->dim_count,
                         .attr_count = contract->attr_count,
                         .threads = 1,
                         .align_bytes = ALIGN_BYTES};
  KernelArgs args = {.operand = record->operand,
                     .dtype = record->dtype,
                     .bytes = record->bytes,
                     .dim = record->dim,
                     .attr = record->attr,
                     .operand_count = record->operand_count,
                     .control = record->slot,
                     .control_count = contract->control_count,
                     .stream = device->ops->stream(device->ops->queue(device, 0))};
  if (kernel->prepare(kernel, &use, &args.state, &why) != KERNEL_DONE) stop(why);
  for (int i = 0; i <= ROUNDS; i++) { /* the first one warms up */
    const double us = round_us(kernel, &args);
    if (i == 1 || (i > 1 && us < least)) least = us;
  }
  if (kernel->release != NULL) kernel->release(args.state);
  return least;
}
