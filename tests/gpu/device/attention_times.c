/* attention_times.c -- how long attention takes on a GPU, forward and backward: through cuDNN, and
 * by kernels of our own. A line of JSON for each shape and kernel: microseconds a call, the least
 * of several rounds, and TFLOP/s by the two and five products that the FlashAttention papers count,
 * half of them where the mask hides half.
 *
 * Exit status 77: there is no GPU here, or no CUDA back end; it says which. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/contract/contract.h"
#include "kernels/math/bf16.h"
#include "runtime/device/cuda/plugin.h"

enum { ALIGN_BYTES = 256, ROUNDS = 5, CALLS = 10 };

typedef struct Shape {
  const char *name;
  int64_t batch, seq, heads, kv_heads, head;
} Shape;

static const Shape shapes[] = {{"GPT-2 124M", 16, 1024, 12, 12, 64},
                               {"GPT-2 1.5B", 4, 1024, 25, 25, 64},
                               {"Llama-3 8B", 1, 8192, 32, 8, 128},
                               {"Llama-3 8B at tp 8", 1, 8192, 4, 1, 128}};

/* One record: its operands lie one after another in the GPU's memory. */
typedef struct Record {
  const KernelContract *contract;
  int64_t dim[KERNEL_DIMS_MAX], bytes[KERNEL_OPERANDS_MAX];
  double attr[KERNEL_ATTRS_MAX];
  uint32_t dtype[KERNEL_OPERANDS_MAX];
  void *operand[KERNEL_OPERANDS_MAX], *memory;
} Record;

static const CudaPlugin *cuda;
static Device *device;

static void stop(const char *why) {
  printf("%s\n", why);
  exit(1);
}

/* Numbers between -1 and 1, for a GPU is faster on zeros; sums of softmaxes as of even scores. */
static void write_numbers(const Record *record, int32_t i, void *at, size_t size_bytes) {
  static uint32_t state = 1;
  const float even = logf((float)record->dim[1]);
  if (record->dtype[i] == DTYPE_F32)
    for (size_t k = 0; k < size_bytes / sizeof even; k++)
      ((float *)at)[k] = even;
  else
    for (size_t k = 0; k < size_bytes / 2; k++) {
      state = state * 1664525u + 1013904223u;
      ((uint16_t *)at)[k] = bf16_from_float((float)(int32_t)state * 0x1p-31f);
    }
}

static void fill(const Record *record, int32_t i) {
  Status status = {0};
  for (int64_t done = 0; done < record->bytes[i]; done += DEVICE_WINDOW_BYTES) {
    int64_t left = record->bytes[i] - done;
    size_t part = (size_t)(left < DEVICE_WINDOW_BYTES ? left : DEVICE_WINDOW_BYTES);
    char *at = (char *)record->operand[i] + done;
    void *window = device->ops->open_window(device, at, part, ACCESS_WRITE, &status);
    if (window == NULL) stop(status.text);
    write_numbers(record, i, window, part);
    if (!device->ops->close_window(device, &status)) stop(status.text);
  }
}

