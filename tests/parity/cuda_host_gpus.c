/* cuda_host_gpus.c -- which GPUs a process sees, where there are none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/parity/cuda_host.h"

enum { GPUS = 64, LIST_BYTES = 4096 };

typedef struct Gpus {
  GpuId at[GPUS];
  uint32_t count;
} Gpus;

static void list_node(Gpus *node) {
  const char *said = getenv("CUDA_HOST_GPUS");
  char list[LIST_BYTES], *rest = NULL;
  memset(node, 0, sizeof *node);
  for (uint32_t i = 0; said == NULL && i < GPUS; i++)
    (void)snprintf(node->at[node->count++].uuid, GPU_UUID_BYTES, "GPU-%u", i);
  (void)snprintf(list, sizeof list, "%s", said != NULL ? said : "");
  for (char *one = strtok_r(list, ",", &rest); one != NULL && node->count < GPUS;
       one = strtok_r(NULL, ",", &rest)) {
    GpuId *gpu = &node->at[node->count];
    if (sscanf(one, "%31s %47s", gpu->pci, gpu->uuid) == 2) node->count++;
  }
  for (uint32_t i = 0; i < node->count; i++)
    (void)snprintf(node->at[i].name, sizeof node->at[i].name, "stand-in GPU");
}

/* NULL: no GPU of the node. */
static const GpuId *find(const Gpus *node, const char *word) {
  char *end;
  unsigned long number = strtoul(word, &end, 10);
  if (end != word && *end == '\0') return number < node->count ? &node->at[number] : NULL;
  for (uint32_t i = 0; i < node->count; i++)
    if (*word != '\0' && strncmp(node->at[i].uuid, word, strlen(word)) == 0) return &node->at[i];
  return NULL;
}

static void list_visible(Gpus *seen) {
  const char *setting = getenv("CUDA_VISIBLE_DEVICES");
  char list[LIST_BYTES], *rest = NULL;
  Gpus node;
  list_node(&node);
  *seen = node;
  if (setting == NULL) return;
  seen->count = 0;
  (void)snprintf(list, sizeof list, "%s", setting);
  for (char *one = strtok_r(list, ",", &rest); one != NULL && seen->count < GPUS;
       one = strtok_r(NULL, ",", &rest)) {
    const GpuId *gpu = find(&node, one);
    if (gpu == NULL || (seen->count > 0 && strncmp(gpu->uuid, "MIG-", 4) == 0)) return;
    seen->at[seen->count++] = *gpu;
  }
}

bool cuda_host_count(uint32_t *count, Status *status) {
  Gpus seen;
  list_visible(&seen);
  *count = seen.count;
  return seen.count > 0 || status_fail(status, STATUS_USER, "the stand-in finds no GPU here");
}

bool cuda_host_look(uint32_t device, GpuId *id, Status *status) {
  Gpus seen;
  list_visible(&seen);
  if (device >= seen.count) return status_fail(status, STATUS_OURS, "there is no GPU %u", device);
  *id = seen.at[device];
  return true;
}
