/* update_times.c -- how long updates take on a GPU, in each storage of a parameter and its moments.
 * A line of JSON for each: microseconds a call, the least of several rounds, and GB/s of what the
 * contract reads and writes.
 *
 *   gpu_update_times [ELEMENTS]
 *
 * Exit status 77: there is no GPU here, or no CUDA back end; it says which. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/gpu/device/timed.h"

enum { CODES_BLOCK_ELEMENTS = 256, PARAM = 1 };

/* Dtypes of the gradient, the parameter and the moments; the last operand's is the contract's. */
typedef struct Storage {
  const char *name;
  KernelId kernel;
  int32_t moments;
  DType grad, param, moment;
  double attr[4];
} Storage;

#define ADAMW                                                                                      \
  { 0.9, 0.95, 1e-8, 0.1 }
static const Storage storages[] = {
    {"AdamW, fp32", KERNEL_adamw, 2, DTYPE_F32, DTYPE_F32, DTYPE_F32, ADAMW},
    {"AdamW, bf16 with a master", KERNEL_adamw_master, 2, DTYPE_F32, DTYPE_BF16, DTYPE_F32, ADAMW},
    {"AdamW, split", KERNEL_adamw_split, 2, DTYPE_F32, DTYPE_BF16, DTYPE_F32, ADAMW},
    {"AdamW, split, bf16 moments", KERNEL_adamw_split, 2, DTYPE_BF16, DTYPE_BF16, DTYPE_BF16,
     ADAMW},
    {"AdamW, split, int8 moments", KERNEL_adamw_split, 2, DTYPE_BF16, DTYPE_BF16, DTYPE_U8, ADAMW},
    {"AdamW, kahan", KERNEL_adamw_kahan, 2, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, ADAMW},
    {"AdamW, stochastic", KERNEL_adamw_stochastic, 2, DTYPE_BF16, DTYPE_BF16, DTYPE_F32, ADAMW},
    {"Lion, fp32", KERNEL_lion, 1, DTYPE_F32, DTYPE_F32, DTYPE_F32, {0.9, 0.99, 0.1}},
    {"SGD, fp32", KERNEL_sgd, 1, DTYPE_F32, DTYPE_F32, DTYPE_F32, {0.9, 0.1}},
};

/* Numbers of all signs, but moments that are positive. The pattern repeats after a megabyte. */
static void write_numbers(const TimedRecord *record, int32_t i, void *at, size_t size_bytes) {
  static uint8_t pattern[1 << 20];
  uint32_t state = (uint32_t)i + 1;
  const bool is_f32 = record->dtype[i] == DTYPE_F32;
  for (size_t k = 0; k < sizeof pattern; k++) {
    state = state * 1664525u + 1013904223u;
    pattern[k] = (uint8_t)(state >> 24);
    const size_t width = is_f32 ? 4 : 2;
    const bool is_top = record->dtype[i] != DTYPE_U8 && k % width == width - 1;
    if (is_top) pattern[k] = (uint8_t)(0x3c + (i <= PARAM ? pattern[k] & 0x80 : 0)); /* 2^-7 */
  }
  for (size_t done = 0; done < size_bytes; done += sizeof pattern)
    memcpy((char *)at + done, pattern,
           size_bytes - done < sizeof pattern ? size_bytes - done : sizeof pattern);
}

static int64_t moved_bytes(const TimedRecord *record) {
  int64_t sum = 0;
  for (int32_t i = 0; i < record->operand_count; i++)
    sum += record->bytes[i] * (record->contract->operands[i].access == KERNEL_UPDATE ? 2 : 1);
  return sum;
}

static void describe(const Storage *storage, int64_t n, TimedRecord *record) {
  const KernelContract *contract = contract_of(storage->kernel);
  const bool has_codes = storage->moment == DTYPE_U8;
  const int64_t blocks = has_codes ? (n + CODES_BLOCK_ELEMENTS - 1) / CODES_BLOCK_ELEMENTS : 0;
  const int64_t dim[] = {n, n, n, n, n, blocks};
  *record = (TimedRecord){.contract = contract,
                          .control = {.seed = 1, .updates = 10, .lr = 1e-6, .clip_scale = 1}};
  record->control.step_counts = 1;
  record->operand_count = contract->operand_count - (has_codes ? 0 : storage->moments);
  memcpy(record->dim, dim, sizeof dim);
  memcpy(record->attr, storage->attr, sizeof storage->attr);
  for (int32_t i = 0; i < record->operand_count; i++)
    record->dtype[i] = i == 0                          ? storage->grad
                       : i == PARAM                    ? storage->param
                       : i <= PARAM + storage->moments ? storage->moment
                                                       : contract->operands[i].dtype;
  timed_lay_out(record, write_numbers);
}

static void time_storage(const Storage *storage, int64_t n) {
  TimedRecord record;
  describe(storage, n, &record);
  const double us = timed_call_us(&timed_kernels(KERNEL_FAST)[storage->kernel], &record);
  const double bytes = (double)moved_bytes(&record);
  timed_free(&record);
  printf("{\"probe\": \"updates\", \"case\": \"%s\", \"kind\": \"timing\", \"by\": \"ours\", "
         "\"elements\": %lld, \"bytes_per_element\": %.2f, \"us\": %.1f, \"gb_per_s\": %.1f, "
         "\"ok\": true}\n",
         storage->name, (long long)n, bytes / (double)n, us, bytes / us * 1e-3);
  (void)fflush(stdout); /* what was timed stays, if the rest is not reached */
}

int main(int argc, char **argv) {
  const int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 1 << 25;
  (void)timed_open();
  for (size_t i = 0; i < sizeof storages / sizeof *storages; i++)
    time_storage(&storages[i], n);
  return 0;
}