static void lay_out(Record *record) {
  const KernelContract *contract = record->contract;
  WorkspaceUse work = {KERNEL_TARGET_CUDA, record->dim, record->dtype, 1, false};
  int64_t offset[KERNEL_OPERANDS_MAX] = {0}, end = 0;
  Status status = {0};
  for (int32_t i = 0; i < contract->operand_count; i++) {
    bool is_scratch = contract->operands[i].access == KERNEL_SCRATCH;
    record->dtype[i] = contract->operands[i].dtype == DTYPE_F32 ? DTYPE_F32 : DTYPE_BF16;
    record->bytes[i] = is_scratch ? contract_workspace_bytes(contract, &work)
                                  : contract_elements(contract, i, record->dim) *
                                        dtype_bytes((DType)record->dtype[i]);
    offset[i] = end;
    end += (record->bytes[i] + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
  }
  if (!cuda->memory.map((size_t)end, &record->memory, &status)) stop(status.text);
  for (int32_t i = 0; i < contract->operand_count; i++) {
    record->operand[i] = (char *)record->memory + offset[i];
    if (contract->operands[i].access == KERNEL_READ) fill(record, i);
  }
}

/* Interleaved, as one product for q, k and v leaves them. */
static void describe(const Shape *shape, KernelId id, Record *record) {
  int64_t stride = (shape->heads + 2 * shape->kv_heads) * shape->head;
  const int64_t dim[] = {shape->batch, shape->seq, shape->heads, shape->kv_heads,
                         shape->head,  stride,     stride,       stride,
                         stride,       stride,     stride};
  const double half = 0.5 * (double)shape->seq;
  const double attr[KERNEL_ATTRS_MAX] = {
      1, 0.125, 0, 0, half, 0, half, 0, (double)shape->heads, (double)shape->seq};
  *record = (Record){.contract = contract_of(id)};
  memcpy(record->dim, dim, sizeof dim);
  memcpy(record->attr, attr, sizeof attr);
  lay_out(record);
}

static double now_us(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static double round_us(const Kernel *kernel, const KernelArgs *args) {
  Status status = {0};
  const char *why = "";
  double start = now_us();
  for (int i = 0; i < CALLS; i++)
    if (kernel->run(args, &why) != KERNEL_DONE) stop(why);
  if (!device->ops->finish(device, &status)) stop(status.text);
  return (now_us() - start) / CALLS;
}

static double call_us(const Kernel *kernel, const Record *record) {
  const KernelContract *contract = record->contract;
  const char *why = "";
  double least = 0;
  const KernelUse use = {.target = KERNEL_TARGET_CUDA,
                         .dtype = record->dtype,
                         .bytes = record->bytes,
                         .dim = record->dim,
                         .attr = record->attr,
                         .operand_count = contract->operand_count,
                         .dim_count = contract->dim_count,
                         .attr_count = contract->attr_count,
                         .threads = 1,
                         .align_bytes = ALIGN_BYTES};
  void *control[KERNEL_CONTROLS_MAX] = {NULL};
  KernelArgs args = {.operand = record->operand,
                     .dtype = record->dtype,
                     .bytes = record->bytes,
                     .dim = record->dim,
                     .attr = record->attr,
                     .operand_count = contract->operand_count,
                     .control = control,
                     .stream = device->ops->stream(device->ops->queue(device, 0))};
  if (kernel->prepare(kernel, &use, &args.state, &why) != KERNEL_DONE) stop(why);
  for (int i = 0; i <= ROUNDS; i++) { /* the first one warms up */
    double us = round_us(kernel, &args);
    if (i == 1 || (i > 1 && us < least)) least = us;
  }
  if (kernel->release != NULL) kernel->release(args.state);
  return least;
}

static void time_shape(const Shape *shape, KernelId id, KernelVariant variant) {
  Record record;
  Status status = {0};
  char by[CUDA_TEXT_BYTES] = "";
  const Kernel *kernels = cuda->kernels(variant, &status);
  if (kernels == NULL) stop(status.text);
  describe(shape, id, &record);
  double us = call_us(&kernels[id], &record);
  cuda->tell_attention(by);
  cuda->memory.unmap(record.memory);
  double pairs = (double)(shape->batch * shape->heads * shape->seq * shape->seq) / 2;
  double flops = (id == KERNEL_attention ? 2 : 5) * 2 * pairs * (double)shape->head;
  const char *name = record.contract->row->name, *maker = *by != '\0' ? by : "kernels of our own";
  printf("{\"probe\": \"attention_times\", \"case\": \"%s, %s, %s\", \"kind\": \"timing\", "
         "\"shape\": \"%s\", \"kernel\": \"%s\", \"by\": \"%s\", \"us\": %.1f, \"tflops\": %.1f, "
         "\"ok\": true}\n",
         shape->name, name, maker, shape->name, name, maker, us, flops / us * 1e-6);
  (void)fflush(stdout); /* what was timed stays, if the rest is not reached */
}

int main(void) {
  Status status = {0};
  uint32_t count = 0;
  cuda = cuda_plugin(&status);
  if (cuda == NULL || !cuda->count(&count, &status) || !cuda->choose(0, &status)) {
    printf("skipped: %s\n", status.text);
    return status.code == STATUS_USER ? 77 : 1;
  }
  device = cuda->open(&(DeviceSetup){.lane_count = 1}, &status);
  if (device == NULL) stop(status.text);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int k = 0; k < 2; k++) {
      KernelVariant variant = k == 0 ? KERNEL_FAST : KERNEL_REFERENCE;
      time_shape(&shapes[i], KERNEL_attention, variant);
      time_shape(&shapes[i], KERNEL_attention_backward, variant);
    }
  device->ops->close(device);
  return 0;
}
