/* attention_times.c -- how long attention takes on a GPU, forward and backward: through cuDNN, and
 * by kernels of our own. A line of JSON for each shape and kernel: microseconds a call, the least
 * of several rounds, and TFLOP/s by the two and five products that the FlashAttention papers count,
 * half of them where the mask hides half.
 *
 * Exit status 77: there is no GPU here, or no CUDA back end; it says which. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/math/bf16.h"
#include "tests/gpu/device/timed.h"

typedef struct Shape {
  const char *name;
  DType dtype;
  int64_t batch, seq, heads, kv_heads, head;
} Shape;

static const Shape shapes[] = {{"GPT-2 124M", DTYPE_BF16, 16, 1024, 12, 12, 64},
                               {"GPT-2 124M in fp32", DTYPE_F32, 16, 1024, 12, 12, 64},
                               {"Llama-3 8B", DTYPE_BF16, 1, 8192, 32, 8, 128},
                               {"Llama-3 8B in fp32", DTYPE_F32, 1, 2048, 32, 8, 128},
                               {"Gemma 2B", DTYPE_BF16, 1, 8192, 8, 1, 256},
                               {"Gemma 2B in fp32", DTYPE_F32, 1, 2048, 8, 1, 256},
                               {"GPT-2 1.5B", DTYPE_BF16, 4, 1024, 25, 25, 64},
                               {"Llama-3 8B at tp 8", DTYPE_BF16, 1, 8192, 4, 1, 128}};

static const CudaPlugin *cuda;

/* Numbers between -1 and 1, for a GPU is faster on zeros; sums of softmaxes as of even scores. */
static void write_numbers(const TimedRecord *record, int32_t i, void *at, size_t size_bytes) {
  static uint32_t state = 1;
  const bool is_sum = record->contract->operands[i].dtype == DTYPE_F32;
  const bool is_f32 = record->dtype[i] == DTYPE_F32;
  for (size_t k = 0; k < size_bytes / (is_f32 ? 4 : 2); k++) {
    state = state * 1664525u + 1013904223u;
    const float x = is_sum ? logf((float)record->dim[1]) : (float)(int32_t)state * 0x1p-31f;
    if (is_f32)
      ((float *)at)[k] = x;
    else
      ((uint16_t *)at)[k] = bf16_from_float(x);
  }
}

/* Interleaved, as one product for q, k and v leaves them. */
static void describe(const Shape *shape, KernelId id, TimedRecord *record) {
  const KernelContract *contract = contract_of(id);
  int64_t stride = (shape->heads + 2 * shape->kv_heads) * shape->head;
  const int64_t dim[] = {shape->batch, shape->seq, shape->heads, shape->kv_heads,
                         shape->head,  stride,     stride,       stride,
                         stride,       stride,     stride};
  const double half = 0.5 * (double)shape->seq;
  const double attr[KERNEL_ATTRS_MAX] = {
      1, 0.125, 0, 0, half, 0, half, 0, (double)shape->heads, (double)shape->seq};
  *record = (TimedRecord){.contract = contract, .operand_count = contract->operand_count};
  memcpy(record->dim, dim, sizeof dim);
  memcpy(record->attr, attr, sizeof attr);
  for (int32_t i = 0; i < contract->operand_count; i++)
    record->dtype[i] = contract->operands[i].dtype == DTYPE_F32 ? DTYPE_F32 : shape->dtype;
  timed_lay_out(record, write_numbers);
}

static void time_shape(const Shape *shape, KernelId id, KernelVariant variant) {
  TimedRecord record;
  char by[CUDA_TEXT_BYTES] = "";
  const Kernel *kernels = timed_kernels(variant);
  describe(shape, id, &record);
  double us = timed_call_us(&kernels[id], &record);
  cuda->tell_attention(by);
  timed_free(&record);
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
  cuda = timed_open();
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int k = 0; k < 2; k++) {
      KernelVariant variant = k == 0 ? KERNEL_FAST : KERNEL_REFERENCE;
      time_shape(&shapes[i], KERNEL_attention, variant);
      time_shape(&shapes[i], KERNEL_attention_backward, variant);
    }
  return 0;
}
